"""The 2-D priors as formulas: appendices D.4 and D.8 state H and T in u, and their weights in powers of u - 0.5.

The two are not the same belief.  `paper_prior` keeps the weights; what is reproduced here starts from the formulas,
which explain the paper's own runs better (docs/paper.md has the numbers of every reading).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Polynomial

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior

_DEGREE = 4


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
