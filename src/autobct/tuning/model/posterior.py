"""The posterior as a pure function of problem and history, on scales that adapt to all runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import update
from autobct.belief.prior import Learning
from autobct.belief.surrogate.ensemble import MOST
from autobct.tuning.history import Run
from autobct.tuning.model.estimate import (
    UNKNOWN,
    Evidence,
    Learned,
    Measured,
    Misfit,
    compressed,
    compression_of,
    learned_misfit,
    stated_misfit,
)
from autobct.tuning.units.ranges import DIVERGED, FAR_COST, HOPELESS, TELLING, shown
from autobct.tuning.units.scale import ScaledProblem

_FAILURE_NOISE = 0.5  # a failed run is weak evidence of a score at the bottom of the range
_BEST = 128  # scores that are remembered: the best of them says which have diverged

Weighing = Callable[..., tuple[Gaussian, Evidence]]
"""(known, ensemble, control (p,) of one more run, its score) -> belief about the score, and evidence."""


def learned(problem: ScaledProblem, history: Sequence[Run]) -> Learned:
    """What is known after a history, on the scales that the whole of it shows."""
    return _folded(shown(problem, history), history)


def beliefs(problem: ScaledProblem, history: Sequence[Run]) -> list[Learned]:
    """The prior and what is known after each run, n + 1 in all, on the scales that the whole history shows."""
    start = Learned(fitting := shown(problem, history), fitting.prior.belief)
    return list(accumulate(history, after, initial=start))


def extended(known: Learned, history: Sequence[Run], run: Run) -> tuple[Learned, Learned]:
    """What was known before one more run, on the scales that it shows, and what is known after it.

    known: what is known after `history`.  The same as folding everything again, to the last bit, and quicker.
    """
    problem = shown(known.problem, [*history, run]) if _may_move(known, run) else known.problem
    before = known if problem is known.problem else _folded(problem, history)
    return before, after(before, run)


def after(known: Learned, run: Run) -> Learned:
    """What is known after one more run on the same scales; a failure is weak evidence of a score of zero.

    Where the scale is learned a failure says nothing of scores; `feasibility` knows where runs fail.
    """
    return _after(known, run, _weighed)


def _after(known: Learned, run: Run, weigh: Weighing) -> Learned:
    problem, model = known.problem, known.problem.prior.model
    score, cost = score_learned(known, run), problem.cost_observed(run.cost)
    evidence, late = None, False
    if problem.prior.ensemble is None:
        belief = model.observe(known.belief, run.control, score=score, cost=cost)
        if score is None:
            weak = update(belief.score, model.score_basis(run.control), _FAILURE_NOISE, 0.0)
            belief = replace(belief, score=weak)
    else:
        of_score, of_cost, evidence = known.belief.score, known.belief.cost, known.evidence
        late = score is None and _more_expensive(known, run)
        if score is not None or late:
            of_cost = model.observe(known.belief, run.control, score=None, cost=cost).cost
        if score is not None:
            of_score, evidence = weigh(known, problem.prior.ensemble, run.control, score)
        belief = Belief(of_score, of_cost)
    if score is None:
        return replace(known, belief=belief, failed_late=known.failed_late or late)
    scores = _best({**known.scores, run.control.tobytes(): problem.score_observed(_score(run))})
    measured = _mean_of_runs(known.measured, run.control.tobytes(), score)
    finished = known.finished + 1
    return replace(known, belief=belief, scores=scores, evidence=evidence, finished=finished, measured=measured)


def _best(scores: dict[bytes, float]) -> dict[bytes, float]:
    """All while they are few, then the better half."""
    if len(scores) <= _BEST:
        return scores
    return dict(sorted(scores.items(), key=lambda pair: pair[1])[_BEST // 2 :])


def _mean_of_runs(measured: Measured, at: bytes, score: float) -> Measured:
    """One more run at a control; all while they are few, then the better half."""
    runs, mean = measured.get(at, (0, 0.0))
    found = {**measured, at: (runs + 1, mean + (score - mean) / (runs + 1))}
    if len(found) <= _BEST:
        return found
    return dict(sorted(found.items(), key=lambda pair: pair[1][1])[_BEST // 2 :])


def _more_expensive(known: Learned, run: Run) -> bool:
    """Whether a failed run cost more than expected: most fail at once, which says nothing of those that finish.

    One that cost a billion times as much says nothing either: that is a slip, see `units.ranges`.
    """
    model, believed = known.problem.prior.model, known.belief.cost.mean
    observed = model.cost_model.to_observation(np.asarray(known.problem.cost_observed(run.cost)))
    return 0.0 < float(observed) - float(model.cost_basis(run.control) @ believed) < math.log(FAR_COST)


def _weighed(known: Learned, ensemble: Learning, control: Array, score: float) -> tuple[Gaussian, Evidence]:
    """The belief of an ensemble after one more run: of all members while runs are few, then of their mixture."""
    seen = known.evidence
    if seen is not None and len(seen.scores) >= MOST:
        drawn = float(compressed(np.append(seen.scores, score))[-1])
        features = known.problem.prior.model.score_basis(control)
        return update(known.belief.score, features, seen.misfit.total, drawn), seen
    _, gathered = _gathered(known, ensemble, control, score)
    compression = compression_of(gathered.scores)
    drawn_together = compression(gathered.scores)
    mixture = ensemble.posterior(gathered.features, drawn_together)
    weights = mixture.gaussian()
    residuals = drawn_together - gathered.features @ weights.mean
    misfit = _misfit(known.problem, mixture.noise, gathered.controls, residuals)
    return weights, replace(gathered, misfit=misfit, compression=compression)


def _misfit(problem: ScaledProblem, total: float, controls: Array, residuals: Array) -> Misfit:
    """What no surface explains, and how much of it is noise: as stated, or as repeats and near-duplicates show."""
    noise = problem.stated.noise
    if noise is None:
        return learned_misfit(total, controls, residuals)
    return stated_misfit(total, noise / problem.score_scale.unit)


def _gathered(known: Learned, ensemble: object, control: Array, score: float) -> tuple[Gaussian, Evidence]:
    """The evidence with one more run, of which nothing is made yet as more follow."""
    seen, features = known.evidence, known.problem.prior.model.score_basis(control)
    if seen is None:
        return known.belief.score, Evidence(control[None], features[None], np.array([score]), UNKNOWN)
    controls, rows = np.concatenate([seen.controls, control[None]]), np.concatenate([seen.features, features[None]])
    return known.belief.score, Evidence(controls, rows, np.append(seen.scores, score), UNKNOWN)


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


def _folded(problem: ScaledProblem, history: Sequence[Run]) -> Learned:
    """As one run after the other; an ensemble weighs its members once for all runs that it weighs together."""
    known = Learned(problem, problem.prior.belief)
    together = [number for number, run in enumerate(history) if run.score is not None][:MOST]
    last = max(together, default=0)
    for number, run in enumerate(history):
        known = _after(known, run, _gathered if number < last else _weighed)
    return known


def _may_move(known: Learned, run: Run) -> bool:
    """Units that are the user's own, failed runs, and those after many others move no range."""
    return run.score is not None and known.finished < TELLING and not all(known.problem.stated.fixed)


def _score(run: Run) -> float:
    assert run.score is not None
    return run.score
