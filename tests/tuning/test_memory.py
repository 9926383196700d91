"""A tuner and its results are values: they copy, they pickle, and what has ended does not change any more."""

import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, at, numbers

from autobct import (
    Affine,
    AffineLog,
    Assessment,
    Basis,
    Categorical,
    Float,
    Int,
    Result,
    Stop,
    Table,
    Train,
    Tuner,
    exact,
    gittins,
    load_map,
    mapped,
    paper_prior,
    relaxed,
    sampled,
    tune,
)
from autobct.belief.arrays import Array
from autobct.belief.cost import LINEAR, LOG_LINEAR, CostModel
from autobct.maps.library import save_map, shipped_map
from autobct.value.state import State, Terms

MIXED = {"n": Int(1, 100, log=True), "d": Int(2, 20), "lr": Float(1e-4, 1, log=True), "k": Categorical(["a", "b"])}
CONDITIONAL = {
    "kind": Categorical(["svm", "tree"]),
    "C": Float(1e-2, 1e2, log=True, when={"kind": "svm"}),
    "depth": Int(1, 10, when={"kind": "tree"}),
}
ROWS = Table([{"a": i, "b": float(j)} for i in range(6) for j in range(5)])


class Wandering:
    """A policy of the user's that pickles."""

    def __call__(self, controls: Array, seed: int) -> "Wanders":
        return Wanders()


class Wanders:
    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        return Assessment.by_value(1e3 + np.random.default_rng(runs).random(state.size))


def loaded(folder: Path) -> Any:
    path = folder / "map.safetensors"
    save_map(path, shipped_map("1d-log-recall"), {})
    return mapped(load_map(path))


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "one number": (LINE, {}),
    "two numbers": (SQUARE, {"cost_range": (1, 10)}),
    "mixed": (MIXED, {}),
    "mixed, a policy": (MIXED, {"policy": relaxed(2)}),
    "conditional": (CONDITIONAL, {}),
    "a table": (ROWS, {}),
    "log score": (LINE, {"score_range": AffineLog(0.1, 1.0)}),
    "a scale": (SQUARE, {"score_range": Affine(0.0, 1.0), "direction": "minimize"}),
    "the paper's prior": (LINE, {"prior": paper_prior("synthetic"), "recall": False}),
    "the paper's scale": (SQUARE, {"prior": "paper"}),
    "sampled": (LINE, {"policy": sampled(2, samples=20), "candidates": 21}),
    "exact": (LINE, {"policy": exact(3), "candidates": 21}),
    "gittins": (MIXED, {"policy": gittins()}),
    "a policy of one's own": (SQUARE, {"policy": Wandering(), "candidates": 9}),
    "hints": (MIXED, {"guess": {"lr": 1e-2}, "increases_cost": ["n"]}),
}

COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def train(params: Mapping[str, Any]) -> tuple[float, float]:
    places = [0.5 if isinstance(value, str) else np.tanh(float(value)) for value in params.values()]
    return 0.9 - float(np.mean(np.square(np.array(places) - 0.4))), 1.0 + places[0]


def play_on(tuner: Tuner, runs: int) -> list[Any]:
    """Some more decisions, told at once."""
    made: list[Any] = []
    for _ in range(runs):
        decision = tuner.ask()
        made.append(decision)
        if isinstance(decision, Stop):
            break
        tuner.tell(decision, *train(decision.params))
    return [numbers(decision) for decision in made]


def standing(space: Any, told: dict[str, Any]) -> Tuner:
    """After two runs, one of them failed, and with one under way."""
    tuner = Tuner(space, price=1e-4, seed=3, **told)
    for number in range(3):
        decision = tuner.ask()
        assert isinstance(decision, Train)
        if number == 0:
            tuner.tell(decision, *train(decision.params))
        elif number == 1:
            tuner.tell(decision, error="out of memory", cost=0.5)
    return tuner


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_copies_of_a_tuner_go_on_as_it_does_and_by_themselves(case: tuple[Any, dict[str, Any]]) -> None:
    tuner = standing(*case)
    copies = [copied(tuner) for copied in COPIES.values()]
    runs, asked = len(tuner.history), [decision.trial for decision in tuner.under_way]
    expected = play_on(tuner, 2)
    for made in copies:
        assert len(made.history) == runs
        assert [decision.trial for decision in made.under_way] == asked
        assert play_on(made, 2) == expected


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_copies_of_a_result_say_the_same(case: tuple[Any, dict[str, Any]]) -> None:
    result = standing(*case).result("That is enough.")
    said = str(result), [str(other) for other in result.what_if([1e-3, 1.0])]
    for copied in COPIES.values():
        again: Result = copied(result)
        assert (str(again), [str(other) for other in again.what_if([1e-3, 1.0])]) == said
        assert again.settings == result.settings


def test_a_tuner_on_a_map_that_was_loaded(tmp_path: Path) -> None:
    tuner = Tuner(LINE, price=0.05, prior="paper", policy=loaded(tmp_path))
    play_on(tuner, 2)
    copies = [copied(tuner) for copied in COPIES.values()]
    expected = play_on(tuner, 3)
    assert all(play_on(made, 3) == expected for made in copies)


def test_a_basis_of_the_users_pickles_where_its_functions_do() -> None:
    basis = Basis.of([_ones, _first], dim=1)
    again = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(again(np.array([[0.3]])), basis(np.array([[0.3]])))


def _ones(controls: Array) -> Array:
    return np.ones(controls.shape[:-1])


def _first(controls: Array) -> Array:
    return controls[..., 0]


@pytest.mark.parametrize("copied", COPIES.values(), ids=list(COPIES))
def test_the_two_cost_models_stay_themselves(copied: Callable[[Any], Any]) -> None:
    assert copied(LINEAR) is LINEAR
    assert copied(LOG_LINEAR) is LOG_LINEAR
    other = CostModel("mine", np.add, np.log, np.exp)  # type: ignore[arg-type]
    assert copied(other) == other


def test_a_finished_result_does_not_change_when_its_tuner_goes_on() -> None:
    tuner = Tuner(LINE, price=1e-4, score_range=(0.0, 1.0), policy=at(0.5, 0.2, 0.8, 0.1), candidates=11, prior="paper")
    play_on(tuner, 2)
    result = tuner.result("That is enough.")
    before = result.notes, result.alarm, [str(other) for other in result.what_if([1e-3, 1.0])], str(result)
    for score in (7.0, -3.0):
        decision = tuner.ask()
        assert isinstance(decision, Train)
        tuner.tell(decision, score, 100.0)
    assert tuner.notes
    after = result.notes, result.alarm, [str(other) for other in result.what_if([1e-3, 1.0])], str(result)
    assert after == before
    assert len(result.tuner.history) == len(result.history) == 2


def test_the_tuner_of_a_result_is_one_of_its_own() -> None:
    result = tune(train, LINE, price=0.01, max_runs=2)
    one, two = result.tuner, result.tuner
    assert isinstance(one.ask(), Stop)  # max_runs holds
    one.replay([])
    one.charge(5.0)
    assert (one.charged, two.charged, result.charged) == (5.0, 0.0, 0.0)


def test_what_is_remembered_is_frozen_and_tell_makes_the_next() -> None:
    tuner = Tuner(LINE, price=0.001)
    before = tuner.memory
    decision = tuner.ask()
    assert isinstance(decision, Train)
    asked = tuner.memory
    tuner.tell(decision, 0.8, 1.0)
    assert (len(before.pending), len(asked.pending), len(tuner.memory.pending)) == (0, 1, 0)
    assert (len(before.runs), len(asked.runs), len(tuner.memory.runs)) == (0, 0, 1)
    with pytest.raises(FrozenInstanceError):
        tuner.memory.asked = 3  # type: ignore[misc]


def test_candidates_are_a_pure_function_of_what_is_remembered() -> None:
    """Told one after the other with questions between them, or all at once: the same candidates."""
    tuner = Tuner(MIXED, price=1e-5, seed=1)
    play_on(tuner, 4)
    again = Tuner(MIXED, price=1e-5, seed=1)
    again.replay(tuner.history)
    np.testing.assert_array_equal(again.problem.controls, tuner.problem.controls)
    assert numbers(again.ask()) == numbers(tuner.ask())
