"""A finite table as the space: only its rows are ever trained.

The coordinates are those of a space over the range of every column; a control is known by the row it belongs to, so
that the params of a run are those of the row to the last bit.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np

from autobct.belief.arrays import Array, Indices, kronecker
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space.space import Space

MOST_ROWS = 1000
"""Rows that a decision looks at all of; of more, those near an even spread and around the best."""

DECADES = 2.0
"""A column of positive numbers that spans more powers of ten is taken on its logarithm."""

_MOST_CHOICES = 1000  # different texts in a column: each takes a coordinate
_ROWS = "write e.g. Table([{'depth': 3, 'rate': 0.1}, {'depth': 5, 'rate': 0.3}])"
_CHUNK = 64  # controls whose distances from all rows are looked at together


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Table(Space):
    """Rows to choose from, as a space: `tune(train, Table(rows), price=...)` trains only what is in the table.

    rows:  params, e.g. [{"depth": 3, "rate": 0.1}, ...], or columns, {"depth": [3, ...], "rate": [0.1, ...]}
    space: the parameters of the columns; inferred from the values by default
    log:   columns to treat on a log scale; by default, positive ones that span more than two powers of ten

    Numbers are scaled by their range in the table; a column with anything else in it is categorical. Equal rows count
    once. Every row needs a value for every name that exists in it.
    """

    rows: tuple[Mapping[str, Any], ...] = ()
    _controls: Array = field(default_factory=lambda: np.empty((0, 0)))
    _places: Mapping[bytes, int] = field(default_factory=dict)

    def __init__(
        self,
        rows: Sequence[Mapping[str, Any]] | Mapping[str, Iterable[Any]],
        space: Space | Mapping[str, Any] | None = None,
        *,
        log: Sequence[str] | None = None,
    ) -> None:
        told = _rows(rows)
        if space is None:
            built, controls = _inferred(told, log)
        else:
            built, controls = _described(told, space, log)
        Space.__init__(self, built.names, built.parameters)
        first = {control.tobytes(): k for k, control in reversed(list(enumerate(controls)))}
        kept = sorted(first.values())
        if len(kept) < 2:
            raise ValueError(f"Table: has a single row, {told[0]!r}, so there is nothing to tune; write at least two")
        object.__setattr__(self, "rows", tuple(told[k] for k in kept))
        object.__setattr__(self, "_controls", controls[kept])
        object.__setattr__(self, "_places", {controls[k].tobytes(): row for row, k in enumerate(kept)})

    def __repr__(self) -> str:
        return f"Table({len(self.rows)} rows of {', '.join(self.names)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and (self.rows, self.parameters) == (other.rows, other.parameters)

    __hash__ = Space.__hash__

    @property
    def fingerprint(self) -> str:
        """A digest that distinguishes tables with the same ranges and choices."""
        return hashlib.sha256(self._controls.tobytes()).hexdigest()[:16]

    def params(self, control: Array) -> dict[str, Any]:
        """The row at a control, (p,)."""
        row = self._places.get(np.asarray(control, dtype=float).tobytes())
        if row is None:
            raise ValueError(f"control must be that of a row of the table, got {control!r}; write control(row)")
        return dict(self.rows[row])

    def control(self, params: Mapping[str, Any]) -> Array:
        """The control, (p,), of a row."""
        control = Space.control(self, params)
        if control.tobytes() not in self._places:
            raise ValueError(f"params must be a row of the table, got {dict(params)!r}; write one of its rows")
        return control

    def candidates(self, size: int | None = None) -> Array:
        """The controls of all rows; for very large tables, of an evenly spread subset.  (G, p)."""
        most = MOST_ROWS if size is None else size
        if len(self.rows) <= most:
            return self._controls.copy()
        return self._controls[self._nearest(kronecker(most, self.dim))]

    def realized(self, controls: Array) -> Array:
        """The nearest rows, each once.  (n, p) -> (at most n, p)."""
        return self._controls[self._nearest(controls)]

    def _nearest(self, controls: Array) -> Indices:
        squares = np.square(self._controls).sum(axis=1)
        found = [
            np.argmin(squares - 2.0 * controls[start : start + _CHUNK] @ self._controls.T, axis=1)
            for start in range(0, len(controls), _CHUNK)
        ]
        return np.array(list(dict.fromkeys(np.concatenate(found).tolist())), dtype=np.intp)


def _rows(rows: object) -> list[dict[str, Any]]:
    """Every row as a dict of plain, finite values."""
    if isinstance(rows, Mapping):
        told = _of_columns({_name(name): _listed(name, values) for name, values in rows.items()})
    elif isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        told = [_row(k, row) for k, row in enumerate(rows)]
    else:
        hint = "write Table(frame.to_dict('records'))" if hasattr(rows, "to_dict") else _ROWS
        raise TypeError(f"Table: rows must be a list of dicts, or a dict of columns, got {type(rows).__name__}; {hint}")
    if not told or not told[0]:
        raise ValueError(f"Table: has no rows; {_ROWS}")
    for k, row in enumerate(told):
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"Table: rows[{k}][{name!r}] is {value!r}; leave the row out, or write a value")
    return told


def _of_columns(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    lengths = {name: len(values) for name, values in columns.items()}
    expected = next(iter(lengths.values()), 0)
    for name, length in lengths.items():
        if length != expected:
            raise ValueError(f"Table: column {name!r} has {length} values but the first has {expected}; {_ROWS}")
    return [{name: values[k] for name, values in columns.items()} for k in range(expected)]


def _row(k: int, row: object) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise TypeError(f"Table: rows[{k}] must be a dict, got {row!r}; {_ROWS}")
    return {_name(name): _plain(value) for name, value in row.items()}


def _described(rows: list[dict[str, Any]], space: Space | Mapping[str, Any], log: object) -> tuple[Space, Array]:
    """The stated space, and the control of every row in it, (n, p)."""
    if log is not None:
        raise ValueError("Table: log is for columns of which the space says nothing; write log=True in the space")
    built, controls = Space.of(space), []
    for k, row in enumerate(rows):
        try:
            controls.append(built.control(row))
        except (TypeError, ValueError) as error:
            raise type(error)(f"Table: rows[{k}]: {error}") from None
    return built, np.stack(controls)


def _inferred(rows: list[dict[str, Any]], log: object) -> tuple[Space, Array]:
    """The space of what the columns hold, and the control of every row in it, (n, p)."""
    for k, row in enumerate(rows):
        if missing := [name for name in rows[0] if name not in row]:
            raise ValueError(f"Table: rows[{k}] has no {missing[0]!r}; write a value for every name in every row")
        if unknown := [name for name in row if name not in rows[0]]:
            raise ValueError(f"Table: rows[{k}] has {unknown[0]!r}, which the first row does not have; {_ROWS}")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    logs = _logs(columns, log)
    parameters = [_parameter(name, values, log=name in logs) for name, values in columns.items()]
    parts = [_coordinates(parameter, values) for parameter, values in zip(parameters, columns.values(), strict=True)]
    return Space(tuple(columns), tuple(parameters)), np.hstack(parts)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"Table: must have text as names, got {name!r}; {_ROWS}")
    return name


def _listed(name: object, values: object) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise TypeError(f"Table: column {name!r} must be a list of values, got {values!r}; {_ROWS}")
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    """A number of NumPy's as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _logs(columns: Mapping[str, Sequence[Any]], log: object) -> set[str]:
    """Names of the columns that are taken on their logarithm."""
    numbers = {name: values for name, values in columns.items() if all(map(_is_number, values))}
    if log is None:
        return {name for name, v in numbers.items() if _decades(v) > DECADES}
    if isinstance(log, str) or not isinstance(log, Sequence):
        raise TypeError(f"Table: log must be a list of names, got {log!r}; write e.g. log=['rate']")
    for name in log:
        if name not in columns:
            raise ValueError(f"Table: log names {name!r}, which is not a column; write one of {list(columns)}")
        if name not in numbers or min(numbers[name]) <= 0:
            raise ValueError(f"Table: log names {name!r}, which has values that are not positive numbers; leave it out")
    return set(log)


def _decades(values: Sequence[Any]) -> float:
    """Powers of ten between the ends; 0 where not all are positive."""
    try:
        return math.log10(max(values) / min(values)) if min(values) > 0 else 0.0
    except OverflowError:
        return math.inf


def _parameter(name: str, values: Sequence[Any], *, log: bool) -> Parameter:
    if not all(map(_is_number, values)):
        choices = _different(values)
        if len(choices) > _MOST_CHOICES:
            raise ValueError(
                f"Table: column {name!r} has {len(choices)} different choices; at most {_MOST_CHOICES} are "
                f"supported; leave out columns that only name the rows"
            )
        return Categorical(choices)
    low, high = min(values), max(values)
    if all(isinstance(value, Integral) for value in values) and high - low < 2**40 and not (log and high > 2**40):
        return Int(low, high, log=log)
    try:
        return Float(low, high, log=log)
    except ValueError as error:
        raise ValueError(f"Table: column {name!r}: {error}") from None


def _different(values: Sequence[Any]) -> list[Any]:
    try:
        return list({(type(value), value): value for value in values}.values())
    except TypeError as error:
        raise TypeError(f"Table: a choice must be text, True, False, None or a tuple: {error}") from None


def _coordinates(parameter: Parameter, values: Sequence[Any]) -> Array:
    """The coordinates of a column, (n, its own)."""
    if parameter.count == 1:
        return np.empty((len(values), 0))
    if not isinstance(parameter, Categorical):
        return np.array([[parameter.to_unit(value)] for value in values])
    places = {(type(choice), choice): k for k, choice in enumerate(parameter.choices)}
    found = np.zeros((len(values), parameter.count))
    found[np.arange(len(values)), [places[type(value), value] for value in values]] = 1.0
    return found
