"""Scores and costs that no training can have: a slip of the program, e.g. an overflow or nanoseconds for seconds.

One score of 1e15 among scores between 0 and 1 would be the best for ever, and the range that has room for it would make
all others look alike.  Such a run counts as failed; what it cost is still paid.  A score that is far *worse* than the
others is no slip: trainings diverge, see `DIVERGED` in `ranges`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.history import Run
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.scale import is_log

FARFETCHED = 1e6
"""So many times beyond all that is known of scores.  A range that is wrong by a thousand stays well below."""

FAR_COST = 1e9
"""The same for costs: a run that is read from a cache takes a microsecond, and the next one an hour."""

_FEW = 2  # finished runs that tell where scores and costs are
_NO_RANGE = 1e12  # stated ranges are held to be wrong by less than so many times their width
_LATEST = 64  # runs that a number is held against


def as_it_counts(problem: ScaledProblem, history: Sequence[Run], run: Run) -> Run:
    """The run as it counts: failed if its score or its cost is farfetched."""
    if run.score is None:
        return run
    what = _score(problem, history, run.score) or _cost(problem, history, run.cost)
    return replace(run, score=None, error=what) if what else run


def plausible_costs(history: Sequence[Run]) -> Array:
    """The costs of runs (n,), some of which finished; a farfetched one counts as the largest that is not."""
    costs = np.array([run.cost for run in history])
    largest = max(run.cost for run in history if run.score is not None)
    return np.where(costs > FAR_COST * max(largest, 1e-300), largest, costs)


def _score(problem: ScaledProblem, history: Sequence[Run], score: float) -> str:
    stated, scale = problem.stated, problem.stated.score_scale
    if is_log(scale) or abs(score) < FARFETCHED * (scale.unit if stated.score_known else 1.0):
        return ""  # nearly always, and at once
    seen = [run.score for run in history[-_LATEST:] if run.score is not None]
    width = max((abs(other) for other in seen), default=0.0)
    known = len(seen) >= _FEW and width > 0.0
    if stated.score_known:
        best, width = (scale.low if problem.direction == "minimize" else scale.high), max(width, scale.unit)
    elif not known:
        return ""
    else:
        best, width = seen[0], max(width, 1.0)
    better = (best - score) if problem.direction == "minimize" else (score - best)
    return _sentence("score", score) if better > (FARFETCHED if known else _NO_RANGE) * width else ""


def _cost(problem: ScaledProblem, history: Sequence[Run], cost: float) -> str:
    stated = problem.stated.cost_range
    if stated is not None:
        known = stated[1] if isinstance(stated, tuple) else stated.high
        if cost <= FAR_COST * known:
            return ""
    seen = [run.cost for run in history[-_LATEST:] if run.score is not None]
    largest = max(seen, default=0.0)
    enough = stated is not None or (len(seen) >= _FEW and largest > 0.0)
    return _sentence("cost", cost) if enough and cost > FAR_COST * largest and math.isfinite(cost) else ""


def _sentence(what: str, value: float) -> str:
    times = "a million" if what == "score" else "a billion"
    return f"its {what} of {value:.4g} is more than {times} times beyond all others, so the run was not used"
