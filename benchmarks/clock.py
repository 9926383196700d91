"""Runs side by side on a clock that is simulated: the decisions of `tune(n_jobs=...)`, and no time passes.

RULES has what is used, and what it was compared with (docs/decisions/pending.md, docs/decisions/waiting.md).
"""

from __future__ import annotations

import contextlib
import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

import autobct
from autobct.tuning.decide import position
from autobct.tuning.decide.under_way import PriceOf, waiting_for
from autobct.tuning.jobs import places


@dataclass(frozen=True, slots=True)
class Rule:
    """How runs side by side are decided on.

    price_of: as in `tune`;  shared: the price is divided by the number of jobs
    at_once:  all jobs start together, whatever is known of costs
    counted:  share of an expected gain that is counted on with several jobs; None for the one that is used
    asked:    the tuner knows of runs under way only, as where a host asks for trials
    """

    price_of: PriceOf = "compute"
    shared: bool = False
    at_once: bool = False
    counted: float | None = None
    asked: bool = False

    def used(self) -> contextlib.AbstractContextManager[object]:
        """While the rule is that of the tuner."""
        if self.counted is None:
            return contextlib.nullcontext()
        return mock.patch.object(position, "SIDE_BY_SIDE", self.counted)


RULES = {
    "compute": Rule(),
    "waiting": Rule(price_of="waiting"),
    "share": Rule(shared=True),
    "at-once": Rule(at_once=True),
    "asked": Rule(asked=True),
    **{f"counted-{share}": Rule(counted=share) for share in (1.0, 0.67, 0.5, 0.33, 0.25)},
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
            while len(running) < (jobs if rule.at_once else places(tuner, jobs)):
                others = [(began, run) for _, _, began, run, _, _ in running]
                waiting = waiting_for(others, now, jobs, rule.price_of)
                decision = tuner.peek(None, None if rule.asked else waiting)
                if not isinstance(decision, autobct.Train):
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
