"""Lambda and V_1: closed forms, Monte Carlo in weight space, the exact two-run step."""

import numpy as np
import pytest
from scipy.stats import norm
from tests.value.cases import (
    ALL_TERMS,
    FEW,
    LOG,
    PAPER,
    TERMS_IDS,
    grid,
    one_of,
    prior_for,
    prior_state,
    random_state,
)
from tests.value.chords import chord

from autobct.belief.arrays import Array
from autobct.belief.cost import LINEAR
from autobct.value.lookahead.nodes import Nodes, monte_carlo, product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import (
    control_values,
    damped,
    never,
    one_run_value,
    one_run_values,
    successors,
    two_run_values,
)
from autobct.value.state import State, Terms, kept_means, run_price, view

LAST = [PAPER, LOG]


def expected_cost(mean: Array, sd: Array, terms: Terms) -> Array:
    """The paper's formula below eq. (reform), or the lognormal mean."""
    if terms.cost_model is LINEAR:
        return sd * norm.pdf(mean / sd) + mean * norm.cdf(mean / sd)
    return np.exp(mean + sd**2 / 2)


@pytest.mark.parametrize("terms", LAST, ids=["linear", "log-linear"])
def test_one_run_value_is_the_direct_formula(terms: Terms) -> None:
    prior = prior_for(terms)
    features = prior.model.score_basis(grid(21))
    score, cost = prior.belief.score, prior.belief.cost
    sd = np.sqrt(np.einsum("gj,jk,gk->g", features, cost.cov, features) + 0.1**2)
    direct = features @ score.mean - terms.price * expected_cost(features @ cost.mean, sd, terms) - terms.overhead
    state = view(prior.belief, prior.model, grid(21))
    np.testing.assert_allclose(one_run_values(state, terms), direct, rtol=1e-12)
    assert one_run_value(state, terms) == pytest.approx(direct.max(), rel=1e-12)


def test_one_run_value_needs_no_nodes() -> None:
    """Lambda with nothing to follow is V_1 exactly, because the nodes have mean zero."""
    state = random_state(2)
    np.testing.assert_allclose(control_values(state, PAPER, FEW, never), one_run_values(state, PAPER), atol=1e-13)


def test_values_at_the_synthetic_prior() -> None:
    """METHOD, section 1: V_1 = 0.2341, V_2 = 0.2430 on 101 controls at the price 0.16."""
    state = prior_state(count=101)
    assert one_run_value(state, PAPER) == pytest.approx(0.2341, abs=1e-4)
    exact = two_run_values(state, PAPER, stratified(32))
    assert exact.max() == pytest.approx(0.2430, abs=1e-4)
    assert on_the_fly(state, PAPER, depth=2).max() == pytest.approx(0.2430, abs=1e-3)  # the default nodes


def test_third_value_at_the_synthetic_prior() -> None:
    state = prior_state(count=26)
    levels = [Level(product(stratified(12), stratified(4))), Level(stratified(4))]
    assert on_the_fly(state, PAPER, depth=3, levels=levels).max() == pytest.approx(0.308, abs=2e-3)


@pytest.mark.parametrize("terms", LAST, ids=["linear", "log-linear"])
def test_lambda_is_monte_carlo_in_weight_space(terms: Terms) -> None:
    """Algorithm 2 word for word, in weights and with inverses, against function space and deterministic nodes."""
    prior, rng, count = prior_for(terms), np.random.default_rng(8), 9
    features, noise = prior.model.score_basis(grid(count)), (prior.model.score_noise, 0.1)
    state = view(prior.belief, prior.model, grid(count))
    found = control_values(state, terms, product(stratified(96), stratified(48)), one_run_value)
    for g in (0, 4, 7):
        phi = features[g]
        means, covs, sds = [], [], []
        for belief, sigma in ((prior.belief.score, noise[0]), (prior.belief.cost, noise[1])):
            sd = np.sqrt(phi @ belief.cov @ phi + sigma**2)
            seen = belief.mean @ phi + sd * rng.standard_normal(40_000)
            cov = np.linalg.inv(np.linalg.inv(belief.cov) + np.outer(phi, phi) / sigma**2)  # eq. (filter_a)
            means.append(belief.mean + np.outer(seen - belief.mean @ phi, cov @ phi) / sigma**2)
            covs.append(cov)
            sds.append(sd)
        later_sd = np.sqrt(np.einsum("gj,jk,gk->g", features, covs[1], features) + noise[1] ** 2)
        cost = expected_cost(means[1] @ features.T, later_sd, terms)
        last_run = (means[0] @ features.T - terms.price * cost - terms.overhead).max(axis=-1)
        worth = np.maximum(means[0] @ phi, last_run)
        price = terms.price * expected_cost(prior.belief.cost.mean @ phi, sds[1], terms) + terms.overhead
        error = worth.std() / np.sqrt(worth.size)
        assert abs(found[g] - (worth.mean() - price)) < 5 * error


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nodes_agree_with_monte_carlo(terms: Terms, seed: int) -> None:
    state = random_state(seed, 5, terms=terms)
    exact = control_values(state, terms, product(stratified(64), stratified(32)), one_run_value)
    rng = np.random.default_rng(100 + seed)
    repeats = np.stack([control_values(state, terms, monte_carlo(5, 500, rng=rng), one_run_value) for _ in range(40)])
    error = repeats.std(axis=0, ddof=1) / np.sqrt(40)
    assert np.all(np.abs(repeats.mean(axis=0) - exact) < 5 * error + 1e-3)


@pytest.mark.parametrize("terms", LAST, ids=["linear", "log-linear"])
@pytest.mark.parametrize("damping", [0.0, 0.15])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_exact_two_run_step_lies_between_strata_and_chords(terms: Terms, damping: float, seed: int) -> None:
    state, costs = random_state(seed, 7), stratified(5)
    exact = two_run_values(state, terms, costs, damping=damping)
    later = damped(one_run_value, damping)
    below = control_values(state, terms, product(stratified(200), costs), later)
    above = control_values(state, terms, product(chord(200), costs), later)
    assert np.all(below <= exact + 1e-12)
    assert np.all(exact <= above + 1e-8)
    np.testing.assert_allclose(below, exact, atol=3e-4)
    np.testing.assert_allclose(above, exact, atol=1e-3)


def test_two_run_values_on_an_inner_set() -> None:
    state, inner = random_state(5, 9), np.array([0, 3, 8])
    exact = two_run_values(state, PAPER, stratified(5), inner=inner)
    below = control_values(state, PAPER, product(stratified(200), stratified(5)), one_run_value, inner=inner)
    np.testing.assert_allclose(below, exact, atol=1e-4)
    assert np.all(exact <= two_run_values(state, PAPER, stratified(5)) + 1e-12)  # fewer choices, no more value
    np.testing.assert_allclose(
        two_run_values(state, PAPER, stratified(5), inner=np.arange(9)), two_run_values(state, PAPER, stratified(5))
    )


def test_two_run_values_are_for_the_last_model() -> None:
    terms = Terms(0.16, recall=True)
    with pytest.raises(ValueError, match=r"two_run_values is for terms\.recall=False; use control_values"):
        two_run_values(prior_state(count=5), terms, stratified(3))


def test_damping_scales_the_continuation() -> None:
    def three(state: State, terms: Terms) -> Array:
        return np.full(state.score.mean.shape[:-1], 3.0)

    state = prior_state(count=4)
    assert damped(three, 0.0) is three
    np.testing.assert_allclose(damped(three, 0.2)(state, PAPER), 2.4)
    # a continuation above every score: the value is the continuation minus the price of the run
    high = lambda state, terms: np.full(state.score.mean.shape[:-1], 1e3)  # noqa: E731
    found = control_values(state, PAPER, FEW, damped(high, 0.1))
    np.testing.assert_allclose(found, 900 - run_price(state, PAPER))


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_successors_are_the_filter_in_weight_space(terms: Terms) -> None:
    prior, count, inner = prior_for(terms), 5, np.array([0, 2])
    state = view(prior.belief, prior.model, grid(count))
    if terms.recall:
        state = State(state.score, state.cost, state.score_noise, state.cost_noise, np.array([1, -1]))
    nodes = Nodes(np.array([[[-1.2], [0.4]]]), np.array([[[0.7]]]), np.full((2, 1), 0.5))
    after = successors(state, terms, nodes, inner=inner)
    features = prior.model.score_basis(grid(count))
    for g in range(count):
        h = features[g] @ prior.belief.score.mean + 0.4 * np.sqrt(
            features[g] @ prior.belief.score.cov @ features[g] + prior.model.score_noise**2
        )
        t = features[g] @ prior.belief.cost.mean + 0.7 * np.sqrt(
            features[g] @ prior.belief.cost.cov @ features[g] + 0.1**2
        )
        expected = prior.model.observe(
            prior.belief, grid(count)[g], score=float(h), cost=float(terms.cost_model.from_observation(t))
        )
        kept = [1, 0] if terms.recall else []  # an empty place (-1) shows candidate 0, and is not trained
        columns = [0, 2, *kept, g]
        np.testing.assert_allclose(after.score.mean[g, 1, 0], features[columns] @ expected.score.mean, atol=1e-12)
        np.testing.assert_allclose(after.cost.mean[g, 0, 0], features[columns] @ expected.cost.mean, atol=1e-12)
        seen = expected.cost.at(features[columns])
        np.testing.assert_allclose(after.cost.cov[g, 0, 0], seen.cov, atol=1e-12)
        np.testing.assert_allclose(after.score.cov[g, 0, 0], expected.score.at(features[columns]).cov, atol=1e-12)
        incumbent = [features[1] @ expected.score.mean, -np.inf] if terms.recall else []
        own = features[g] @ expected.score.mean
        row = kept_means(after)[min(g, kept_means(after).shape[0] - 1), 1, 0]
        np.testing.assert_allclose(row, [*incumbent, own], atol=1e-12)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_a_batch_is_a_loop(terms: Terms) -> None:
    states = random_state(4, 5, terms=terms, batch=(3,))
    inner = np.array([1, 4])
    batched = control_values(states, terms, FEW, one_run_value, inner=inner)
    assert batched.shape == (3, 5)
    for i in range(3):
        alone = control_values(one_of(states, i), terms, FEW, one_run_value, inner=inner)
        np.testing.assert_allclose(batched[i], alone, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            one_run_values(states, terms)[i], one_run_values(one_of(states, i), terms), atol=1e-12
        )
    if not terms.recall:
        both = two_run_values(states, terms, stratified(3))
        np.testing.assert_allclose(both[2], two_run_values(one_of(states, 2), terms, stratified(3)), atol=1e-12)
