"""What is assumed, as against what is believed: bases, noise and cost model (paper eqs. h_t_n and HT)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, broadcast_values
from autobct.belief.basis import Basis
from autobct.belief.cost import LINEAR, CostModel
from autobct.belief.gaussian import Belief
from autobct.belief.kalman import update

Noise = float | Callable[[Array], Array]
"""Standard deviation of one observation: a constant, or a function of the controls (..., p) -> (...)."""


@dataclass(frozen=True, slots=True)
class Model:
    """Score and cost as linear models in their bases, observed with noise.

    score_noise: standard deviation of one observed score, in score units   (sigma_H)
    cost_noise:  standard deviation of one observed cost, in units of what the cost model observes   (sigma_T)
    """

    score_basis: Basis
    cost_basis: Basis
    score_noise: Noise
    cost_noise: Noise
    cost_model: CostModel = LINEAR

    def observe(self, belief: Belief, control: Array, *, score: float | None, cost: float) -> Belief:
        """Kalman(x, u, h, t): the belief after one run.  control: (p,);  score and cost in model units.

        score=None: the run failed, only its cost was seen.
        """
        new_cost = update(
            belief.cost,
            self.cost_basis(control),
            noise_at(self.cost_noise, control, "cost_noise"),
            self.cost_model.to_observation(np.asarray(cost, dtype=np.float64)),
        )
        if score is None:
            return Belief(belief.score, new_cost)
        score_noise = noise_at(self.score_noise, control, "score_noise")
        return Belief(update(belief.score, self.score_basis(control), score_noise, score), new_cost)


def noise_at(noise: Noise, controls: Array, name: str = "noise") -> Array:
    """sigma(u) at the controls: (..., p) -> (...); positive and finite, assumption (S) of the paper."""
    try:
        values = np.asarray(noise(controls) if callable(noise) else noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or a function of controls, got {noise!r}; write e.g. 0.05") from None
    if not (np.all(np.isfinite(values)) and np.all(values > 0)):
        raise ValueError(f"{name} must be positive and finite at every control; write a standard deviation, e.g. 0.05")
    return broadcast_values(values, controls, name)
