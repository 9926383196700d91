"""Parallel runs: how much of their gain is counted, and the price of waiting for them.

The wait for a tuning ends with its last run.  With r seconds until the runs under way are over, a run of T seconds
adds (T - r)^+ to the wait: nothing if it ends before them, all of it if nothing else is running.  It is charged its
share of the clock at least, T over the number of jobs: a place that it takes is not there for a better run.

| n runs may start now | |
|---|---|
| one is worth that by itself | it starts |
| none is, but k <= n together gain more than the price of the longest | the first of them starts |

The second line is why four runs side by side cost one hour: none may be worth an hour when all four are.
docs/decisions/waiting.md
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.units.scale import ScaledProblem

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner
    from autobct.tuning.units.limits import Left

PriceOf = Literal["compute", "waiting"]
"""What is paid for: all computing, or the wall clock."""

SIDE_BY_SIDE = 0.5
"""Share of what is counted on otherwise that runs side by side are expected to gain.  docs/decisions/pending.md."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a decision depends on besides the runs, where several are made at once.

    covered:  seconds until the runs under way are expected to be over;  free: runs that may start now, at least one
    jobs:     runs at the same time; 1 where that is not known
    price_of: what is paid for
    """

    covered: float = 0.0
    free: int = 1
    jobs: int = 1
    price_of: PriceOf = "waiting"

    @property
    def least(self) -> float:
        """Share of its own time that a run is charged at least."""
        return 1.0 / self.jobs if self.jobs > 1 else 0.0


def with_covered(problem: ScaledProblem, waiting: Waiting) -> ScaledProblem:
    """The same for a run of which some is paid for anyway, where the price is one of waiting."""
    if waiting.covered <= 0.0 or waiting.price_of == "compute":
        return problem
    covered = waiting.covered / problem.cost_scale.unit
    return replace(problem, terms=replace(problem.terms, covered=covered, least=waiting.least))


def waiting_for(pending: Collection[tuple[float, Train]], now: float, jobs: int, price_of: PriceOf) -> Waiting | None:
    """What is running now, with several jobs; None with one.

    pending: runs and the moments they started; one that is overdue may end at any moment
    """
    if jobs == 1:
        return None
    ends = [started + train.expected_cost - now for started, train in pending]
    return Waiting(max([0.0, *ends]), max(jobs - len(pending), 1), jobs, price_of)


def waits_of(history: Sequence[Run], jobs: int) -> tuple[float, ...]:
    """Seconds until each run of a history has ended, if each begins as soon as one of so many places is free."""
    places, ends = [0.0] * jobs, dict[int, float]()
    for run in sorted(history, key=lambda run: run.trial):
        ends[run.trial] = places[0] + run.cost
        heapq.heapreplace(places, ends[run.trial])
    return tuple(ends[run.trial] for run in history)


def first_of_several(tuner: Tuner, stop: Stop, left: Left | None, waiting: Waiting) -> Decision:
    """The first of a few runs that are worth their wait together, where no run is by itself; otherwise the stop."""
    first = stop.best_alternative
    if stop.reason != "not worth it" or first is None or waiting.free < 2:
        return stop
    other, run, covered = tuner.twin(), first, waiting.covered
    net = run.expected_gain - run.price_of_run
    for _ in range(waiting.free - 1):
        other.adopt(run)
        covered = max(covered, run.expected_cost)
        decision = other.peek(left, Waiting(covered, 1, waiting.jobs))
        following = decision if isinstance(decision, Train) else decision.best_alternative
        if following is None or (isinstance(decision, Stop) and decision.reason != "not worth it"):
            return stop
        run, net = following, net + following.expected_gain - following.price_of_run
        if net > 0.0:
            return first
    return stop
