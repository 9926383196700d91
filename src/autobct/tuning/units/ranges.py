"""Ranges that runs have left, put right: the problem as a history shows it, a pure function of what was said and seen.

| said | a run outside | then the scale is that of |
|---|---|---|
| score_range=(low, high) | beyond an end | the range and all scores, those that diverged left out |
| score_range=(low, high) | all are more than `OTHER_UNITS` ranges better | the scores themselves: level and spread |
| no score_range | the best score is not in (0, 1) | the scores themselves |
| no score_range | a worse one is not | (0, 1) and all scores, those that diverged left out |
| anything | none, but the scores of `FEW` runs differ by less than `TOO_WIDE` of the range | the scores themselves |
| cost_range=(low, high) | beyond either end | the range and all costs of finished runs |
| no cost_range | costs are far from the guess | the guess, moved until it is no longer far |
| a scale, or a prior | anything | the same as before: these units are the user's own |
| anything | after `TELLING` runs | the same as before: by then a belief is made of what was seen, in any units |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from scipy.special import wrightomega

from autobct.belief.arrays import Array
from autobct.tuning.history import Note, Run
from autobct.tuning.problem import UNKNOWN_SPREAD, Ranges, ScaledProblem, put
from autobct.tuning.units.price_sides import PERCENTAGE
from autobct.tuning.units.scale import Affine, AffineLog, Scale, between

DIVERGED = 2.0
"""So many score ranges below the best, a score counts as just that bad."""

HOPELESS = 100.0
"""A best score so many ranges below the score range has diverged."""

TELLING = 256
"""Finished runs that move ranges: all that is known is learned again when one does, which must not go on for ever."""

OTHER_UNITS = 20.0
"""Scores so many ranges better than a stated range are in other units: percentages where fractions were stated."""

FEW = 5
"""Finished runs that can show that a range is too wide."""

TOO_WIDE = 1e-3
"""Scores that differ by less than this share of a range tell their own: the smallest spread expected is 0.01."""

_SMALLEST = 1e-12  # unit of a learned scale, in ranges
_MARGIN = 0.01  # of a range that was stretched to scores far away
_FAR = 3.0 * UNKNOWN_SPREAD  # of log cost: beyond it the guess from the price was wrong
_LARGEST = 1e150  # what can be squared
_FIRST = 30  # runs from which a scale is learned: later ones are too near the best to tell of the rest
_DOUBT = 3.0  # standard deviation of log unit before the spread of the scores is seen
_NARROWER = 0.1  # of the stated unit: a scale so much smaller was learned as the range was too wide
_FREE = 0.5  # of a run: two may look alike by chance
_RUGGED = 0.1  # what a smooth belief leaves unexplained between neighbours, in units of the range


def shown(problem: ScaledProblem, history: Sequence[Run]) -> ScaledProblem:
    """The problem with the ranges that a history shows; the same object where nothing changes."""
    finished = list(islice((run for run in history if run.score is not None), TELLING))
    score_scale = _score_scale(problem, finished)
    ranges: Ranges = (score_scale, *_costs(problem, score_scale, [run.cost for run in finished]))
    if ranges == problem.ranges:
        return problem
    return put(problem.space, problem.price, problem.controls, problem.stated, ranges, problem.deciding)


def notes_of(problem: ScaledProblem, run: Run, number: int, told: Sequence[Note]) -> list[Note]:
    """What there is to say of ranges that this run has left, the first time only.

    problem: with the ranges that this run shows;  number: the run's place in the history;  told: notes before
    """
    said = {note.about for note in told}
    found = {"score": _of_score(problem, run), "width": _of_width(problem, run), "cost": _of_cost(problem, run)}
    found["price"] = _of_price(problem, run)
    return [
        Note(number, about, f"Run {run.trial + 1} {text}.")
        for about, text in found.items()
        if text and about not in said
    ]


def _score_scale(problem: ScaledProblem, finished: Sequence[Run]) -> Scale:
    stated = problem.stated
    scale = stated.score_scale
    if stated.fixed[0] or not finished:
        return scale
    seen = np.clip(scale.to_model(np.array([run.score for run in finished], dtype=float)), -_LARGEST, _LARGEST)
    best = float(seen.max())
    other = seen.min() > OTHER_UNITS if stated.score_known else not (0.0 <= best <= 1.0)
    if not other:
        ends = _widened(seen, best)
        if not _too_wide(seen, *ends):
            return scale if ends == (0.0, 1.0) else between(scale, *ends)
    controls = np.stack([run.control for run in finished])
    return between(scale, *_learned(problem, seen, controls, least=1.0 if other else 0.0))


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
    return None, None if abs(off) <= _FAR else guess * math.exp(off - math.copysign(_FAR, off))


def _of_score(problem: ScaledProblem, run: Run) -> str:
    """What to say of a score outside the range that was stated or is usual; nothing if it is inside."""
    stated, scale = problem.stated, problem.stated.score_scale
    if run.score is None or stated.fixed[0] or 0.0 <= round(scale.to_model(run.score), 9) <= 1.0:
        return ""
    now = round(problem.score_scale.to_model(run.score), 9)
    if now < 1.0 - DIVERGED:
        return f"scored {run.score:.4g}, far from all others; it only counts as a bad score"
    if not 0.0 <= now <= 1.0:
        return (
            f"scored {run.score:.4g}, outside {_ends(problem.score_scale)}, the range found in the first {TELLING} runs"
        )
    name = "score_range=" if stated.score_known else ""
    return f"scored {run.score:.4g}, outside {name}{_ends(scale)}: {_now(problem.score_scale)}"


def _of_width(problem: ScaledProblem, run: Run) -> str:
    """What to say where the scores have shown that the range is much too wide; nothing otherwise."""
    stated, now = problem.stated, problem.score_scale
    if run.score is None or stated.fixed[0] or now.unit > _NARROWER * stated.score_scale.unit:
        return ""
    if not 0.0 <= float(stated.score_scale.to_model(run.score)) <= 1.0:
        return ""
    name = "score_range=" if stated.score_known else "the default range "
    wide = f"{name}{_ends(stated.score_scale)} is far too wide for the scores so far"
    return f"scored {run.score:.4g}, and {wide}: {_now(now)}"


def _of_price(problem: ScaledProblem, run: Run) -> str:
    """What to say of a price in percent when a score looks like a percentage; nothing otherwise."""
    if run.score is None or problem.stated.score_known:
        return ""
    if not (problem.price.percent and abs(run.score) >= PERCENTAGE):
        return ""
    points = replace(problem.price, score=100.0 * problem.price.score)
    return f"scored {run.score:.4g}, but the price counts 1% as 0.01; write '{points}' if scores are percentages"


def _of_cost(problem: ScaledProblem, run: Run) -> str:
    """What to say of a cost outside the range that was stated or far from the guess; nothing if it is neither."""
    stated = problem.stated
    if run.score is None or stated.fixed[1]:
        return ""
    if isinstance(stated.cost_range, tuple):
        low, high = stated.cost_range
        wider = f"({min(low, run.cost):.4g}, {max(high, run.cost):.4g})"
        left = f"cost {run.cost:.4g}, outside cost_range=({low:g}, {high:g}): the range is now {wider}"
        return "" if low <= run.cost <= high else left
    guess = stated.cost_guess * problem.score_scale.unit
    if abs(math.log(max(run.cost, 1e-300)) - math.log(guess)) <= _FAR:  # their quotient may be zero
        return ""
    return f"cost {run.cost:.4g}, far from the {guess:.2g} guessed from the price. Set cost_range if you know it"


def _ends(scale: Scale) -> str:
    return f"({scale.low:.4g}, {scale.high:.4g})"


def _now(scale: Scale) -> str:
    return f"the range is now {_ends(scale)} and adapts to the observed scores"
