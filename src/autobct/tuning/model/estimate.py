"""What is known after some runs, and the scores estimated from it: medians, quantiles, and which parameters matter.

Scores are learned in model units, with the lower half drawn together (`Compression`).  Both steps are monotone, so that
a quantile of the one is a quantile of the other.  An estimate is the posterior median.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.basis import noise_at
from autobct.belief.gaussian import Belief, Gaussian
from autobct.tuning.space.candidates import drawn_at
from autobct.tuning.space.parameter import tuned_names
from autobct.tuning.units.ranges import DIVERGED
from autobct.tuning.units.scale import ScaledProblem

_FARTHEST_BELOW = 60.0  # units below the middle: e^60 is beyond any score, and still a number
_POINTS = 512  # in each set, a power of two: shares to about a hundredth


@dataclass(frozen=True, slots=True)
class Compression:
    """Scores with the lower half drawn together: how bad the bad ones are says little about where the best is.

    Below the middle m, m - y becomes s log(1 + (m - y) / s).  A rising function, so that quantiles stay quantiles.

    middle: m, in model units; -inf where nothing is drawn together;  unit: s
    """

    middle: float = -np.inf
    unit: float = 1.0

    def __call__(self, scores: Array) -> Array:
        """Scores as they are learned, of any shape."""
        below = np.maximum(self.middle - scores, 0.0) / self.unit
        return np.where(scores >= self.middle, scores, self.middle - self.unit * np.log1p(below))

    def undone(self, learned: Array) -> Array:
        """The scores that are learned as these, of any shape: the inverse."""
        if self.middle == -np.inf:
            return learned
        below = np.minimum(np.maximum(self.middle - learned, 0.0) / self.unit, _FARTHEST_BELOW)
        return np.where(learned >= self.middle, learned, self.middle - self.unit * np.expm1(below))


PLAIN = Compression()
"""Nothing is drawn together."""


def compression_of(scores: Array, *, least: float = 0.01) -> Compression:
    """The compression for some scores (n,): m is their median, s the distance from it to the best; none for a few."""
    if len(scores) < 3:
        return PLAIN
    middle = float(np.median(scores))
    return Compression(middle, max(float(scores.max()) - middle, least))


def compressed(scores: Array) -> Array:
    """The scores (n,) as they are learned."""
    return compression_of(scores)(scores)


SHARES = {0.003: 0.3, 0.03: 0.3, 0.3: 0.3, 0.9: 0.1}
"""Shares of noise in what no surface explains, and their probabilities before any run.  docs/decisions/noise.md."""

NEAR = 0.03
"""Distance in the unit cube over which a misfit changes: runs much closer tell about noise, as repeats do."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """What no surface explains: partly noise, which a repeat would not show again, and partly the score itself.

        y = phi(u)'alpha + e(u) + n,    e(u) ~ N(0, tau^2) at every control,    n ~ N(0, sigma^2) at every run

    e, the misfit, is a fixed number at each control: a model that was trained there has it.  Given the weights, the
    score of a model with k runs of mean y is expected to be (1 - w) phi'alpha + w y, w = tau^2 / (tau^2 + sigma^2 / k).
    Where scores are exact that is y, what was measured; where they are all noise it is the surface.

    total: standard deviation of what no surface explains, as the ensemble learns it   (root of tau^2 + sigma^2)
    share: of its variance that is noise, learned from repeats and from runs nearly at the same place; otherwise usual
    """

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


def stated_misfit(total: float, noise: float) -> Misfit:
    """Where the noise is known.  total: as learned, or the noise if that is more."""
    whole = max(total, noise, 1e-300)
    return Misfit(whole, (noise / whole) ** 2)


def learned_misfit(total: float, controls: Array, residuals: Array) -> Misfit:
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


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The first finished runs, from which an ensemble learns.  controls: (n, p), features: (n, J),  scores: (n,).

    misfit: what no surface explains, as learned;  compression: how scores were drawn together before that
    """

    controls: Array
    features: Array
    scores: Array
    misfit: Misfit
    compression: Compression = PLAIN


Measured = Mapping[bytes, tuple[int, float]]
"""How many runs there were at each control, and their mean score in model units."""


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What is known after some runs.

    problem:  with the ranges that the runs have shown;  belief: in its model units
    scores:   of the last finished run at each control, in model units, as they were learned; the best of very many
    evidence: where the scale of the score is learned too
    finished: number of runs that have
    measured: number of runs at each control and their mean, in model units, as learned; the best of very many
    failed_late: whether costs were learned from failed runs, too, as they took longer than expected
    """

    problem: ScaledProblem
    belief: Belief
    scores: Mapping[bytes, float] = field(default_factory=dict)
    evidence: Evidence | None = None
    finished: int = 0
    measured: Measured = field(default_factory=dict)
    failed_late: bool = False

    @property
    def compression(self) -> Compression:
        """How scores were drawn together before they were learned: `belief.score` is about what comes out of it."""
        return PLAIN if self.evidence is None else self.evidence.compression


def score_at(known: Learned, controls: Array, features: Array | None = None) -> Array:
    """Estimates at controls (n, p), in model units: what the surfaces say, and at trained controls what was measured.

    (n,).  See `Misfit`.  features: of the controls, (n, J), if they are at hand
    """
    if features is None:
        features = known.problem.prior.model.score_basis(controls)
    learned = np.asarray(features @ known.belief.score.mean)
    surface = known.compression.undone(learned)
    if known.evidence is None:
        return surface
    found = [known.measured.get(control.tobytes(), (0, 0.0)) for control in controls]
    runs, scores = np.array(found, dtype=float).reshape(-1, 2).T
    return np.asarray(surface + known.evidence.misfit.weight(runs) * (scores - surface))


def estimated_scores(known: Learned, controls: Array) -> Array:
    """The estimated scores at controls (n, p), in the user's units: see `score_at`.  (n,)."""
    return _shown(known, score_at(known, controls))


def estimated_score(known: Learned, control: Array) -> float:
    """The estimated score at a control (p,), in the user's units."""
    return float(estimated_scores(known, control[None])[0])


def to_scores(known: Learned, learned: Array) -> Array:
    """Scores as they are learned, of any shape, in the user's units and within what scores can be.

    Scores that diverged were learned as `DIVERGED` ranges below the best, so no estimate is lower than that.
    """
    return _shown(known, known.compression.undone(learned))


def _shown(known: Learned, scores: Array) -> Array:
    """Scores in model units, in the user's and within what scores can be."""
    if known.evidence is not None and known.scores:
        scores = np.maximum(scores, max(known.scores.values()) - DIVERGED)
    scale, (low, high) = known.problem.score_scale, score_bounds(known.problem)
    scores_seen = known.scores.values()  # a scale rises or falls, so that the ends of them are the ends in raw units
    seen = [float(scale.to_raw(end)) for end in (min(scores_seen), max(scores_seen))] if scores_seen else []
    return np.clip(scale.to_raw(np.asarray(scores)), min([low, *seen]), max([high, *seen]))


def score_bounds(problem: ScaledProblem) -> tuple[float, float]:
    """The lowest and highest possible score in the user's units: the ends of the range that no run has left.

    There are none where units are the user's own (a prior, or a scale instead of a range), and none under the paper's
    prior of a known scale, whose scores are Gaussian and whose values count on that.
    """
    stated, now = problem.stated, problem.score_scale
    if stated.fixed[0] or problem.prior.ensemble is None:
        return -np.inf, np.inf
    low = now.low if now.low == stated.score_scale.low else -np.inf
    return low, now.high if now.high == stated.score_scale.high else np.inf


def score_quantiles(known: Learned, controls: Array, levels: tuple[float, ...], *, noise: bool) -> Array:
    """Quantiles (L, n) of the score at controls (n, p), in the user's units; the first is the worst.

    levels: rising, between 0 and 1
    noise:  True for the score that one run would measure there, with what no smooth surface explains; False for the
            surface alone
    """
    model = known.problem.prior.model
    mean, sd = spread_of(known.belief.score, model.score_basis(controls))
    if noise:
        sd = np.hypot(sd, score_noise_at(known, controls))
    return to_scores(known, mean + ndtri(np.array(levels))[:, None] * sd)


def score_noise_at(known: Learned, controls: Array) -> Array:
    """Standard deviation (n,) of what no smooth surface explains in one score, as learned or as stated."""
    if known.evidence is not None:
        return np.full(len(controls), known.evidence.misfit.total)
    return np.broadcast_to(noise_at(known.problem.prior.model.score_noise, controls), len(controls))


def spread_of(weights: Gaussian, features: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (n,) of functions of the weights.  features: (n, J)."""
    variance = np.sum((features @ weights.cov) * features, axis=-1)
    return features @ weights.mean, np.sqrt(np.maximum(variance, 0.0))


def importance(known: Learned) -> dict[str, float]:
    """The share of each parameter, the largest first; they sum to 1.  No random numbers: the same for the same runs."""
    space = known.problem.space
    tuned = tuned_names(space.names, space.parameters)
    both = _evenly(2 * len(tuned))
    first, second = both[:, : len(tuned)], both[:, len(tuned) :]
    base = _estimated(known, first)
    effects = np.zeros(len(tuned))
    for which in range(len(tuned)):
        moved = first.copy()
        moved[:, which] = second[:, which]
        effects[which] = np.mean(np.square(_estimated(known, moved) - base))
    total = float(effects.sum())
    shares = effects / total if total > 0.0 else np.full(len(tuned), 1.0 / len(tuned))
    found = dict.fromkeys(space.names, 0.0) | dict(zip(tuned, shares.tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def _evenly(dim: int) -> Array:
    """The first points of Sobol's sequence, in the middles of their cells: few choices all come up equally often."""
    from scipy.stats import qmc  # slow to import

    return np.asarray(qmc.Sobol(dim, scramble=False).random(_POINTS) + 0.5 / _POINTS)


def _estimated(known: Learned, points: Array) -> Array:
    """The estimated score at params drawn by uniforms (n, P), one for each parameter that is not a constant.  (n,)."""
    space = known.problem.space
    controls = space.canonical(np.stack([drawn_at(space, point) for point in points.tolist()]))
    return np.asarray(score_quantiles(known, controls, (0.5,), noise=False)[0])
