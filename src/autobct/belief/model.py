"""The linear model of score and cost, and the Kalman filter that learns it (section 2.3, eqs. filter_a and filter_b).

Gaussian conditioning is written once, without an inverse.  It is exact for singular covariances: what is known for
certain stays as it is (appendix A).  The same lines serve weights (features phi(u)) and values at candidate controls
(features e_g), one belief or a batch, in NumPy and in torch.

    s^2 = phi' Sigma phi + sigma^2,   k = Sigma phi / s,   mu + k z,   Sigma - k k'       z: surprise, in units of s

A lookahead needs only parts of this, at the controls it looks at: `observed_sd`, `remaining`, `remaining_variance`.

What is assumed (paper eqs. h_t_n and HT) is a `Model`: bases, noise, and a `CostModel`, which says in which space the
filter sees a cost and what a predicted normal there costs on average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from autobct.belief.arrays import Array, V, at_least, broadcast_values, namespace
from autobct.belief.basis import Basis
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import lognormal_mean, upsilon


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


def _identity(values: Array) -> Array:
    return values


@dataclass(frozen=True, slots=True)
class CostModel:
    """How cost is believed in.

    expected: (mean, sd) of the predicted observation -> expected cost, both (...)
    to_observation, from_observation: cost in model units <-> what the filter sees
    """

    name: str
    expected: Callable[[Array, Array], Array]
    to_observation: Callable[[Array], Array]
    from_observation: Callable[[Array], Array]

    def charged(self, observation: Array) -> Array:
        """What a run with this observation is charged: never negative, eq. (3) of the paper."""
        return np.maximum(self.from_observation(observation), 0.0)

    def __reduce__(self) -> tuple[Callable[..., CostModel], tuple[object, ...]]:
        """A copy of one of the two is the same object, by which it is known."""
        return _the_same, (self.name, self.expected, self.to_observation, self.from_observation)


def _the_same(*fields: Any) -> CostModel:
    made = CostModel(*fields)
    return next((model for model in COST_MODELS.values() if model == made), made)


LINEAR = CostModel("linear", upsilon, _identity, _identity)
"""The paper's: t = psi(u)'beta + noise, truncated at zero in the objective."""

LOG_LINEAR = CostModel("log-linear", lognormal_mean, np.log, np.exp)
"""log t = psi(u)'beta + noise: multiplicative errors, as real timings have them; the default for time."""

COST_MODELS = {model.name: model for model in (LINEAR, LOG_LINEAR)}


def expected_beyond(model: CostModel, mean: Array, sd: Array, covered: float) -> Array:
    """E[(cost - covered)^+] for a predicted observation (mean, sd): what a run takes beyond a time that passes anyway.

    For a lognormal cost, with Y ~ N(m, s^2): exp(m + s^2/2) Phi((m + s^2 - log r)/s) - r Phi((m - log r)/s).
    covered: in model units of cost   (r)
    """
    if covered <= 0.0:
        return model.expected(mean, sd)
    if model is LINEAR:
        return upsilon(mean - covered, sd)
    spread = np.maximum(sd, 1e-12)
    above = (mean - np.log(covered)) / spread
    return np.asarray(np.maximum(lognormal_mean(mean, sd) * ndtr(above + spread) - covered * ndtr(above), 0.0))


Noise = float | Callable[[Array], Array]
"""Standard deviation of one observation: a constant, or a function of the controls (..., p) -> (...)."""


@dataclass(frozen=True, slots=True)
class Model:
    """Score and cost as linear models in their bases, observed with noise.

    score_noise: standard deviation of one observed score, in score units   (sigma_H)
    cost_noise:  standard deviation of one observed cost, in units of what the cost model observes   (sigma_T)
    """

    score_basis: Basis
    cost_basis: Basis
    score_noise: Noise
    cost_noise: Noise
    cost_model: CostModel = LINEAR

    def observe(self, belief: Belief, control: Array, *, score: float | None, cost: float) -> Belief:
        """Kalman(x, u, h, t): the belief after one run.  control: (p,);  score and cost in model units.

        score=None: the run failed, only its cost was seen.
        """
        new_cost = update(
            belief.cost,
            self.cost_basis(control),
            noise_at(self.cost_noise, control, "cost_noise"),
            self.cost_model.to_observation(np.asarray(cost, dtype=np.float64)),
        )
        if score is None:
            return Belief(belief.score, new_cost)
        score_noise = noise_at(self.score_noise, control, "score_noise")
        return Belief(update(belief.score, self.score_basis(control), score_noise, score), new_cost)


def noise_at(noise: Noise, controls: Array, name: str = "noise") -> Array:
    """sigma(u) at the controls: (..., p) -> (...); positive and finite, assumption (S) of the paper."""
    try:
        values = np.asarray(noise(controls) if callable(noise) else noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or a function of controls, got {noise!r}; write e.g. 0.05") from None
    if not (np.all(np.isfinite(values)) and np.all(values > 0)):
        raise ValueError(f"{name} must be positive and finite at every control; write a standard deviation, e.g. 0.05")
    return broadcast_values(values, controls, name)
