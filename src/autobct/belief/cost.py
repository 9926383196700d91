"""Cost models: the scale on which the filter observes a cost, and the expected cost of a prediction on that scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from autobct.belief.arrays import Array
from autobct.belief.normal import lognormal_mean, upsilon


def _identity(values: Array) -> Array:
    return values


@dataclass(frozen=True, slots=True)
class CostModel:
    """How cost is modelled.

    expected: (mean, sd) of the predicted observation -> expected cost, both (...)
    to_observation, from_observation: cost in model units <-> what the filter sees
    """

    name: str
    expected: Callable[[Array, Array], Array]
    to_observation: Callable[[Array], Array]
    from_observation: Callable[[Array], Array]

    def charged(self, observation: Array) -> Array:
        """What a run with this observation is charged: never negative, eq. (3) of the paper."""
        return np.maximum(self.from_observation(observation), 0.0)

    def __reduce__(self) -> tuple[Callable[..., CostModel], tuple[object, ...]]:
        """A copy of one of the two is the same object, by which it is known."""
        return _the_same, (self.name, self.expected, self.to_observation, self.from_observation)


def _the_same(*fields: Any) -> CostModel:
    made = CostModel(*fields)
    return next((model for model in COST_MODELS.values() if model == made), made)


LINEAR = CostModel("linear", upsilon, _identity, _identity)
"""The paper's: t = psi(u)'beta + noise, truncated at zero in the objective."""

LOG_LINEAR = CostModel("log-linear", lognormal_mean, np.log, np.exp)
"""log t = psi(u)'beta + noise: multiplicative errors, as real timings have them; the default for time."""

COST_MODELS = {model.name: model for model in (LINEAR, LOG_LINEAR)}


def expected_beyond(model: CostModel, mean: Array, sd: Array, covered: float) -> Array:
    """E[(cost - covered)^+] for a predicted observation (mean, sd): what a run takes beyond a time that passes anyway.

    For a lognormal cost, with Y ~ N(m, s^2): exp(m + s^2/2) Phi((m + s^2 - log r)/s) - r Phi((m - log r)/s).
    covered: in model units of cost   (r)
    """
    if covered <= 0.0:
        return model.expected(mean, sd)
    if model is LINEAR:
        return upsilon(mean - covered, sd)
    spread = np.maximum(sd, 1e-12)
    above = (mean - np.log(covered)) / spread
    return np.asarray(np.maximum(lognormal_mean(mean, sd) * ndtr(above + spread) - covered * ndtr(above), 0.0))
