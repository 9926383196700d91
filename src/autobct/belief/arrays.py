"""Array types of the core, checks that all public functions share, and evenly spread points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Complex, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]
Indices = NDArray[np.intp]


def finite_array(values: ArrayLike, name: str) -> Array:
    """`values` as an array of finite floats, or one sentence that names the argument."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} must be numbers below 1e308 in size") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, got {values!r}") from None
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite numbers, got {array.tolist()!r}")
    return array


def transpose(matrix: NDArray[Any]) -> NDArray[Any]:
    """The last two axes swapped, whatever stands before them."""
    return np.swapaxes(matrix, -1, -2)


def whole_number(value: object, name: str, *, example: int, least: int = 1) -> int:
    """`value` as an int of at least `least`, or one sentence that names the argument and shows one to write."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}; write e.g. {example}")
    return int(value)


def as_float(value: object, name: str) -> float:
    """`value` as a float: a number, an array or tensor without axes, or what says by `__float__` which number it is."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    axes = getattr(value, "shape", ())
    named = hasattr(type(value), "__float__") and not isinstance(value, np.generic | Complex) and axes == ()
    if isinstance(value, bool | np.bool_) or not (isinstance(value, Real) or named):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)  # type: ignore[arg-type]  # it is, or knows its float
    except OverflowError:
        raise ValueError(f"{name} is too large (beyond 1e308)") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {value!r}") from None


def finite_number(value: object, name: str, *, least: float = -math.inf) -> float:
    """`value` as a finite float of at least `least`, or one sentence why it is not."""
    number = as_float(value, name)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    if number < least:
        raise ValueError(f"{name} must be at least {least:g}, got {value!r}")
    return number


def distinct(controls: Sequence[Array] | Array) -> Array:
    """No two alike, in their order."""
    return np.stack(list({control.tobytes(): control for control in controls}.values()))


def kronecker(points: int, dim: int) -> Array:
    """The first points of the Kronecker sequence of the generalised golden ratio: evenly spread over [0, 1)^dim.

    frac(1/2 + i / ratio^j) with ratio^(dim + 1) = ratio + 1 (M. Roberts, 2018).  Rounded to 12 digits, so that a
    control survives the way to params and back.
    """
    ratio = 2.0
    for _ in range(64):  # a contraction: the error at least halves every time
        ratio = (1.0 + ratio) ** (1.0 / (dim + 1))
    sequence = 0.5 + np.outer(np.arange(1, points + 1), ratio ** -np.arange(1.0, dim + 1))
    return np.asarray(np.round(sequence % 1.0, 12))
