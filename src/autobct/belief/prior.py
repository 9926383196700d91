"""Priors: those of the paper (appendix D), and a default for any basis.

Slips of the paper are settled here once:
- 2-D CNN: the list of mu_alpha has +0.4 for (u_1 - 0.5)^2 where the formula beside it has -0.4.  The text
  calls the prior unimodal, so it is -0.4.
- 2-D examples: the formulas for H and T are written in u, the basis in u - 0.5.  The state x_0 is the vector,
  so the vectors are read in the stated basis and the formulas as the same thing in the centred variable.  The
  paper's own runs are explained better by the formulas in u: `autobct reproduce` uses those (paper/experiment.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Basis, Model, additive_quartic, check_basis, cubic, largest_features, probe_controls
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian


class Weighed(Protocol):
    """What an ensemble believes: one Gaussian, and what no function explains.  noise: a standard deviation."""

    def gaussian(self) -> Gaussian:
        """The Gaussian with the mean and covariance of all members."""

    @property
    def noise(self) -> float:
        """Standard deviation of one observed score."""

    def draw(self, uniforms: Array, normals: Array) -> tuple[Array, Array]:
        """Weights (n, J) and standard deviations (n,) of the noise from uniforms (n,) and standard normals (n, J)."""


class Learning(Protocol):
    """A belief that learns its scale from all runs together, as `Ensemble` does."""

    def posterior(self, features: Array, scores: Array) -> Weighed:
        """After n runs.  features: (n, J) of the score's basis,  scores: (n,)."""

    def only(self, functions: Indices) -> Learning:
        """The same of some of the functions: for controls where all others are zero."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A model and the distribution of its weights before the first run: x_0 and everything needed to update it.

    ensemble: the members whose mixture the distribution is, if the scale of the score is learned
    """

    model: Model
    belief: Belief
    ensemble: Learning | None = None

    def __post_init__(self) -> None:
        """Shapes must go together: one weight for every basis function."""
        given: tuple[object, object] = (self.model, self.belief)
        if not (isinstance(given[0], Model) and isinstance(given[1], Belief)):
            raise TypeError("prior: write Prior(model, belief) with a Model and a Belief")
        _check_sizes(self.belief.score, self.model.score_basis, "score")
        _check_sizes(self.belief.cost, self.model.cost_basis, "cost")
        if self.model.score_basis.dim != self.model.cost_basis.dim:
            raise ValueError(
                f"prior: score_basis takes {self.model.score_basis.dim} coordinates and cost_basis "
                f"{self.model.cost_basis.dim}; both must take the same controls"
            )

    @property
    def dim(self) -> int:
        """p, the number of coordinates of a control."""
        return self.model.score_basis.dim


def _check_sizes(belief: Gaussian, basis: Basis, name: str) -> None:
    Gaussian.of(belief.mean, belief.cov, name=f"{name} prior")
    if not basis.degrees:  # the user's own
        check_basis(basis)
    if belief.size != basis.size:
        raise ValueError(
            f"prior: the {name} belief has {belief.size} weights but basis {basis.name!r} has {basis.size} "
            f"functions; give one mean and one row of the covariance for each"
        )


def paper_prior(name: str) -> Prior:
    """One of the paper's priors by name; see `PAPER_PRIORS` for the names."""
    if name not in PAPER_PRIORS:
        raise ValueError(f"prior must be one of {', '.join(PAPER_PRIORS)}, got {name!r}")
    return PAPER_PRIORS[name]


def _paper(score_mean: list[float], score_cov: Array, cost_mean: list[float], cost_cov: Array, noise: float) -> Prior:
    basis = cubic() if len(score_mean) == 4 else additive_quartic()
    return Prior(
        Model(basis, basis, score_noise=noise, cost_noise=0.1),
        Belief(
            Gaussian.of(score_mean, score_cov, name="score prior"),
            Gaussian.of(cost_mean, cost_cov, name="cost prior"),
        ),
    )


def _cnn_2d() -> Prior:
    cost_var = np.full(10, 0.6)
    cost_var[8] = 0.001  # sigma_{beta,9,9} in the paper's count from one
    return _paper(
        [0.4, 0.3, -0.4, 0, 0, 0.2, -0.4, 0, 0, 0],
        0.6 * np.eye(10),
        [3, 0, 0, 0, 0, -3.5, 0.45, 0, 0.5, 0],
        np.diag(cost_var),
        noise=0.15,
    )


def _fraud_2d() -> Prior:
    score_cov = np.diag([4, 0.6, 0.62, 0.65, 0.70, 0.6, 0.62, 0.65, 0.70, 0.6])
    score_cov[0, 1:] = score_cov[1:, 0] = -0.1
    return _paper(
        [0.8, 0, -0.8, 0, 0, 0, -0.8, 0, 0, 0],
        score_cov,
        [1.325, 0.75, 0.25, 0, 0, 0.75, 0.25, 0, 0, 0],
        np.eye(10),
        noise=0.15,
    )


_I4 = np.eye(4)
_STEEP = np.diag([0.64, 4.0, 4.0, 4.0])

PAPER_PRIORS: dict[str, Prior] = {
    "synthetic": _paper([0.4, 0.1, -0.2, 0.1], _I4, [1, 1, 2, 2], _STEEP, noise=0.05),
    "cnn-batch": _paper([0.4, -0.1, -0.2, -0.1], _I4, [1, -1, 2, -2], _STEEP, noise=0.15),
    "cnn-r": _paper([0.4, -0.1, -0.8, -0.1], _I4, [0.48, 0, 0, 0], np.diag([0.64, 0.0, 0.0, 0.0]), noise=0.15),
    "cnn-2d": _cnn_2d(),
    "higgs": _paper([0.5, 0.3, -0.2, 0], _I4, [1.4, 4, 6, 6], _I4, noise=0.05),
    "intel": _paper([0.9, 0.4, -2, 0], _I4, [0.8, 1.5, 0, 0], _I4, noise=0.15),
    "fraud": _paper([0.9, 0, -2, 0], _I4, [1.1, 0.6, 0, 0], _I4, noise=0.15),
    "fraud-2d": _fraud_2d(),
}
"""The priors of appendix D, by example."""


def with_log_cost(prior: Prior, *, spread: float = 0.5, noise: float = 0.1) -> Prior:
    """The same prior under the log-linear cost: for comparing cost models on the paper's examples.

    The mean curve of log cost is the logarithm of the mean cost (floored at 0.05), fitted in the basis; its weights
    have the prior's own proportions of uncertainty, scaled so that the largest has standard deviation `spread`.
    """
    controls = probe_controls(prior.dim)
    features = prior.model.cost_basis(controls)
    level = np.log(np.maximum(features @ prior.belief.cost.mean, 0.05))
    mean = np.asarray(np.linalg.lstsq(features, level, rcond=None)[0], dtype=np.float64)
    largest = float(np.diagonal(prior.belief.cost.cov).max())
    cov = prior.belief.cost.cov * (spread**2 / largest if largest > 0 else 0.0)
    model = replace(prior.model, cost_noise=noise, cost_model=LOG_LINEAR)
    return Prior(model, Belief(prior.belief.score, Gaussian(mean, cov)))


@dataclass(frozen=True, slots=True)
class Expectations:
    """What is expected before the first run, in model units; the numbers behind `default_prior`.

    score_level, score_spread:  mean and standard deviation of a typical score
    score_shape:  by how much scores differ between controls (standard deviation at the edge of the cube)
    cost_level, cost_spread, cost_shape:  the same for the logarithm of the cost
    score_noise, cost_noise:  standard deviation of one observation (of the log cost)
    """

    score_level: float = 0.5
    score_spread: float = 0.2
    score_shape: float = 0.3
    cost_level: float = -1.0
    cost_spread: float = 1.0
    cost_shape: float = 1.0
    score_noise: float = 0.02
    cost_noise: float = 0.1


def default_prior(basis: Basis, expected: Expectations | None = None) -> Prior:
    """A prior for any basis whose first function is the constant.

    The shape's variance is shared among the other functions, the wigglier the less (1 / degree), each measured by the
    largest value it takes on the cube, so that more basis functions do not make a wilder prior.
    """
    told = expected or Expectations()
    return Prior(
        Model(
            score_basis=basis,
            cost_basis=basis,
            score_noise=told.score_noise,
            cost_noise=told.cost_noise,
            cost_model=LOG_LINEAR,
        ),
        Belief(
            _level_and_shape(basis, told.score_level, told.score_spread, told.score_shape),
            _level_and_shape(basis, told.cost_level, told.cost_spread, told.cost_shape),
        ),
    )


def _level_and_shape(basis: Basis, level: float, spread: float, shape: float) -> Gaussian:
    mean = np.zeros(basis.size)
    mean[0] = level
    share = 1.0 / np.maximum(basis.degrees or np.ones(basis.size), 1)
    share[0] = 0.0
    var = np.square(shape / largest_features(basis)) * share / max(share.sum(), 1e-300)
    var[0] = spread**2
    return Gaussian(mean, np.diag(var))
