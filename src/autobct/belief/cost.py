"""Expected cost of one run: the paper's truncated linear model, and a log-linear one that cannot be negative.

A cost model says in which space the Kalman filter sees a cost, and what a predicted normal there costs on
average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx

from autobct.belief.arrays import Array

_ROOT_2 = np.sqrt(2.0)
_ROOT_2PI = np.sqrt(2 * np.pi)
_HALF_ROOT_PI = np.sqrt(np.pi / 2)
_FAR = 40.0  # beyond it the normal density, exp(-800), is zero in double precision


def upsilon(mean: Array | float, sd: Array | float) -> Array:
    """E[Y^+] for Y ~ N(mean, sd^2): Upsilon of eq. (reform), accurate in relative terms in both tails.

    Also the expected improvement: E[(Y - b)^+] = upsilon(mean - b, sd).
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = np.where(s > 0, np.abs(m) / s, np.inf)
    return np.asarray(np.maximum(m, 0.0) + s * left_loss(-x))  # E[Y^+] = E[(-Y)^+] + m serves m > 0


def left_loss(x: Array) -> Array:
    """phi(x) + x Phi(x) for x <= 0, without cancellation: phi(x) (1 + x Phi(x)/phi(x)) with a scaled erfc."""
    x = np.maximum(x, -_FAR)
    return np.asarray(np.exp(-0.5 * x * x) * (1.0 + x * (_HALF_ROOT_PI * erfcx(x / -_ROOT_2))) / _ROOT_2PI)


def lognormal_mean(mean: Array | float, sd: Array | float) -> Array:
    """E[exp(Y)] for Y ~ N(mean, sd^2): the noise included, as a timing has it."""
    return np.exp(np.minimum(np.asarray(mean) + 0.5 * np.square(sd), 700.0))


def _identity(values: Array) -> Array:
    return values


@dataclass(frozen=True, slots=True)
class CostModel:
    """How cost is believed in.

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
