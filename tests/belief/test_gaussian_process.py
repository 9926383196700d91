"""The Gaussian process, against its definition, finite differences and a joint normal distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal, norm

from autobct.belief.surrogate.gaussian_process import (
    GaussianProcess,
    _kernel,
    _loss,
    _prior,
    _squares,
    conditioned,
    fit,
    fit_quickly,
    fitted,
)

LOGS = np.array([-0.7, 0.1, -3.0])


@pytest.fixture
def process() -> GaussianProcess:
    rng = np.random.default_rng(1)
    return conditioned(rng.random((9, 2)), rng.standard_normal(9) - 4.0, LOGS)


def test_the_gradient_is_that_of_the_loss() -> None:
    rng = np.random.default_rng(0)
    places, y, at = rng.random((6, 3)), rng.standard_normal(6), 0.5 * rng.standard_normal(4)
    fixed = (y, _squares(places, places), np.zeros(4), np.ones(4))
    numeric = approx_fprime(at, lambda x: _loss(x, *fixed)[0], 1e-7)
    assert _loss(at, *fixed)[1] == pytest.approx(numeric, abs=1e-4)


def test_the_loss_is_minus_the_log_posterior_up_to_a_constant() -> None:
    """With the mean that fits best in place of a mean that is known."""
    rng = np.random.default_rng(2)
    places, y = rng.random((7, 2)), rng.standard_normal(7)
    usual, width = _prior(2)
    differences = []
    for logs in (LOGS, np.array([0.4, -0.3, -1.0])):
        cov = _kernel(_squares(places, places) @ np.exp(-2.0 * logs[:-1])) + (np.exp(logs[-1]) + 1e-8) * np.eye(7)
        ones = np.linalg.solve(cov, np.ones(7))
        likelihood = multivariate_normal(np.full(7, ones @ y / ones.sum()), cov).logpdf(y)
        prior = norm.logpdf(logs, usual, width).sum() - logs.sum()  # log-normal
        differences.append(_loss(logs, y, _squares(places, places), usual, width)[0] + likelihood + prior)
    assert differences[0] == pytest.approx(differences[1], abs=1e-8)


def test_it_learns_a_smooth_function() -> None:
    places = np.linspace(0, 1, 12)[:, None]
    process = fitted(places, np.sin(6 * places[:, 0]))
    mean, sd = process(np.array([[0.37], [0.81]]))
    assert mean == pytest.approx(np.sin(6 * np.array([0.37, 0.81])), abs=0.05)
    assert np.all(sd < 0.2)
    assert process(np.array([[9.0]]))[1] > 3 * sd.max()


def test_a_few_steps_find_nearly_the_same() -> None:
    rng = np.random.default_rng(3)
    places = rng.random((20, 4))
    values = np.sin(5 * places[:, 0]) + places[:, 1] + 0.05 * rng.standard_normal(20)
    at = rng.random((200, 4))
    thorough, quick = (conditioned(places, values, how(places, values))(at)[0] for how in (fit, fit_quickly))
    assert np.corrcoef(thorough, quick)[0, 1] > 0.98


def test_improvement_is_the_mean_over_draws_of_the_value(process: GaussianProcess) -> None:
    at = np.random.default_rng(4).random((5, 2))
    mean, sd = process(at)
    best = process(process.places)[0].max()
    draws = mean + sd * np.random.default_rng(5).standard_normal((200_000, 1))
    assert process.improvement(at) == pytest.approx(np.maximum(draws - best, 0.0).mean(axis=0), rel=0.02, abs=1e-3)


def test_what_is_expected_changes_no_mean_and_leaves_less_uncertain(process: GaussianProcess) -> None:
    rng = np.random.default_rng(6)
    at, elsewhere = rng.random((3, 2)), rng.random((50, 2))
    believing = process.believing(at)
    (before, sd), (after, less) = process(elsewhere), believing(elsewhere)
    assert after == pytest.approx(before, abs=1e-9)
    assert np.all(less <= sd + 1e-12)
    assert believing(at)[1] == pytest.approx(np.zeros(3), abs=0.3 * process.scale)


def test_places_that_were_seen_twice_are_no_trouble() -> None:
    places = np.repeat(np.random.default_rng(7).random((5, 3)), 4, axis=0)
    process = conditioned(places, places[:, 0], fit_quickly(places, places[:, 0]))
    assert np.isfinite(process.improvement(places)).all()


def test_units_and_level_of_the_values_make_no_difference() -> None:
    rng = np.random.default_rng(8)
    places, values, at = rng.random((10, 2)), rng.standard_normal(10), rng.random((6, 2))
    plain, other = (conditioned(places, y, fit_quickly(places, y)) for y in (values, 7.0 * values + 3.0))
    assert other.improvement(at) == pytest.approx(7.0 * plain.improvement(at), rel=1e-6)
