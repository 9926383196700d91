"""A Gaussian process as BoTorch's defaults have it: Matern 5/2, one length per coordinate, maximum a posteriori.

Lengths are log-normal around sqrt(dim) (Hvarfner et al. 2024), noise is log-normal around exp(-4) of the standardised
observations; the constant mean is the generalised least-squares one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from autobct.belief.arrays import Array
from autobct.belief.normal import upsilon

_NOISE = (-4.0, 1.0)
_SPREAD = math.sqrt(3.0)
_BOUNDS = (-9.0, 6.0)  # of every logarithm
_JITTER = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class GaussianProcess:
    """What is known after some observations.

    places, values: (n, d) in the unit cube, (n,);  logs: (d + 1,) logarithms of the lengths and of the noise
    factor: Cholesky's, of the covariance of observations;  weights: (n,);  mean, centre, scale: of the values
    """

    places: Array
    values: Array
    logs: Array
    factor: Array
    weights: Array
    mean: float
    centre: float
    scale: float

    def __call__(self, at: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the noiseless value at (m, d) places."""
        across = _kernel(_squares(at, self.places) @ np.exp(-2.0 * self.logs[:-1]))
        half = solve_triangular(self.factor, across.T, lower=True)
        var = np.maximum(1.0 - np.sum(half**2, axis=0), 1e-12)
        return self.centre + self.scale * (self.mean + across @ self.weights), self.scale * np.sqrt(var)

    def improvement(self, at: Array) -> Array:
        """Expected improvement on the best of the places observed, as it is estimated.  (m, d) -> (m,)."""
        mean, sd = self(at)
        return upsilon(mean - self(self.places)[0].max(), sd)

    def believing(self, at: Array) -> GaussianProcess:
        """As if values had been observed at (m, d) places just as they are expected there."""
        places, values = np.concatenate([self.places, at]), np.concatenate([self.values, self(at)[0]])
        return _process(places, values, self.logs, self.centre, self.scale)


def fitted(places: Array, values: Array) -> GaussianProcess:
    """The process of observations: places (n, d) in the unit cube, values (n,)."""
    return conditioned(places, values, fit(places, values))


def fit(places: Array, values: Array) -> Array:
    """Logarithms of lengths and, last, of the noise, (d + 1,): from the mode of their prior and from short lengths."""
    dim = places.shape[1]
    usual, width = _prior(dim)
    mode = np.clip(usual - width**2, *_BOUNDS)
    return _best_of(places, values, [mode, np.append(np.full(dim, math.log(0.5)), _NOISE[0])], 15_000)


def fit_quickly(places: Array, values: Array) -> Array:
    """The same in a few steps from moderate lengths: for a decision, which hardly depends on more of them."""
    dim = places.shape[1]
    start = np.append(np.full(dim, math.log(0.5) + 0.25 * math.log(dim)), _NOISE[0])
    return _best_of(places, values, [start], 15)


def conditioned(places: Array, values: Array, logs: Array) -> GaussianProcess:
    """The process with these lengths and this noise, as `fit` gives them."""
    return _process(places, values, logs, *_standard(values)[1:])


def _process(places: Array, values: Array, logs: Array, centre: float, scale: float) -> GaussianProcess:
    factor = _factor(_kernel(_squares(places, places) @ np.exp(-2.0 * logs[:-1])), math.exp(logs[-1]))
    mean, weights = _solved(factor, (values - centre) / scale)
    return GaussianProcess(
        places=places,
        values=values,
        logs=logs,
        factor=factor,
        weights=weights,
        mean=mean,
        centre=centre,
        scale=scale,
    )


def _best_of(places: Array, values: Array, starts: Sequence[Array], steps: int) -> Array:
    from scipy.optimize import minimize  # slow to import

    y, squares = _standard(values)[0], _squares(places, places)
    found = [
        minimize(
            _loss,
            start,
            args=(y, squares, *_prior(places.shape[1])),
            jac=True,
            method="L-BFGS-B",
            bounds=[_BOUNDS] * len(start),
            options={"maxiter": steps},
        )
        for start in starts
    ]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x, dtype=float)


def _prior(dim: int) -> tuple[Array, Array]:
    """Means and standard deviations of the logarithms.  (d + 1,) each."""
    usual = np.append(np.full(dim, math.sqrt(2.0) + 0.5 * math.log(dim)), _NOISE[0])
    return usual, np.append(np.full(dim, _SPREAD), _NOISE[1])


def _standard(values: Array) -> tuple[Array, float, float]:
    """Values without centre and scale, and these."""
    centre = float(values.mean())
    scale = float(values.std(ddof=1)) if len(values) > 1 else 1.0
    scale = scale if scale > 1e-9 else 1.0
    return (values - centre) / scale, centre, scale


def _loss(x: Array, y: Array, squares: Array, usual: Array, width: Array) -> tuple[float, Array]:
    """Minus the log posterior of logarithms of lengths and noise, and its gradient."""
    scaled = squares * np.exp(-2.0 * x[:-1])
    distance = np.sqrt(5.0 * scaled.sum(axis=-1))
    decay = np.exp(-distance)
    kernel, noise = (1.0 + distance + distance**2 / 3.0) * decay, math.exp(x[-1])
    factor = _factor(kernel, noise)
    mean, weights = _solved(factor, y)
    inverse = cho_solve((factor, True), np.eye(len(y)))
    inner = 0.5 * (inverse - np.outer(weights, weights))
    slope = inner * (5.0 / 3.0) * (1.0 + distance) * decay
    away = (x - usual) / width
    gradient = np.append(np.einsum("ij,ijk->k", slope, scaled), noise * np.trace(inner)) + away / width + 1.0
    loss = 0.5 * (y - mean) @ weights + np.log(np.diag(factor)).sum() + 0.5 * away @ away + x.sum()
    return float(loss), gradient


def _factor(kernel: Array, noise: float) -> Array:
    return np.asarray(np.linalg.cholesky(kernel + (noise + _JITTER) * np.eye(len(kernel))), dtype=float)


def _solved(factor: Array, y: Array) -> tuple[float, Array]:
    """The least-squares mean and K^-1 (y - mean)."""
    both = cho_solve((factor, True), np.stack([y, np.ones_like(y)], axis=1))
    mean = float(both[:, 0].sum() / both[:, 1].sum())
    return mean, both[:, 0] - mean * both[:, 1]


def _squares(a: Array, b: Array) -> Array:
    return np.asarray((a[:, None, :] - b[None, :, :]) ** 2, dtype=float)


def _kernel(squared: Array) -> Array:
    distance = np.sqrt(5.0 * squared)
    return np.asarray((1.0 + distance + distance**2 / 3.0) * np.exp(-distance), dtype=float)
