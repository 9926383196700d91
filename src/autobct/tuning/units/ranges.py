"""Ranges that adapt when runs leave them: a pure function of the stated problem and the history.

| said | a run outside | then the scale is that of |
|---|---|---|
| score_range=(low, high) | beyond an end | the range and all scores, those that diverged left out |
| score_range=(low, high) | all are more than `OTHER_UNITS` ranges better | the scores themselves: level and spread |
| no score_range | the best score is not in (0, 1) | the scores themselves |
| either of these | the best score, to be maximised, is from `PERCENTAGE` to 100 | (0, 100) and all scores likewise |
| no score_range | a worse one is not in (0, 1) | (0, 1) and all scores, those that diverged left out |
| anything | none, but the scores of `FEW` runs differ by less than `TOO_WIDE` of the range | the scores themselves |
| anything | a few scores are far below all others, see `FAR_BELOW` | that of the others |
| cost_range=(low, high) | beyond either end | the range and all costs of finished runs |
| no cost_range | costs are far from the guess | the guess, moved until it is no longer far |
| a scale, or a prior | anything | the same as before: these units are the user's own |
| anything | after `TELLING` runs | the same as before: by then a belief is made of what was seen, in any units |

Scores and costs that no training can have are a slip of the program, e.g. an overflow or nanoseconds for seconds.  One
score of 1e15 among scores between 0 and 1 would stay the best forever, and a range with room for it would make all
others look alike.  Such a run counts as failed (`as_it_counts`); what it cost is still paid.  A score that is far
*worse* than the others is no slip: trainings diverge, see `DIVERGED`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.special import wrightomega

from autobct.belief.arrays import Array, Indices
from autobct.tuning.history import Run
from autobct.tuning.problem import UNKNOWN_SPREAD, put
from autobct.tuning.units.price_sides import PERCENTAGE
from autobct.tuning.units.scale import (
    FRACTIONS,
    PERCENTAGES,
    Affine,
    AffineLog,
    Ranges,
    Scale,
    ScaledProblem,
    between,
    is_log,
)

DIVERGED = 2.0
"""So many score ranges below the best, a score counts as just that bad."""

HOPELESS = 100.0
"""A best score so many ranges below the score range has diverged."""

TELLING = 256
"""Finished runs that move ranges: all that is known is learned again when one does, which must come to an end."""

OTHER_UNITS = 20.0
"""Scores so many ranges better than a stated range are in other units: percentages where fractions were stated."""

FEW = 5
"""Finished runs that can show that a range is too wide."""

TOO_WIDE = 1e-3
"""Scores that differ by less than this share of a range tell their own: the smallest spread expected is 0.01."""

FAR_BELOW = 30.0
"""Times what all better scores differ by: a gap so wide tells of a training that went wrong, and nothing of a range."""

LARGEST = 1e150
"""What can be squared: a range ends there, and so does what a run may cost."""

FAR_OFF = 3.0 * UNKNOWN_SPREAD
"""Of log cost: beyond it the guess from the price was wrong."""

_ROUNDING = 1e-9  # by which a score may be beyond 100 %
_SMALLEST = 1e-12  # unit of a learned scale, in ranges
_MARGIN = 0.01  # of a range that was stretched to scores far away
_FIRST = 30  # runs from which a scale is learned: later ones are too near the best to tell of the rest
_DOUBT = 3.0  # standard deviation of log unit before the spread of the scores is seen
_FREE = 0.5  # of a run: two may look alike by chance
_RUGGED = 0.1  # what a smooth belief leaves unexplained between neighbours, in units of the range

FARFETCHED = 1e6
"""So many times beyond all that is known of scores.  A range that is wrong by a thousand stays well below."""

FAR_COST = 1e9
"""The same for costs: a run that is read from a cache takes a microsecond, and the next one an hour."""

_ENOUGH = 2  # finished runs that tell where scores and costs are
_NO_RANGE = 1e12  # stated ranges are held to be wrong by less than so many times their width
_HELD = 64  # runs that a number is held against
_MOSTLY = 0.75  # of the finished runs at least are not far below the others


def shown(problem: ScaledProblem, history: Sequence[Run]) -> ScaledProblem:
    """The problem with the ranges that a history shows; the same object where nothing changes."""
    finished = list(islice((run for run in history if run.score is not None), TELLING))
    score_scale = _score_scale(problem, finished)
    ranges: Ranges = (score_scale, *_costs(problem, score_scale, [run.cost for run in finished]))
    if ranges == problem.ranges:
        return problem
    return put(problem.space, problem.price, problem.controls, problem.stated, ranges, problem.deciding)


def _score_scale(problem: ScaledProblem, finished: Sequence[Run]) -> Scale:
    stated = problem.stated
    scale = stated.score_scale
    if stated.fixed[0] or not finished:
        return scale
    scores = np.array([run.score for run in finished], dtype=float)
    seen = np.clip(scale.to_model(scores), -LARGEST, LARGEST)
    controls, usual = np.stack([run.control for run in finished]), _not_far_below(seen)
    natural = _natural(problem, scores)
    other = seen.min() > OTHER_UNITS if stated.score_known else natural != FRACTIONS
    if other and natural == PERCENTAGES:
        found = Affine(_lowest_percentage(scores), PERCENTAGES[1])
        if not _too_wide(scores[usual], found.low, found.high):
            return found
    elif not other and not _too_wide(seen[usual], *(ends := _widened(seen, float(seen.max())))):
        return scale if ends == (0.0, 1.0) else between(scale, *ends)
    least = 1.0 if other and natural is None else 0.0
    return between(scale, *_learned(problem, seen[usual], controls[usual], least=least))


def _natural(problem: ScaledProblem, scores: Array) -> tuple[float, float] | None:
    """The range that scores (n,) have by their nature, as far as the best of them tells; None if it is not known.

    Percentages are to be maximised: a loss of 30 may be anything.
    """
    rising = problem.direction == "maximize"
    best = float(scores.max() if rising else scores.min())
    if FRACTIONS[0] <= best <= FRACTIONS[1]:
        return FRACTIONS
    return PERCENTAGES if rising and PERCENTAGE <= best <= PERCENTAGES[1] * (1.0 + _ROUNDING) else None


def _lowest_percentage(scores: Array) -> float:
    """The lower end of the range of percentages (n,): zero, or a worse score that has not diverged."""
    low, high = PERCENTAGES
    return min(low, float(scores[scores >= scores.max() - DIVERGED * (high - low)].min()))


def _not_far_below(seen: Array) -> Indices:
    """Which scores tell by how much scores differ: all but a few that a wide gap separates from all better ones.

    One training that went wrong must not make scores look as if they differed by as much as it is below them: whoever
    expects gains of that size never stops.
    """
    order = np.argsort(-seen, kind="stable")
    falling = seen[order]
    for count in range(max(FEW, math.ceil(_MOSTLY * len(seen))), len(seen)):
        differ = float(falling[0] - falling[count - 1])
        if 0.0 < FAR_BELOW * differ < float(falling[count - 1] - falling[count]):
            return np.sort(order[:count])
    return np.arange(len(seen))


def _widened(seen: Array, best: float) -> tuple[float, float]:
    """The ends of the range with all scores that have not diverged, in its own units."""
    if best < -HOPELESS:
        return 0.0, 1.0
    low, high = min(0.0, best), max(1.0, best)
    low = min(low, float(seen[seen >= best - DIVERGED * (high - low)].min()))
    near = bool(np.any((seen >= -1.0) & (seen <= 2.0)))
    margin = 0.0 if near else _MARGIN * (high - low)
    return low - margin * (low < 0.0), high + margin * (high > 1.0)


def _too_wide(seen: Array, low: float, high: float) -> bool:
    """Whether the scores, but for those that have diverged, lie in a tiny part of the range."""
    kept = seen[seen >= seen.max() - DIVERGED * (high - low)]
    return len(kept) >= FEW and 0.0 < float(np.ptp(kept)) < TOO_WIDE * (high - low)


def _learned(problem: ScaledProblem, seen: Array, controls: Array, *, least: float) -> tuple[float, float]:
    """The ends of a scale on which the scores look like draws from the prior.  least: unit that is expected at least.

    Before a spread is seen the unit is twice the size of the best score; every run that tells of the spread moves it.
    """
    best, zero = float(seen.max()), float(problem.stated.score_scale.to_model(0.0))
    first = unit = max(least, 2.0 * abs(best - zero), _SMALLEST)
    for _ in range(2):  # once more without those that turn out to have diverged
        kept = np.flatnonzero(seen >= best - DIVERGED * unit)[:_FIRST]
        low, unit = _fitted(problem, seen[kept], controls[kept], first)
    return low, low + unit


def _fitted(problem: ScaledProblem, seen: Array, controls: Array, first: float) -> tuple[float, float]:
    """Lower end and unit of the most plausible scale.  seen: (n,) scores,  controls: (n, p),  first: expected unit.

    With y = low + unit (m + shape), shape ~ N(0, K): low by least squares, unit at the maximum of its posterior,
    -k log unit - Q / (2 unit^2) - (log unit - log first)^2 / (2 doubt^2), whose root is a Wright omega.
    """
    prior, count = problem.prior, len(seen)
    features = prior.model.score_basis(controls)
    cov = features @ prior.belief.score.cov @ features.T
    inverse = np.linalg.inv(cov + _RUGGED**2 * np.eye(count))
    ones = inverse.sum(axis=0)
    contrast = inverse - np.outer(ones, ones) / ones.sum()  # free of the level
    informed = max(float(np.sum(contrast * cov)) - _FREE, 0.0)  # k: how many runs have told of the spread
    scaled = seen / first
    spread = max(float(scaled @ contrast @ scaled), 1e-300)  # Q
    shift = informed * _DOUBT**2
    step = 0.5 * float(wrightomega(math.log(2.0 * _DOUBT**2 * spread) + 2.0 * shift)) - shift
    unit = max(first * math.exp(step), 1e-9 * first)
    return float(ones @ (seen - unit * (features @ prior.belief.score.mean)) / ones.sum()), unit


def _costs(
    problem: ScaledProblem, score_scale: Scale, costs: Sequence[float]
) -> tuple[tuple[float, float] | Affine | AffineLog | None, float | None]:
    """(range of costs, typical cost), as stated or as finished runs show; None for a guess that still holds."""
    stated = problem.stated
    if stated.fixed[1] or not costs:
        return stated.cost_range, None
    if isinstance(stated.cost_range, tuple):
        return (min(stated.cost_range[0], *costs), max(stated.cost_range[1], *costs)), None
    guess = stated.cost_guess * score_scale.unit
    logs = [math.log(max(cost, 1e-4 * guess)) for cost in costs[:_FIRST]]
    off = math.fsum(logs) / len(logs) - math.log(guess)
    return None, None if abs(off) <= FAR_OFF else guess * math.exp(off - math.copysign(FAR_OFF, off))


def as_it_counts(problem: ScaledProblem, history: Sequence[Run], run: Run) -> Run:
    """The run as it counts: failed if its score or its cost is farfetched."""
    if run.score is None:
        return run
    what = _score_slip(problem, history, run.score) or _cost_slip(problem, history, run.cost)
    return replace(run, score=None, error=what) if what else run


def _score_slip(problem: ScaledProblem, history: Sequence[Run], score: float) -> str:
    stated, scale = problem.stated, problem.stated.score_scale
    if is_log(scale) or abs(score) < FARFETCHED * (scale.unit if stated.score_known else 1.0):
        return ""  # nearly always, and at once
    seen = [run.score for run in history[-_HELD:] if run.score is not None]
    width = max((abs(other) for other in seen), default=0.0)
    known = len(seen) >= _ENOUGH and width > 0.0
    if stated.score_known:
        best, width = (scale.low if problem.direction == "minimize" else scale.high), max(width, scale.unit)
    elif not known:
        return _too_large(score) if (score < 0.0) == (problem.direction == "minimize") else ""
    else:
        best, width = seen[0], max(width, 1.0)
    better = (best - score) if problem.direction == "minimize" else (score - best)
    return _slip("score", score) if better > (FARFETCHED if known else _NO_RANGE) * width else ""


def _cost_slip(problem: ScaledProblem, history: Sequence[Run], cost: float) -> str:
    stated = problem.stated.cost_range
    if stated is not None:
        known = stated[1] if isinstance(stated, tuple) else stated.high
        if cost <= FAR_COST * known:
            return ""
    seen = [run.cost for run in history[-_HELD:] if run.score is not None]
    largest = max(seen, default=0.0)
    enough = stated is not None or (len(seen) >= _ENOUGH and largest > 0.0)
    return _slip("cost", cost) if enough and cost > FAR_COST * largest and math.isfinite(cost) else ""


def _too_large(score: float) -> str:
    """Of a good score that is not held against others: no range has room for it, and it would stay the best."""
    return "" if abs(score) <= LARGEST else f"its score of {score:.4g} is beyond {LARGEST:g}, so the run was not used"


def _slip(what: str, value: float) -> str:
    times = "a million" if what == "score" else "a billion"
    return f"its {what} of {value:.4g} is more than {times} times beyond all others, so the run was not used"
