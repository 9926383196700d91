"""The parameters being tuned <-> controls in the unit cube [0, 1]^p   (u in U of the paper).

A parameter that does not exist under the values of others stands at a neutral place, the same for all, so that it moves
no belief: a number at the centre of its range, a choice at equal parts of all, of length one as every choice is.

Notation: u one coordinate of a control; p = `Space.dim`; G the number of candidates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices, kronecker
from autobct.tuning.space.conditions import Needs, needs_of, rank
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, parameter_of
from autobct.tuning.space.parameter_checks import when_text

__all__ = ["Categorical", "Column", "Float", "Int", "Parameter", "Space"]

_SPACE = "write e.g. {'n_estimators': Int(1, 100)}"

_MOST = 4000  # coordinates of a control: a belief about c choices holds c x c numbers
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
    """

    names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    columns: tuple[Column, ...] = field(init=False, repr=False)
    _needs: tuple[Needs, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check_width(self.names, self.parameters)
        object.__setattr__(self, "_needs", needs_of(self.names, self.parameters))
        pairs = zip(self.names, self.parameters, strict=True)
        columns = tuple(column for name, parameter in pairs for column in _columns(name, parameter))
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(cls, space: Space | Mapping[str, Any]) -> Space:
        """The space of a dict of parameters or Optuna distributions by name; a Space is returned as it is."""
        if isinstance(space, Space):
            return space
        if not isinstance(space, Mapping):
            raise TypeError(f"space must be a dict of parameters or a Table, got {space!r}; {_SPACE}")
        if not space:
            raise ValueError(f"space has no parameter; {_SPACE}")
        built = cls(tuple(map(_name, space)), tuple(parameter_of(name, given) for name, given in space.items()))
        if not built.columns:
            values = ", ".join(
                f"{name!r} is {p.value(0)!r}" for name, p in zip(built.names, built.parameters, strict=True)
            )
            raise ValueError(f"space has nothing to tune: every parameter is constant ({values}); {_SPACE}")
        return built

    @property
    def dim(self) -> int:
        """Number of coordinates of a control  (p)."""
        return len(self.columns)

    @property
    def numeric(self) -> tuple[int, ...]:
        """Coordinates of numeric parameters."""
        return tuple(i for i, column in enumerate(self.columns) if column.numeric)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Groups of one-hot coordinates, one per `Categorical` that is not a constant."""
        chosen = [i for i, column in enumerate(self.columns) if not column.numeric]
        by_name = itertools.groupby(chosen, key=lambda i: self.columns[i].name)
        return tuple(tuple(group) for _, group in by_name)

    def params(self, control: Array) -> dict[str, Any]:
        """The params at a control, (p,), clipped to [0, 1]; only parameters that exist there."""
        u = np.asarray(control, dtype=float)
        if u.shape != (self.dim,) or not np.all(np.isfinite(u)):
            raise ValueError(f"control must be {self.dim} finite numbers, got {control!r}; write these")
        exists = self.existing(u[None])[0] if self.conditional else [True] * len(self.names)
        return {
            name: _decode(parameter, u[span].tolist())
            for name, parameter, span, there in zip(self.names, self.parameters, self._spans(), exists, strict=True)
            if there
        }

    def control(self, params: Mapping[str, Any]) -> Array:
        """The control, (p,), of params; they need a value for every parameter that exists."""
        if not isinstance(params, Mapping):
            raise TypeError(f"params must be a dict, got {params!r}; write a value for {list(self.names)}")
        if unknown := [name for name in params if name not in self.names]:
            raise ValueError(f"params has the unknown names {unknown}; write only {list(self.names)}")
        exists = [self._exists(which, params) for which in range(len(self.names))]
        pairs = list(zip(self.names, self.parameters, exists, strict=True))
        if missing := [name for name, _, there in pairs if there and name not in params]:
            raise ValueError(f"params has no value for {missing}, got {dict(params)!r}; write one for each")
        for name, parameter, there in pairs:
            if name in params and not there:
                told = when_text(parameter.when or {})
                raise ValueError(f"params has {name!r}, which exists only when {told}; leave it out")
        coordinates = [
            u
            for name, parameter, there in pairs
            for u in (_encode(name, parameter, params[name]) if there else _neutral(parameter))
        ]
        return np.array(coordinates, dtype=float)

    @property
    def conditional(self) -> bool:
        """Whether some parameters exist only for some values of others."""
        return any(self._needs)

    def existing(self, controls: Array) -> NDArray[np.bool_]:
        """Which parameters exist at each control.  (n, p) -> (n, number of parameters)."""
        exists = np.ones((len(controls), len(self.names)), dtype=bool)
        spans = self._spans()
        above = {which for needs in self._needs for which in needs}
        ranks = {which: _ranks(self.parameters[which], controls[:, spans[which]]) for which in above}
        for which, needs in enumerate(self._needs):
            for other, allowed in needs.items():
                exists[:, which] &= np.isin(ranks[other], list(allowed))
        return exists

    def canonical(self, controls: Array) -> Array:
        """The same controls, with coordinates of parameters that do not exist at a neutral value.  (n, p) -> (n, p)."""
        if not self.conditional:
            return controls
        found, exists = controls.copy(), self.existing(controls)
        for which, span in enumerate(self._spans()):
            found[~exists[:, which], span] = _neutral(self.parameters[which])
        return found

    def realized(self, controls: Array) -> Array:
        """The nearest controls that can be trained: here the canonical ones.  (n, p) -> (n, p)."""
        return self.canonical(controls)

    def _exists(self, which: int, params: Mapping[str, Any]) -> bool:
        """Whether a parameter exists under some values."""
        return all(
            self.names[other] in params and _rank(self.names[other], self.parameters[other], params) in allowed
            for other, allowed in self._needs[which].items()
        )

    def _spans(self) -> list[slice]:
        """The coordinates of each parameter; none for a constant."""
        ends = list(itertools.accumulate(map(_width, self.parameters)))
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def candidates(self, size: int | None = None) -> Array:
        """The candidates of a decision as controls, (G, p): always the same, no two with equal params.

        All values where there are few; else a grid for one number (101 points) or two (11 x 11); else 128
        quasi-random points with the centre, the lowest and highest corner.  `size` replaces these numbers.
        """
        points = self._points(None if size is None else _size(size))
        controls = self.canonical(np.array([self._encode(point) for point in points]))
        return np.array(list(dict.fromkeys(map(tuple, controls.tolist()))), dtype=float)

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


def _width(parameter: Parameter) -> int:
    """How many coordinates a parameter takes."""
    if parameter.count == 1:
        return 0
    return parameter.count if isinstance(parameter, Categorical) else 1


def _check_width(names: Sequence[str], parameters: Sequence[Parameter]) -> None:
    widths = dict(zip(names, map(_width, parameters), strict=True))
    if (total := sum(widths.values())) > _MOST:
        widest = max(widths, key=lambda name: widths[name])
        raise ValueError(
            f"space has {total} coordinates, {widths[widest]} of them for the choices of {widest!r}; at most {_MOST} "
            f"are supported; leave out choices, or use an Int for values that have an order"
        )


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


def _neutral(parameter: Parameter) -> list[float]:
    """The coordinates of a parameter that does not exist."""
    if parameter.count == 1:
        return []
    return [1.0 / math.sqrt(parameter.count)] * parameter.count if isinstance(parameter, Categorical) else [0.5]


def _ranks(parameter: Parameter, coordinates: Array) -> Indices:
    """Which of its values a discrete parameter has at coordinates (n, its own).  (n,)."""
    if parameter.count == 1:
        return np.zeros(len(coordinates), dtype=np.intp)
    if isinstance(parameter, Categorical):
        return np.asarray(coordinates.argmax(axis=1))
    return np.array([rank(parameter, parameter.from_unit(u)) for u in coordinates[:, 0].tolist()], dtype=np.intp)


def _rank(name: str, parameter: Parameter, params: Mapping[str, Any]) -> int:
    try:
        return rank(parameter, params[name])
    except (TypeError, ValueError) as error:
        raise type(error)(f"params[{name!r}]: {error}") from None


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
    if isinstance(size, bool) or not isinstance(size, Integral) or not 2 <= int(size) <= 10**6:
        raise ValueError(f"size must be a whole number from 2 to a million, got {size!r:.60}; write e.g. 101")
    return int(size)
