"""Candidates that may not be tried, as their run failed or is not likely to fit a limit, and how a lookahead sees them.

A run is started only if it is likely to fit.  Before the first model, more likely than not is enough; later nineteen
times in twenty, see docs/decisions/limits.md.  A lookahead sees only such runs; where no other would fit after a run,
all at their median cost, that run is valued as the last one, V_1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian
from autobct.belief.model import observed_sd
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.limits import Left
from autobct.value.state import State, variance

Mask = NDArray[np.bool_]
"""Yes or no for each candidate, (G,)."""

FIRST_OVER, LATER_OVER = 0.5, 0.05
"""A run that exceeds what is left with a higher probability is not started: the first to finish, and later ones."""


def nearest_allowed(controls: Array, excluded: Indices) -> Indices:
    """For each candidate itself, or the nearest that may be tried if it may not.  (G,).

    If a lookahead still counted on an excluded one, it could go on preparing for a run that never comes.
    """
    shown = np.arange(len(controls))
    left = np.setdiff1d(shown, excluded)
    for index in excluded if left.size else ():
        shown[index] = left[np.square(controls[left] - controls[index]).sum(axis=-1).argmin()]
    return shown


def certain_at(score: Gaussian, indices: list[int]) -> Gaussian:
    """The belief as if the values at these candidates were certain: nothing is to be learned from a run there."""
    cov = score.cov.copy()
    cov[indices, :] = 0.0
    cov[:, indices] = 0.0
    return Gaussian(score.mean, cov)


def tightest(*limits: Left | None) -> Left | None:
    """The smallest of several."""
    return min((limit for limit in limits if limit is not None), key=lambda limit: limit.amount, default=None)


def chance_over(state: State, problem: ScaledProblem, amount: float) -> Array:
    """Probability at each candidate that a run costs more than `amount`, noise included.  (G,)."""
    if amount <= 0.0 or amount == math.inf:
        return np.full(state.size, float(amount <= 0.0))
    sd = observed_sd(variance(state.cost), state.cost_noise)
    limit = problem.terms.cost_model.to_observation(np.asarray(problem.cost_observed(amount)))
    return np.asarray(ndtr((state.cost.mean - float(limit)) / sd))


def costs_at(state: State, problem: ScaledProblem, over: float) -> Array:
    """The cost that a run at each candidate exceeds with probability `over`, in raw units.  (G,)."""
    sd = observed_sd(variance(state.cost), state.cost_noise)
    seen = state.cost.mean - ndtri(over) * sd
    return np.maximum(problem.cost_scale.to_raw(problem.terms.cost_model.from_observation(seen)), 0.0)


def fits(state: State, problem: ScaledProblem, amount: float, over: float) -> Mask:
    """Which candidates exceed `amount` with a probability of at most `over`.  (G,)."""
    return np.asarray(chance_over(state, problem, amount) <= over)


def is_last(state: State, problem: ScaledProblem, amount: float, allowed: Mask) -> Mask:
    """After a run at which candidates nothing fits any more, all at their median cost: by then more is known.  (G,).

    allowed: those that fit now
    """
    costs = costs_at(state, problem, 0.5)
    return np.asarray(amount - costs < costs[allowed].min(initial=math.inf))
