"""The forecast: what the policy does where the model holds, and nothing is touched."""

from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, ask_train, hill, numbers

from autobct import Tuner, exact, relaxed
from autobct.tuning.limits import Left


def test_one_run_is_what_the_first_decision_expects() -> None:
    """With room for one run only, the forecast is the mean and spread of that run."""
    tuner = Tuner(LINE, price=0.01, policy=exact(1), cost_range=(0.5, 2), score_range=(0, 10))
    told, first = tuner.forecast(2000), tuner.peek()
    assert told.stopping == {1: 1.0}
    assert told.expected_score == pytest.approx(first.expected_score, abs=4 * told.score_se)
    assert told.expected_cost == pytest.approx(first.expected_cost, rel=4 * told.costs.std() / 2000**0.5)
    sd = tuner.explain().score_sd
    assert told.scores.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.slow
def test_it_keeps_what_the_value_promises() -> None:
    """V_2 with two runs at most is the expected net score, overheads included."""
    tuner = Tuner(LINE, price=0.05, policy=exact(2), candidates=21, cost_range=(0.5, 2), recall=False)
    told, first = tuner.forecast(1500), tuner.peek()
    nets = told.nets - 0.002 * told.runs
    assert nets.mean() == pytest.approx(first.value, abs=4 * nets.std() / 1500**0.5)


def test_the_same_seed_gives_the_same_forecast_and_the_tuner_is_left_alone() -> None:
    tuner = Tuner(LINE, price=0.02, candidates=21)
    tuner.tell(ask_train(tuner), *hill({"x": 0.1}))
    before = numbers(tuner.peek())
    one, two, other = tuner.forecast(20), tuner.forecast(20), tuner.forecast(20, seed=5)
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.costs, two.costs)
    assert not np.array_equal(one.scores, other.scores)
    assert len(tuner.history) == 1
    assert tuner.under_way == ()
    assert numbers(tuner.peek()) == before


def test_what_is_spent_is_part_of_it() -> None:
    tuner = Tuner(LINE, price=0.02, candidates=21)
    tuner.tell(ask_train(tuner), 0.8, 7.0)
    told = tuner.forecast(20)
    assert told.costs.min() >= 7.0
    assert told.runs.min() >= 1


def test_runs_under_way_are_finished_first() -> None:
    tuner = Tuner(LINE, price=0.2, candidates=21)
    asked = ask_train(tuner), ask_train(tuner)
    told = tuner.forecast(10)
    assert told.runs.min() >= 2
    assert tuner.under_way == asked


def test_limits_hold_in_it() -> None:
    assert max(Tuner(LINE, price=1e-4, candidates=11, max_runs=2).forecast(10).stopping) == 2
    free = Tuner(LINE, price=1e-4, candidates=11, cost_range=(0.9, 1.1))
    assert free.forecast(10).expected_runs > 2
    for limited in (
        Tuner(LINE, price=1e-4, candidates=11, cost_range=(0.9, 1.1), max_cost=2.5).forecast(10),
        free.forecast(10, left=Left(2.5, "deadline")),
    ):
        assert limited.run_quantiles[0.95] <= 3
        assert limited.costs.max() < 3.5


def test_where_no_run_fits_it_says_so() -> None:
    told = Tuner(LINE, price=0.01, cost_range=(10, 20), max_cost=1).forecast(3)
    assert told.stopping == {0: 1.0}
    assert str(told) == "No run would be made."


def test_in_words_and_quantiles() -> None:
    told = Tuner(LINE, price=0.02, candidates=21, direction="minimize", score_range=(0, 100)).forecast(40)
    assert told.draws == 40
    assert sum(told.stopping.values()) == pytest.approx(1.0)
    assert list(told.cost_quantiles) == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert told.score_quantiles[0.5] == pytest.approx(float(np.median(told.scores)))
    text = str(told)
    assert f"Expected final score {told.expected_score:.4g}" in text
    assert "From 40 games" in text
    assert told.nets.mean() > told.scores.mean()  # what is to be minimised gets worse by its price


def test_a_policy_that_never_stops_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.tuning.forecast.LONGEST", 5)

    def endless(controls: Any, seed: int) -> Any:
        return lambda state, terms, runs: np.full(len(controls), 1e9)

    told = Tuner(LINE, price=0.01, candidates=5, policy=endless).forecast(3)
    assert told.capped == 1.0
    assert told.runs.tolist() == [5, 5, 5]
    assert Tuner(LINE, price=0.1, candidates=5, policy=relaxed(1)).forecast(3).capped == 0.0


@pytest.mark.parametrize("draws", [0, -1, 2.5, "many", True])
def test_bad_numbers_of_draws(draws: Any) -> None:
    with pytest.raises(ValueError, match=r"^draws must be a whole number of at least 1, got .*; write e.g. 100"):
        Tuner(LINE, price=0.01).forecast(draws)
