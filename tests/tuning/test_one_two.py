"""One and two plain numbers: a scale that is learned, a map where it fits the belief, and the paper when asked for."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, numbers, play, replayed, state_at

from autobct import Float, Int, Train, Tuner, mapped, paper_prior, relaxed, tune
from autobct.belief.prior import default_prior
from autobct.maps.library import shipped_map
from autobct.tuning.first import basis_for, plain
from autobct.tuning.fitting import DEAR, OneRunFirst, WhereItFits
from autobct.tuning.position import assessed
from autobct.tuning.problem import problem_of
from autobct.tuning.space import Space
from autobct.value.assessment import by_ei_per_cost
from autobct.value.map_spec import units_of_lambda
from autobct.value.state import State, Terms

SPACES = {"line": LINE, "square": SQUARE}


def hill(params: Mapping[str, Any]) -> tuple[float, float]:
    """Best at x = 0.37, y = 0.5."""
    return 0.9 - (params["x"] - 0.37) ** 2 - (params.get("y", 0.5) - 0.5) ** 2, 0.2 + params["x"]


def fitting(tuner: Tuner) -> WhereItFits:
    assert isinstance(tuner.assess, OneRunFirst)
    assert isinstance(tuner.assess.later, WhereItFits)
    return tuner.assess.later


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


def test_which_spaces_are_plain() -> None:
    assert plain(Space.of(LINE))
    assert plain(Space.of({"n": Int(1, 9), "x": Float(0, 1)}))
    assert not plain(Space.of({**SQUARE, "z": Float(0, 1)}))


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_the_default_learns_its_scale_on_the_papers_basis(space: dict[str, Any]) -> None:
    for told in ({}, {"guess": {"x": 0.2}}, {"recall": False}):
        prior = problem_of(space, 0.01, **told).prior
        assert prior.ensemble is not None
        assert prior.model.score_basis.name == prior.model.cost_basis.name == basis_for(Space.of(space)).name


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
    assert whole.params["x"] < 32  # the middle: whole numbers make runs dear


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
@pytest.mark.parametrize("recall", [True, False], ids=["recall", "last"])
def test_the_same_history_decides_the_same_to_the_last_bit(space: dict[str, Any], recall: bool) -> None:
    told: dict[str, Any] = {"price": 0.02, "recall": recall, "seed": 3}
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
    assert "value map" in str(found)


# ---- a map where it fits


def at_price(tuner: Tuner, share: float) -> Terms:
    """Terms at which a run costs this share of lambda in the tuner's state, without overhead."""
    free = type(tuner.problem.terms)(1.0, tuner.problem.terms.cost_model, True, 0.0)
    return type(free)(share / units_of_lambda(state_at(tuner), free)[0], free.cost_model, True, 0.0)


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_the_map_decides_where_a_run_is_dear(space: dict[str, Any]) -> None:
    tuner = Tuner(space, price=0.01)
    tuner.tell(ask_train(tuner), 0.7, 1.0)
    both, state = fitting(tuner), state_at(tuner)
    dear = DEAR * both.spec.prices[0]
    for share, policy in ((0.5 * dear, both.otherwise), (2 * dear, both.on_map), (1e6, both.otherwise)):
        terms = at_price(tuner, share)
        assert both.at(state, terms) is policy
        np.testing.assert_array_equal(both(state, terms, 1).value, policy(state, terms, 1).value)
        first = by_ei_per_cost(state, terms, 0)
        np.testing.assert_array_equal(tuner.assess(state, terms, 0).priority, first.priority)
    assert both.otherwise is by_ei_per_cost


def test_beyond_two_numbers_there_is_no_map() -> None:
    cube = {**SQUARE, "z": Float(0, 1)}
    assert Tuner(cube, price=0.01).assess is by_ei_per_cost
    last = Tuner(cube, price=0.01, recall=False)
    last.tell(ask_train(last), 0.7, 1.0)
    first, state = last.assess, state_at(last)
    assert isinstance(first, OneRunFirst)
    assert first.at(state, 1) is first.later
    assert first.at(state, 0) is by_ei_per_cost


def test_who_decides_in_a_position() -> None:
    tuner = Tuner(LINE, price=1.0)
    tuner.tell(ask_train(tuner), 0.7, 1.0)
    both, terms = fitting(tuner), tuner.problem.terms
    assert both.at(state_at(tuner), terms) is both.on_map
    failing = Tuner(LINE, price=0.1)
    failing.tell(ask_train(failing), error="out of memory", cost=1.0)
    failing.tell(ask_train(failing), 0.7, 1.0)
    position = failing.position()
    assert position.feasibility is not None
    alone = assessed(position, by_ei_per_cost)
    np.testing.assert_array_equal(assessed(position, failing.assess).priority, alone.priority)


@pytest.mark.parametrize("space", [LINE, SQUARE, {**SQUARE, "z": Float(0, 1)}], ids=["line", "square", "cube"])
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


def test_a_batch_of_states_is_decided_one_by_one() -> None:
    one, two = Tuner(LINE, price=0.01), Tuner(LINE, price=0.01)
    one.tell(ask_train(one), 0.7, 1.0)
    two.tell(ask_train(two), 0.7, 40.0)
    both = fitting(one)
    states = [state_at(tuner) for tuner in (one, two)]
    terms = at_price(one, 0.5 * DEAR * both.spec.prices[0])
    assert [both.at(state, terms) is both.on_map for state in states] == [False, True]

    def stacked(part: Callable[[State], np.ndarray]) -> np.ndarray:
        return np.stack([part(state) for state in states])

    gaussian = type(one.belief.score)
    batch = State(
        gaussian(stacked(lambda x: x.score.mean), stacked(lambda x: x.score.cov)),
        gaussian(stacked(lambda x: x.cost.mean), stacked(lambda x: x.cost.cov)),
        stacked(lambda x: x.score_noise),
        stacked(lambda x: x.cost_noise),
        np.stack([state.kept for state in states]),
    )
    found = both(batch, terms, 1)
    for value, priority, state in zip(found.value, found.priority, states, strict=True):
        np.testing.assert_allclose(value, both(state, terms, 1).value, atol=1e-6)
        np.testing.assert_allclose(priority, both(state, terms, 1).priority, atol=1e-6)


def test_what_the_note_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert Tuner(LINE, price=0.01).policy_note == (
        "The value map 1d-log-recall from the package where runs are expensive, otherwise expected improvement per "
        "price, one run ahead."
    )
    assert Tuner(SQUARE, price=0.01, recall=False).policy_note == (
        "The value map 2d-log-last from the package where runs are expensive, otherwise depth 2 on the fly."
    )
    few = Tuner({"x": Int(1, 3)}, price=0.01)
    assert few.policy_note.startswith("Expected improvement per price, one run ahead: ")
    assert "3 candidates identify 3" in few.policy_note
    more = Tuner({**SQUARE, "z": Float(0, 1)}, price=0.01)
    assert more.policy_note == "Expected improvement per price, one run ahead."
    damaged = tmp_path / "1d-log-recall.safetensors"
    damaged.write_bytes(b"nothing of the kind")
    monkeypatch.setattr("autobct.maps.store.shipped", lambda: {"1d-log-recall": damaged})
    shipped_map.cache_clear()
    assert Tuner(LINE, price=0.01).policy_note.startswith("Expected improvement per price, one run ahead: the map file")
    shipped_map.cache_clear()


def test_an_overhead_of_the_users_does_not_put_a_map_away() -> None:
    assert "value map 1d-log-recall" in Tuner(LINE, price=0.01, overhead=0.02).policy_note


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
