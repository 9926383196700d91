"""Truths drawn from the posterior: what simulated runs show, in the user's units and within what scores can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.model import noise_at
from autobct.belief.surrogate.ensemble import MOST
from autobct.tuning.model.estimate import score_noise_at
from autobct.tuning.model.posterior import Learned, score_bounds, to_scores

__all__ = ["DrawnTruth", "drawn_truths"]

_POOL = 16  # truths that are drawn for each that is kept


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTruth:
    """What score and cost may really be.

    known:    when it was drawn: the scale of the weights
    score_weights, cost_weights:  (J,), (K,)
    noise:    standard deviation of what no surface explains in one score; None for the model's own
    """

    known: Learned
    score_weights: Array
    cost_weights: Array
    noise: float | None

    def score(self, control: Array) -> float:
        """The true score at a control (p,), in the user's units."""
        return self._score(control, 0.0)

    def run(self, control: Array, normals: Array) -> tuple[float, float]:
        """Score and cost that a run at this control shows, in the user's units.  normals: (2,) of its noise."""
        problem, model = self.known.problem, self.known.problem.prior.model
        noise = float(score_noise_at(self.known, control[None])[0]) if self.noise is None else self.noise
        cost = model.cost_basis(control) @ self.cost_weights + noise_at(model.cost_noise, control) * normals[1]
        charged = float(problem.cost_scale.to_raw(float(model.cost_model.charged(cost))))
        return self._score(control, noise * float(normals[0])), max(charged, 0.0)

    def _score(self, control: Array, off: float) -> float:
        features = self.known.problem.prior.model.score_basis(control)
        return float(to_scores(self.known, np.asarray(features @ self.score_weights + off)))


def drawn_truths(known: Learned, draws: int, *, rng: np.random.Generator) -> list[DrawnTruth]:
    """Truths from the posterior, given that no candidate scores better, and not most of them worse, than scores can.

    Of many truths the first that keep to the bounds are taken; if they are too few, those that leave them least.
    """
    worst, best = _bounds(known)
    bounded = np.isfinite(worst) or np.isfinite(best)
    weights, noises = _score_weights(known, draws * _POOL if bounded else draws, rng=rng)
    if bounded:
        features = known.problem.prior.model.score_basis(known.problem.controls)
        scores = known.compression.undone(weights @ features.T)
        outside = np.maximum(scores.max(axis=1) - best, 0.0) + np.maximum(worst - np.median(scores, axis=1), 0.0)
        kept = np.argsort(outside, kind="stable")[:draws]
        weights, noises = weights[kept], None if noises is None else noises[kept]
    costs = known.belief.cost.draw(rng.standard_normal((draws, known.belief.cost.size)))
    return [
        DrawnTruth(known, weights[k], costs[k], None if noises is None else float(noises[k]))
        for k in range(len(weights))
    ]


def _bounds(known: Learned) -> tuple[float, float]:
    """The worst and the best possible score in model units: 0 and 1, where there are any."""
    low, high = score_bounds(known.problem)
    worst, best = (high, low) if known.problem.direction == "minimize" else (low, high)
    return 0.0 if np.isfinite(worst) else -np.inf, 1.0 if np.isfinite(best) else np.inf


def _score_weights(known: Learned, draws: int, *, rng: np.random.Generator) -> tuple[Array, Array | None]:
    """Weights (n, J) of the score and, where members of an ensemble differ in it, their noise (n,)."""
    ensemble, seen, size = known.problem.prior.ensemble, known.evidence, known.belief.score.size
    normals = rng.standard_normal((draws, size))
    if ensemble is None or (seen is not None and len(seen.scores) >= MOST):
        return known.belief.score.draw(normals), None
    features, scores = (np.empty((0, size)), np.empty(0)) if seen is None else (seen.features, seen.scores)
    return ensemble.posterior(features, known.compression(scores)).draw(rng.random(draws), normals)
