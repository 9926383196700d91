"""Feasibility: the probability that a run finishes, and candidates that failed or are likely to exceed a limit.

A run is started only if it is likely to fit.  Before the first model, more likely than not is enough; later nineteen
times in twenty, see docs/decisions/limits.md.  A lookahead sees only such runs; where no other would fit after a run,
all at their median cost, that run is valued as the last one, V_1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import observed_sd
from autobct.tuning.history import Run
from autobct.tuning.memory import Memory
from autobct.tuning.space.space import Space
from autobct.tuning.units.limits import Left
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.state import State, variance

_FINISHES = 0.9  # before anything is known
_SPREAD, _NOISE = 0.25, 0.05  # variances: of the probability over the cube, and of what nothing explains
_LENGTH = 0.3  # of the unit interval over which one parameter makes a difference
_LOOKED_AT = 256  # runs that are looked at
_LOWEST, _HIGHEST = 0.02, 0.99
_LOG_LEAST = np.log(1e-6)  # of what two runs that differ in one parameter have in common


def chances(space: Space, controls: Array, history: Sequence[Run]) -> Array | None:
    """Feasibility: probability that a run at each control finishes, (G,); None if none has failed so far.

    Failures have causes, so what failed runs have in common is avoided.  A Gaussian belief about the indicator of
    success: half of it smooth in all parameters at once, half a sum over them, so that two failures with the same
    choice of a category are enough to leave that choice alone.  controls: (G, p)
    """
    runs = history[-_LOOKED_AT:]
    if all(run.score is not None for run in runs):
        return None
    finished = np.array([run.score is not None for run in runs], dtype=float)
    tried = np.stack([run.control for run in runs])
    cov = _alike(space, tried, tried) + _NOISE * np.eye(len(runs))
    found = _FINISHES + _alike(space, controls, tried) @ np.linalg.solve(cov, finished - _FINISHES)
    return np.clip(found, _LOWEST, _HIGHEST)


def _alike(space: Space, one: Array, two: Array) -> Array:
    """Covariance of the success at controls (a, p) and (b, p).  (a, b)."""
    alone, together = np.zeros((len(one), len(two))), np.zeros((len(one), len(two)))
    for i in space.numeric:
        exponent = -0.5 * np.square((one[:, None, i] - two[:, i]) / _LENGTH)
        alone += np.exp(exponent)
        together += np.maximum(exponent, _LOG_LEAST)
    for group in map(list, space.groups):
        shared = one[:, group] @ two[:, group].T
        alone += shared
        together += np.log(np.maximum(shared, np.exp(_LOG_LEAST)))
    count = len(space.numeric) + len(space.groups)
    # the more parameters, the farther a joint effect reaches in each
    return np.asarray(0.5 * _SPREAD * (alone / count + np.exp(together / np.sqrt(count))))


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


def budget_left(memory: Memory, max_cost: float) -> Left:
    """What max_cost leaves after all runs, those under way as expected."""
    under_way = math.fsum(train.expected_cost for train in memory.pending.values())
    return Left(max_cost - memory.total_cost - under_way, "max_cost")


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
