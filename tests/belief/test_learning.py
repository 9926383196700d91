"""The first belief when nothing is said, in one number, two and more: against its members, and what it starts from."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from autobct.belief.arrays import kronecker
from autobct.belief.prior import Prior
from autobct.belief.surrogate.ensemble import Ensemble
from autobct.belief.surrogate.learning import Growth, Habits, learning_prior

DIMS = {"line": 1, "square": 2, "cube": 3}
FEW = Habits(members=6)


def prior_in(dim: int, habits: Habits = FEW, **told: Any) -> Prior:
    growths = (Growth(1.0, 0.4), Growth(0.0, 0.2), Growth(0.0, 0.2))[:dim]
    return learning_prior((0,) * dim, growths, cost_level=-1.0, cost_spread=0.8, habits=habits, **told)


def members_of(prior: Prior) -> Ensemble:
    assert isinstance(prior.ensemble, Ensemble)
    return prior.ensemble


@pytest.mark.parametrize("dim", DIMS.values(), ids=list(DIMS))
@pytest.mark.parametrize("runs", [0, 1, 5])
def test_it_is_the_mixture_of_all_members_in_function_space(dim: int, runs: int) -> None:
    """Scores anywhere, from the members' Gaussian processes: Bayes' rule by densities, no weights."""
    prior, rng = prior_in(dim), np.random.default_rng(runs)
    told, basis = members_of(prior), prior.model.score_basis
    places = kronecker(runs + 7, dim)
    seen, asked = basis(places[:runs]), basis(places[runs:])
    scores = 0.5 + 0.1 * rng.standard_normal(runs)
    weights, means, covs, noises = [], [], [], []
    for variances, noise in zip(told.variances, told.noises, strict=True):
        for a, log_prior in zip(told.amplitudes, told.log_prior, strict=True):
            level = np.zeros(len(told.bump))
            level[0] = told.level
            mean, cov = level + a * told.bump, a**2 * np.diag(variances)
            among = seen @ cov @ seen.T + a**2 * noise * np.eye(runs)
            gain = asked @ cov @ seen.T @ np.linalg.inv(among) if runs else np.zeros((len(asked), 0))
            density = multivariate_normal.logpdf(scores, seen @ mean, among) if runs else 0.0
            room = max(1.0 - np.median(scores), 0.02) if runs else np.inf  # scores rise no further than their range
            too_large = max(np.log(a / (0.6 * room)), 0.0) / 0.4 if runs else 0.0
            weights.append(log_prior + density - 0.5 * too_large**2)
            means.append(asked @ mean + gain @ (scores - seen @ mean))
            covs.append(asked @ cov @ asked.T - gain @ seen @ cov @ asked.T)
            noises.append(a**2 * noise)
    share = np.exp(np.array(weights) - max(weights))
    share /= share.sum()
    mean = share @ np.array(means)
    spread = np.array(means) - mean
    cov = np.tensordot(share, np.array(covs), 1) + (share[:, None] * spread).T @ spread
    found = told.posterior(seen, scores)
    np.testing.assert_allclose(asked @ found.gaussian().mean, mean, atol=1e-9)
    np.testing.assert_allclose(asked @ found.gaussian().cov @ asked.T, cov, atol=1e-9)
    assert found.noise == pytest.approx(float(np.sqrt(share @ np.array(noises))))


@pytest.mark.parametrize("dim", DIMS.values(), ids=list(DIMS))
def test_it_starts_from_the_mixture_before_any_run(dim: int) -> None:
    prior = prior_in(dim)
    start = members_of(prior).posterior(np.empty((0, prior.model.score_basis.size)), np.empty(0))
    np.testing.assert_array_equal(prior.belief.score.mean, start.gaussian().mean)
    np.testing.assert_array_equal(prior.belief.score.cov, start.gaussian().cov)
    assert prior.model.score_noise == start.noise


@pytest.mark.parametrize("dim", DIMS.values(), ids=list(DIMS))
def test_the_centre_is_believed_to_be_best_and_a_guess_moves_the_hill(dim: int) -> None:
    places = kronecker(4000, dim)

    def mean_of(prior: Prior) -> np.ndarray:
        return prior.model.score_basis(places) @ prior.belief.score.mean

    centre = places[mean_of(prior_in(dim)).argmax()]
    np.testing.assert_allclose(centre, 0.5, atol=0.1)
    guessed = places[mean_of(prior_in(dim, tops={0: (0.2, 2.0)})).argmax()]
    assert guessed[0] == pytest.approx(0.2, abs=0.1)
    flat = mean_of(prior_in(dim, Habits(members=6, bump=0.0)))
    np.testing.assert_allclose(flat, flat[0], atol=1e-9)


@pytest.mark.parametrize("dim", DIMS.values(), ids=list(DIMS))
def test_the_log_cost_rises_by_as_much_as_was_said(dim: int) -> None:
    prior = prior_in(dim)
    basis, cost = prior.model.cost_basis, prior.belief.cost
    ends = basis(np.array([[0.0, 0.5, 0.5], [1.0, 0.5, 0.5]])[:, :dim])
    rise = ends[1] - ends[0]
    assert rise @ cost.mean == pytest.approx(1.0)
    assert np.sqrt(rise @ cost.cov @ rise) == pytest.approx(0.4)
    middle = basis(kronecker(4000, dim)).mean(axis=0)
    assert middle @ cost.mean == pytest.approx(-1.0, abs=0.01)


def test_what_small_differences_teach() -> None:
    """Scores that hardly differ are not expected to differ much elsewhere; large differences are."""
    prior = prior_in(1, Habits())
    basis, ensemble = prior.model.score_basis, members_of(prior)
    seen = basis(np.array([[0.1], [0.5], [0.9]]))
    small, large = (ensemble.posterior(seen, np.array([0.5, 0.5 + d, 0.5])).gaussian() for d in (0.005, 0.3))
    between = basis(np.array([[0.3]]))[0]
    assert between @ small.cov @ between < 0.05 * (between @ large.cov @ between)
