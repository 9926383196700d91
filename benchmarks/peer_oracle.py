"""What limits autobct: give it the truth for one part of its decisions and see what that is worth.

| given | how it plays |
|---|---|
| first | its first run is the best trade-off among its own candidates; the rest is its own |
| stop | it goes on to the cap, and the best moment to stop is chosen in hindsight |
| both | its first run and the moment to stop: what is left is lost by its belief |
| belief | after its own first run it knows the surface: one more run at the best candidate, or none |
| candidates | the best trade-off among its first candidates is its only run; later ones may be better |

Between `first` and `candidates` lies what it loses by going on when all is found; between `stop` and `belief` what it
loses by not knowing where to go on.  A moment chosen in hindsight flatters as well: nobody could have known it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cube import Array
from tasks import CAP, Bench, Question, Task, outcome_of, seed_on, tuner_for

import autobct

Played = Callable[[Task, float, int], float]
"""(task, level, seed) -> captured."""


def first(task: Task, level: float, seed: int) -> float:
    """Captured when the first run is given."""
    return _played(task, level, seed, given=True, hindsight=False)


def stop(task: Task, level: float, seed: int) -> float:
    """Captured when the moment to stop is given."""
    return _played(task, level, seed, given=False, hindsight=True)


def both(task: Task, level: float, seed: int) -> float:
    """Captured when the first run and the moment to stop are given."""
    return _played(task, level, seed, given=True, hindsight=True)


def belief(task: Task, level: float, seed: int) -> float:
    """Captured when everything is known after its own first run."""
    mind, bench = _begun(task, level, seed)
    decision = mind.ask()
    assert isinstance(decision, autobct.Train)
    bench(decision.params)
    made, scores, costs = bench.trials[0], *_truth(task, mind)
    price = task.price(level)
    utility = max(made.true, float(np.max(scores - price * costs))) - price * made.cost
    return task.yardstick.captured(utility, level)


def candidates(task: Task, level: float, seed: int) -> float:
    """Captured by the best of its candidates alone."""
    scores, costs = _truth(task, _begun(task, level, seed)[0])
    return task.yardstick.captured(float(np.max(scores - task.price(level) * costs)), level)


ORACLES: dict[str, Played] = {
    "first": first,
    "stop": stop,
    "both": both,
    "belief": belief,
    "candidates": candidates,
}


def _begun(task: Task, level: float, seed: int) -> tuple[autobct.Tuner, Bench]:
    question = Question(task.space, task.price(level), task.score_range, seed_on(task, seed), CAP)
    return tuner_for(question), Bench(task, seed, CAP)


def _played(task: Task, level: float, seed: int, *, given: bool, hindsight: bool) -> float:
    mind, bench = _begun(task, level, seed)
    worth: list[float] = []
    if given:
        scores, costs = _truth(task, mind)
        best = int(np.argmax(scores - task.price(level) * costs))
        mind.adopt(_train(mind, best))
        _run(mind, bench, mind.under_way[0], worth, level)
    while len(bench.trials) < CAP and (train := _next(mind, on=hindsight)) is not None:
        _run(mind, bench, train, worth, level)
    return max(worth) if hindsight else worth[-1]


def _next(mind: autobct.Tuner, *, on: bool) -> autobct.Train | None:
    """Its next run; where it would stop and must go on, the best alternative to stopping."""
    decision = mind.ask()
    if isinstance(decision, autobct.Train):
        return decision
    if on and decision.best_alternative is not None:
        mind.adopt(decision.best_alternative)
        return decision.best_alternative
    return None


def _run(mind: autobct.Tuner, bench: Bench, train: autobct.Train, worth: list[float], level: float) -> None:
    score, cost = bench(train.params)
    mind.tell(train, score=score, cost=cost)
    assert mind.best is not None
    worth.append(outcome_of(bench.task, level, bench.trials, mind.best.trial).captured)


def _train(mind: autobct.Tuner, candidate: int) -> autobct.Train:
    control = mind.problem.controls[candidate]
    nothing: dict[str, Any] = dict.fromkeys(
        ("expected_gain", "expected_cost", "price_of_run", "expected_score", "value"), 0.0
    )
    return autobct.Train(0, mind.problem.space.params(control), control, stop_value=None, **nothing)


def _truth(task: Task, mind: autobct.Tuner) -> tuple[Array, Array]:
    """True scores and costs of its candidates."""
    points = np.stack([task.point(mind.problem.space.params(control)) for control in mind.problem.controls])
    return task.true(task.nearest(points))
