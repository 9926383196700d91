"""Hard limits of a tuning: runs, cost, a deadline, and what is left of them; which runs fit: `decide.feasibility`."""

from __future__ import annotations

import datetime
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from autobct.belief.arrays import as_float, finite_number, whole_number
from autobct.tuning.units.price import seconds_of

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
