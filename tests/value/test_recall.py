"""Rules R1 and R2: any trained model may be returned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.value.cases import FEW, LOG_RECALL, RECALL, grid, prior_state, random_state

from autobct.belief.normal import upsilon
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_values
from autobct.value.state import Terms, keep, run_price, score_gains, stop_value

SEEDS = st.integers(0, 10_000)


@pytest.mark.parametrize("terms", [RECALL, LOG_RECALL], ids=["linear", "log-linear"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_r1_is_the_expected_best_of_the_hand_and_the_new(terms: Terms, seed: int) -> None:
    """E max_{i in S + j} (m_i + k_ij Z) - c_j (METHOD, section 3), integrated densely."""
    state = keep(random_state(seed, 6), np.array([4, 1, -1]))
    z = np.linspace(-9, 9, 36_001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    m, c = state.score.mean, state.score.cov
    expected = []
    for j in range(6):
        sd = np.sqrt(c[j, j] + state.score_noise[j] ** 2)
        lines = [m[i] + c[i, j] / sd * z for i in (4, 1, j)]
        expected.append(weight @ np.max(lines, axis=0) - run_price(state, terms)[j])
    np.testing.assert_allclose(one_run_values(state, terms), expected, atol=1e-7)


def test_one_independent_control_trained_is_expected_improvement() -> None:
    """A known score b does not move: R1 = b + E[(m' - b)^+] - price."""
    state = prior_state(count=7)
    cov = state.score.cov.copy()
    cov[3, :] = cov[:, 3] = 0.0
    state = keep(replace(state, score=type(state.score)(state.score.mean, cov)), np.array([3]))
    best, moves = state.score.mean[3], np.diag(score_gains(state))
    expected = best + upsilon(state.score.mean - best, moves) - run_price(state, RECALL)
    np.testing.assert_allclose(one_run_values(state, RECALL), expected, rtol=1e-12)


@pytest.mark.parametrize("kept", [np.empty(0, dtype=np.intp), np.array([-1]), np.array([-1, -1])])
def test_without_a_model_it_is_the_last_model(kept) -> None:
    state = keep(random_state(3), kept)
    last = one_run_values(state, replace(RECALL, recall=False, overhead=0.0))
    np.testing.assert_allclose(one_run_values(state, RECALL), last - RECALL.overhead, atol=1e-13)


@given(SEEDS)
def test_recall_is_worth_at_least_the_last_model(seed: int) -> None:
    state = random_state(seed, 4, terms=RECALL)
    for depth in (1, 2, 3):
        kept = on_the_fly(state, RECALL, depth=depth, levels=[Level(FEW)])
        last = on_the_fly(state, replace(RECALL, recall=False), depth=depth, levels=[Level(FEW)])
        assert np.all(kept >= last - 1e-12)


@given(SEEDS)
def test_a_fuller_hand_is_worth_at_least_as_much(seed: int) -> None:
    state = random_state(seed, 5)
    for depth in (1, 2):
        values = [
            on_the_fly(keep(state, np.array(kept, dtype=np.intp)), RECALL, depth=depth, levels=[Level(FEW)])
            for kept in ([], [2], [2, -1], [2, 2], [2, 0])
        ]
        assert np.all(values[0] <= values[1] + 1e-12)
        np.testing.assert_allclose(values[1], values[2], atol=1e-12)  # an empty place is nothing
        np.testing.assert_allclose(values[1], values[3], atol=1e-12)  # the same model twice is one model
        assert np.all(values[1] <= values[4] + 1e-12)


@given(SEEDS)
def test_training_is_worth_at_least_stopping_minus_its_price(seed: int) -> None:
    state = random_state(seed, 5, terms=RECALL)
    for depth in (1, 2):
        values = on_the_fly(state, RECALL, depth=depth, levels=[Level(FEW)])
        assert np.all(values >= stop_value(state) - run_price(state, RECALL) - 1e-12)


def test_the_last_empty_place_of_a_hand_does_not_read_the_last_candidate() -> None:
    """-1 is "none", never the last index, however good the last candidate looks."""
    state = prior_state(count=5)
    mean = state.score.mean.copy()
    mean[-1] = 50.0
    state = replace(state, score=type(state.score)(mean, np.zeros((5, 5))))
    kept = keep(state, np.array([0, -1]))
    assert stop_value(kept) == mean[0]
    values = one_run_values(kept, RECALL)
    np.testing.assert_allclose(values[:-1] + run_price(kept, RECALL)[:-1], np.maximum(mean[0], mean[:-1]))


def test_r2_prefers_to_learn_where_r1_already_stops() -> None:
    """Looking further never makes going on look worse, and somewhere it makes the difference."""
    state = prior_state(count=11)
    differ = 0
    for g in range(11):
        kept = keep(state, np.array([g]))
        r1 = one_run_values(kept, RECALL).max()
        r2 = on_the_fly(kept, RECALL, depth=2, levels=[Level(FEW)]).max()
        differ += r2 > r1 + 0.01
    assert differ >= 8
    assert grid(11).shape == (11, 1)
