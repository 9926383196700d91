"""Where a surface lies above a level, as closed lines: marching squares.

Filled one over the other, the areas above rising levels make a map that any style sheet can colour.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from autobct.belief.arrays import Array

__all__ = ["loops_above"]

Point = tuple[float, float]

# For each square, by which of its corners (bits 1: low left, 2: low right, 4: high right, 8: high left) are above the
# level: the pairs of sides (0 low, 1 right, 2 high, 3 left) that the line joins.
_SIDES = {
    1: ((3, 0),),
    2: ((0, 1),),
    3: ((3, 1),),
    4: ((1, 2),),
    5: ((3, 2), (1, 0)),
    6: ((0, 2),),
    7: ((3, 2),),
    8: ((2, 3),),
    9: ((2, 0),),
    10: ((2, 1), (0, 3)),
    11: ((2, 1),),
    12: ((1, 3),),
    13: ((1, 0),),
    14: ((0, 3),),
}


def loops_above(surface: Array, level: float) -> list[Array]:
    """The closed lines around {surface >= level}, each (n, 2) in steps of the grid.

    surface:  (rows, columns) at the points of a grid; a point of a line is (column, row), linear between grid points
    """
    rows, columns = surface.shape
    ringed = np.full((rows + 2, columns + 2), -np.inf)  # a line that meets the rim goes on along it
    ringed[1:-1, 1:-1] = surface
    above = ringed >= level
    code = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    joined: dict[tuple[int, int, int], list[tuple[int, int, int]]] = defaultdict(list)
    for row, column in np.argwhere((code > 0) & (code < 15)).tolist():
        for one, other in _SIDES[int(code[row, column])]:
            ends = _side(row, column, one), _side(row, column, other)
            joined[ends[0]].append(ends[1])
            joined[ends[1]].append(ends[0])
    loops = (np.array([_crossing(ringed, level, side) for side in loop]) for loop in _loops(joined))
    return [np.clip(loop - 1.0, 0.0, [columns - 1.0, rows - 1.0]) for loop in loops]


def _side(row: int, column: int, side: int) -> tuple[int, int, int]:
    """A side of a square, the same for both squares that share it: (row, column, 0 along the row or 1 across)."""
    return {0: (row, column, 0), 1: (row, column + 1, 1), 2: (row + 1, column, 0), 3: (row, column, 1)}[side]


def _loops(
    joined: dict[tuple[int, int, int], list[tuple[int, int, int]]],
) -> list[list[tuple[int, int, int]]]:
    """Follow the sides from neighbour to neighbour; each belongs to exactly one loop."""
    left, loops = set(joined), []
    for start in joined:
        loop = []
        side: tuple[int, int, int] | None = start
        while side in left:
            assert side is not None
            left.remove(side)
            loop.append(side)
            side = next((neighbour for neighbour in joined[side] if neighbour in left), None)
        if len(loop) > 2:
            loops.append(loop)
    return loops


def _crossing(ringed: Array, level: float, side: tuple[int, int, int]) -> Point:
    row, column, across = side
    first, second = ringed[row, column], ringed[row + across, column + 1 - across]
    if np.isinf(first) or np.isinf(second):
        share = 1.0 if np.isinf(first) else 0.0  # on the rim
    else:
        share = float((level - first) / (second - first))
    return (column + share * (1 - across), row + share * across)
