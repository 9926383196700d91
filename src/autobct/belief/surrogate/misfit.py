"""What no surface explains: partly noise, which a repeat would not show again, and partly the score itself.

    y = phi(u)'alpha + e(u) + n,    e(u) ~ N(0, tau^2) at every control,    n ~ N(0, sigma^2) at every run

e, the misfit, is a fixed number at each control: a model that was trained there has it.  Given the weights, the score
of a model with k runs of mean y is expected to be (1 - w) phi'alpha + w y with w = tau^2 / (tau^2 + sigma^2 / k).
Where scores are exact that is y, what was measured; where they are all noise it is the surface.

How tau^2 and sigma^2 share what the surfaces leave is learned from repeats, and from runs so near to each other that
their misfits are nearly the same; without such runs it stays what is usual.

| symbol | here |
|---|---|
| tau^2 + sigma^2 | `Misfit.total` squared: what the ensemble learns |
| sigma^2 / (tau^2 + sigma^2) | `Misfit.share` |
| w | `Misfit.weight` |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array

SHARES = {0.003: 0.3, 0.03: 0.3, 0.3: 0.3, 0.9: 0.1}
"""Shares of noise in what no surface explains, and their probabilities before any run.  docs/decisions/noise.md."""

NEAR = 0.03
"""Distance in the unit cube over which a misfit changes: runs much closer tell about noise, as repeats do."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """total: standard deviation of what no surface explains;  share: of its variance that is noise."""

    total: float
    share: float

    @property
    def noise(self) -> float:
        """Standard deviation of what a repeat would not show again   (sigma)."""
        return float(self.total * np.sqrt(self.share))

    @property
    def own(self) -> float:
        """Variance of what belongs to the control   (tau^2)."""
        return self.total**2 * (1.0 - self.share)

    def weight(self, runs: Array) -> Array:
        """How much the mean of so many runs at a control counts against the surface; zero without any.  (n,)."""
        return np.asarray(runs * self.own / np.maximum(runs * self.own + self.noise**2, 1e-300))


UNKNOWN = Misfit(np.nan, np.nan)
"""Before it is learned."""


def stated(total: float, noise: float) -> Misfit:
    """Where the noise is known.  total: as learned, or the noise if that is more."""
    whole = max(total, noise, 1e-300)
    return Misfit(whole, (noise / whole) ** 2)


def learned(total: float, controls: Array, residuals: Array) -> Misfit:
    """The share that explains how alike nearby runs are: its posterior mean.

    controls: (n, p);  residuals: (n,) scores less what the surfaces explain of them
    """
    apart = np.square(controls[:, None] - controls).sum(axis=-1)
    alike = np.exp(-0.5 * apart / NEAR**2)
    shares, prior = np.array(list(SHARES)), np.array(list(SHARES.values()))
    fit = np.array([_log_likelihood(share, alike, residuals / total) for share in SHARES])
    chances = prior * np.exp(fit - fit.max())
    return Misfit(total, float(chances @ shares / chances.sum()))


def _log_likelihood(share: float, alike: Array, standardized: Array) -> float:
    root = np.linalg.cholesky((1.0 - share) * alike + share * np.eye(len(alike)))
    white = np.linalg.solve(root, standardized)
    return float(-np.log(np.diagonal(root)).sum() - 0.5 * white @ white)
