"""Gaussian conditioning, written once: the Kalman filter of section 2.3 (eqs. filter_a, filter_b) without an inverse.

It is exact for singular covariances: what is known for certain stays as it is (appendix A).  The same lines serve
weights (features phi(u)) and values at candidate controls (features e_g), one belief or a batch, in NumPy and in torch.

    s^2 = phi' Sigma phi + sigma^2,   k = Sigma phi / s,   mu + k z,   Sigma - k k'       z: surprise, in units of s

A lookahead needs only parts of this, at the controls it looks at: `observed_sd`, `remaining`, `remaining_variance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.belief.arrays import Array, V, at_least, namespace
from autobct.belief.gaussian import Gaussian


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one run at a control will show.  mean: (...) m(u, x),  var: (...) s(u, x)^2, noise included,

    gain: (..., J) by how much the believed vector moves per standard deviation of surprise.
    """

    mean: Array
    var: Array
    gain: Array


def observed_sd(var: V, noise: Any) -> V:
    """s: standard deviation of one observation.  var: of what is observed,  noise: sigma(u), a standard deviation."""
    found: V = namespace(var).sqrt(var + noise * noise)
    return found


def remaining(cov: V, gain: V, other: V) -> V:
    """Covariance of two values after a run that moves them by these gains: an entry of Sigma - k k'."""
    found: V = cov - gain * other
    return found


def remaining_variance(var: V, gain: V) -> V:
    """The same of a value with itself, never negative by rounding."""
    return at_least(remaining(var, gain, gain), 0.0)


def posterior(mean: V, cov: V, features: V, noise: Any, observed: Any) -> tuple[V, V]:
    """Mean (..., J) and covariance (..., J, J) after observing `observed` (...) at a control with features (..., J)."""
    predicted, var, gain = _predicted(mean, cov, features, noise)
    surprise = (observed - predicted) / namespace(mean).sqrt(var)
    moved: V = mean + gain * surprise[..., None]  # eq. (filter_a), without an inverse
    return moved, remaining(cov, gain[..., :, None], gain[..., None, :])  # symmetric to the last bit


def predict(weights: Gaussian, features: Array, noise: Array | float) -> Prediction:
    """Predictive distribution of one observation.

    features: (..., J),  noise: (...) sigma(u), a standard deviation
    """
    return Prediction(*_predicted(weights.mean, weights.cov, features, noise))


def update(weights: Gaussian, features: Array, noise: Array | float, observed: Array | float) -> Gaussian:
    """The `posterior` as a belief.  All arrays may be batched."""
    return Gaussian(*posterior(weights.mean, weights.cov, features, noise, observed))


def gains(weights: Gaussian, features: Array, noise: Array) -> Array:
    """By how much several runs, not yet observed, move the mean: by z @ gains, z standard normal.  (n, J).

    With S = Phi Sigma Phi' + noise^2 = L L', that is L^-1 Phi Sigma.  features: (n, J),  noise: (n,)
    """
    spread = features @ weights.cov  # Phi Sigma, (n, J)
    seen = spread @ features.T + np.diag(np.square(noise))
    least = 1e-12 * float(np.trace(seen)) + 1e-300  # the same control twice without noise is nothing new
    root = np.linalg.cholesky(seen + least * np.eye(len(seen)))
    return np.asarray(np.linalg.solve(root, spread))


def anticipate(weights: Gaussian, moves: Array) -> Gaussian:
    """The belief after runs that all come out exactly as predicted: less uncertain, no other mean.  moves: `gains`."""
    return Gaussian(weights.mean, weights.cov - moves.T @ moves) if len(moves) else weights


def _predicted(mean: V, cov: V, features: V, noise: Any) -> tuple[V, V, V]:
    """Mean and variance of one observation, and the gain."""
    xp = namespace(mean)
    spread = xp.einsum("...ij,...j->...i", cov, features)  # Sigma phi
    var = at_least(xp.einsum("...i,...i->...", features, spread), 0.0) + noise * noise
    return xp.einsum("...i,...i->...", mean, features), var, spread / xp.sqrt(var)[..., None]
