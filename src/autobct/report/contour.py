"""Where a surface lies above a level, as closed lines.

Filled one over the other, the areas above rising levels make a map that any style sheet can colour.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from autobct.belief.arrays import Array

__all__ = ["loops_above"]


def loops_above(surface: Array, level: float) -> list[Array]:
    """The closed lines around {surface >= level}, each (n, 2) in steps of the grid; one that meets the rim follows it.

    surface:  (rows, columns) at the points of a grid; a point of a line is (column, row), linear between grid points
    """
    try:
        import contourpy
    except ImportError:
        raise ImportError(
            "a map of two parameters needs contourpy, which is not installed; "
            "install it with: pip install 'autobct[report]'",
            name="contourpy",
        ) from None
    generator = contourpy.contour_generator(z=surface, fill_type=contourpy.FillType.OuterOffset)
    found: Any = generator.filled(level, np.inf)  # what it is depends on the type of filling
    return [
        np.asarray(area[first : last - 1])  # its first point is also its last
        for area, ends in zip(*found, strict=True)
        for first, last in pairwise(ends)
    ]
