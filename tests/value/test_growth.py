"""W_0, and the bounds of lemma upper_bound, corrected for the noise of the cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gamma, ndtr
from tests.value.cases import FEW, LOG, PAPER, grid, prior_for, random_model, random_state, random_weights

from autobct.belief.basis import Model, additive, cubic
from autobct.belief.gaussian import Belief, Gaussian, Truth
from autobct.belief.prior import PAPER_PRIORS, paper_prior
from autobct.value.bounds.simple_bounds import clairvoyant_value, expected_norm, lower_bound, upper_bound
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.state import Terms, view


@pytest.mark.parametrize("size", [1, 2, 4, 10])
@pytest.mark.parametrize("sd", [1.0, 1e-4, 30.0])
def test_norm_of_a_centred_isotropic_normal(size: int, sd: float) -> None:
    expected = sd * np.sqrt(2) * gamma((size + 1) / 2) / gamma(size / 2)
    found = expected_norm(Gaussian.of(np.zeros(size), np.full(size, sd**2)))
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("mean", "sd"), [(0.7, 0.4), (-3.0, 0.1), (0.0, 2.0)])
def test_norm_of_one_number_is_the_folded_normal(mean: float, sd: float) -> None:
    expected = sd * np.sqrt(2 / np.pi) * np.exp(-(mean**2) / (2 * sd**2)) + mean * (1 - 2 * ndtr(-mean / sd))
    assert expected_norm(Gaussian.of([mean], [[sd**2]])) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("rank", [1, 4])
def test_norm_against_monte_carlo(seed: int, rank: int) -> None:
    belief = random_weights(seed, rank=rank).score
    norms = np.linalg.norm(belief.draw(np.random.default_rng(seed).standard_normal((100_000, 4))), axis=-1)
    assert abs(expected_norm(belief) - norms.mean()) < 5 * norms.std() / np.sqrt(norms.size)


def test_norm_of_what_is_known() -> None:
    assert expected_norm(Gaussian.of([3.0, 4.0], [0, 0])) == pytest.approx(5, rel=1e-9)
    assert expected_norm(Gaussian.of([0.0, 0.0], [0, 0])) == 0.0


def test_clairvoyant_value_at_the_synthetic_prior() -> None:
    """METHOD, section 1: W_0 = 0.583."""
    prior = paper_prior("synthetic")
    state = view(prior.belief, prior.model, grid(51))
    values = clairvoyant_value(state, PAPER, np.random.default_rng(1).standard_normal((2, 20_000, 51)))
    assert values.shape == (20_000,)
    assert abs(values.mean() - 0.583) < 4 * values.std() / np.sqrt(20_000)


@pytest.mark.parametrize("terms", [PAPER, LOG], ids=["linear", "log-linear"])
def test_clairvoyant_value_in_weight_space(terms: Terms) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(11))
    values = clairvoyant_value(state, terms, np.random.default_rng(1).standard_normal((2, 20_000, 11)))
    rng, features = np.random.default_rng(2), cubic()(grid(11))
    drawn = [
        b.mean + rng.standard_normal((20_000, 4)) @ np.linalg.cholesky(b.cov).T
        for b in (prior.belief.score, prior.belief.cost)
    ]
    noisy = drawn[1] @ features.T  # a clairvoyant pays the expected cost of one run, given the truth
    cost = terms.cost_model.expected(noisy, np.full(11, 0.1))
    expected = (drawn[0] @ features.T - terms.price * cost - terms.overhead).max(axis=-1)
    error = np.hypot(values.std(), expected.std()) / np.sqrt(20_000)
    assert abs(values.mean() - expected.mean()) < 5 * error


def test_clairvoyant_value_of_a_truth_is_its_best_run() -> None:
    truth = Truth(np.array([0.4, 0.5, -1.0, 0.2]), np.array([1.0, 0.3, 0.0, 0.0])).belief()
    state = view(truth, Model(cubic(), cubic(), 0.1, 0.1), grid(21))
    values = clairvoyant_value(state, PAPER, np.random.default_rng(1).standard_normal((2, 7, 21)))
    np.testing.assert_allclose(values, one_run_value(state, PAPER), rtol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.16, 2.0]))
def test_every_value_lies_between_the_bounds(seed: int, price: float) -> None:
    belief, model, terms = random_weights(seed), random_model(seed), Terms(price)
    state = view(belief, model, grid(5))
    low, high = lower_bound(belief, model, price), upper_bound(belief, model)
    clairvoyant = clairvoyant_value(state, terms, np.random.default_rng(seed).standard_normal((2, 2000, 5)))
    top = clairvoyant.mean() + 5 * clairvoyant.std() / np.sqrt(2000)
    for depth in (1, 2, 3):
        value = on_the_fly(state, terms, depth=depth, levels=[Level(FEW)]).max()
        assert low <= value <= high
        assert value <= top
    assert clairvoyant.mean() <= high


@pytest.mark.parametrize("name", PAPER_PRIORS)
def test_bounds_at_the_papers_priors(name: str) -> None:
    prior = PAPER_PRIORS[name]
    controls = grid(21) if prior.dim == 1 else np.random.default_rng(1).random((40, 2))
    value = one_run_value(view(prior.belief, prior.model, controls), PAPER)
    assert lower_bound(prior.belief, prior.model, 0.16) <= value <= upper_bound(prior.belief, prior.model)


def test_the_lower_bound_knows_the_noise_of_the_cost() -> None:
    """The paper's v_* is zero here, but one run costs the positive part of its noise and gives nothing."""
    nothing = Truth(np.zeros(4), np.zeros(4)).belief()
    model = Model(cubic(), cubic(), 0.1, 0.3)
    value = one_run_value(view(nothing, model, grid(5)), Terms(2.0))
    assert value == pytest.approx(-2 * 0.3 / np.sqrt(2 * np.pi), rel=1e-12)
    assert lower_bound(nothing, model, 2.0) == pytest.approx(value, rel=1e-9)


def test_the_largest_norm_is_found_at_a_corner_in_many_dimensions() -> None:
    basis = additive(14, degree=1)
    one = Belief(
        Gaussian.of(np.eye(basis.size)[0], np.zeros(basis.size)),
        Gaussian.of(np.zeros(basis.size), np.zeros(basis.size)),
    )
    corner = np.sqrt(1 + 14 / 4 + 14 * 13 / 2 / 16)  # every (u_i - 1/2)^2 is 1/4 there
    assert upper_bound(one, Model(basis, basis, 0.1, 0.1)) == pytest.approx(corner, rel=1e-9)


def test_a_value_exceeds_what_the_belief_says_without_foresight() -> None:
    state = random_state(3)
    clairvoyant = clairvoyant_value(state, PAPER, np.random.default_rng(3).standard_normal((2, 5000, 7)))
    assert clairvoyant.mean() > one_run_value(state, PAPER)
