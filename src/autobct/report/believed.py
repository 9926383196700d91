"""What is believed of score and cost at any controls, in the user's units: what the charts draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian
from autobct.tuning.parameter import Categorical, Parameter
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.space import Space

__all__ = ["MIDDLE", "Dial", "believed_cost", "believed_score", "dials", "log_cost", "swept"]

_NORMAL = np.array([-1.96, -1.0, 0.0, 1.0, 1.96])[:, None]  # 95 % band, 68 % band, middle
MIDDLE = 2  # row of the middle among the quantiles
_FARTHEST_LOG = 60.0  # e^60 is beyond any cost; a picture needs finite numbers


@dataclass(frozen=True, slots=True)
class Dial:
    """One parameter that is not a constant.  columns: its coordinates in a control."""

    name: str
    parameter: Parameter
    columns: tuple[int, ...]

    @property
    def numeric(self) -> bool:
        """Whether it is a number and not a choice."""
        return not isinstance(self.parameter, Categorical)

    def setting(self, k: int, count: int) -> Any:
        """The user's value at the k-th of `count` settings that `swept` takes."""
        if isinstance(self.parameter, Categorical):
            return self.parameter.value(k)
        return self.parameter.from_unit(k / (count - 1))


def dials(space: Space) -> list[Dial]:
    """The parameters that can be turned, in the user's order."""
    owners = [column.name for column in space.columns]
    return [
        Dial(name, parameter, tuple(i for i, owner in enumerate(owners) if owner == name))
        for name, parameter in zip(space.names, space.parameters, strict=True)
        if name in owners
    ]


def swept(base: Array, turned: Sequence[Dial], points: int) -> Array:
    """Controls (n, p): `base` with one dial, or each pair of settings of two dials, turned through.

    A number takes `points` even steps, a choice each of its values; the last dial turns fastest.
    """
    settings = [_settings(dial, points) for dial in turned]
    sizes = [len(setting) for setting in settings]
    controls = np.tile(base, (int(np.prod(sizes)), 1))
    for dial, setting, index in zip(turned, settings, np.indices(sizes).reshape(len(sizes), -1), strict=True):
        controls[:, list(dial.columns)] = setting[index]
    return controls


def _settings(dial: Dial, points: int) -> Array:
    return np.linspace(0.0, 1.0, points)[:, None] if dial.numeric else np.eye(len(dial.columns))


def believed_score(problem: ScaledProblem, belief: Belief, controls: Array) -> Array:
    """Quantiles (5, n) of the score at controls (n, p): 2.5, 16, 50, 84 and 97.5 %."""
    return np.asarray(problem.score_scale.to_raw(_quantiles(belief.score, problem.prior.model.score_basis(controls))))


def believed_cost(problem: ScaledProblem, belief: Belief, controls: Array) -> Array:
    """The same of the cost."""
    model = problem.prior.model
    seen = _quantiles(belief.cost, model.cost_basis(controls))
    if log_cost(problem):
        seen = np.clip(seen, -_FARTHEST_LOG, _FARTHEST_LOG)
    return np.asarray(problem.cost_scale.to_raw(np.asarray(model.cost_model.from_observation(seen))))


def log_cost(problem: ScaledProblem) -> bool:
    """Whether costs are positive and told apart by their ratios."""
    return problem.prior.model.cost_model is LOG_LINEAR


def _quantiles(weights: Gaussian, features: Array) -> Array:
    variance = np.sum((features @ weights.cov) * features, axis=-1)
    return np.asarray(features @ weights.mean + _NORMAL * np.sqrt(np.maximum(variance, 0.0)))
