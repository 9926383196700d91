"""An ensemble of Gaussian posteriors of one score, weighted by how well each predicted the observations.

Before the first run nobody knows by how much scores differ, which parameters matter, how wiggly the score is and how
much of it no smooth surface explains.  Every member of the ensemble is one answer; Bayes' rule weighs them, and the
mixture has one mean and one covariance, with which everything else goes on as with any Gaussian belief.

    y = level + a (h bump + shape) + noise,    shape ~ N(0, diag(variances_m)),    noise ~ N(0, a^2 noise_m)

Given a shape m, what was seen depends on the amplitude a and on the height h of what was expected through three sums
of squares only: a grid of both is free.  All of it is linear algebra in the number of runs; after `MOST` runs the
mixture itself becomes the belief.

| here | shape |
|---|---|
| M members (shapes), A amplitudes with their heights, J functions, n runs | |
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian

MOST = 64
"""Runs after which members are no longer told apart: by then the data have."""

_TOP = 0.6  # of the distance from a typical score to the top of the range: amplitudes beyond are implausible
_TOP_SPREAD = 0.4  # of log amplitude
_LEAST_ROOM = 0.02  # a typical score may be at the top already


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """What the members expect, in model units.

    variances:   (M, J) of the weights, over a^2; the first function is the constant
    noises:      (M,) variance of what no function explains, over a^2
    amplitudes:  (A,) standard deviations of the score over the cube;  log_prior: (A,) their log probabilities
    bump:        (J,) mean weights over a
    level:       mean weight of the constant
    heights:     (A,) how much of the bump there is with each amplitude; 1 where that is no question
    """

    variances: Array
    noises: Array
    amplitudes: Array
    log_prior: Array
    bump: Array
    level: float
    heights: Array | float = 1.0

    def prior(self) -> Mixture:
        """The mixture before any run."""
        return self.posterior(np.empty((0, self.variances.shape[1])), np.empty(0))

    def posterior(self, features: Array, scores: Array) -> Mixture:
        """The mixture after n runs.  features: (n, J),  scores: (n,)."""
        count, members = len(scores), len(self.noises)
        scaled = features * self.variances[:, None]  # (M, n, J)
        cov = scaled @ features.T
        at = np.arange(count)
        cov[:, at, at] += self.noises[:, None]
        root = np.asarray(np.linalg.cholesky(cov), dtype=np.float64)  # (M, n, n)
        sides = np.stack([scores - self.level * features[:, 0], features @ self.bump], axis=-1)
        whitened = _solved(root, np.broadcast_to(sides, (members, count, 2)))
        gain = _solved(root, scaled)  # (M, n, J)
        from_data, from_bump = np.moveaxis(np.swapaxes(gain, -1, -2) @ whitened, -1, 0)  # (M, J) each
        level = np.zeros(features.shape[1])
        level[0] = self.level
        return Mixture(
            weights=self._weights(root, whitened, scores),
            amplitudes=self.amplitudes,
            heights=self.heights,
            from_data=level + from_data,
            from_bump=self.bump - from_bump,
            variances=self.variances,
            gain=gain,
            noises=self.noises,
        )

    def only(self, functions: Indices) -> Ensemble:
        """The same of some of the functions, the constant first: for controls where all others are zero."""
        return replace(self, variances=self.variances[:, functions], bump=self.bump[functions])

    def _weights(self, root: Array, whitened: Array, scores: Array) -> Array:
        """Posterior probabilities of all pairs of a shape and an amplitude.  (M, A)."""
        a, h, count = self.amplitudes, self.heights, whitened.shape[1]
        data, bump = whitened[..., 0], whitened[..., 1]
        log_det = np.log(np.diagonal(root, axis1=-2, axis2=-1)).sum(axis=-1)
        squares = [np.sum(x * y, axis=-1)[:, None] for x, y in ((data, data), (data, bump), (bump, bump))]
        fit = squares[0] / a**2 - 2.0 * h * squares[1] / a + h**2 * squares[2]
        log_weights = self.log_prior + _room(a, scores) - log_det[:, None] - count * np.log(a) - 0.5 * fit
        weights = np.exp(log_weights - log_weights.max())
        return np.asarray(weights / weights.sum())


def _solved(root: Array, sides: Array) -> Array:
    return np.asarray(np.linalg.solve(root, sides), dtype=np.float64)


def _room(amplitudes: Array, scores: Array) -> Array:
    """Log probability, up to a constant, of an amplitude where scores can rise only so far.  (A,)."""
    if not scores.size:
        return np.zeros_like(amplitudes)
    room = max(1.0 - float(np.median(scores)), _LEAST_ROOM)
    return np.asarray(-0.5 * np.square(np.maximum(np.log(amplitudes / (_TOP * room)), 0.0) / _TOP_SPREAD))


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The members after some runs: N(from_data + a h from_bump, a^2 (variances - gain' gain)) with probability weights.

    weights: (M, A);  from_data, from_bump, variances: (M, J);  gain: (M, n, J);  noises: (M,)
    """

    weights: Array
    amplitudes: Array
    heights: Array | float
    from_data: Array
    from_bump: Array
    variances: Array
    gain: Array
    noises: Array

    @property
    def shapes(self) -> Array:
        """Probability of each shape, (M,)."""
        return np.asarray(self.weights.sum(axis=-1))

    def gaussian(self) -> Gaussian:
        """The Gaussian with the mixture's mean and covariance."""
        probability = self.shapes
        safe = np.maximum(probability, 1e-300)
        second = self.weights @ self.amplitudes**2 / safe  # E a^2 given the shape
        bumps = self.amplitudes * self.heights
        first, square = (self.weights @ bumps**k / safe for k in (1, 2))  # E a h, E (a h)^2
        means = self.from_data + first[:, None] * self.from_bump
        mean = probability @ means
        unsure = np.sqrt(probability * np.maximum(square - first**2, 0.0))[:, None] * self.from_bump
        apart = np.sqrt(probability)[:, None] * (means - mean)
        known = np.sqrt(probability * second)[:, None, None] * self.gain
        cov = np.diag((probability * second) @ self.variances)
        for part, sign in ((unsure, 1.0), (apart, 1.0), (known.reshape(-1, mean.size), -1.0)):
            cov += sign * (part.T @ part)
        return Gaussian(mean, (cov + cov.T) / 2)

    def draw(self, uniforms: Array, normals: Array) -> tuple[Array, Array]:
        """Weights (n, J) of the functions and standard deviations (n,) of the noise, each of one member.

        uniforms: (n,) that choose shape and amplitude;  normals: (n, J).  With B = gain variances^(-1/2) = U s V', the
        root of a member's covariance is a variances^(1/2) (1 - V (1 - sqrt(1 - s^2)) V').
        """
        ladder = np.cumsum(self.weights.ravel())
        chosen = np.minimum(np.searchsorted(ladder, uniforms * ladder[-1]), len(ladder) - 1)
        member, at = np.divmod(chosen, len(self.amplitudes))
        scale, sds, spread = self.amplitudes[at], np.sqrt(self.variances), normals.copy()
        height = np.broadcast_to(self.heights, self.amplitudes.shape)[at][:, None]
        for m in np.unique(member) if self.gain.shape[1] else ():
            _, lengths, known = np.linalg.svd(self.gain[m] / np.maximum(sds[m], 1e-150), full_matrices=False)
            shrunk = 1.0 - np.sqrt(np.maximum(1.0 - lengths**2, 0.0))
            rows = member == m
            spread[rows] -= ((spread[rows] @ known.T) * shrunk) @ known
        weights = self.from_data[member] + scale[:, None] * (height * self.from_bump[member] + sds[member] * spread)
        return weights, scale * np.sqrt(self.noises[member])

    @property
    def noise(self) -> float:
        """Standard deviation of what no function explains, over all members."""
        return float(np.sqrt((self.weights @ self.amplitudes**2) @ self.noises))

    @property
    def amplitude(self) -> float:
        """Root mean square of the amplitude."""
        return float(np.sqrt((self.weights @ self.amplitudes**2).sum()))
