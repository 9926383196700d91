"""Axes: from values to pixels, and ticks at round values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.space.parameter import Categorical, Float, Int
from autobct.tuning.visible import one_line

__all__ = ["Axis", "axis_over", "choices_axis", "number", "parameter_axis"]

_LEAST = 1e-100  # no cost that anybody has paid is smaller, and one over it is still a number
_LONGEST = 16  # letters of a choice beside an axis; the table has all of them
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of values along some pixels.

    low, high:   values at the ends;  log: told apart by ratio
    ticks:       (value, label) in the range
    start, end:  pixels of the ends
    """

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False
    start: float = 0.0
    end: float = 1.0

    def over(self, start: float, end: float) -> Axis:
        """The same axis along other pixels."""
        return replace(self, start=start, end=end)

    def at(self, values: Array | float) -> Array:
        """Pixels of values of any shape."""
        told = np.asarray(values, dtype=float)
        if self.log:
            share = np.log(np.maximum(told, 1e-300) / self.low) / math.log(self.high / self.low)
        else:
            share = (told - self.low) / (self.high - self.low)
        return np.asarray(self.start + (self.end - self.start) * np.clip(share, -9.0, 10.0))


def axis_over(title: str, values: Array, *, log: bool = False, count: int = 5, room: float = 0.06) -> Axis:
    """An axis that holds all finite values with some room, ticked at round numbers."""
    told = np.asarray(values, dtype=float).ravel()
    told = told[np.isfinite(told) & ((told > 0.0) | (not log))]
    low, high = (float(told.min()), float(told.max())) if told.size else (0.0, 1.0)
    if log:
        low, high = (max(low, _LEAST), min(high, 1 / _LEAST)) if told.size else (0.1, 1.0)
        wide = max((high / low) ** room, 1.05)
        low, high = low / wide, high * wide
        return Axis(title, low, high, _log_ticks(low, high, count), log=True)
    wide = room * (high - low) or 0.1 * abs(high) or 0.5
    low, high = low - wide, high + wide
    return Axis(title, low, high, _labelled(_round_values(low, high, count)))


def parameter_axis(name: str, parameter: Float | Int, count: int = 5) -> Axis:
    """The axis of a coordinate from 0 to 1, ticked at round values of its parameter."""
    low, high = float(parameter.low), float(parameter.high)
    if parameter.log:
        ticks = _log_ticks(low, high, count)
        placed = [(math.log(value / low) / math.log(high / low), label) for value, label in ticks]
    else:
        values = _round_values(low, high, count)
        if isinstance(parameter, Int):
            values = [value for value in values if value == round(value)]
        placed = [((value - low) / (high - low), label) for value, label in _labelled(values)]
    if len(placed) < 2:
        placed = [(0.0, number(low)), (1.0, number(high))]
    return Axis(name, 0.0, 1.0, tuple(placed))


def number(value: object, digits: int = 4) -> str:
    """A number as a person would write it: 0.0001, 12300, 1e-6; other things as text."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return str(value)
    if isinstance(value, int | np.integer):
        return str(value)
    told = float(value)
    if math.isfinite(told) and 1e-4 <= abs(told) < 1e7:
        shown = f"{told:.{max(digits - 1 - math.floor(math.log10(abs(told))), 0)}f}"
        return shown.rstrip("0").rstrip(".") if "." in shown else shown
    mantissa, mark, exponent = f"{told:.{digits}g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def _labelled(values: Sequence[float]) -> tuple[tuple[float, str], ...]:
    return tuple((value, number(value)) for value in values)


def _round_values(low: float, high: float, count: int) -> list[float]:
    """At most about `count` multiples of 1, 2, 2.5 or 5 times a power of ten, between low and high."""
    rough = (high - low) / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * step for step in _STEPS if power * step >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def _log_ticks(low: float, high: float, count: int) -> tuple[tuple[float, str], ...]:
    """Powers of ten, thinned where they are many, with 2 and 5 where they are few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1,), (1, 3), (1, 2, 5)):
        values = [part * 10.0**power for power in powers for part in parts]
        inside = [float(f"{value:.12g}") for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
        if len(inside) >= min(count, 3):
            return _labelled(inside[:: math.ceil(len(inside) / (count + 1))])
    return _labelled([value for value in _round_values(low, high, count) if value > 0])


def choices_axis(name: str, parameter: Categorical) -> Axis:
    """The axis of a category: its choices at 0, 1, 2, ..."""
    ticks = tuple((float(k), one_line(number(choice), _LONGEST)) for k, choice in enumerate(parameter.choices))
    return Axis(name, -0.5, len(ticks) - 0.5, ticks)
