"""Runs side by side on a clock that is simulated: the decisions of `tune(n_jobs=...)`, and no time passes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import autobct
from autobct.tuning.decide.waiting import waiting_for
from autobct.tuning.jobs import places


def on_a_clock(
    tuner: autobct.Tuner,
    train: Callable[[Mapping[str, Any]], tuple[float, float]],
    jobs: int,
    price_of: str = "compute",
) -> float:
    """Tune with so many jobs; when the last run ended, in units of cost.

    A run starts when the tuner decides so and ends after its cost; runs are told in the order in which they end.
    """
    running: list[tuple[float, int, float, autobct.Train, float, float]] = []
    now, waiting = 0.0, None
    while True:
        while len(running) < places(tuner, jobs, price_of):
            if price_of == "waiting" and jobs > 1:
                waiting = waiting_for([(began, run) for _, _, began, run, _, _ in running], now, jobs)
            decision = tuner.ask(None, waiting)
            if not isinstance(decision, autobct.Train):
                break
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
