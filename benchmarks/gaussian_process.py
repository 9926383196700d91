"""A Gaussian process as BoTorch's defaults have it: Matern 5/2, one length per coordinate, maximum a posteriori.

Lengths are log-normal around sqrt(dim) (Hvarfner et al. 2024), noise is log-normal around exp(-4) of the standardised
observations; the constant mean is the generalised least-squares one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from cube import Array
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

_NOISE = (-4.0, 1.0)
_SPREAD = math.sqrt(3.0)
_BOUNDS = (-9.0, 6.0)  # of every logarithm


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """What is known after some observations.  places: (n, d), lengths: (d,); centre and scale are the observations'."""

    places: Array
    lengths: Array
    factor: Array
    weights: Array
    mean: float
    centre: float
    scale: float

    def __call__(self, at: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the noiseless value at (m, d) places."""
        across = _kernel(_squares(at, self.places) @ self.lengths**-2.0)
        half = solve_triangular(self.factor, across.T, lower=True)
        var = np.maximum(1.0 - np.sum(half**2, axis=0), 1e-12)
        return self.centre + self.scale * (self.mean + across @ self.weights), self.scale * np.sqrt(var)


def fitted(places: Array, values: Array) -> Process:
    """The process of observations: places (n, d) in the unit cube, values (n,)."""
    return conditioned(places, values, fit(places, values))


def fit(places: Array, values: Array) -> Array:
    """Logarithms of the lengths and, last, of the noise.  (d + 1,)."""
    y, squares, dim = _standard(values)[0], _squares(places, places), places.shape[1]
    usual = np.append(np.full(dim, math.sqrt(2.0) + 0.5 * math.log(dim)), _NOISE[0])
    width = np.append(np.full(dim, _SPREAD), _NOISE[1])
    start = np.clip(usual - width**2, *_BOUNDS)  # the mode
    starts = [start, np.append(np.full(dim, math.log(0.5)), _NOISE[0])]
    found = [
        minimize(_loss, x, args=(y, squares, usual, width), jac=True, method="L-BFGS-B", bounds=[_BOUNDS] * (dim + 1))
        for x in starts
    ]
    return np.asarray(min(found, key=lambda result: float(result.fun)).x, dtype=float)


def conditioned(places: Array, values: Array, logs: Array) -> Process:
    """The process with these lengths and this noise, as `fit` gives them."""
    y, centre, scale = _standard(values)
    lengths, noise = np.exp(logs[:-1]), math.exp(logs[-1])
    factor = _factor(_kernel(_squares(places, places) @ lengths**-2.0), noise)
    mean, weights = _solved(factor, y)
    return Process(places, lengths, factor, weights, mean, centre, scale)


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
    return np.asarray(np.linalg.cholesky(kernel + (noise + 1e-8) * np.eye(len(kernel))), dtype=float)


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


__all__ = ["Process", "conditioned", "fit", "fitted"]
