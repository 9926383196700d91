"""Measured score and cost <-> model units  (h-hat, t-hat <-> h, t; as in the paper's appendix D)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from autobct.belief.arrays import Array, as_float

__all__ = ["Affine", "AffineLog", "Descending", "Scale", "affine"]


@dataclass(frozen=True, slots=True)
class Affine:
    """h = (h-hat - low) / (high - low): 0 at `low`, 1 at `high`, not clipped.  low, high: in raw units."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _store(self, _checked((self.low, self.high), "Affine(low, high)", log=False))

    @property
    def unit(self) -> float:
        """Raw units per model unit."""
        return self.high - self.low

    @overload
    def to_model(self, raw: float) -> float: ...
    @overload
    def to_model(self, raw: Array) -> Array: ...
    def to_model(self, raw: float | Array) -> Any:
        """raw: number or array of any shape, as measured; returns the same shape in model units."""
        return _same((np.asarray(raw, dtype=float) - self.low) / self.unit)

    @overload
    def to_raw(self, model: float) -> float: ...
    @overload
    def to_raw(self, model: Array) -> Array: ...
    def to_raw(self, model: float | Array) -> Any:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return _same(self.low + self.unit * np.asarray(model, dtype=float))


@dataclass(frozen=True, slots=True)
class AffineLog:
    """h = (log h-hat - log low) / (log high - log low): 0 at `low`, 1 at `high`, not clipped.

    low, high: in raw units, positive
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        _store(self, _checked((self.low, self.high), "AffineLog(low, high)", log=True))

    @property
    def unit(self) -> float:
        """Units of log raw (natural) per model unit: one model unit multiplies the raw value by exp(unit)."""
        return math.log(self.high) - math.log(self.low)

    @overload
    def to_model(self, raw: float) -> float: ...
    @overload
    def to_model(self, raw: Array) -> Array: ...
    def to_model(self, raw: float | Array) -> Any:
        """raw: positive number or array of any shape, as measured; returns the same shape in model units."""
        measured = np.asarray(raw, dtype=float)
        if np.any(measured <= 0.0):
            raise ValueError(f"raw must be positive on a log scale, got {raw!r}; write one above zero")
        return _same((np.log(measured) - math.log(self.low)) / self.unit)

    @overload
    def to_raw(self, model: float) -> float: ...
    @overload
    def to_raw(self, model: Array) -> Array: ...
    def to_raw(self, model: float | Array) -> Any:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return _same(np.exp(math.log(self.low) + self.unit * np.asarray(model, dtype=float)))


@dataclass(frozen=True, slots=True)
class Descending:
    """The scale of something to minimise: h = 1 - the rising scale's, 1 at `low`, 0 at `high`.

    The one place where a direction turns: above it all is the user's own numbers, below it higher is better.
    """

    rising: Affine | AffineLog

    @property
    def low(self) -> float:
        """The best raw value of the range."""
        return self.rising.low

    @property
    def high(self) -> float:
        """The worst raw value of the range."""
        return self.rising.high

    @property
    def unit(self) -> float:
        """Raw units per model unit, positive."""
        return self.rising.unit

    @overload
    def to_model(self, raw: float) -> float: ...
    @overload
    def to_model(self, raw: Array) -> Array: ...
    def to_model(self, raw: float | Array) -> Any:
        """raw: number or array of any shape, as measured; returns the same shape in model units."""
        return 1.0 - self.rising.to_model(raw)

    @overload
    def to_raw(self, model: float) -> float: ...
    @overload
    def to_raw(self, model: Array) -> Array: ...
    def to_raw(self, model: float | Array) -> Any:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return self.rising.to_raw(1.0 - np.asarray(model, dtype=float))


Scale = Affine | AffineLog | Descending
"""How a measured number and the model's are translated into each other."""


def is_log(scale: Scale) -> bool:
    """Whether raw values must be positive: a scale of their logarithms, in either direction."""
    return isinstance(scale.rising if isinstance(scale, Descending) else scale, AffineLog)


def stated_ends(scale: Scale, known: bool) -> tuple[float, float] | None:
    """Lowest and highest raw value, if they were stated.

    None on a log scale: there a difference of 0.01 is one percent, whatever the values.
    """
    return (scale.low, scale.high) if known and not is_log(scale) else None


def between(scale: Scale, low: float, high: float) -> Scale:
    """The same kind of scale with 0 and 1 where this one has `low` and `high`."""
    if isinstance(scale, Descending):
        return Descending(type(scale.rising)(float(scale.to_raw(high)), float(scale.to_raw(low))))
    return type(scale)(float(scale.to_raw(low)), float(scale.to_raw(high)))


def affine(range: Sequence[float] | Array, *, name: str) -> Affine:
    """The affine scale of a user's (low, high); errors call the argument `name`, e.g. "score_range"."""
    return Affine(*_checked(range, name, log=False))


def _checked(range: object, name: str, *, log: bool) -> tuple[float, float]:
    low, high = _pair(range, name)
    got = f"got ({low:g}, {high:g})"
    if not (math.isfinite(low) and math.isfinite(high) and math.isfinite(high - low)):
        raise ValueError(f"{name} must be finite, {got}; write two finite numbers, e.g. (0.5, 1.0)")
    if low == high:
        raise ValueError(f"{name} is empty, {got}; write a low that is below the high, e.g. (0.5, 1.0)")
    if low > high:
        raise ValueError(f"{name} is reversed, {got}; write ({high:g}, {low:g})")
    if log and low <= 0.0:
        raise ValueError(f"{name} must be positive on a log scale, {got}; write e.g. (0.1, 10.0)")
    if log and math.log(low) == math.log(high):
        raise ValueError(f"{name} is too narrow for a log scale, {got}; write e.g. (0.1, 10.0)")
    return low, high


def _pair(range: object, name: str) -> tuple[float, float]:
    ends = tuple(range) if isinstance(range, Sequence | np.ndarray) and np.ndim(range) == 1 else ()
    try:
        low, high = (as_float(end, name) for end in ends)
    except ValueError as wrong:
        if len(ends) == 2:
            raise ValueError(f"{wrong}; write two numbers, e.g. (0.5, 1.0)") from None
    except TypeError:
        pass
    else:
        return low, high
    raise TypeError(f"{name} must be two numbers, got {range!r}; write (low, high), e.g. (0.5, 1.0)")


def _store(scale: Affine | AffineLog, ends: tuple[float, float]) -> None:
    object.__setattr__(scale, "low", ends[0])
    object.__setattr__(scale, "high", ends[1])


def _same(values: Any) -> Any:
    """A plain float for a number, the array itself for an array."""
    return float(values) if np.ndim(values) == 0 else values
