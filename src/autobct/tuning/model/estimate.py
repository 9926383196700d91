"""What tables, charts and forecasts show of a posterior: quantiles of the score, and which parameters matter.

The belief is about scores as they are learned: in model units, with the lower half drawn together (`Compression`).
Both steps are monotone, so a quantile of the one is a quantile of the other.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.basis import kronecker
from autobct.belief.gaussian import Gaussian
from autobct.belief.model import noise_at
from autobct.tuning.model.posterior import Learned, to_scores
from autobct.tuning.space.candidates import drawn_at


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


_POINTS = 512  # in each set: shares to about a hundredth


def importance(known: Learned) -> dict[str, float]:
    """The share of each parameter, the largest first; they sum to 1.  No random numbers: the same for the same runs."""
    space = known.problem.space
    tuned = [name for name, parameter in zip(space.names, space.parameters, strict=True) if parameter.count != 1]
    both = kronecker(_POINTS, 2 * len(tuned))
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


def _estimated(known: Learned, points: Array) -> Array:
    """The estimated score at params drawn by uniforms (n, P), one for each parameter that is not a constant.  (n,)."""
    space = known.problem.space
    controls = space.canonical(np.stack([drawn_at(space, point) for point in points.tolist()]))
    return np.asarray(score_quantiles(known, controls, (0.5,), noise=False)[0])
