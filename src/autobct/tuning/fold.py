"""The belief as a pure function of problem and history: what a run teaches, and all runs one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.ensemble import MOST, compressed
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.kalman import update
from autobct.belief.prior import Learning
from autobct.tuning.history import Run
from autobct.tuning.problem import Problem
from autobct.tuning.ranges import DIVERGED, HOPELESS, shown

_FAILURE_NOISE = 0.5  # a failed run is weak evidence of a score at the bottom of the range


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The first finished runs, from which an ensemble learns.  features: (n, J),  scores: (n,).

    noise: standard deviation of what no surface explains, as learned
    """

    features: Array
    scores: Array
    noise: float


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is known after some runs.

    problem:  with the ranges that the runs have shown;  belief: in its model units
    scores:   of the last finished run at each control, in model units, as they were learned
    evidence: where the scale of the score is learned too
    """

    problem: Problem
    belief: Belief
    scores: Mapping[bytes, float] = field(default_factory=dict)
    evidence: Evidence | None = None


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
    """What is known after one more run on the same scales; a failure is weak evidence of a score of zero.

    Where the scale is learned a failure says nothing of scores; `failing` knows where runs fail.
    """
    problem, model = known.problem, known.problem.prior.model
    score, cost = score_learned(known, run), problem.cost_observed(run.cost)
    evidence = None
    if problem.prior.ensemble is None:
        belief = model.observe(known.belief, run.control, score=score, cost=cost)
        if score is None:
            weak = update(belief.score, model.score_basis(run.control), _FAILURE_NOISE, 0.0)
            belief = replace(belief, score=weak)
    else:
        of_score, of_cost, evidence = known.belief.score, known.belief.cost, known.evidence
        if score is not None or _dearer(known, run):
            of_cost = model.observe(known.belief, run.control, score=None, cost=cost).cost
        if score is not None:
            of_score, evidence = _weighed(known, problem.prior.ensemble, model.score_basis(run.control), score)
        belief = Belief(of_score, of_cost)
    if score is None:
        return replace(known, belief=belief)
    place = run.control.tobytes()
    others = {control: value for control, value in known.scores.items() if control != place}
    return Learned(problem, belief, {**others, place: problem.score_observed(_score(run))}, evidence)


def _dearer(known: Learned, run: Run) -> bool:
    """Whether a failed run cost more than believed: most fail at once, which says nothing of those that finish."""
    model, believed = known.problem.prior.model, known.belief.cost.mean
    observed = model.cost_model.to_observation(np.asarray(known.problem.cost_observed(run.cost)))
    return float(observed) > float(model.cost_basis(run.control) @ believed)


def _weighed(known: Learned, ensemble: Learning, features: Array, score: float) -> tuple[Gaussian, Evidence]:
    """The belief of an ensemble after one more run: of all members while runs are few, then of their mixture."""
    seen = known.evidence
    rows = features[None] if seen is None else np.concatenate([seen.features, features[None]])
    scores = np.array([score]) if seen is None else np.append(seen.scores, score)
    if seen is not None and len(seen.scores) >= MOST:
        return update(known.belief.score, features, seen.noise, float(compressed(scores)[-1])), seen
    mixture = ensemble.posterior(rows, compressed(scores))
    return mixture.gaussian(), Evidence(rows, scores, mixture.noise)


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
