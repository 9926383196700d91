"""What the network makes of runs: units make no difference, and expected improvement is that of its distribution."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from autobct.belief.surrogate import predictive
from autobct.belief.surrogate.network import Context, Network
from autobct.belief.surrogate.network_inputs import OUTCOME, SCORE_EDGES, Rows
from autobct.belief.surrogate.predictive import (
    COSTS,
    SCORES,
    Layout,
    NetworkPosterior,
    Shown,
    noise_of,
    squash,
    unsquash,
)
from autobct.maps.library import shipped_surrogate

LAYOUT = Layout(*np.array([(0, 0, 1, 8.0, 0), (1, 0, 1, 4.0, 0), (0, 1, 0, 0, 0), (0, 1, 0, 0, 0)], dtype=np.float32).T)
SHOWN = Shown(
    controls=np.array([[0.5, 0.5, 1, 0], [0.2, 0.9, 0, 1], [0.7, 0.1, 1, 0], [0.1, 0.1, 0, 1]]),
    scores=np.array([0.80, 0.85, np.nan, 0.6]),
    costs=np.array([10.0, 40.0, 3.0, 5.0]),
    price=0.001,
)
CONTROLS = np.random.default_rng(0).random((50, 4)).round(2)


def after(shown: Shown) -> NetworkPosterior:
    return NetworkPosterior.after(shipped_surrogate(), LAYOUT, shown)


def test_units_of_score_and_cost_make_no_difference() -> None:
    gain, cost = after(SHOWN).improvement_and_cost(CONTROLS)
    other = replace(
        SHOWN, scores=100.0 * SHOWN.scores + 7.0, costs=60.0 * SHOWN.costs, price=SHOWN.price * 100.0 / 60.0
    )
    gain2, cost2 = after(other).improvement_and_cost(CONTROLS)
    np.testing.assert_allclose(gain2, 100.0 * gain, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(cost2, 60.0 * cost, rtol=1e-3)


def test_the_improvement_is_that_of_the_distribution_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = after(SHOWN)
    monkeypatch.setattr(predictive, "noise_of", lambda true, observed: 0.0)
    gain, cost = posterior.improvement_and_cost(CONTROLS)
    best = posterior.means(SHOWN.controls[[0, 1, 3]]).max()
    shares = posterior.scores(CONTROLS)
    rng = np.random.default_rng(1)
    for at in (0, 7, 23):
        drawn = rng.choice(SCORES, size=200_000, p=shares[at])
        # the highest half a percent is not counted on
        counted = drawn[drawn <= SCORES[np.flatnonzero(np.cumsum(shares[at][::-1])[::-1] > 0.005)[-1]]]
        expected = np.maximum(counted - best, 0.0).sum() / len(drawn)
        assert gain[at] / SHOWN.unit == pytest.approx(expected, rel=0.05, abs=0.02)
    assert np.all(cost > 0)
    assert cost.max() <= COSTS[-1] * np.exp(SHOWN.mean_log_cost)


def test_each_question_is_put_to_the_network_once_and_all_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Rows, Rows]] = []

    def counted(network: Network, memory: Context, places: Rows, wholes: Rows) -> Rows:
        asked.append((places, wholes))
        return predict(network, memory, places, wholes)

    predict = Network.predict
    posterior = after(SHOWN)
    monkeypatch.setattr(Network, "predict", counted)
    posterior.improvement_and_cost(CONTROLS)
    ((places, wholes),) = asked
    runs = LAYOUT.places(SHOWN.controls[[0, 1, 3]])  # that finished: their true scores, and observed ones
    np.testing.assert_array_equal(places, np.concatenate([LAYOUT.places(CONTROLS), runs, runs]))
    np.testing.assert_array_equal(wholes[:, predictive._OBSERVED], [0.0] * 53 + [1.0] * 3)


def test_the_noise_is_by_how_much_observed_scores_are_less_certain_than_true_ones() -> None:
    rng = np.random.default_rng(0)
    histogram = [np.histogram(rng.normal(-5.0, sd, 400_000), unsquash(SCORE_EDGES))[0] / 4e5 for sd in (1.0, 2.0)]
    true, observed = (np.tile(shares, (3, 1)) for shares in histogram)
    assert noise_of(true, observed) == pytest.approx(3.0, rel=0.1)  # 2^2 - 1^2
    assert noise_of(true, true) == noise_of(observed, true) == 0.0  # never negative


class Reads:
    """In place of a network: what it was given to read."""

    def read(self, layout: Layout, places: Rows, wholes: Rows) -> Any:
        self.places, self.wholes = places, wholes


def test_it_reads_the_context_then_the_guess_then_the_runs() -> None:
    """The rows that it has learned from: experiments/surrogate/episodes.py."""
    network = Reads()
    guess = np.array([0.9, 0.5, 0.0, 1.0])
    NetworkPosterior.after(network, LAYOUT, replace(SHOWN, ends=(0.0, 1.0), guess=guess))  # type: ignore[arg-type]
    assert not network.places[0].any()  # the context has no place
    np.testing.assert_allclose(network.places[1], [0.8, 0.0, 0.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(network.places[2:], LAYOUT.places(SHOWN.controls))
    outcomes, contexts = network.wholes[:, :OUTCOME], network.wholes[:, OUTCOME:]
    kappa, mean = SHOWN.unit, SHOWN.mean_log_cost
    g = [float(squash(np.array((score - 0.85) / kappa))) / 4.0 for score in (0.80, 0.85, 0.85, 0.6)]
    expected = np.zeros((6, OUTCOME))
    expected[0, 5] = expected[1, 4] = 1.0
    expected[2:, 0] = g  # of a run that failed, 0
    expected[2:, 1] = (np.log(SHOWN.costs) - mean) / 2.0
    expected[2:, 2], expected[2:, 3] = [1, 1, 0, 1], [0, 0, 1, 0]
    np.testing.assert_allclose(outcomes, expected, atol=1e-4)
    told = [np.log(5.0) / 4.0, 1.0, np.log(1.0 / kappa) / 4.0, float(squash(np.array(0.15 / kappa))) / 4.0, 0.4]
    np.testing.assert_allclose(contexts, np.tile(told, (6, 1)), atol=1e-4)


@pytest.mark.parametrize(("dim", "told"), [(1, 0.1), (16, 1.6), (50, 1.6)])
def test_of_very_many_coordinates_it_is_told_no_more_than_it_has_learned_from(dim: int, told: float) -> None:
    network = Reads()
    shown = Shown(controls=np.full((1, dim), 0.5), scores=np.ones(1), costs=np.ones(1), price=0.1)
    NetworkPosterior.after(network, Layout(*np.zeros((5, dim), np.float32)), shown)  # type: ignore[arg-type]
    assert network.places.shape == (2, dim)
    np.testing.assert_allclose(network.wholes[:, -1], told, rtol=1e-6)


def test_noise_makes_runs_worth_less() -> None:
    posterior = after(SHOWN)
    quiet = posterior.improvement_and_cost(CONTROLS)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predictive, "noise_of", lambda true, observed: 1e4)
        loud = posterior.improvement_and_cost(CONTROLS)[0]
    assert np.all(loud <= quiet + 1e-12)
    assert loud.sum() < 0.5 * quiet.sum()


def test_a_failed_run_has_no_score_and_does_not_move_the_unit() -> None:
    failed = replace(SHOWN, costs=np.array([10.0, 40.0, 300.0, 5.0]))
    assert failed.unit == pytest.approx(SHOWN.unit)
    assert np.isfinite(after(failed).improvement_and_cost(CONTROLS)[0]).all()


def test_what_is_known_is_used() -> None:
    plain = after(SHOWN).improvement_and_cost(CONTROLS)[0]
    near_top = after(replace(SHOWN, ends=(0.0, 0.851))).improvement_and_cost(CONTROLS)[0]
    wide = after(replace(SHOWN, ends=(0.0, 1.0))).improvement_and_cost(CONTROLS)[0]
    assert near_top.sum() < wide.sum()
    guessed = after(replace(SHOWN, guess=np.array([0.9, 0.9, 1.0, 0.0]))).means(np.array([[0.9, 0.9, 1.0, 0.0]]))
    assert guessed[0] != after(SHOWN).means(np.array([[0.9, 0.9, 1.0, 0.0]]))[0]
    assert plain.shape == (50,)


def test_candidates_are_judged_one_by_one() -> None:
    whole, _ = after(SHOWN).improvement_and_cost(CONTROLS)
    part, _ = after(SHOWN).improvement_and_cost(CONTROLS[10:20])
    np.testing.assert_allclose(part, whole[10:20], rtol=1e-4, atol=1e-9)


def test_however_many_coordinates_there_are_each_counts() -> None:
    rng = np.random.default_rng(3)
    shown = Shown(controls=rng.random((6, 40)), scores=rng.random(6), costs=np.ones(6), price=0.05)
    posterior = NetworkPosterior.after(shipped_surrogate(), Layout(*np.zeros((5, 40), np.float32)), shown)
    moved = np.full((41, 40), 0.5)
    moved[np.arange(40), np.arange(40)] = 0.9
    means = posterior.means(moved)
    assert np.all(np.abs(means[:40] - means[40]) > 1e-9)
