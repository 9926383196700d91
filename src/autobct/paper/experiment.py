"""What an experiment of section 4 consists of: settings, method, cost scale, and the rows that the paper published.

Appendices D.4 and D.8 state the 2-D priors as formulas of H and T in u, and their weights in powers of u - 0.5.  The
two are not the same belief.  `paper_prior` keeps the weights; what is reproduced starts from the formulas
(`read_in_u`), which explain the paper's own runs better (docs/paper.md has the numbers of every reading).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.polynomial import Polynomial

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.tuning.space.space import Parameter
from autobct.tuning.units.scale import Affine
from autobct.value.state import control_grid

PRICE = 0.16
"""gamma of appendix D, throughout: what one unit of cost is worth in score."""

MOST_RUNS = 40
"""A relaxed policy has no horizon of its own; none of the paper's runs comes near this."""

GRID = {1: 101, 2: 21}
"""Candidates per coordinate: the paper's {0, 0.01, .., 1} in 1-D; in 2-D 21 x 21, as the paper names no grid there."""

PublishedRun = tuple[float, float, tuple[float, ...], float, float]
"""One line of a table: h_n, t_n, u_{n-1}, posterior mean score, V."""

_DEGREE = 4


@dataclass(frozen=True, slots=True)
class TrainingOutcome:
    """score: as observed, higher is better;  seconds: of training and scoring;  extra: further scores by name."""

    score: float
    seconds: float
    extra: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Method:
    """VI/Map, or on-the-fly.

    map:      whether one lookahead stands on the value function V_N (VI/Map) or all is computed on the fly (OTF)
    depth:    N: of the value function, or of the lookahead
    damping:  epsilon
    """

    map: bool
    depth: int
    damping: float = 0.0

    def __str__(self) -> str:
        """As the paper's captions have it."""
        return f"VI/Map N={self.depth}, damping {self.damping:g}" if self.map else f"OTF N={self.depth}"


@dataclass(frozen=True, slots=True)
class CostScale:
    """Seconds on any machine -> t.

    The paper's map is t = (minutes - low) / (high - low), on the paper's machine.  Another machine has another speed,
    so its minutes are first multiplied by one factor: that with which a run at `control` costs `cost`, as in the paper.

    low, high:  t_min and t_max of appendix D, in minutes
    control:    (p,) at which a cost of the paper is known;  cost: t there
    source:     where that is said
    """

    low: float
    high: float
    control: tuple[float, ...]
    cost: float
    source: str

    def factor(self, seconds: float) -> float:
        """Minutes of the paper's per minute of ours.  seconds: of a typical run of ours at `control`."""
        if not seconds > 0:
            raise ValueError(f"a run at control {self.control} must take time, got {seconds!r} s")
        return (self.low + (self.high - self.low) * self.cost) / (seconds / 60.0)

    def to_model(self, seconds: float, factor: float) -> float:
        """t; eq. (5) charges its positive part, and less than nothing counts as nothing here."""
        return max((factor * seconds / 60.0 - self.low) / (self.high - self.low), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """How a tuning of the paper's ended, or the mean of several; standard deviations in `spread`, if there are any.

    score, cost, control, runs, believed, value:  final h_n, sum of t, u, number of runs, posterior mean score, V
    """

    label: str = "one run"
    score: float
    cost: float
    control: tuple[float, ...]
    runs: float
    believed: float | None = None
    value: float | None = None
    spread: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """One experiment of section 4.

    name, title, source:  what it is called here, what it is, where the paper has it
    table:      name of the recorded table, and of the model that `--live` trains
    prior:      x_0 of appendix D;  basis, score_noise, cost_noise: of that prior, restated to be read at a glance
    space:      hyperparameter of each coordinate of the control;  fixed: the others
    score:      measured score -> h
    cost:       seconds -> t
    trainings:  of which each run takes the median score and the total time
    method:     the paper's
    published:  how the paper's tunings ended;  published_run: one of them line by line
    unlike:     honest lines: how data and scales differ from the paper's
    readings:   what else appendix D can be read to say of the prior, in words
    """

    name: str
    title: str
    source: str
    table: str
    prior: Prior
    basis: str = "cubic"
    score_noise: float = 0.15
    cost_noise: float = 0.1
    space: Mapping[str, Parameter]
    fixed: Mapping[str, float | str] = field(default_factory=dict)
    score: Affine
    cost: CostScale
    method: Method
    published: tuple[Published, ...]
    published_run: tuple[PublishedRun, ...] = ()
    trainings: int = 1
    price: float = PRICE
    unlike: tuple[str, ...] = ()
    readings: Mapping[str, Prior] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """What is restated here is what the prior says."""
        model = self.prior.model
        said = (self.basis, self.basis, self.score_noise, self.cost_noise, len(self.space))
        found = (model.score_basis.name, model.cost_basis.name, model.score_noise, model.cost_noise, self.dim)
        if said != found:
            raise ValueError(f"{self.name}: basis, noise and space are {said}, but its prior has {found}")

    @property
    def dim(self) -> int:
        """p, the number of hyperparameters."""
        return self.prior.dim

    @property
    def controls(self) -> Array:
        """(G, p) the candidates."""
        return control_grid(GRID[self.dim], self.dim)

    @property
    def settings(self) -> dict[str, object]:
        """Everything that decides what a tuning does, as plain data."""
        belief = self.prior.belief
        return {
            "basis": self.basis,
            "score_mean": belief.score.mean.tolist(),
            "score_cov": belief.score.cov.tolist(),
            "cost_mean": belief.cost.mean.tolist(),
            "cost_cov": belief.cost.cov.tolist(),
            "score_noise": self.score_noise,
            "cost_noise": self.cost_noise,
            "score_range": [self.score.low, self.score.high],
            "cost_range_minutes": [self.cost.low, self.cost.high],
            "cost_anchor": {"control": list(self.cost.control), "t": self.cost.cost},
            "fixed": dict(self.fixed),
            "trainings": self.trainings,
            "price": self.price,
            "candidates": int(np.prod([GRID[self.dim]] * self.dim)),
        }


@dataclass(frozen=True, slots=True)
class Formula:
    """level + sum_k first_k u_1^k + sum_k second_k u_2^k, the powers from the first to the fourth at most."""

    level: float
    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def weights(self) -> Array:
        """(10,) the same function in the basis `additive_quartic`: its Taylor series about the centre, which ends."""
        first, second = _about_the_centre(self.first), _about_the_centre(self.second)
        interaction = [0.0]
        return np.concatenate([[self.level + first[0] + second[0]], first[1:], second[1:], interaction])


def _about_the_centre(powers: tuple[float, ...]) -> Array:
    """(5,) coefficients of 1, u - 0.5, .., (u - 0.5)^4 of a polynomial in u without a constant."""
    shifted = Polynomial([0.0, *powers])(Polynomial([0.5, 1.0]))
    return np.pad(shifted.coef, (0, _DEGREE + 1 - len(shifted.coef)))


def read_in_u(stated: Prior, *, score: Formula, cost: Formula) -> Prior:
    """The prior with the means of the formulas; basis, covariances and noise are the stated ones."""
    belief = stated.belief
    means = Belief(Gaussian(score.weights, belief.score.cov), Gaussian(cost.weights, belief.cost.cov))
    return replace(stated, belief=means)


def with_score_weight(stated: Prior, index: int, weight: float) -> Prior:
    """The prior with one mean weight of the score changed."""
    mean = stated.belief.score.mean.copy()
    mean[index] = weight
    return replace(stated, belief=Belief(Gaussian(mean, stated.belief.score.cov), stated.belief.cost))
