"""Simulated policies: the same random numbers, the same outcome; truths; what may be returned; depth pays."""

from dataclasses import replace

import numpy as np
import pytest
from tests.value.cases import ALL_TERMS, PAPER, RECALL, TERMS_IDS, grid, prior_for, prior_state

from autobct.belief.basis import Model, cubic
from autobct.belief.cost import LINEAR
from autobct.belief.gaussian import Gaussian, Truth
from autobct.belief.prior import paper_prior
from autobct.value.acquisition import Assessment, by_gittins_index
from autobct.value.lookahead.nodes import product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.simulate import CommonRandomNumbers, best_kept, common_random_numbers, simulate
from autobct.value.state import State, Terms, view

SMALL = [Level(product(stratified(5), stratified(2)))]


def lookahead(depth: int):
    def policy(state: State, terms: Terms, run: int) -> Assessment:
        return Assessment.by_value(on_the_fly(state, terms, depth=depth, levels=SMALL))

    return policy


def always(choices: list[int]):
    """Train these in this order, then stop."""

    def policy(state: State, terms: Terms, run: int) -> Assessment:
        values = np.full(state.score.mean.shape, -np.inf)
        if run < len(choices):
            values[..., choices[run]] = 1e9
        return Assessment.by_value(values)

    return policy


def rows(common: CommonRandomNumbers, chosen: slice) -> CommonRandomNumbers:
    return CommonRandomNumbers(
        common.scores[chosen], common.costs[chosen], common.score_noise[chosen], common.cost_noise[chosen]
    )


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_common_random_numbers_give_the_same_outcome_bit_for_bit(terms: Terms) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(5))
    outcomes = []
    for _ in range(2):
        common = common_random_numbers(state, 30, 4, rng=np.random.default_rng(7))
        outcomes.append(simulate(lookahead(2), state, terms, common))
    for field in ("score", "cost", "runs"):
        np.testing.assert_array_equal(getattr(outcomes[0], field), getattr(outcomes[1], field))
    assert outcomes[0].runs.min() >= 1
    assert outcomes[0].runs.max() <= 4
    assert len(set(outcomes[0].runs)) > 1
    other = simulate(lookahead(2), state, terms, common_random_numbers(state, 30, 4, rng=np.random.default_rng(8)))
    assert not np.array_equal(outcomes[0].score, other.score)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_many_draws_are_one_after_another(terms: Terms) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(5))
    common = common_random_numbers(state, 12, 4, rng=np.random.default_rng(1))
    together = simulate(lookahead(2), state, terms, common)
    for i in range(12):
        alone = simulate(lookahead(2), state, terms, rows(common, slice(i, i + 1)))
        np.testing.assert_allclose(together.score[i], alone.score[0], atol=1e-12)
        np.testing.assert_allclose(together.cost[i], alone.cost[0], atol=1e-12)
        assert together.runs[i] == alone.runs[0]


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_truth_stops_after_one_run(terms: Terms, depth: int) -> None:
    truth = Truth(np.array([0.4, 0.5, -1.0, 0.2]), np.array([0.5, 0.1, 0.0, 0.0]))
    state = view(truth.belief(), Model(cubic(), cubic(), 0.1, 0.1, terms.cost_model), grid(9))
    common = common_random_numbers(state, 20, 4, rng=np.random.default_rng(1))
    outcome = simulate(lookahead(depth), state, terms, common)
    assert np.all(outcome.runs == 1)
    assert np.ptp(outcome.score) < 1e-12
    assert outcome.net(terms).mean() == pytest.approx(
        float(one_run_value(state, terms)), abs=5 * outcome.net(terms).std() / np.sqrt(20)
    )


def by_hand(
    state: State, common: CommonRandomNumbers, draw: int, choices: list[int], terms: Terms
) -> tuple[float, float]:
    """One draw: the belief after the runs by dense conditioning, the model returned, what was paid."""
    seen, paid = [], 0.0
    for run, g in enumerate(choices):
        seen.append(common.scores[draw, g] + state.score_noise[g] * common.score_noise[draw, run])
        observed = common.costs[draw, g] + state.cost_noise[g] * common.cost_noise[draw, run]
        paid += max(observed, 0.0) if terms.cost_model is LINEAR else float(np.exp(observed))
    cross = state.score.cov[:, choices]
    gram = state.score.cov[np.ix_(choices, choices)] + np.diag(state.score_noise[choices] ** 2)
    mean = state.score.mean + cross @ np.linalg.solve(gram, np.array(seen) - state.score.mean[choices])
    best = max(choices, key=lambda g: mean[g]) if terms.recall else choices[-1]
    return common.scores[draw, best], paid


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@pytest.mark.parametrize("choices", [[2], [0, 3], [1, 1, 4], [3, 0, 2, 4], [2, 2, 2, 0]])
def test_outcomes_by_hand(terms: Terms, choices: list[int]) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(5))
    common = common_random_numbers(state, 25, 5, rng=np.random.default_rng(3))
    outcome = simulate(always(choices), state, terms, common)
    assert np.all(outcome.runs == len(choices))
    for draw in range(25):
        score, paid = by_hand(state, common, draw, choices, terms)
        assert outcome.score[draw] == score
        assert outcome.cost[draw] == pytest.approx(paid, rel=1e-12)
    expected = outcome.score - terms.price * outcome.cost - terms.overhead * len(choices)
    np.testing.assert_allclose(outcome.net(terms), expected)


def test_a_control_trained_twice_never_returns_an_untrained_one() -> None:
    """The last candidate looks best but was never trained: it must not be returned."""
    state = prior_state(count=4)
    mean = np.array([0.1, 0.2, 0.3, 40.0])
    state = replace(state, score=Gaussian(mean, np.diag([0.01, 0.01, 0.01, 1e-6])))
    common = common_random_numbers(state, 10, 3, rng=np.random.default_rng(1))
    outcome = simulate(always([0, 0, 0]), state, RECALL, common)
    np.testing.assert_array_equal(outcome.score, common.scores[:, 0])


def test_random_numbers_that_run_out_end_the_run() -> None:
    state = prior_state(count=4)
    common = common_random_numbers(state, 6, 2, rng=np.random.default_rng(1))
    outcome = simulate(always([0, 1, 2, 3]), state, PAPER, common)
    assert np.all(outcome.runs == 2)
    np.testing.assert_array_equal(outcome.score, common.scores[:, 1])


def test_tolerance_stops_sooner() -> None:
    state = prior_state(count=5)
    common = common_random_numbers(state, 60, 5, rng=np.random.default_rng(1))
    free = simulate(lookahead(2), state, RECALL, common)
    careful = simulate(lookahead(2), state, RECALL, common, tolerance=0.1)
    assert careful.runs.sum() < free.runs.sum()
    assert np.all(simulate(lookahead(2), state, RECALL, common, tolerance=1e9).runs == 1)


def test_random_numbers_are_drawn_from_the_belief() -> None:
    state = prior_state("cnn-r", count=5)
    common = common_random_numbers(state, 20_000, 3, rng=np.random.default_rng(1))
    assert common.score_noise.shape == common.cost_noise.shape == (20_000, 3)
    np.testing.assert_allclose(common.scores.mean(axis=0), state.score.mean, atol=5 * np.sqrt(2 / 20_000))
    np.testing.assert_allclose(np.cov(common.scores.T), state.score.cov, atol=0.08)
    assert np.abs(common.costs - common.costs[:, :1]).max() < 1e-6  # the cost of cnn-r is the same everywhere


def test_the_mean_of_one_run_is_its_value() -> None:
    prior = paper_prior("synthetic")
    state = view(prior.belief, prior.model, grid(9))
    common = common_random_numbers(state, 20_000, 1, rng=np.random.default_rng(5))
    net = simulate(lookahead(1), state, PAPER, common).net(PAPER)
    assert abs(net.mean() - one_run_value(state, PAPER)) < 4 * net.std() / np.sqrt(net.size)


def test_the_mean_of_an_exact_policy_is_its_value() -> None:
    """V_2 is what the policy that follows it earns: theorem 2, assertion 2, by simulation."""
    state = prior_state(count=9)
    common = common_random_numbers(state, 10_000, 2, rng=np.random.default_rng(5))

    def exact(state: State, terms: Terms, run: int) -> Assessment:
        return Assessment.by_value(on_the_fly(state, terms, depth=2 - run, levels=[Level(stratified(8))]))

    net = simulate(exact, state, PAPER, common).net(PAPER)
    value = on_the_fly(state, PAPER, depth=2, levels=[Level(stratified(8))]).max()
    assert abs(net.mean() - value) < 4 * net.std() / np.sqrt(net.size)


def test_looking_two_runs_ahead_with_recall_beats_one_run_ahead() -> None:
    state = prior_state(count=11)
    common = common_random_numbers(state, 400, 6, rng=np.random.default_rng(2))
    one = simulate(lookahead(1), state, PAPER, common).net(PAPER)
    two = simulate(lookahead(2), state, RECALL, common).net(RECALL)
    index = simulate(by_gittins_index, state, RECALL, common).net(RECALL)
    for better in (two, index):
        gain = better - one
        assert gain.mean() > 2 * gain.std() / np.sqrt(gain.size)


def test_which_models_are_followed() -> None:
    state = prior_state(count=6)
    state = replace(state, score=Gaussian(np.array([0.5, 0.1, 0.9, 0.3, 0.7, 0.2]), state.score.cov))
    trained = np.array([0, 1, 2, 3, 4, 1])
    np.testing.assert_array_equal(best_kept(state, trained, PAPER), [1])
    np.testing.assert_array_equal(best_kept(state, trained, RECALL), [2, 4, 0])
    np.testing.assert_array_equal(best_kept(state, np.array([3, 3, 3]), RECALL), [3, -1, -1])
    np.testing.assert_array_equal(best_kept(state, np.array([3]), RECALL), [3])
    np.testing.assert_array_equal(best_kept(state, np.array([5, -1, 0]), RECALL), [0, 5, -1])
    np.testing.assert_array_equal(best_kept(state, np.array([[0, 2], [1, 1]]), RECALL), [[2, 0], [1, -1]])
