"""Acquisition functions: expected improvement as simulated, the Gittins index by its equation and Weitzman's order."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.value.cases import PAPER, prior_state, random_state

from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import upsilon
from autobct.value.acquisition import (
    CHEAP,
    TRAINED,
    Assessment,
    by_ei_per_cost,
    by_gittins_index,
    expected_improvement,
    expected_price,
    gittins_index,
    inverse_loss,
    pick,
)
from autobct.value.lookahead.one_step import ByValue, one_run_values
from autobct.value.state import RunExpectation, State, Terms, keep, run_price, score_gains, stop_value


def boxes(means: list[float], sds: list[float], prices: list[float]) -> State:
    """Independent controls whose score is seen without noise worth the name, at known prices (with Terms(1))."""
    size = len(means)
    return State(
        Gaussian(np.array(means), np.diag(np.square(sds))),
        Gaussian(np.array(prices), np.zeros((size, size))),
        np.full(size, 1e-9),
        np.full(size, 1e-9),
        np.empty(0, dtype=np.intp),
    )


def test_inverse_loss_inverts() -> None:
    loss = np.geomspace(1e-280, 1e8, 2000)
    y = inverse_loss(loss)
    assert np.all(np.diff(y) > 0)
    np.testing.assert_allclose(upsilon(y, 1.0), loss, rtol=1e-9)
    ordinary = np.linspace(-8, 8, 400)
    np.testing.assert_allclose(inverse_loss(upsilon(ordinary, 1.0)), ordinary, rtol=1e-9, atol=1e-9)
    assert np.isfinite(inverse_loss(np.array(0.0)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_index_solves_its_equation(seed: int) -> None:
    state = random_state(seed)
    index, moves = gittins_index(state, PAPER), np.diag(score_gains(state))
    improvement = upsilon(state.score.mean - index, moves)
    np.testing.assert_allclose(improvement, run_price(state, PAPER), rtol=1e-8)


@given(st.integers(0, 1000), st.floats(0.01, 2), st.floats(1.01, 10))
def test_the_index_falls_with_the_price(seed: int, price: float, times: float) -> None:
    state = random_state(seed, 5)
    assert np.all(gittins_index(state, Terms(price)) >= gittins_index(state, Terms(times * price)))


def test_limits() -> None:
    expensive = boxes([0.5, 0.5], [0.1, 0.3], [50.0, 50.0])
    np.testing.assert_allclose(gittins_index(expensive, Terms(1.0)), 0.5 - 50.0)  # it will be the mean, minus the price
    known = boxes([0.5, 0.7], [0.0, 0.0], [0.2, 0.2])
    np.testing.assert_allclose(gittins_index(known, Terms(1.0)), [0.3, 0.5])  # nothing to learn
    half = boxes([0.0], [1.0], [float(upsilon(0.0, 1.0))])
    np.testing.assert_allclose(gittins_index(half, Terms(1.0)), 0.0, atol=1e-9)
    free = boxes([0.0], [1.0], [-1.0])
    assert gittins_index(free, Terms(1.0)) > 30  # a run that costs nothing


def test_it_is_the_incumbent_score_at_which_the_run_breaks_even() -> None:
    """With b = index known as the incumbent's score, rule R1 gives exactly b."""
    state = boxes([0.2, 0.0], [0.7, 0.0], [0.1, 9.0])
    index = gittins_index(state, Terms(1.0))[0]
    mean = np.array([0.2, index])
    kept = keep(replace(state, score=Gaussian(mean, state.score.cov)), np.array([1]))
    assert one_run_values(kept, Terms(1.0, recall=True))[0] == pytest.approx(index, abs=1e-9)


def two_boxes_in_order(first: tuple[float, float, float], second: tuple[float, float, float]) -> float:
    """Open the first; then stop, or open the second and keep the better: the optimum, by dense integration."""
    z = np.linspace(-9, 9, 20_001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    found = first[0] + first[1] * z
    theta = (found - second[0]) / second[1]
    both = found * ndtr(theta) + second[0] * ndtr(-theta) + second[1] * np.exp(-0.5 * theta**2) / np.sqrt(2 * np.pi)
    return float(weight @ np.maximum(found, both - second[2])) - first[2]


BOX = st.tuples(st.floats(-1, 1), st.floats(0.1, 1.5), st.floats(0.02, 0.6))


@given(BOX, BOX)
def test_weitzmans_rule_opens_the_better_box_first(one, two) -> None:
    indices = gittins_index(boxes(*map(list, zip(one, two, strict=True))), Terms(1.0))
    assume(abs(indices[0] - indices[1]) > 1e-3)
    better = two_boxes_in_order(one, two) - two_boxes_in_order(two, one)
    assert better * np.sign(indices[0] - indices[1]) >= -1e-6


def test_a_batch_is_a_loop() -> None:
    states = random_state(2, 4, batch=(3,))
    batched = gittins_index(states, PAPER)
    assert batched.shape == (3, 4)
    alone = replace(
        states,
        score=Gaussian(states.score.mean[1], states.score.cov[1]),
        cost=Gaussian(states.cost.mean[1], states.cost.cov[1]),
    )
    np.testing.assert_allclose(batched[1], gittins_index(alone, PAPER), atol=1e-12)
    assert np.all(np.isfinite(gittins_index(prior_state("cnn-r", 11), PAPER)))


# --- expected improvement, feasibility, and the contract of value and priority ---

RECALL = replace(PAPER, recall=True, overhead=0.003)


def with_incumbents(seed: int, feasible: bool = False) -> State:
    state = keep(random_state(seed, 6), np.array([1, 4]))
    chance = np.random.default_rng(seed).uniform(0.05, 0.99, state.size)
    return replace(state, feasibility=chance if feasible else None)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("feasible", [False, True])
def test_expected_improvement_is_the_mean_over_drawn_outcomes(seed: int, feasible: bool) -> None:
    """By simulation of the run: it fails, or a surprise z moves every estimated score along its gain."""
    state, rng = with_incumbents(seed, feasible), np.random.default_rng(7)
    stop, z = state.score.mean[[1, 4]].max(), rng.standard_normal(400_000)
    for g, gains in enumerate(score_gains(state)):
        after = [state.score.mean[i] + gains[i] * z for i in (1, 4, g)]
        improves = np.max(after, axis=0) - stop
        if state.feasibility is not None:
            improves = np.where(rng.random(z.size) < state.feasibility[g], improves, 0.0)
        error = 5 * improves.std() / np.sqrt(z.size)
        assert expected_improvement(state, RECALL)[g] == pytest.approx(improves.mean(), abs=error + 1e-12)


@pytest.mark.parametrize("recall", [True, False])
@pytest.mark.parametrize("feasible", [False, True])
def test_a_run_is_worth_more_than_stopping_where_it_improves_by_more_than_its_price(recall, feasible) -> None:
    terms = replace(RECALL, recall=recall)
    for seed in range(20):
        state = with_incumbents(seed, feasible)
        improvement, price, stop = expected_improvement(state, terms), run_price(state, terms), stop_value(state)
        found = by_ei_per_cost(state, terms, 3)
        np.testing.assert_allclose(found.value, stop + improvement - price, atol=1e-12)
        np.testing.assert_allclose(found.priority, improvement / (price + CHEAP), rtol=1e-12)
        looking = ByValue(lambda state, terms, runs: one_run_values(state, terms))(state, terms, 3)
        np.testing.assert_allclose(looking.value, found.value, atol=1e-12)


@pytest.mark.parametrize("feasible", [False, True])
def test_the_index_and_the_value_of_a_box_exceed_the_incumbent_together(feasible: bool) -> None:
    for seed in range(20):
        state = with_incumbents(seed, feasible)
        found, stop = by_gittins_index(state, RECALL, 2), stop_value(state)
        np.testing.assert_array_equal(found.value > stop, found.priority > stop)
        chance = 1.0 if state.feasibility is None else state.feasibility
        moves = np.diag(score_gains(state))
        earned = chance * upsilon(state.score.mean - found.priority, moves)
        np.testing.assert_allclose(earned, run_price(state, RECALL), rtol=1e-8)


def test_before_any_run_has_finished_stopping_is_worth_the_bottom_of_the_range() -> None:
    state = replace(random_state(3, 5), feasibility=np.full(5, 0.4))
    for assess in (by_ei_per_cost, by_gittins_index, ByValue(lambda state, terms, runs: one_run_values(state, terms))):
        value = assess(state, RECALL, 1).value
        np.testing.assert_allclose(value, 0.4 * state.score.mean - run_price(state, RECALL), atol=1e-12)


def test_the_best_of_those_worth_it_is_picked_and_else_the_one_with_the_highest_priority() -> None:
    found = Assessment(np.array([0.5, 0.9, 0.7]), np.array([9.0, 1.0, 2.0]))
    assert [int(part) for part in pick(found, 0.4)] == [0, 1]
    assert [int(part) for part in pick(found, 0.6)] == [2, 1]  # the first is ranked highest, and is not worth it
    assert [int(part) for part in pick(found, 0.9)] == [0, 0]
    chosen, goes_on = pick(Assessment.by_value(np.array([[0.1, 0.3], [0.8, 0.2]])), np.array([0.5, 0.5]))
    assert (chosen.tolist(), goes_on.tolist()) == ([1, 0], [False, True])


def test_other_surrogates_count_as_much_as_the_belief() -> None:
    state = keep(boxes([0.5, 0.6], [0.2, 0.1], [0.1, 0.4]), np.array([0]))
    others = (
        RunExpectation(np.array([0.0, 0.3]), np.array([0.2, 0.1])),
        RunExpectation(np.array([0.1, 0.2]), np.array([0.4, 0.9])),
    )
    terms, three = Terms(1.0, recall=True, overhead=0.01), replace(state, others=others)
    own, price = expected_improvement(state, terms), expected_price(state, terms)
    np.testing.assert_allclose(
        expected_improvement(three, terms), np.median([own, others[0].gain, others[1].gain], axis=0), rtol=1e-12
    )
    two = replace(state, others=others[:1])
    both = (1.0 - TRAINED) * own + TRAINED * others[0].gain
    np.testing.assert_allclose(expected_improvement(two, terms), both, rtol=1e-12)
    silent = replace(state, others=(*others, RunExpectation(np.zeros(2))))
    np.testing.assert_array_equal(expected_price(silent, terms), expected_price(three, terms))
    product = price * np.array([0.21 * 0.41, 0.11 * 0.91])
    np.testing.assert_allclose(expected_price(three, terms), np.cbrt(product), rtol=1e-12)


def test_what_is_paid_for_anyway_is_not_charged_for_a_number_either() -> None:
    expected = RunExpectation(np.zeros(3), np.array([0.1, 0.3, 0.5]))
    charged = expected.price(Terms(2.0, overhead=0.01, covered=0.1))
    np.testing.assert_allclose(charged, [0.01, 0.11, 0.31], rtol=1e-12)  # beyond 2.0 x 0.1, and the overhead always
