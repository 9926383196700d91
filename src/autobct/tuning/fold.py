"""The belief as a pure function of problem and history: what a run teaches, and all runs one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from autobct.belief.gaussian import Belief
from autobct.belief.kalman import update
from autobct.tuning.history import Run
from autobct.tuning.problem import Problem
from autobct.tuning.ranges import DIVERGED, HOPELESS, shown

_FAILURE_NOISE = 0.5  # a failed run is weak evidence of a score at the bottom of the range


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is known after some runs.

    problem:  with the ranges that the runs have shown;  belief: in its model units
    scores:   of the last finished run at each control, in model units, as they were learned
    """

    problem: Problem
    belief: Belief
    scores: Mapping[bytes, float] = field(default_factory=dict)


def learned(problem: Problem, history: Sequence[Run]) -> Learned:
    """What is known after a history, on the scales that the whole of it shows."""
    return _folded(shown(problem, history), history)


def beliefs(problem: Problem, history: Sequence[Run]) -> list[Learned]:
    """The prior and what is known after each run, n + 1 in all, on the scales that the whole history shows."""
    start = Learned(fitting := shown(problem, history), fitting.prior.belief)
    return list(accumulate(history, after, initial=start))


def extended(known: Learned, history: Sequence[Run], run: Run) -> tuple[Learned, Learned]:
    """What was known before one more run, on the scales that it shows, and what is known after it.

    known: what is known after `history`.  The same as folding everything again, to the last bit, and quicker.
    """
    problem = shown(known.problem, [*history, run]) if _may_move(known.problem, run) else known.problem
    before = known if problem is known.problem else _folded(problem, history)
    return before, after(before, run)


def after(known: Learned, run: Run) -> Learned:
    """What is known after one more run on the same scales; a failure is weak evidence of a score of zero."""
    problem, model = known.problem, known.problem.prior.model
    score, cost = score_learned(known, run), problem.cost_observed(run.cost)
    belief = model.observe(known.belief, run.control, score=score, cost=cost)
    if score is None:
        weak = update(belief.score, model.score_basis(run.control), _FAILURE_NOISE, 0.0)
        return replace(known, belief=replace(belief, score=weak))
    place = run.control.tobytes()
    others = {control: value for control, value in known.scores.items() if control != place}
    return Learned(problem, belief, {**others, place: problem.score_observed(_score(run))})


def score_learned(known: Learned, run: Run) -> float | None:
    """The score that is learned from a run, in model units; None if it failed.

    A score far below everything else says no more than "bad": it must not bend the belief everywhere else.
    """
    if run.score is None:
        return None
    score = known.problem.score_observed(run.score)
    if known.scores:
        return max(score, max(known.scores.values()) - DIVERGED)
    return score if score > -HOPELESS else -DIVERGED


def _folded(problem: Problem, history: Iterable[Run]) -> Learned:
    known = Learned(problem, problem.prior.belief)
    for run in history:
        known = after(known, run)
    return known


def _may_move(problem: Problem, run: Run) -> bool:
    """Units that are the user's own, and failed runs, move no range."""
    return run.score is not None and not all(problem.stated.fixed)


def _score(run: Run) -> float:
    assert run.score is not None
    return run.score
