"""Probability of feasibility: where a run is likely to finish, from those that did and those that failed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.history import Run
from autobct.tuning.space.space import Space

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
