"""Runs side by side on a clock that is simulated: the decisions of `tune(n_jobs=...)`, and no time passes.

RULES has what is used, and what it was compared with (docs/decisions/pending.md, docs/decisions/waiting.md).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import autobct
from autobct.tuning.decide import position, under_way
from autobct.tuning.decide.under_way import PriceOf, waiting_for
from autobct.tuning.jobs import places


@dataclass(frozen=True, slots=True)
class Rule:
    """How decisions count on the runs under way.

    price_of: as in `tune`;  shared: the price is divided by the number of jobs
    at_once:  all jobs start together, whatever is known of costs
    quantile: of what a run is worth over possible outcomes of those under way; None for the one that is used
    believer: runs under way come out as predicted, instead
    times:    a run beside others has to gain so many times its price;  every: any run has to
    clock:    what a run adds to the wait is charged so many times as well
    """

    price_of: PriceOf = "compute"
    shared: bool = False
    at_once: bool = False
    quantile: float | None = None
    believer: bool = False
    times: float = 1.0
    every: float = 1.0
    clock: float = 0.0

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While the rule is that of the tuner."""
        with contextlib.ExitStack() as changes:
            if self.quantile is not None:
                changes.enter_context(mock.patch.object(under_way, "DOUBTED", self.quantile))
            if self.believer:
                changes.enter_context(mock.patch.object(position, "fantasies_of", return_value=()))
            yield

    def is_enough(self, run: autobct.Train, others: Sequence[tuple[float, autobct.Train]], now: float) -> bool:
        """Whether a run is worth starting beside others, each with the moment it began."""
        if run.stop_value is None:
            return True
        covered = max((began + other.expected_cost - now for began, other in others), default=0.0)
        added = max(0.0, 1.0 - covered / run.expected_cost)
        needed = (self.times if others else 1.0) * (self.every + self.clock * added)
        return needed == 1.0 or run.expected_gain >= needed * run.price_of_run


RULES = {
    "compute": Rule(),
    "waiting": Rule(price_of="waiting"),
    "share": Rule(shared=True),
    "at-once": Rule(at_once=True),
    "median": Rule(quantile=0.5),
    "worst": Rule(quantile=0.0),
    "believer": Rule(believer=True),
    "believer-twice": Rule(believer=True, times=2.0),
    "believer-all-1.5": Rule(believer=True, every=1.5),
    "believer-all-2": Rule(believer=True, every=2.0),
    "believer-clock-1": Rule(believer=True, clock=1.0),
    "believer-clock-2": Rule(believer=True, clock=2.0),
    "all-2": Rule(every=2.0),
    "waiting-believer": Rule(price_of="waiting", believer=True),
}


def on_a_clock(
    tuner: autobct.Tuner,
    train: Callable[[Mapping[str, Any]], tuple[float, float]],
    jobs: int,
    rule: Rule = RULES["compute"],
) -> float:
    """Tune with so many jobs; when the last run ended, in units of cost.

    A run starts when the tuner decides so and ends after its cost; runs are told in the order in which they end.
    """
    running: list[tuple[float, int, float, autobct.Train, float, float]] = []
    now = 0.0
    with rule.used():
        while True:
            while len(running) < (jobs if rule.at_once else places(tuner, jobs, rule.price_of)):
                others = [(began, run) for _, _, began, run, _, _ in running]
                waiting = waiting_for(others, now, jobs, rule.price_of)
                decision = tuner.peek(None, waiting)
                if not isinstance(decision, autobct.Train) or not rule.is_enough(decision, others, now):
                    break
                tuner.adopt(decision)
                score, cost = train(decision.params)
                heapq.heappush(running, (now + cost, decision.trial, now, decision, score, cost))
            if not running:
                return now
            now, _, _, decision, score, cost = heapq.heappop(running)
            tuner.tell(decision, score=score, cost=cost)


def known_before(costs: Iterable[float], jobs: int) -> float:
    """When the last of these runs ends if each starts as soon as one of so many places is free."""
    free = [0.0] * jobs
    for cost in costs:
        heapq.heapreplace(free, free[0] + cost)
    return max(free)
