"""The array types of the core, NumPy's and torch's functions under one name, and the few checks every door shares."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from numbers import Complex, Real
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Array32 = NDArray[np.float32]
Indices = NDArray[np.intp]


class Values(Protocol):
    """An array of NumPy's or a tensor of torch's: what the formulas that serve both ask of one."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __getitem__(self, index: Any, /) -> Any: ...


V = TypeVar("V", bound=Values)


def namespace(values: object) -> Any:
    """The module whose functions take these values: torch for a tensor, otherwise NumPy.

    Who has a tensor has imported torch; it is never imported here.
    """
    if isinstance(values, np.ndarray) or type(values).__module__.partition(".")[0] != "torch":
        return np
    return sys.modules["torch"]


def at_least(values: V, low: float) -> V:
    """max(values, low), element by element."""
    xp = namespace(values)
    found: V = xp.maximum(values, low) if xp is np else xp.clamp(values, min=low)
    return found


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


def broadcast_values(values: ArrayLike, controls: Array, name: str) -> Array:
    """One value per control, (...) for controls (..., p), or one sentence that names the function."""
    try:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), controls.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name} must return one value per control: shape {controls.shape[:-1]} for controls of shape "
            f"{controls.shape}, got {np.shape(values)}; take a coordinate, e.g. u[..., 0]"
        ) from None


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
