"""What the network makes of runs: units make no difference, and expected improvement is that of its distribution."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from autobct.belief.surrogate.network import Context, Layout, Network, Rows
from autobct.belief.surrogate.predictive import COSTS, SCORES, NetworkPosterior, Shown
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
    monkeypatch.setattr(NetworkPosterior, "noise", lambda self, true: 0.0)
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


def test_each_question_is_put_to_the_network_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def counted(network: Network, memory: Context, rows: Rows) -> Rows:
        asked.append(rows.tobytes())
        return predict(network, memory, rows)

    predict = Network.predict
    posterior = after(SHOWN)
    monkeypatch.setattr(Network, "predict", counted)
    posterior.improvement_and_cost(CONTROLS)
    assert len(asked) == len(set(asked)) == 3  # candidates; runs: their true scores, and observed ones


def test_noise_makes_runs_worth_less() -> None:
    posterior = after(SHOWN)
    quiet = posterior.improvement_and_cost(CONTROLS)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkPosterior, "noise", lambda self, true: 1e4)
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
