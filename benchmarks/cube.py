"""Spaces of the tuning tasks as arrays: uniforms in the unit cube, points of raw values, params by name.

A point has a raw value for every parameter in the order of the space, and the position of a category.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from autobct import Categorical, Float, Int

Array = npt.NDArray[np.float64]
Space = Mapping[str, Float | Int | Categorical]


def points_of(space: Space, uniforms: Array) -> Array:
    """Points (n, d) that uniforms (n, d) draw, every value of a whole number or category equally often."""
    return np.stack([_drawn(p, u) for p, u in zip(space.values(), uniforms.T, strict=True)], axis=-1)


def params_of(space: Space, point: Array) -> dict[str, Any]:
    """The value of every parameter at a point (d,)."""
    return {name: _value(p, x) for (name, p), x in zip(space.items(), point.tolist(), strict=True)}


def unit_of(space: Space, points: Array) -> Array:
    """Points (n, d) in the unit cube, logarithms where the space has them; one coordinate for each choice (n, p)."""
    columns = [_unit(p, column) for p, column in zip(space.values(), points.T, strict=True)]
    return np.concatenate(columns, axis=1)


def _drawn(parameter: Any, u: Array) -> Array:
    if isinstance(parameter, Categorical):
        return np.minimum(np.floor(u * parameter.count), parameter.count - 1.0)
    whole = isinstance(parameter, Int)
    low, high = float(parameter.low), float(parameter.high + whole)
    value: Array = low * np.exp(np.log(high / low) * u) if parameter.log else low + (high - low) * u
    return np.minimum(np.floor(value) if whole else value, float(parameter.high))


def _unit(parameter: Any, column: Array) -> Array:
    if isinstance(parameter, Categorical):
        return np.asarray(column[:, None] == np.arange(parameter.count), dtype=float)
    ends = np.array([parameter.low, parameter.high, *column], dtype=float)
    ends = np.log(ends) if parameter.log else ends
    return np.asarray((ends[2:] - ends[0]) / (ends[1] - ends[0]), dtype=float)[:, None]


def _value(parameter: Any, raw: float) -> Any:
    if isinstance(parameter, Categorical):
        return parameter.choices[int(raw)]
    return int(raw) if isinstance(parameter, Int) else raw
