"""One and two plain numbers: the belief and the policy of all spaces by default, and the paper when asked for."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, numbers, play, replayed, state_at

from autobct import Float, Int, Train, Tuner, ei_per_cost, mapped, paper_prior, relaxed, tune
from autobct.belief.prior import default_prior
from autobct.belief.surrogate.ensemble import Ensemble
from autobct.belief.surrogate.learning import learning_prior
from autobct.maps.library import shipped_map
from autobct.tuning.decide.position import assessed
from autobct.tuning.model.default_prior import basis_for, growth_of
from autobct.tuning.problem import UNKNOWN_SPREAD, problem_of
from autobct.tuning.space.space import Space
from autobct.value.acquisition import by_ei_per_cost
from autobct.value.maps.value_map import MapMismatch

SPACES = {"line": LINE, "square": SQUARE}
ALL = {**SPACES, "cube": {**SQUARE, "z": Float(0, 1)}}


def hill(params: Mapping[str, Any]) -> tuple[float, float]:
    """Best at x = 0.37, y = 0.5."""
    return 0.9 - (params["x"] - 0.37) ** 2 - (params.get("y", 0.5) - 0.5) ** 2, 0.2 + params["x"]


# ---- the paper, when it is asked for

PINNED: dict[str, tuple[dict[str, Any], list[tuple[float, ...]], float]] = {
    "synthetic, its map": (
        {"prior": paper_prior("synthetic"), "price": 0.05},
        [(0.0,), (0.38,), (1.0,)],
        0.618632,
    ),
    "synthetic, depth 2, last": (
        {"prior": paper_prior("synthetic"), "price": 0.05, "policy": relaxed(depth=2), "recall": False},
        [(0.0,), (1.0,), (0.35,)],
        0.432114,
    ),
    "depth 2 of the user's": (
        {"price": 0.01, "policy": relaxed(depth=2), "prior": "paper"},
        [(0.11,), (0.0,), (1.0,), (0.26,)],
        0.540429,
    ),
    "a map of the user's": (
        {"price": 0.01, "policy": mapped(shipped_map("1d-log-recall")), "prior": "paper"},
        [(0.43,), (0.0,), (1.0,)],
        0.578004,
    ),
    "fraud-2d": (
        {"prior": paper_prior("fraud-2d"), "price": 0.05},
        [(0.0, 0.0), (0.0, 0.7), (0.6, 0.4), (0.0, 1.0), (0.3, 0.5)],
        0.797746,
    ),
    "2-D, depth 2 of the user's": (
        {"price": 0.01, "policy": relaxed(depth=2), "prior": "paper"},
        [(0.2, 0.1), (1.0, 0.0), (0.0, 1.0), (0.0, 0.2), (0.0, 0.0), (0.3, 0.4), (0.5, 0.7), (0.3, 0.5)],
        0.527469,
    ),
}
"""What was decided when one and two numbers had no other belief: all runs, and the value before the first one."""


@pytest.mark.parametrize(("told", "places", "value"), PINNED.values(), ids=list(PINNED))
def test_the_papers_basis_and_scale_decide_as_ever(
    told: dict[str, Any], places: list[tuple[float, ...]], value: float
) -> None:
    trained, _ = play(Tuner(SQUARE if len(places[0]) == 2 else LINE, **told), hill)
    np.testing.assert_allclose([decision.control for decision in trained], places, atol=1e-9)
    assert trained[0].value == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_the_papers_scale_is_asked_for_by_name(space: dict[str, Any]) -> None:
    prior = Tuner(space, price=0.01, prior="paper", cost_range=(1, 10)).problem.prior
    assert prior.ensemble is None
    fixed = default_prior(basis_for(Space.of(space)))
    np.testing.assert_array_equal(prior.belief.score.mean, fixed.belief.score.mean)
    np.testing.assert_array_equal(prior.belief.score.cov, fixed.belief.score.cov)
    assert Tuner(space, price=0.01, prior=fixed).problem.prior is fixed


# ---- the default


@pytest.mark.parametrize("space", ALL.values(), ids=list(ALL))
def test_the_belief_and_the_policy_are_the_same_in_all_spaces(space: dict[str, Any]) -> None:
    growths = [growth_of(parameter) for parameter in Space.of(space).parameters]
    tuner = Tuner(space, price=0.01)
    found = tuner.problem.prior
    for told in ({}, {"guess": {"x": 0.2}}, {"recall": False}):
        assert isinstance(problem_of(space, 0.01, **told).prior.ensemble, Ensemble)
    level = found.belief.cost.mean[0]
    alike = learning_prior((0,) * len(space), growths, cost_level=level, cost_spread=UNKNOWN_SPREAD)
    np.testing.assert_array_equal(found.belief.score.mean, alike.belief.score.mean)
    np.testing.assert_array_equal(found.belief.score.cov, alike.belief.score.cov)
    np.testing.assert_array_equal(found.belief.cost.mean, alike.belief.cost.mean)
    assert found.model.score_basis.name == alike.model.score_basis.name
    assert tuner.assess is by_ei_per_cost


@pytest.mark.parametrize("price", [1e-4, 0.01, 1.0])
@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_the_default_decides_as_improvement_per_cost_at_any_price(space: dict[str, Any], price: float) -> None:
    """At a high price a value map once decided instead."""
    tuner, alone = (Tuner(space, price=price, policy=policy, max_runs=6) for policy in (None, ei_per_cost()))
    (trained, stop), (others, other_stop) = play(tuner, hill), play(alone, hill)
    assert [numbers(decision) for decision in trained] == [numbers(decision) for decision in others]
    assert numbers(stop) == numbers(other_stop)


@pytest.mark.parametrize("space", ALL.values(), ids=list(ALL))
def test_where_the_last_model_is_returned_it_is_depth_2_from_the_second_run_on(space: dict[str, Any]) -> None:
    last = Tuner(space, price=0.01, recall=False)
    last.tell(ask_train(last), 0.7, 1.0)
    state, terms = state_at(last), last.problem.terms
    deeper = relaxed(depth=2)(last.problem.controls, 0)
    np.testing.assert_array_equal(last.assess(state, terms, 1).value, deeper(state, terms, 1).value)
    first = by_ei_per_cost(state, terms, 0)
    np.testing.assert_array_equal(last.assess(state, terms, 0).priority, first.priority)


def test_once_a_run_has_failed_one_run_is_looked_ahead() -> None:
    failing = Tuner(LINE, price=0.1, recall=False)
    failing.tell(ask_train(failing), error="out of memory", cost=1.0)
    failing.tell(ask_train(failing), 0.7, 1.0)
    position = failing.position()
    assert position.feasibility is not None
    alone = assessed(position, by_ei_per_cost)
    np.testing.assert_array_equal(assessed(position, failing.assess).priority, alone.priority)


@pytest.mark.parametrize("unit", [0.02, 0.2])
@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_it_finds_the_top_whatever_the_scale(space: dict[str, Any], unit: float) -> None:
    """The same surface with differences ten times as small, at a price as small."""

    def train(params: Mapping[str, Any]) -> tuple[float, float]:
        score, cost = hill(params)
        return 0.5 + unit * (score - 0.9), cost

    tuner = Tuner(space, price=0.02 * unit, overhead=1e-4)
    trained, stop = play(tuner, train)
    assert tuner.best is not None
    assert train(tuner.best.params)[0] > 0.5 - 0.03 * unit
    assert len(trained) <= 12
    assert stop.reason == "not worth it"


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_the_first_run_is_in_the_middle_or_at_the_guess(space: dict[str, Any]) -> None:
    np.testing.assert_allclose(ask_train(Tuner(space, price=0.01)).control, 0.5)
    guessed = ask_train(Tuner(space, price=0.01, guess={"x": 0.2}, guess_strength=5.0))
    assert guessed.params["x"] == pytest.approx(0.2, abs=0.1)
    whole = ask_train(Tuner({**space, "x": Int(1, 1000, log=True)}, price=0.01))
    assert whole.params["x"] < 32  # the middle: whole numbers make runs expensive


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
@pytest.mark.parametrize("recall", [True, False], ids=["recall", "last"])
def test_the_same_history_decides_the_same_to_the_last_bit(space: dict[str, Any], recall: bool) -> None:
    told: dict[str, Any] = {"price": 0.002, "recall": recall, "seed": 3}
    tuner = Tuner(space, **told)
    trained, stop = play(tuner, hill)
    assert len(trained) > 1
    again, adopted = Tuner(space, **told), Tuner(space, **told)
    assert [numbers(d) for d in replayed(again, tuner.history)] == [numbers(d) for d in trained]
    assert numbers(again.ask()) == numbers(stop)
    adopted.replay(tuner.history[:-1])
    assert numbers(adopted.ask()) == numbers(trained[-1])


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
@pytest.mark.slow
def test_everything_one_may_ask_about_it(space: dict[str, Any]) -> None:
    tuner = Tuner(space, price=0.02, max_runs=4)
    play(tuner, hill)
    result = tuner.result("done")
    assert "run" in str(tuner.explain())
    few, many = result.what_if([0.2, 0.002])
    assert few.runs <= many.runs
    assert tuner.forecast(draws=3).expected_runs >= len(tuner.history)
    found = Tuner(space, price=0.02, candidates=25).certificate(seconds=0.2, seed=1)
    assert 0.0 < found.at_least <= found.at_most < 1.5
    assert "Expected improvement per cost" in str(found)


@pytest.mark.parametrize("space", ALL.values(), ids=list(ALL))
@pytest.mark.parametrize("recall", [True, False], ids=["recall", "last"])
def test_a_top_where_runs_fail_is_left_alone(space: dict[str, Any], recall: bool) -> None:
    """Foresight of several runs once went on for ever at a cheap corner, preparing for a run that always failed."""

    def sometimes(params: Mapping[str, Any]) -> float:
        if 0.2 < params["x"] < 0.6:
            raise RuntimeError("out of memory")
        return hill(params)[0]

    result = tune(lambda params: (sometimes(params), 1.0), space, price=0.001, recall=recall, max_runs=60)
    assert len(result.history) < 40
    assert not 0.2 < result.params["x"] < 0.6


@pytest.mark.parametrize("space", [*ALL.values(), {"x": Int(1, 3)}], ids=[*ALL, "few"])
def test_what_the_note_says(space: dict[str, Any]) -> None:
    assert Tuner(space, price=0.01).policy_note == "Expected improvement per cost, one run ahead."
    assert Tuner(space, price=0.01, recall=False).policy_note == "Depth 2 on the fly."


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_a_map_goes_with_a_fixed_scale(space: dict[str, Any]) -> None:
    name = f"{len(space)}d-log-recall"
    with pytest.raises(MapMismatch, match="to use this map, set prior='paper' or your own prior"):
        Tuner(space, price=0.01, policy=mapped(shipped_map(name)))
    on_map = Tuner(space, price=0.01, prior="paper")
    assert on_map.policy_note == f"The value map {name} from the package."
    asked, own = (Tuner(space, price=0.01, prior="paper", policy=p) for p in (None, mapped(shipped_map(name))))
    assert numbers(asked.ask()) == numbers(own.ask())


@pytest.mark.parametrize("price", [0.003, 0.1, 1.0])
def test_the_decision_turns_at_the_break_even_price(price: float) -> None:
    tuner = Tuner(LINE, price=price)
    tuner.tell(ask_train(tuner), 0.7, 1.0)
    told = tuner.explain()
    turning = told.break_even
    assert turning is not None
    assert isinstance(tuner.twin(type(turning)(turning.score * 0.995, turning.cost, turning.unit)).peek(), Train)
    assert not isinstance(tuner.twin(type(turning)(turning.score * 1.005, turning.cost, turning.unit)).peek(), Train)


def test_failures_and_runs_under_way() -> None:
    tuner = Tuner(SQUARE, price=0.01)
    decisions = [ask_train(tuner) for _ in range(4)]
    assert len({tuple(decision.control) for decision in decisions}) == 4
    for decision in decisions[:3]:
        tuner.tell(decision, error="diverged", cost=0.1)
    tuner.tell(decisions[3], 0.7, 1.0)
    trained, stop = play(tuner, hill)
    assert all(d.control.tolist() not in [x.control.tolist() for x in decisions[:3]] for d in trained)
    assert stop.reason == "not worth it"
