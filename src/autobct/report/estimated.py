"""Estimated score and cost at any controls, in the user's units: what the charts draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.basis import noise_at
from autobct.belief.cost import LOG_LINEAR
from autobct.tuning.model.estimate import Learned, score_quantiles, spread_of
from autobct.tuning.space.parameter import Categorical, Parameter
from autobct.tuning.space.space import Space
from autobct.tuning.units.scale import ScaledProblem

__all__ = ["LEVELS", "MIDDLE", "Dial", "dials", "log_cost", "run_cost", "run_score", "swept"]

LEVELS = (0.025, 0.16, 0.5, 0.84, 0.975)
"""Ends of the 95 % band, of the 68 % band, and the middle between them."""

MIDDLE = 2
"""Row of the middle among the quantiles."""

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


def run_score(known: Learned, controls: Array) -> Array:
    """Quantiles (5, n) of the score that one run would measure at controls (n, p), noise included: see `LEVELS`."""
    return score_quantiles(known, controls, LEVELS, noise=True)


def run_cost(known: Learned, controls: Array) -> Array:
    """Quantiles (5, n) of the cost of one run at controls (n, p), noise included."""
    problem, model = known.problem, known.problem.prior.model
    mean, sd = spread_of(known.belief.cost, model.cost_basis(controls))
    seen = mean + ndtri(np.array(LEVELS))[:, None] * np.hypot(sd, noise_at(model.cost_noise, controls))
    if log_cost(problem):
        seen = np.clip(seen, -_FARTHEST_LOG, _FARTHEST_LOG)
    return np.asarray(problem.cost_scale.to_raw(np.asarray(model.cost_model.from_observation(seen))))


def log_cost(problem: ScaledProblem) -> bool:
    """Whether costs are positive and compared by their ratios."""
    return problem.prior.model.cost_model is LOG_LINEAR
