"""How much each parameter matters: shares of the variance of the estimated score over the space.

Total-effect Sobol indices, by Jansen's estimator (Saltelli et al., 2010, table 2):

    T_i = E[(f(A) - f(A with its i-th parameter from B))^2] / (2 Var f)

f is the estimated score in the user's units, A and B are two evenly spread sets of params.  A share is T_i over the
sum of all of them; what several parameters do together counts for each of them.
"""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import kronecker
from autobct.tuning.model.estimate import score_quantiles
from autobct.tuning.model.posterior import Learned
from autobct.tuning.space.candidates import drawn_at

__all__ = ["importance"]

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
