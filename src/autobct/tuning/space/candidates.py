"""Candidates in more than two dimensions: an even spread over the cube, from which a search begins (`decide.search`).

All are controls of values that exist: a whole number's coordinate is that of the whole number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from autobct.belief.arrays import Array, distinct, kronecker
from autobct.tuning.space.hints import NOTHING, Hints
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, tuned
from autobct.tuning.space.row_table import MOST_ROWS, Table
from autobct.tuning.space.space import Space

GRID = 2
"""Numbers for which a grid is fine enough."""

FEW = 128
"""Values of a space of which all are candidates."""

SPREAD = 400
"""Controls that spread over the cube; a third of them over its middle, where the best is more often than in corners."""

_CHEAP = (0.35, 0.2, 0.05)  # where whole numbers are put, all others at the centre: small is cheap
_MIDDLE = 0.6  # size of the middle


def refinable(space: Space) -> bool:
    """Whether the values are too many to look at all: beyond two numbers, more of them than an even spread has."""
    if isinstance(space, Table):
        return len(space.rows) > MOST_ROWS
    counts = [parameter.count for parameter in space.parameters]
    few = None not in counts and math.prod(filter(None, counts)) <= FEW
    return not few and (bool(space.groups) or space.dim > GRID)


def spread(space: Space, hints: Hints = NOTHING, size: int = SPREAD) -> Array:
    """Centre, cheaper centres, all with what was guessed or is usual, then an even spread.  (G, p), no two alike."""
    guessed = {which: _uniform(_tuned(space)[which], place) for which, place in (*hints.guess, *hints.by_name)}
    middles = [[low if isinstance(p, Int) else 0.5 for p in _tuned(space)] for low in _CHEAP]
    centre, *cheap = (
        drawn_at(space, [guessed.get(which, u) for which, u in enumerate(middle)])
        for middle in ([0.5] * len(_tuned(space)), *middles)
    )
    points = kronecker(size, len(_tuned(space)))
    inner = np.array([not isinstance(p, Categorical) for p in _tuned(space)])
    middle = slice(size // 3)
    points[middle] = np.where(inner, 0.5 + _MIDDLE * (points[middle] - 0.5), points[middle])
    return distinct(space.realized(np.stack([centre, *cheap, *(drawn_at(space, point) for point in points.tolist())])))


def _tuned(space: Space) -> list[Parameter]:
    return tuned(space.parameters)


def _uniform(parameter: Float | Int | Categorical, place: float) -> float:
    """A uniform that draws the value at this place: the middle of its share where there are several values."""
    if isinstance(parameter, Categorical):
        return (place + 0.5) / parameter.count
    if isinstance(parameter, Int) and parameter.log:
        value = parameter.from_unit(place)
        return math.log((value + 0.5) / parameter.low) / math.log((parameter.high + 1) / parameter.low)
    if parameter.count is None:
        return place
    return (round(place * (parameter.count - 1)) + 0.5) / parameter.count


def drawn_at(space: Space, point: Sequence[float]) -> Array:
    """The control whose parameters are drawn by uniforms."""
    parts: list[float] = []
    for parameter, u in zip(_tuned(space), point, strict=True):
        if isinstance(parameter, Categorical):
            chosen = min(int(u * parameter.count), parameter.count - 1)
            parts += [float(choice == chosen) for choice in range(parameter.count)]
        elif isinstance(parameter, Int):
            parts.append(parameter.to_unit(parameter.draw(u)))
        else:
            parts.append(parameter.to_unit(parameter.draw(u)))
    return np.array(parts)
