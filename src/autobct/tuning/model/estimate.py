"""The estimated score at any controls, in the user's units: what tables, charts and forecasts show.

The belief is about scores as they are learned: in model units, with the lower half drawn together (`Compression`).
Both steps are monotone, so a quantile of the one is a quantile of the other.  An estimate is the posterior median.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Gaussian
from autobct.belief.model import noise_at
from autobct.tuning.model.posterior import Learned
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.ranges import DIVERGED

__all__ = ["estimated_score", "score_at", "score_bounds", "score_quantiles", "spread_of", "to_scores"]


def estimated_score(known: Learned, control: Array) -> float:
    """The estimated score at a control (p,), in the user's units: see `score_at`."""
    return float(_shown(known, score_at(known, control[None]))[0])


def score_at(known: Learned, controls: Array) -> Array:
    """Estimates at controls (n, p), in model units: what the surfaces say, and at trained controls what was measured.

    (n,).  See `belief.surrogate.ensemble.Misfit`.
    """
    learned = np.asarray(known.problem.prior.model.score_basis(controls) @ known.belief.score.mean)
    surface = known.compression.undone(learned)
    if known.evidence is None:
        return surface
    found = [known.measured.get(control.tobytes(), (0, 0.0)) for control in controls]
    runs, scores = np.array(found, dtype=float).reshape(-1, 2).T
    return np.asarray(surface + known.evidence.misfit.weight(runs) * (scores - surface))


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


def score_noise_at(known: Learned, controls: Array) -> Array:
    """Standard deviation (n,) of what no smooth surface explains in one score, as learned or as stated."""
    if known.evidence is not None:
        return np.full(len(controls), known.evidence.misfit.total)
    return np.broadcast_to(noise_at(known.problem.prior.model.score_noise, controls), len(controls))


def spread_of(weights: Gaussian, features: Array) -> tuple[Array, Array]:
    """Mean and standard deviation (n,) of functions of the weights.  features: (n, J)."""
    variance = np.sum((features @ weights.cov) * features, axis=-1)
    return features @ weights.mean, np.sqrt(np.maximum(variance, 0.0))
