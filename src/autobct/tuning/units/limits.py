"""Hard limits: what is left of a budget or until a deadline, and which runs still fit into it.

A run is started only if it is likely to fit.  Before the first model, more likely than not is enough; later nineteen
times in twenty, see docs/decisions/limits.md.  A lookahead sees only such runs; where no other would fit after a run,
all at their median cost, that run is valued as the last one, V_1.
"""

from __future__ import annotations

import datetime
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from autobct.belief.arrays import Array, as_float, finite_number, whole_number
from autobct.belief.model import observed_sd
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.price import seconds_of
from autobct.value.state import State, variance

Mask = NDArray[np.bool_]
"""Yes or no for each candidate, (G,)."""

FIRST_OVER, LATER_OVER = 0.5, 0.05
"""A run that exceeds what is left with a higher probability is not started: the first to finish, and later ones."""

_DEADLINE = "write seconds, a time as '30 min' or '2h', or a datetime"
_TIME = re.compile(r"\s*(?P<number>\d+\.?\d*|\.\d+)\s*(?P<unit>[a-z]+)\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Left:
    """The most that the next run may cost, in units of raw cost, and what to call it: "max_cost" or "deadline"."""

    amount: float
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount", as_float(self.amount, "Left: amount"))


Moment = float | str | datetime.datetime | datetime.timedelta
"""Seconds from now, a time from now as "30 min" or "2h", or the moment itself."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of a tuning, independent of the price.

    max_runs: make at most this many runs
    max_cost: start no run that is likely to bring the total cost above this
    deadline: start no run that is likely to end later; only for `tune`, which has a clock
    """

    max_runs: int | None = None
    max_cost: float | None = None
    deadline: Moment | None = None

    def __post_init__(self) -> None:
        runs, cost = self.max_runs, self.max_cost
        object.__setattr__(self, "max_runs", None if runs is None else whole_number(runs, "max_runs", example=20))
        object.__setattr__(self, "max_cost", None if cost is None else positive_number(cost, "max_cost", example=3600))
        if self.deadline is not None:
            _seconds(self.deadline)  # checked here; it counts from when a clock is started


def positive_number(value: object, name: str, *, example: float) -> float:
    """`value` as a finite float above zero, or one sentence that names the argument and shows one to write."""
    try:
        number = finite_number(value, name)
    except (TypeError, ValueError) as wrong:
        raise type(wrong)(f"{wrong}; write e.g. {example:g}") from None
    if number <= 0.0:
        raise ValueError(f"{name} must be above zero, got {value!r}; write e.g. {example:g}")
    return number


def tightest(*limits: Left | None) -> Left | None:
    """The smallest of several."""
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.amount, default=None)


def chance_over(state: State, problem: ScaledProblem, amount: float) -> Array:
    """Probability at each candidate that a run costs more than `amount`, noise included.  (G,)."""
    if amount <= 0.0 or amount == math.inf:
        return np.full(state.size, float(amount <= 0.0))
    sd = observed_sd(variance(state.cost), state.cost_noise)
    limit = problem.terms.cost_model.to_observation(np.asarray(problem.cost_observed(amount)))
    return np.asarray(ndtr((state.cost.mean - float(limit)) / sd))


def costs_at(state: State, problem: ScaledProblem, over: float) -> Array:
    """The cost that a run at each candidate exceeds with probability `over`, in raw units.  (G,)."""
    sd = observed_sd(variance(state.cost), state.cost_noise)
    seen = state.cost.mean - ndtri(over) * sd
    return np.maximum(problem.cost_scale.to_raw(problem.terms.cost_model.from_observation(seen)), 0.0)


def fits(state: State, problem: ScaledProblem, amount: float, over: float) -> Mask:
    """Which candidates exceed `amount` with a probability of at most `over`.  (G,)."""
    return np.asarray(chance_over(state, problem, amount) <= over)


def is_last(state: State, problem: ScaledProblem, amount: float, allowed: Mask) -> Mask:
    """After a run at which candidates nothing fits any more, all at their median cost: by then more is known.  (G,).

    allowed: those that fit now
    """
    costs = costs_at(state, problem, 0.5)
    return np.asarray(amount - costs < costs[allowed].min(initial=math.inf))


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a clock.  clock: seconds, as time.monotonic;  at: on that clock."""

    at: float
    clock: Callable[[], float]

    @staticmethod
    def of(told: Moment, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """told: seconds from now, a time from now as "30 min" or "2h", or the moment itself."""
        return Deadline(clock() + _seconds(told), clock)

    def left(self) -> float:
        """Seconds until then; negative when it has passed."""
        return self.at - self.clock()

    def allows(self, cost: float, wall: float, *, timed: bool) -> Left | None:
        """What the next run may cost until then; None where nothing is known of its pace.

        timed: the cost is time;  otherwise it is taken to go on at the pace of runs that cost `cost` in `wall` seconds
        """
        seconds = self.left()
        if timed or seconds <= 0.0:
            return Left(seconds, "deadline")
        return Left(seconds * cost / wall, "deadline") if cost > 0.0 and wall > 0.0 else None


def _seconds(told: object) -> float:
    if isinstance(told, datetime.datetime):
        return _positive((told - datetime.datetime.now(told.tzinfo)).total_seconds(), told)
    if isinstance(told, datetime.timedelta):
        return _positive(told.total_seconds(), told)
    if isinstance(told, str):
        return _seconds_in(told)
    try:
        return _positive(as_float(told, "deadline"), told)
    except TypeError:
        raise TypeError(f"deadline must be a time, got {told!r}; {_DEADLINE}") from None


def _seconds_in(text: str) -> float:
    found = _TIME.fullmatch(text)
    unit = None if found is None else seconds_of(found["unit"])
    if found is None or unit is None:
        raise ValueError(f"deadline must be a time, got {text!r}; {_DEADLINE}")
    return _positive(float(found["number"]) * unit, text)


def _positive(seconds: float, told: object) -> float:
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"deadline must be later than now, got {told!s}; {_DEADLINE}")
    return seconds
