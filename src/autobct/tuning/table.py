"""A finite table as a space: its rows are the candidates, and nothing else is ever trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autobct.tuning.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space import Space

_ROWS = "write e.g. Table([{'depth': 3, 'rate': 0.1}, {'depth': 5, 'rate': 0.1}])"
_WIDE = 30.0  # a ratio of largest to smallest beyond which a column of positive numbers is taken on a log scale


def Table(rows: Sequence[Mapping[str, Any]], space: Space | Mapping[str, Any] | None = None) -> Space:  # noqa: N802
    """The space of some rows of values, each a dict of params; rows that stand there twice count once.

    space: what the columns mean, as anywhere else; otherwise whole numbers, numbers and choices by what they hold, on
    a log scale where they are positive and span a factor of more than 30
    """
    told = _checked(rows)
    built = Space.of(
        {name: _parameter(name, [row[name] for row in told]) for name in told[0]} if space is None else space
    )
    if set(built.names) != set(told[0]):
        raise ValueError(
            f"Table: the rows have the columns {list(told[0])} and the space {list(built.names)}; write both alike"
        )
    controls = {}
    for number, row in enumerate(told):
        try:
            control = built.control(row)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Table: row {number}: {error}") from None
        controls[control.tobytes()] = control
    return Space(built.names, built.parameters, np.stack(list(controls.values())))


def _checked(rows: object) -> list[Mapping[str, Any]]:
    if isinstance(rows, str | Mapping) or not isinstance(rows, Sequence) or not len(rows):
        raise TypeError(f"Table: rows must be a list of dicts, got {rows!r}; {_ROWS}")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping) or not row:
            raise TypeError(f"Table: row {number} must be a dict of values, got {row!r}; {_ROWS}")
        if row.keys() != rows[0].keys():
            raise ValueError(
                f"Table: row {number} has the columns {list(row)} and row 0 {list(rows[0])}; give every row all of them"
            )
    return list(rows)


def _parameter(name: str, values: list[Any]) -> Parameter:
    numbers = all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in values)
    if not numbers:
        return Categorical(_distinct(values))
    if not np.all(np.isfinite(values)):
        raise ValueError(f"Table: column {name!r} must hold finite numbers; leave out the rows that do not")
    low, high = min(values), max(values)
    log = low > 0 and high / low > _WIDE
    whole = all(float(value).is_integer() for value in values)
    return Int(int(low), int(high), log=log) if whole else Float(float(low), float(high), log=log)


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) and value == other for other in found):
            found.append(value)
    return found
