"""Response surfaces: Legendre polynomials of every number, products of two and three, and one function per choice.

The polynomials are orthonormal on [0, 1], so that the variance of a weight is by how much its function makes scores
differ over the whole cube: priors for them can be read off real surfaces, and more functions make no wilder prior.

| symbol | here |
|---|---|
| P_k(2u - 1) sqrt(2k + 1) | `legendre`, k = 0..K |
| J | `Surface.basis.size` |

The first belief when nothing is said is an ensemble of such surfaces for the score, and a log-linear cost.  The numbers
are means over the surfaces of ten families (docs/decisions/default-belief.md); a run learns what is different about its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Factor, SurfaceFeatures, kronecker
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.model import LOG_LINEAR, Model
from autobct.belief.prior import Prior
from autobct.belief.surrogate.ensemble import Ensemble

SIZE = 220
"""Functions of a surface: main effects always, then products, the smoothest first, while there is room."""

_DEGREE = {1: 10, 2: 8, 3: 7}  # of main effects, by the number of numbers; 5 beyond
_ALONE = 3  # of one number and nothing else: decisions/one-two-numbers.md
_HIGHEST = 3  # degree of a factor in a product
_TOTAL = 5  # degree of a product

AMPLITUDES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Standard deviations of the score over the cube, in score ranges, among which a run finds its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A basis and what its functions are made of.

    parameters: (P,) number of choices of each parameter, 0 for a number, in the order of the coordinates
    terms:      the factors of every function; none for the constant, which is the first
    """

    basis: Basis
    parameters: tuple[int, ...]
    terms: tuple[tuple[Factor, ...], ...]

    def variances(self, relevance: Array, decay: float, interaction: float) -> Array:
        """Prior variances of the weights, (J,), which sum to one; that of the constant is zero.

        relevance:   (P,) share of each parameter
        decay:       of the variance from one degree to the next
        interaction: share of all products together
        """
        shares = np.array([self._share(term, relevance, decay) for term in self.terms])
        product = np.array([len(term) > 1 for term in self.terms])
        part = np.where(product, interaction if product.any() else 0.0, 1.0 - interaction * product.any())
        for chosen in (product, ~product):
            shares[chosen] /= max(float(shares[chosen].sum()), 1e-300)
        return np.asarray(shares * part)

    def _share(self, term: tuple[Factor, ...], relevance: Array, decay: float) -> float:
        if not term:
            return 0.0
        shares = [
            relevance[which] * (1.0 / self.parameters[which] if self.parameters[which] else decay ** (degree - 1))
            for which, degree in term
        ]
        return float(np.prod(shares))

    def hill(self, tops: Mapping[int, tuple[float, float]]) -> Array:
        """Weights, (J,), of a hill: for some parameters the place of its top and its height.

        For a number -(u - top)^2 with `height` as the weight of its curvature; for a category the choice on top.
        """
        weights = np.zeros(self.basis.size)
        for row, term in enumerate(self.terms):
            if len(term) == 1 and term[0][0] in tops:
                (which, degree), (top, height) = term[0], tops[term[0][0]]
                if self.parameters[which]:
                    weights[row] = height / np.sqrt(self.parameters[which]) * (degree - 1 == top)
                elif degree <= 2:
                    weights[row] = -height if degree == 2 else -height * np.sqrt(15.0) * (1.0 - 2.0 * top)
        return weights


def surface(parameters: Sequence[int], *, degree: int | None = None, size: int = SIZE) -> Surface:
    """The surface of some parameters.

    parameters: number of choices of each, 0 for a number;  degree: of main effects;  size: functions, at least these
    """
    told = tuple(parameters)
    highest = degree or (_ALONE if told == (0,) else _DEGREE.get(sum(choices == 0 for choices in told), 5))
    mains: list[tuple[Factor, ...]] = [(), *_mains(told, highest)]
    terms = (*mains, *islice(_products(told, min(highest, _HIGHEST)), max(size - len(mains), 0)))
    dim = sum(max(choices, 1) for choices in told)
    degrees = tuple(sum(1 if told[which] else k for which, k in term) for term in terms)
    basis = Basis(
        name=f"surface-{highest}-{len(terms)}",
        dim=dim,
        size=len(terms),
        function=SurfaceFeatures(told, highest, terms),
        degrees=degrees,
    )
    return Surface(basis, told, terms)


def _mains(parameters: tuple[int, ...], degree: int) -> Iterator[tuple[Factor, ...]]:
    for which, choices in enumerate(parameters):
        for k in range(1, (choices or degree) + 1):
            yield ((which, k),)


def _products(parameters: tuple[int, ...], highest: int) -> Iterator[tuple[Factor, ...]]:
    """Products of two numbers by total degree, of a choice and a number, of three numbers: the smoothest first.

    highest: degree of a factor
    """
    numbers = [which for which, choices in enumerate(parameters) if choices == 0]
    choosing = [which for which, choices in enumerate(parameters) if choices]
    for total in range(2, _TOTAL + 1):
        for one, two in combinations(numbers, 2):
            for degree in range(max(1, total - highest), min(highest, total - 1) + 1):
                yield ((one, degree), (two, total - degree))
        if total == 2:
            for which in choosing:
                yield from (((which, k), (number, 1)) for k in range(1, parameters[which] + 1) for number in numbers)
        if total == 3:
            yield from (((a, 1), (b, 1), (c, 1)) for a, b, c in combinations(numbers, 3))


@dataclass(frozen=True, slots=True)
class Habits:
    """How scores and costs usually behave, in units of the score range and of log cost.

    level, level_sd:       a typical score
    amplitude, spread:     median standard deviation of scores over the cube, and that of its logarithm
    relevance_sd:          of the log share of a parameter
    decays:                of the variance with the degree of a polynomial
    interactions:          share of what several parameters do together
    noises:                standard deviation of what no surface explains, over the amplitude
    bump:                  by how many amplitudes the centre is expected to be better
    cost_noise, cost_bend: standard deviation of one log cost, and of the curvature of a parameter's effect
    cost_choice:           standard deviation of the log cost over the choices of a category
    """

    members: int = 24
    level: float = 0.7
    level_sd: float = 0.4
    amplitude: float = 0.07
    spread: float = 0.9
    relevance_sd: float = 0.8
    decays: tuple[float, ...] = (0.1, 0.25, 0.5)
    interactions: tuple[float, ...] = (0.05, 0.1)
    noises: tuple[float, ...] = (0.08, 0.15, 0.25, 0.42)
    bump: float = 0.25
    cost_noise: float = 0.2
    cost_bend: float = 0.08
    cost_choice: float = 0.2


@dataclass(frozen=True, slots=True)
class Growth:
    """How the log cost is expected to rise over a parameter's range: mean and standard deviation of the difference."""

    mean: float
    sd: float


def learning_prior(
    parameters: Sequence[int],
    growths: Sequence[Growth],
    *,
    cost_level: float,
    cost_spread: float,
    tops: Mapping[int, tuple[float, float]] | None = None,
    habits: Habits | None = None,
) -> Prior:
    """A first belief that learns how much scores differ.

    parameters: number of choices of each, 0 for a number;  growths: of the log cost over each of them
    tops:       where the score of some parameters is expected to be best, and how firmly; see `Surface.hill`
    """
    told = habits or Habits()
    of_score, of_cost = surface(parameters), surface(parameters, degree=2, size=0)
    members = ensemble_of(of_score, told, tops or {})
    mixture = members.prior()
    model = Model(
        score_basis=of_score.basis,
        cost_basis=of_cost.basis,
        score_noise=mixture.noise,
        cost_noise=told.cost_noise,
        cost_model=LOG_LINEAR,
    )
    cost = cost_of(of_cost, growths, cost_level, cost_spread, told)
    return Prior(model, Belief(mixture.gaussian(), cost), members)


def ensemble_of(of_score: Surface, habits: Habits, tops: Mapping[int, tuple[float, float]]) -> Ensemble:
    """The members: the habits' settings in turn, with relevances that spread evenly over what is usual."""
    count, parameters = habits.members, len(of_score.parameters)
    relevances = np.exp(habits.relevance_sd * ndtri(np.clip(kronecker(count, parameters), 1e-6, 1.0 - 1e-6)))
    decays, interactions, noises = habits.decays, habits.interactions, habits.noises
    variances = np.stack(
        [
            of_score.variances(relevance, decays[m % len(decays)], interactions[m // len(decays) % len(interactions)])
            for m, relevance in enumerate(relevances)
        ]
    )
    variances[:, 0] = (habits.level_sd / habits.amplitude) ** 2
    turns = np.arange(count) // (len(decays) * len(interactions))
    amplitudes = np.array(AMPLITUDES)
    log_prior = -0.5 * np.square(np.log(amplitudes / habits.amplitude) / habits.spread)
    return Ensemble(
        variances=variances,
        noises=np.square(np.array(noises)[turns % len(noises)]),
        amplitudes=amplitudes,
        log_prior=log_prior - np.log(np.exp(log_prior).sum()),
        bump=of_score.hill({**_centre(of_score, habits), **tops}),
        level=habits.level,
    )


def _centre(of_score: Surface, habits: Habits) -> dict[int, tuple[float, float]]:
    """The centre is expected to be better than the corners, all numbers alike."""
    numbers = [which for which, choices in enumerate(of_score.parameters) if not choices]
    return {which: (0.5, habits.bump / np.sqrt(len(numbers))) for which in numbers}


def cost_of(of_cost: Surface, growths: Sequence[Growth], level: float, spread: float, habits: Habits) -> Gaussian:
    """The log cost: a level, how it rises over each parameter, and a little bend."""
    mean, sd = np.zeros(of_cost.basis.size), np.full(of_cost.basis.size, habits.cost_bend)
    mean[0], sd[0] = level, spread
    for place, term in enumerate(of_cost.terms):
        if term and of_cost.parameters[term[0][0]]:
            sd[place] = habits.cost_choice / np.sqrt(of_cost.parameters[term[0][0]])
        elif term and term[0][1] == 1:
            growth = growths[term[0][0]]
            mean[place], sd[place] = growth.mean / np.sqrt(12.0), growth.sd / np.sqrt(12.0)
    return Gaussian(mean, np.diag(np.square(sd)))
