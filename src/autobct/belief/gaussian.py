"""Gaussian beliefs about weights, or about values at candidate controls.

Every array may have leading batch axes: a cloud of beliefs is a belief with one more axis.

| paper | here |
|---|---|
| mu^alpha, Sigma^alpha | `belief.score.mean`, `belief.score.cov` |
| mu^beta, Sigma^beta | `belief.cost.mean`, `belief.cost.cov` |
| alpha, beta | `Truth.score_weights`, `Truth.cost_weights` |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from autobct.belief.arrays import Array, Indices, finite_array, transpose


@dataclass(frozen=True, slots=True, eq=False)
class Gaussian:
    """A normal distribution of one vector.  mean: (..., J) mu,  cov: (..., J, J) Sigma."""

    mean: Array
    cov: Array

    @staticmethod
    def of(mean: ArrayLike, cov: ArrayLike, *, name: str = "prior") -> Gaussian:
        """Check that shapes agree, all numbers are finite, and the covariance is symmetric and not indefinite.

        cov may be a matrix or the vector of its diagonal; zeros are allowed for what is known for certain.
        """
        centre = np.atleast_1d(finite_array(mean, f"{name}: mean"))
        spread = finite_array(cov, f"{name}: covariance")
        if spread.shape == centre.shape and centre.ndim == 1:
            spread = np.diag(spread)
        _check_covariance(spread, centre.shape[-1], name)
        return Gaussian(centre, (spread + transpose(spread)) / 2)

    @property
    def size(self) -> int:
        """J, the length of the vector."""
        return int(self.mean.shape[-1])

    def at(self, features: Array) -> Gaussian:
        """The distribution of phi(u_1)'alpha .. phi(u_G)'alpha: mean (..., G), cov (..., G, G).

        features: (G, J).
        """
        return Gaussian(self.mean @ features.T, features @ self.cov @ features.T)

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance, never negative by rounding.  (..., J)."""
        return np.maximum(np.diagonal(self.cov, axis1=-2, axis2=-1), 0.0)

    def rows(self, chosen: Indices) -> Array:
        """Some rows of an unbatched covariance.  (n, J)."""
        return self.cov[chosen]

    def with_mean(self, mean: Array) -> Gaussian:
        """The same uncertainty around another mean, (J,)."""
        return Gaussian(mean, self.cov)

    def draw(self, normals: Array) -> Array:
        """Vectors (n, J) from independent standard normals (n, J), which are data; exact for singular cov."""
        values, vectors = np.linalg.eigh(self.cov)
        root = vectors * np.sqrt(np.clip(values, 0.0, None))
        return np.asarray(self.mean + normals @ root.T)


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What is known about score and cost: the state x of the paper.  Score and cost are independent."""

    score: Gaussian
    cost: Gaussian


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """True weights.  score_weights: (..., J) alpha,  cost_weights: (..., K) beta."""

    score_weights: Array
    cost_weights: Array

    def belief(self) -> Belief:
        """The state in which this truth is known: zero covariances (the paper's definition of a truth)."""
        return Belief(_certain(self.score_weights), _certain(self.cost_weights))


def _certain(weights: Array) -> Gaussian:
    return Gaussian(weights, np.zeros((*weights.shape, weights.shape[-1])))


def _check_covariance(cov: Array, size: int, name: str) -> None:
    if cov.shape[-2:] != (size, size):
        raise ValueError(
            f"{name}: covariance must be {size} x {size} to go with a mean of length {size}, got shape {cov.shape}"
        )
    largest = float(np.abs(cov).max(initial=0.0))
    if np.abs(cov - transpose(cov)).max(initial=0.0) > 1e-9 * largest:
        raise ValueError(f"{name}: covariance must be symmetric; write (C + C.T) / 2 if it should be")
    if _is_definite(cov + 1e-9 * largest * np.eye(size)):
        return
    smallest = float(np.linalg.eigvalsh(cov).min(initial=0.0))
    if smallest < -1e-9 * largest:
        raise ValueError(
            f"{name}: covariance is indefinite (smallest eigenvalue {smallest:.3g}); "
            f"variances may be zero, not negative"
        )


def _is_definite(cov: Array) -> bool:
    """By a factorization: a hundred times quicker than eigenvalues where functions are a thousand."""
    try:
        np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        return False
    return True
