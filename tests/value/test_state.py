"""Function space: the belief at candidates, models trained so far, prices."""

import numpy as np
import pytest
from tests.value.cases import grid, prior_state, random_state, random_weights

from autobct.belief.basis import cubic
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.normal import predict, update
from autobct.belief.prior import default_prior, paper_prior
from autobct.value.state import (
    Terms,
    cost_gains,
    gather,
    keep,
    kept_means,
    price_of,
    run_price,
    score_gains,
    stop_value,
    variance,
    view,
)


def test_view_is_the_belief_at_the_controls() -> None:
    prior = paper_prior("synthetic")
    state = view(prior.belief, prior.model, grid(5))
    assert state.size == 5
    for g, u in enumerate(np.linspace(0, 1, 5)):
        features = np.array([1, u - 0.5, (u - 0.5) ** 2, (u - 0.5) ** 3])
        assert state.score.mean[g] == pytest.approx(features @ [0.4, 0.1, -0.2, 0.1])
        assert state.cost.cov[g, g] == pytest.approx(features @ np.diag([0.64, 4, 4, 4]) @ features)
    np.testing.assert_array_equal(state.score_noise, np.full(5, 0.05))
    np.testing.assert_array_equal(state.cost_noise, np.full(5, 0.1))
    assert state.kept.shape == (0,)


def test_view_of_a_batch() -> None:
    prior = paper_prior("synthetic")
    beliefs = random_weights(1, (3, 2))
    state = view(beliefs, prior.model, grid(5))
    assert state.score.cov.shape == (3, 2, 5, 5)
    assert state.kept.shape == (3, 2, 0)
    assert stop_value(state).shape == (3, 2)
    assert np.all(stop_value(state) == -np.inf)


def test_gains_are_the_filters() -> None:
    """Row g moves the believed values as the filter does after a run at g with one standard deviation of surprise."""
    state = random_state(3, 6)
    for belief, noise, gains in (
        (state.score, state.score_noise, score_gains(state)),
        (state.cost, state.cost_noise, cost_gains(state)),
    ):
        for g in range(6):
            seen = predict(belief, np.eye(6)[g], noise[g])
            after = update(belief, np.eye(6)[g], noise[g], seen.mean + np.sqrt(seen.var))
            np.testing.assert_allclose(gains[g], after.mean - belief.mean, atol=1e-12)


def test_models_trained_so_far() -> None:
    state = prior_state(count=5)
    means = state.score.mean
    assert stop_value(state) == -np.inf
    trained = keep(state, np.array([3, -1, 0]))
    np.testing.assert_array_equal(kept_means(trained), [means[3], -np.inf, means[0]])
    assert stop_value(trained) == max(means[3], means[0])
    assert stop_value(keep(state, np.array([-1]))) == -np.inf
    np.testing.assert_array_equal(stop_value(keep(state, np.array([[3], [-1], [0]]))), [means[3], -np.inf, means[0]])


def test_gather_lines_up_axes() -> None:
    values = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(gather(values, np.array([2, 0])), values[:, [2, 0]])
    np.testing.assert_array_equal(gather(values[0], np.array([[1], [3]])), [[1], [3]])
    assert gather(values[:, None, :], np.zeros((5, 2), dtype=np.intp)).shape == (3, 5, 2)


def test_variance_is_never_negative() -> None:
    state = prior_state(count=3)
    below_zero = state.score.cov - 10 * np.eye(3)
    assert np.all(variance(type(state.score)(state.score.mean, below_zero)) == 0)


def test_prices() -> None:
    state = prior_state(count=5)
    sd = np.sqrt(np.diag(state.cost.cov) + 0.01)
    rng = np.random.default_rng(1)
    seen = state.cost.mean + sd * rng.standard_normal((200_000, 5))
    paid = 0.3 * np.maximum(seen, 0) + 0.01
    error = paid.std(axis=0) / np.sqrt(200_000)
    assert np.all(np.abs(run_price(state, Terms(0.3, overhead=0.01)) - paid.mean(axis=0)) < 5 * error)
    prior = default_prior(cubic())
    log_state = view(prior.belief, prior.model, grid(5))
    log_sd2 = np.diag(log_state.cost.cov) + 0.01
    expected = 0.3 * np.exp(log_state.cost.mean + log_sd2 / 2)
    np.testing.assert_allclose(run_price(log_state, Terms(0.3, LOG_LINEAR)), expected, rtol=1e-14)
    assert price_of(np.array(2.0), np.array(0.0), Terms(0.5, overhead=0.25)) == 1.25


@pytest.mark.parametrize("price", [0, -1.0, np.nan, np.inf])
def test_price_must_be_positive(price: float) -> None:
    with pytest.raises(ValueError, match=r"price must be positive, got .*; write it as score per unit of cost"):
        Terms(price)


@pytest.mark.parametrize("overhead", [-1e-9, np.nan, np.inf])
def test_overhead_must_not_be_negative(overhead: float) -> None:
    with pytest.raises(ValueError, match="overhead must be zero or positive, got"):
        Terms(0.1, overhead=overhead)
