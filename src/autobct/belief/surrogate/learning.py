"""The default prior: an ensemble for the score, a log-linear cost.  decisions/default-belief.md.

The numbers are means over the surfaces of ten families, see the page; a run learns what is different about its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import kronecker
from autobct.belief.basis import Model
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.belief.surrogate.ensemble import Ensemble
from autobct.belief.surrogate.surface import Surface, surface

AMPLITUDES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
"""Standard deviations of the score over the cube, in score ranges, among which a run finds its own."""

HEIGHTS = ((1.0, 0.98), (0.0, 0.02))
"""Whether there is a hill over a guess, with probabilities: the runs tell.  docs/decisions/usual-values.md."""


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
    heights, chances = np.array(HEIGHTS if any(height for _, height in tops.values()) else ((1.0, 1.0),)).T
    amplitudes = np.repeat(AMPLITUDES, len(heights))
    log_prior = -0.5 * np.square(np.log(amplitudes / habits.amplitude) / habits.spread)
    log_prior += np.tile(np.log(chances), len(AMPLITUDES))
    return Ensemble(
        variances=variances,
        noises=np.square(np.array(noises)[turns % len(noises)]),
        amplitudes=amplitudes,
        log_prior=log_prior - np.log(np.exp(log_prior).sum()),
        bump=of_score.hill({**_centre(of_score, habits), **tops}),
        level=habits.level,
        heights=np.tile(heights, len(AMPLITUDES)),
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
