"""The learned surrogate beside the ensemble: when it is asked, what it is shown, and what becomes of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import autobct
from autobct import Categorical, Float, Int, Train, Tuner
from autobct.maps.container import MapFileError
from autobct.maps.library import read_surrogate
from autobct.tuning.decide import position
from autobct.tuning.model import other_surrogates
from autobct.tuning.model.other_surrogates import REALISED, NetworkSurrogate, layout_of
from autobct.tuning.problem import problem_of
from autobct.tuning.units.price import parse_price
from autobct.tuning.units.ranges import shown
from autobct.value.acquisition import TRAINED, expected_improvement, expected_price
from autobct.value.state import RunExpectation, run_price

SPACE = {"rate": Float(1e-4, 1.0, log=True), "size": Int(8, 256, log=True), "kind": Categorical(["a", "b"])}


def measured(params: Mapping[str, Any]) -> tuple[float, float]:
    score = 0.9 - 0.03 * (math.log10(params["rate"]) + 2) ** 2 - 0.02 * (params["kind"] == "b")
    return score + 0.01 * math.log(params["size"]), params["size"] / 4.0


def tuner_after(runs: int, **keywords: Any) -> Tuner:
    tuner = Tuner(SPACE, **{"price": 1e-4, "seed": 3, **keywords})
    for _ in range(runs):
        train = tuner.ask()
        assert isinstance(train, Train)
        score, cost = measured(train.params)
        tuner.tell(train, score=score, cost=cost)
    return tuner


def test_it_is_asked_once_a_run_has_finished() -> None:
    assert tuner_after(0).position().state.others == ()
    position = tuner_after(2).position()
    (second,) = position.state.others
    assert second.gain.shape == second.cost.shape == (len(position.problem.controls),)
    assert np.all(second.gain >= 0)
    assert np.all(second.cost > 0)


@pytest.mark.parametrize("unit", [1.0, 100.0])
def test_after_one_run_gains_stay_within_the_range_that_is_assumed(unit: float) -> None:
    """Without a stated range: one score alone says nothing of how far others may be from it."""
    tuner = Tuner(SPACE, price=0.1 * unit, seed=3)
    train = tuner.ask()
    assert isinstance(train, Train)
    tuner.tell(train, score=0.95 * unit, cost=1.0)
    (second,) = tuner.position().state.others
    assert second.gain.max() < 1.0  # in units of that range


def test_values_are_the_weighted_mean_of_both_as_far_as_it_is_realised() -> None:
    position = tuner_after(2).position()
    terms, state = position.problem.terms, position.state
    (second,) = state.others
    ensemble = expected_improvement(replace(state, others=(), realised=1.0), terms)
    both = (1.0 - TRAINED) * ensemble + TRAINED * second.gain
    np.testing.assert_allclose(expected_improvement(state, terms), REALISED * both, rtol=1e-12)
    np.testing.assert_allclose(
        expected_price(state, terms), np.sqrt(run_price(state, terms) * second.price(terms)), rtol=1e-12
    )


def expected_by_the_network(tuner: Tuner, guess: Any, monkeypatch: pytest.MonkeyPatch) -> RunExpectation:
    """At the tuner's candidates, had it been told this guess alone."""
    problem = tuner.position().problem
    with monkeypatch.context() as patch:
        patch.setattr(other_surrogates, "_guess", lambda problem: guess)
        found = NetworkSurrogate().posterior(problem, tuner.history, (), problem.controls)
    assert found is not None
    return found


def test_whether_a_guess_is_good_is_an_even_bet_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked with the guess and without; after two runs, which show it, with the guess."""
    guess, alone = np.array([0.9, 0.1, 1.0, 0.0]), {}
    two, three = tuner_after(2), tuner_after(3)
    even, later = (expected_by_the_network(tuner, guess, monkeypatch) for tuner in (two, three))
    without = expected_by_the_network(two, None, monkeypatch)
    with monkeypatch.context() as patch:
        shown = other_surrogates._shown
        patch.setattr(other_surrogates, "_shown", lambda *told: replace(shown(*told), guess=guess))
        for tuner in (two, three):
            alone[tuner] = expected_by_the_network(tuner, None, monkeypatch)
    assert np.abs(alone[two].gain - without.gain).max() > 0.5 * without.gain.max()
    np.testing.assert_allclose(even.gain, (alone[two].gain + without.gain) / 2.0)
    np.testing.assert_allclose(even.cost, np.sqrt(alone[two].cost * without.cost))
    np.testing.assert_array_equal(later.gain, alone[three].gain)


def test_of_any_number_of_surrogates_the_median_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    tuner = tuner_after(2)
    alone, terms = tuner.position().state, tuner.problem.terms

    class Flat:
        def posterior(self, problem: Any, runs: Any, pending: Any, controls: Any) -> RunExpectation:
            assert len(runs) == 2
            return RunExpectation(np.full(len(controls), 0.3), np.full(len(controls), 0.02))

    monkeypatch.setattr(position, "OTHERS", (*position.OTHERS, Flat()))
    state = tuner.position().state
    fresh = np.setdiff1d(np.arange(state.size), [tuner.candidates.places[place] for place in tuner.memory.finished])
    two, three = expected_improvement(alone, terms), expected_improvement(state, terms)
    own = REALISED * expected_improvement(replace(alone, others=(), realised=1.0), terms)
    trained = (two - (1.0 - TRAINED) * own) / TRAINED
    every = np.stack([own, trained, np.full_like(two, REALISED * 0.3)])
    np.testing.assert_allclose(three[fresh], np.median(every, axis=0)[fresh], rtol=1e-9, atol=1e-15)
    log_price = 2 * np.log(expected_price(alone, terms)) + math.log(0.02 + terms.overhead)
    np.testing.assert_allclose(expected_price(state, terms), np.exp(log_price / 3), rtol=1e-12)


@pytest.mark.parametrize("keywords", [{"prior": "ensemble"}, {"prior": "paper"}, {"recall": False}])
def test_it_is_not_asked_where_something_else_was_asked_for(
    keywords: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_surrogates, "shipped_surrogate", lambda: pytest.fail("asked"))
    state = tuner_after(1, **keywords).position().state
    assert state.others == ()
    assert state.realised == 1.0


def test_how_far_a_score_has_diverged_makes_no_difference() -> None:
    """It is shown as it is learned; otherwise a single one of -1e9 would make runs look too cheap to be asked about."""
    gains = []
    for diverged in (-5.0, -1e9):
        tuner = tuner_after(3, score_range=(0, 1))
        train = tuner.ask()
        assert isinstance(train, Train)
        tuner.tell(train, score=diverged, cost=10.0)
        (second,) = tuner.position().state.others
        gains.append(second.gain)
    np.testing.assert_array_equal(*gains)


def test_a_run_that_was_made_or_is_under_way_is_not_made_again_for_its_sake() -> None:
    tuner = tuner_after(3)
    pending = tuner.ask()
    assert isinstance(pending, Train)
    position = tuner.position()
    controls = position.problem.controls
    for control in (*(run.control for run in tuner.history), pending.control):
        at = np.flatnonzero(np.all(controls == control, axis=1))
        assert np.all(position.state.others[0].gain[at] == 0.0)


def test_higher_is_better_or_lower_makes_no_difference() -> None:
    up, down = tuner_after(0), Tuner(SPACE, price=1e-4, seed=3, direction="minimize")
    for _ in range(6):
        one, other = up.ask(), down.ask()
        assert type(one) is type(other)
        if not isinstance(one, Train) or not isinstance(other, Train):
            break
        assert one.params == other.params
        score, cost = measured(one.params)
        up.tell(one, score=score, cost=cost)
        down.tell(other, score=1.0 - score, cost=cost)


def test_failed_and_free_runs_are_shown_too() -> None:
    tuner = tuner_after(1)
    train = tuner.ask()
    assert isinstance(train, Train)
    tuner.tell(train, error="out of memory", cost=0.0)
    (second,) = tuner.position().state.others
    assert np.isfinite(second.gain).all()
    assert np.isfinite(second.cost).all()


def test_of_very_many_runs_the_best_and_the_latest_are_shown() -> None:
    scores = np.array([math.nan if k % 10 == 3 else -abs(k - 20.0) for k in range(500)])
    few = other_surrogates._few(scores)
    assert len(few) <= 60
    assert 20 in few
    assert set(range(456, 500)) <= set(few.tolist())
    assert list(other_surrogates._few(scores[:60])) == list(range(60))


def test_what_is_said_of_parameters_reaches_the_network() -> None:
    space = autobct.Space.of({**SPACE, "fixed": Int(3, 3), "depth": Int(1, 9)})
    layout = layout_of(space, growing=(3,))
    assert layout.whole.tolist() == [0, 1, 0, 0, 1]
    assert layout.category.tolist() == [0, 0, 1, 1, 0]
    assert layout.log.tolist() == [1, 1, 0, 0, 0]
    assert layout.grows.tolist() == [0, 0, 0, 0, 1]
    np.testing.assert_allclose(layout.ratio, [math.log(1e4), math.log(32), 0, 0, math.log(9)], rtol=1e-6)


def test_at_another_price_its_prices_are_others() -> None:
    tuner = tuner_after(4)
    stop, go = tuner.twin(price=parse_price(1.0)), tuner.twin(price=parse_price(1e-5))
    assert isinstance(go.peek(), Train)
    assert not isinstance(stop.peek(), Train)
    assert stop.position().state.others[0].cost.min() > 1e3 * go.position().state.others[0].cost.max()


def test_it_is_not_asked_where_runs_cost_next_to_nothing() -> None:
    state = tuner_after(4).twin(price=parse_price(1e-9)).position().state
    assert state.others == ()
    assert state.realised == 1.0


def test_a_damaged_file_is_refused() -> None:
    from importlib import resources

    data = bytearray((resources.files("autobct.maps") / "files" / "default.surrogate").read_bytes())
    network, notes = read_surrogate(bytes(data))
    assert notes["fold"] == "simulated"
    assert len(network.blocks) == 4
    with pytest.raises(MapFileError):
        read_surrogate(bytes(data[: len(data) // 2]))
    from autobct.maps.library import map_bytes, shipped_map

    with pytest.raises(MapFileError, match="kind"):
        read_surrogate(map_bytes(shipped_map("1d-log-recall"), {}))


def test_the_process_has_a_say_from_the_eighth_run_on_and_none_about_costs() -> None:
    for runs, expected in ((7, 1), (8, 2)):
        position = tuner_after(runs, price=2e-5).position()
        assert len(position.state.others) == expected
    network, process = position.state.others
    assert process.cost is None
    assert np.all(process.gain >= 0.0)
    terms, alone = position.problem.terms, replace(position.state, others=(network,))
    np.testing.assert_array_equal(expected_price(position.state, terms), expected_price(alone, terms))


def test_the_process_counts_runs_under_way_as_made() -> None:
    tuner = tuner_after(8, price=2e-5)
    surrogate, problem, runs = other_surrogates.GaussianProcessSurrogate(), tuner.problem, tuner.history
    controls = tuner.position().problem.controls
    alone = surrogate.posterior(problem, runs, [], controls)
    assert alone is not None
    most = int(alone.gain.argmax())
    beside = surrogate.posterior(problem, runs, [controls[most]], controls)
    assert beside is not None
    assert beside.gain[most] < 0.5 * alone.gain[most]


def test_scores_that_are_all_alike_promise_the_process_nothing() -> None:
    tuner = Tuner(SPACE, price=1e-9, seed=3, score_range=(0, 1))
    for _ in range(9):
        train = tuner.ask()
        if not isinstance(train, Train):
            break
        tuner.tell(train, score=0.5, cost=1.0)
    *_, process = tuner.position().state.others
    assert process.cost is None
    assert not process.gain.any()


def test_a_range_that_was_stated_in_other_units_is_not_shown() -> None:
    """Scores in hundreds where fractions were stated: the scale is learned, and covers the stated range by chance."""
    runs = [
        autobct.Run(k, {}, np.array([k / 5, 0.5]), score, 1.0, None, math.nan)
        for k, score in enumerate((86.0, 88.0, 90.0, 50.0, 70.0, 150.0))
    ]
    problem = shown(problem_of({"x": Float(0, 1), "y": Float(0, 1)}, 1.0, score_range=(0.5, 1)), runs)
    assert problem.score_scale.low < 0.5 < 1.0 < problem.score_scale.high
    seen = other_surrogates._shown(problem, runs)
    assert seen is not None
    assert seen.ends is None
