"""The Gittins index: the equation it solves, its limits, and Weitzman's optimal order of two boxes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtr
from tests.value.cases import PAPER, prior_state, random_state

from autobct.belief.cost import upsilon
from autobct.belief.gaussian import Gaussian
from autobct.value.acquisition import gittins_index, inverse_loss
from autobct.value.lookahead import one_run_values
from autobct.value.state import State, Terms, keep, run_price, score_gains


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
    dear = boxes([0.5, 0.5], [0.1, 0.3], [50.0, 50.0])
    np.testing.assert_allclose(gittins_index(dear, Terms(1.0)), 0.5 - 50.0)  # it will be the mean, minus the price
    known = boxes([0.5, 0.7], [0.0, 0.0], [0.2, 0.2])
    np.testing.assert_allclose(gittins_index(known, Terms(1.0)), [0.3, 0.5])  # nothing to learn
    half = boxes([0.0], [1.0], [float(upsilon(0.0, 1.0))])
    np.testing.assert_allclose(gittins_index(half, Terms(1.0)), 0.0, atol=1e-9)
    free = boxes([0.0], [1.0], [-1.0])
    assert gittins_index(free, Terms(1.0)) > 30  # a run that costs nothing


def test_it_is_the_score_in_hand_at_which_the_run_breaks_even() -> None:
    """With b = index known and in hand, rule R1 gives exactly b."""
    state = boxes([0.2, 0.0], [0.7, 0.0], [0.1, 9.0])
    index = gittins_index(state, Terms(1.0))[0]
    mean = np.array([0.2, index])
    hand = keep(replace(state, score=Gaussian(mean, state.score.cov)), np.array([1]))
    assert one_run_values(hand, Terms(1.0, recall=True))[0] == pytest.approx(index, abs=1e-9)


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
