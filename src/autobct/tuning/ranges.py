"""Ranges that runs have left, put right: the problem as a history shows it, a pure function of what was said and seen.

| said | a run outside | then the scale is that of |
|---|---|---|
| score_range=(low, high) | beyond either end | the range and all scores, those that diverged left out |
| no score_range | the best score is not in (0, 1) | the scores themselves: their level and their spread |
| no score_range | a worse one is not | (0, 1) and all scores, those that diverged left out |
| cost_range=(low, high) | beyond either end | the range and all costs of finished runs |
| no cost_range | costs are far from the guess | the guess, moved until it is no longer far |
| a scale, or a prior | anything | the same as before: these units are the user's own |
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import wrightomega

from autobct.belief.arrays import Array
from autobct.tuning.history import Note, Run
from autobct.tuning.problem import UNKNOWN_SPREAD, Problem, Ranges, put
from autobct.tuning.scale import Affine, AffineLog, Scale, between

DIVERGED = 2.0
"""So many score ranges below the best, a score counts as just that bad."""

HOPELESS = 100.0
"""A best score so many ranges below the score range has diverged."""

_FAR = 3.0 * UNKNOWN_SPREAD  # of log cost: beyond it the guess from the price was wrong
_LARGEST = 1e150  # what can be squared
_FIRST = 30  # runs from which a scale is learned: later ones are too near the best to tell of the spread
_DOUBT = 1.5  # standard deviation of log unit before the spread of the scores is seen
_RUGGED = 0.1  # what a smooth belief leaves unexplained between neighbours, in units of the range


def shown(problem: Problem, history: Sequence[Run]) -> Problem:
    """The problem with the ranges that a history shows; the same object where nothing changes."""
    finished = [run for run in history if run.score is not None]
    score_scale = _score_scale(problem, finished)
    ranges: Ranges = (score_scale, *_costs(problem, score_scale, [run.cost for run in finished]))
    if ranges == problem.ranges:
        return problem
    return put(problem.space, problem.price, problem.controls, problem.stated, ranges)


def outside(problem: Problem, run: Run) -> dict[str, str]:
    """Which of "score" and "cost" left what was said of it in this run, each with a sentence that says so."""
    if run.score is None:
        return {}
    stated, number = problem.stated, problem_number(run)
    found = {}
    if not stated.fixed[0] and not 0.0 <= stated.score_scale.to_model(run.score) <= 1.0:
        found["score"] = f"{number} scored {run.score:.4g}, {_score_advice(problem)}"
    if not stated.fixed[1] and not _cost_expected(problem, run.cost):
        found["cost"] = f"{number} cost {run.cost:.4g}, {_cost_advice(problem)}"
    return found


def problem_number(run: Run) -> str:
    """A run as people count: from one."""
    return f"Run {run.trial + 1}"


def _score_scale(problem: Problem, finished: Sequence[Run]) -> Scale:
    stated = problem.stated
    scale = stated.score_scale
    if stated.fixed[0] or not finished:
        return scale
    seen = np.clip(scale.to_model(np.array([run.score for run in finished], dtype=float)), -_LARGEST, _LARGEST)
    best = float(seen.max())
    if seen.min() >= 0.0 and best <= 1.0:
        return scale
    if stated.score_known or 0.0 <= best <= 1.0:
        return between(scale, *_widened(seen, best))
    return between(scale, *_learned(problem, seen, np.stack([run.control for run in finished])))


def _widened(seen: Array, best: float) -> tuple[float, float]:
    """The ends of the range with all scores that have not diverged, in its own units."""
    if best < -HOPELESS:
        return 0.0, 1.0
    low, high = min(0.0, best), max(1.0, best)
    return min(low, float(seen[seen >= best - DIVERGED * (high - low)].min())), high


def _learned(problem: Problem, seen: Array, controls: Array) -> tuple[float, float]:
    """The ends of a scale on which the scores look like draws from the prior.

    Before a spread is seen the unit is twice the size of the best score; every run that tells of the spread moves it.
    """
    best, zero = float(seen.max()), float(problem.stated.score_scale.to_model(0.0))
    first = unit = max(1.0, 2.0 * abs(best - zero))
    for _ in range(2):  # once more without those that turn out to have diverged
        kept = np.flatnonzero(seen >= best - DIVERGED * unit)[:_FIRST]
        low, unit = _fitted(problem, seen[kept], controls[kept], first)
    return low, low + unit


def _fitted(problem: Problem, seen: Array, controls: Array, first: float) -> tuple[float, float]:
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
    informed = float(np.sum(contrast * cov))  # k: how many runs' worth of spread has been seen
    scaled = seen / first
    spread = max(float(scaled @ contrast @ scaled), 1e-300)  # Q
    shift = informed * _DOUBT**2
    step = 0.5 * float(wrightomega(math.log(2.0 * _DOUBT**2 * spread) + 2.0 * shift)) - shift
    unit = max(first * math.exp(step), 1e-9 * first)
    return float(ones @ (seen - unit * (features @ prior.belief.score.mean)) / ones.sum()), unit


def _costs(
    problem: Problem, score_scale: Scale, costs: Sequence[float]
) -> tuple[tuple[float, float] | Affine | AffineLog | None, float | None]:
    """(range of costs, typical cost), as stated or as finished runs show; None for a guess that still holds."""
    stated = problem.stated
    if stated.fixed[1] or not costs:
        return stated.cost_range, None
    if isinstance(stated.cost_range, tuple):
        return (min(stated.cost_range[0], *costs), max(stated.cost_range[1], *costs)), None
    guess = stated.cost_guess * score_scale.unit
    level = math.fsum(math.log(max(cost, 1e-4 * guess)) for cost in costs) / len(costs)
    off = level - math.log(guess)
    return None, None if abs(off) <= _FAR else guess * math.exp(off - math.copysign(_FAR, off))


def _cost_expected(problem: Problem, cost: float) -> bool:
    stated = problem.stated
    if isinstance(stated.cost_range, tuple):
        return stated.cost_range[0] <= cost <= stated.cost_range[1]
    guess = stated.cost_guess * problem.score_scale.unit
    return abs(math.log(max(cost, 1e-300) / guess)) <= _FAR


def _score_advice(problem: Problem) -> str:
    scale = problem.stated.score_scale
    ends = f"({scale.low:g}, {scale.high:g})"
    if problem.stated.score_known:
        return f"outside score_range={ends}: the range is widened to what is seen"
    return f"outside {ends}: the scale is taken from the scores; a score_range would tell it from the start"


def _cost_advice(problem: Problem) -> str:
    stated = problem.stated
    if isinstance(stated.cost_range, tuple):
        low, high = stated.cost_range
        return f"outside cost_range=({low:g}, {high:g}): the range is widened to what is seen"
    guess = stated.cost_guess * problem.score_scale.unit
    return f"far from the {guess:.2g} guessed from the price; a cost_range would tell it from the start"


def notes_of(problem: Problem, run: Run, number: int, told: Sequence[Note]) -> list[Note]:
    """What there is to say of ranges left in this run, the first time only.  number: its place in the history."""
    said = {note.about for note in told}
    return [Note(number, what, f"{text}.") for what, text in outside(problem, run).items() if what not in said]
