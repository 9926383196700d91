"""The parameters being tuned <-> controls in the unit cube [0, 1]^p   (u in U of the paper).

Notation: u one coordinate of a control; p = `Space.dim`; G the number of candidates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import kronecker
from autobct.tuning.parameter import Categorical, Float, Int, Parameter, parameter_of

__all__ = ["Categorical", "Column", "Float", "Int", "Parameter", "Space"]

_SPACE = "write e.g. {'n_estimators': Int(1, 100)}"

_LINE, _SET, _SIDE = 101, 128, 11  # candidates: on a line, in a quasi-random set, along each side of a square


@dataclass(frozen=True, slots=True)
class Column:
    """One coordinate of a control.

    name:     the parameter it belongs to
    category: None for a number; for the indicator of a category, the position of its choice
    """

    name: str
    category: int | None = None

    @property
    def numeric(self) -> bool:
        """Whether the coordinate is a number's and not the indicator of a category."""
        return self.category is None


@dataclass(frozen=True, slots=True)
class Space:
    """The parameters being tuned, and what every coordinate of a control means.  Build it with `Space.of`.

    A number takes one coordinate, a choice among c takes c (one-hot, read by the largest), a constant none.

    rows: (G, p) the only controls there are, if the space is a finite table
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    rows: Array | None = field(default=None, repr=False, compare=False)
    columns: tuple[Column, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pairs = zip(self.names, self.parameters, strict=True)
        columns = tuple(column for name, parameter in pairs for column in _columns(name, parameter))
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(cls, space: Space | Mapping[str, Any]) -> Space:
        """The space of a dict from names to parameters or to Optuna's distributions; a Space as it is."""
        if isinstance(space, Space):
            return space
        if not isinstance(space, Mapping):
            raise TypeError(f"space must be a dict of parameters, got {space!r}; {_SPACE}")
        built = cls(tuple(map(_name, space)), tuple(parameter_of(name, given) for name, given in space.items()))
        if not built.columns:
            raise ValueError(f"space has nothing to tune, all is constant in {dict(space)!r}; {_SPACE}")
        return built

    @property
    def dim(self) -> int:
        """Number of coordinates of a control  (p)."""
        return len(self.columns)

    @property
    def numeric(self) -> tuple[int, ...]:
        """Coordinates that belong to numbers."""
        return tuple(i for i, column in enumerate(self.columns) if column.numeric)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Coordinates of each choice, one group per `Categorical` that is not a constant."""
        chosen = [i for i, column in enumerate(self.columns) if not column.numeric]
        by_name = itertools.groupby(chosen, key=lambda i: self.columns[i].name)
        return tuple(tuple(group) for _, group in by_name)

    def params(self, control: Array) -> dict[str, Any]:
        """The users' values at a control, (p,); coordinates outside [0, 1] count as the nearer end."""
        u = np.asarray(control, dtype=float)
        if u.shape != (self.dim,) or not np.all(np.isfinite(u)):
            raise ValueError(f"control must be {self.dim} finite numbers, got {control!r}; write these")
        coordinates = iter(u.tolist())
        return {
            name: _decode(parameter, list(itertools.islice(coordinates, len(_columns(name, parameter)))))
            for name, parameter in zip(self.names, self.parameters, strict=True)
        }

    def control(self, params: Mapping[str, Any]) -> Array:
        """The control, (p,), of a value for every parameter."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict, got {params!r}; write a value for {list(self.names)}")
        if missing := [name for name in self.names if name not in params]:
            raise ValueError(f"params has no value for {missing}, got {dict(params)!r}; write one for each")
        if unknown := [name for name in params if name not in self.names]:
            raise ValueError(f"params has the unknown names {unknown}; write only {list(self.names)}")
        return self._encode(params[name] for name in self.names)

    def candidates(self, size: int | None = None) -> Array:
        """The controls among which a decision chooses, (G, p): always the same, no two with equal params.

        All values where there are few; else a grid for one number (101 points) or two (11 x 11); else 128
        quasi-random points with the centre, the lowest and highest corner.  `size` replaces these numbers.
        All rows of a table.
        """
        if self.rows is not None:
            return self.rows
        points = self._points(None if size is None else _size(size))
        rows = dict.fromkeys(tuple(self._encode(point).tolist()) for point in points)
        return np.array(list(rows), dtype=float)

    def _points(self, size: int | None) -> Iterable[tuple[Any, ...]]:
        """Values of all parameters at each candidate, before duplicates are dropped."""
        counts, grid = [p.count for p in self.parameters], not self.groups and self.dim <= 2
        line = grid and self.dim == 1
        if None not in counts and math.prod(filter(None, counts)) <= (size or (_LINE if line else _SET)):
            return itertools.product(*(map(p.value, range(p.count or 0)) for p in self.parameters))
        if grid:
            side = (size or _LINE) if line else max(2, round(math.sqrt(size or _SIDE**2)))
            return itertools.product(*(_axis(p, side) for p in self.parameters))
        free = sum(count != 1 for count in counts)
        ends = [(u,) * free for u in (0.5, 0.0, 1.0)]
        return (self._draw(point) for point in [*ends, *kronecker(size or _SET, free).tolist()])

    def _draw(self, point: Iterable[float]) -> tuple[Any, ...]:
        uniforms = iter(point)
        return tuple(p.value(0) if p.count == 1 else p.draw(next(uniforms)) for p in self.parameters)

    def _encode(self, values: Iterable[Any]) -> Array:
        pairs = zip(self.names, self.parameters, values, strict=True)
        coordinates = [u for name, parameter, value in pairs for u in _encode(name, parameter, value)]
        return np.array(coordinates, dtype=float)


def _columns(name: str, parameter: Parameter) -> tuple[Column, ...]:
    if parameter.count == 1:
        return ()
    if isinstance(parameter, Categorical):
        return tuple(Column(name, k) for k in range(parameter.count))
    return (Column(name),)


def _decode(parameter: Parameter, coordinates: list[float]) -> Any:
    if parameter.count == 1:
        return parameter.value(0)
    if isinstance(parameter, Categorical):
        return parameter.value(coordinates.index(max(coordinates)))
    return parameter.from_unit(coordinates[0])


def _encode(name: str, parameter: Parameter, value: Any) -> list[float]:
    try:
        if isinstance(parameter, Categorical):
            chosen = parameter.index(value)
            coordinates = [float(k == chosen) for k in range(parameter.count)]
        else:
            coordinates = [parameter.to_unit(value)]
    except (TypeError, ValueError) as error:
        raise type(error)(f"params[{name!r}]: {error}") from None
    return [] if parameter.count == 1 else coordinates


def _axis(parameter: Parameter, side: int) -> list[Any]:
    """All values of a number if it has at most `side`, else those on an even grid of the unit interval."""
    if parameter.count is not None and parameter.count <= side:
        return [parameter.value(k) for k in range(parameter.count)]
    assert not isinstance(parameter, Categorical)
    return [parameter.from_unit(round(k / (side - 1), 12)) for k in range(side)]


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"space must have text as names, got {name!r}; {_SPACE}")
    return name


def _size(size: object) -> int:
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 2:
        raise ValueError(f"size must be a whole number of at least 2, got {size!r}; write e.g. 101")
    return int(size)
