"""Candidates that may not be tried, as a lookahead sees them."""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian


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
