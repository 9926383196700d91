"""Measured score and cost <-> model units  (h-hat, t-hat <-> h, t; the paper's appendix D), and a problem in these.

| user's | model's |
|---|---|
| score_range (low, high) | score 0 at low, 1 at high |
| cost_range (low, high) | cost 1 at high; the log-linear model has 0 at 0, and the range centres its prior |
| | the linear model has 0 at low, and what low costs is a fixed price of every run |
| price, score per raw cost | gamma = price x raw cost per model cost / raw score per model score |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np

from autobct.belief.arrays import Array, as_float
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.prior import Prior
from autobct.tuning.space.hints import NOTHING, Hints
from autobct.tuning.space.space import Space
from autobct.tuning.units.price import Price
from autobct.value.state import Terms

__all__ = ["Affine", "AffineLog", "Descending", "Scale", "affine"]

Direction = Literal["maximize", "minimize"]

Numbers = TypeVar("Numbers", float, Array)
"""One number, or an array of any shape."""


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

    def to_model(self, raw: Numbers) -> Numbers:
        """raw: number or array of any shape, as measured; returns the same shape in model units."""
        return _like(raw, (np.asarray(raw, dtype=float) - self.low) / self.unit)

    def to_raw(self, model: Numbers) -> Numbers:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return _like(model, self.low + self.unit * np.asarray(model, dtype=float))


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

    def to_model(self, raw: Numbers) -> Numbers:
        """raw: positive number or array of any shape, as measured; returns the same shape in model units."""
        measured = np.asarray(raw, dtype=float)
        if np.any(measured <= 0.0):
            raise ValueError(f"raw must be positive on a log scale, got {raw!r}; write one above zero")
        return _like(raw, (np.log(measured) - math.log(self.low)) / self.unit)

    def to_raw(self, model: Numbers) -> Numbers:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return _like(model, np.exp(math.log(self.low) + self.unit * np.asarray(model, dtype=float)))


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

    def to_model(self, raw: Numbers) -> Numbers:
        """raw: number or array of any shape, as measured; returns the same shape in model units."""
        return 1.0 - self.rising.to_model(raw)

    def to_raw(self, model: Numbers) -> Numbers:
        """model: number or array of any shape, in model units; returns the same shape in raw units."""
        return _like(model, self.rising.to_raw(np.asarray(1.0 - np.asarray(model, dtype=float))))


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


def _like(given: Numbers, values: Any) -> Numbers:
    """A plain float for a number, the array itself for an array."""
    found: Any = float(values) if np.ndim(values) == 0 else values
    same: Numbers = found
    return same


_FARTHEST = 1e6  # in units of the score range: rounding errors of larger scores would exceed the price of a run
_CHEAPEST = 1e-4  # in units of the cost range: below it a cost is too small to tell apart or to matter


@dataclass(frozen=True, slots=True)
class Stated:
    """What was said of units, as it was said: where a run leaves a range, the problem is put again with a wider one.

    score_scale:  of the stated range, or of (0, 1);  score_known: False if nothing was said of scores
    cost_range:   None if nothing was said of costs
    cost_guess:   without a cost_range: the cost of a typical run per unit of score, from the price
    fixed:        units are the user's own (a prior, or a scale instead of a range) and stay as they are, (score, cost)
    overhead:     of every run, in units of the score range
    hints:        what was said to shape the default belief
    learning:     the default belief is one that learns its scale
    spreads:      candidates are an even spread, and others may be added around the best models
    noise:        standard deviation of one score, in the user's units; None if it is to be learned
    asks_others:  other surrogates are asked as well;  alone: the user wants the ensemble alone
    scores:       lowest and highest score, which say what a point is; None if nothing was said of them
    """

    score_scale: Scale
    score_known: bool
    cost_range: tuple[float, float] | Affine | AffineLog | None
    cost_guess: float
    prior: Prior | None
    fixed: tuple[bool, bool]
    recall: bool
    overhead: float
    hints: Hints = NOTHING
    learning: bool = False
    spreads: bool = False
    noise: float | None = None
    asks_others: bool = False
    alone: bool = False
    scores: tuple[float, float] | None = None


FRACTIONS, PERCENTAGES = (0.0, 1.0), (0.0, 100.0)
"""Ranges that scores have by their nature: nobody needs to state them.  docs/decisions/ranges.md."""

Ranges = tuple[Scale, tuple[float, float] | Affine | AffineLog | None, float | None]
"""Scale of scores, range of costs, and without the latter the cost of a typical run if it is not the guess."""


@dataclass(frozen=True, slots=True)
class ScaledProblem:
    """A problem in model units: everything that stays the same during a tuning, while runs keep to their ranges.

    controls: (G, p) the candidates
    per_cost: what one unit of raw cost is worth, in model units of score
    ranges:   those that were stated or that runs have shown: all that tells this problem from the stated one
    deciding: cost of the time that a decision takes, as measured so far; zero where it is not part of the cost
    """

    space: Space
    price: Price
    score_scale: Scale
    cost_scale: Affine | AffineLog
    prior: Prior
    terms: Terms
    controls: Array
    stated: Stated
    ranges: Ranges
    per_cost: float
    deciding: float = 0.0

    @property
    def direction(self) -> Direction:
        """Whether higher scores are better or lower ones."""
        return "minimize" if isinstance(self.score_scale, Descending) else "maximize"

    @property
    def score_ends(self) -> tuple[float, float] | None:
        """Lowest and highest score: as stated, or as fractions and percentages have it; None of other scores."""
        low, high, said = self.score_scale.low, self.score_scale.high, self.stated.scores
        falling = self.direction == "minimize"
        if high == PERCENTAGES[1] and low <= PERCENTAGES[0] and not falling and (said is None or said[1] < high):
            return PERCENTAGES
        unwidened = low == FRACTIONS[0] if falling else high == FRACTIONS[1]
        return said or (FRACTIONS if unwidened and low <= FRACTIONS[0] and FRACTIONS[1] <= high else None)

    def score_observed(self, raw_score: float) -> float:
        """Raw score in model units; a diverged one, a million ranges away, counts as just that far."""
        if is_log(self.score_scale) and raw_score <= 0:
            raise ValueError(f"score must be positive on the log scale of score_range, got {raw_score!r}")
        with np.errstate(over="ignore"):
            score = float(self.score_scale.to_model(raw_score))
        return min(max(score, -_FARTHEST), _FARTHEST)

    def cost_observed(self, raw_cost: float) -> float:
        """Raw cost in model units; never quite zero under the log-linear model or on a log scale."""
        if isinstance(self.cost_scale, AffineLog):
            raw_cost = max(raw_cost, _CHEAPEST * self.cost_scale.low)
        cost = float(self.cost_scale.to_model(raw_cost))
        return max(cost, _CHEAPEST) if self.terms.cost_model is LOG_LINEAR else cost

    def raw_gain(self, gain: float) -> float:
        """A difference of scores in the user's units (of log score on a log scale); positive if it is better."""
        return gain * self.score_scale.unit

    def raw_net(self, raw_score: float, raw_cost: float) -> float:
        """Score less the price of a cost, in the user's units of score: eq. (2), without overheads."""
        worth = self.price.per_cost * raw_cost / self.score_scale.unit
        return float(self.score_scale.to_raw(float(self.score_scale.to_model(raw_score)) - worth))
