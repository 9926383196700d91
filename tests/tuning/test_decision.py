"""Decisions say why, with numbers."""

from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, play

from autobct import Stop, Train, Tuner
from autobct.tuning.history import short

TRAIN = Train(
    trial=3,
    params={"trees": 40, "rate": 0.0312345, "kind": "a"},
    control=np.array([0.4, 0.1, 1.0, 0.0]),
    expected_gain=0.01234,
    expected_cost=7.654,
    price_of_run=0.00567,
    expected_score=0.8765,
    value=0.9,
    stop_value=0.88,
)


def test_train_says_what_it_expects_to_gain_and_to_pay() -> None:
    assert TRAIN.why == (
        "Train trees=40, rate=0.03123, kind=a: it is expected to gain 0.0123 for a cost worth 0.00567."
    )


def test_the_first_run_says_what_it_expects_to_score() -> None:
    first = replace(TRAIN, stop_value=None)
    assert first.why == (
        "Train trees=40, rate=0.03123, kind=a: no run has finished yet, and this one is expected to score 0.876 "
        "at a cost of 7.65."
    )


@pytest.mark.parametrize(("runs", "head"), [(1, "Stopped after 1 run: "), (2, "Stopped after 2 runs: ")])
def test_a_stop_compares_the_best_next_run_with_its_price(runs: int, head: str) -> None:
    stop = Stop("not worth it", runs, 0.88, TRAIN)
    assert stop.why == f"{head}the best next run would gain 0.0123 and cost 0.00567."


@pytest.mark.parametrize(
    ("gain", "word"),
    [
        (0.0, "gain nothing"),
        (-1e-16, "gain nothing"),
        (-6e-10, "gain nothing"),
        (-0.04, "lose 0.04"),
        (1e-6, "gain 1e-06"),
    ],
)
def test_a_next_run_may_gain_nothing_or_lose(gain: float, word: str) -> None:
    assert f"would {word} and cost" in Stop("not worth it", 2, 0.88, replace(TRAIN, expected_gain=gain)).why


@pytest.mark.parametrize(
    ("reason", "word"),
    [
        ("not worth it", "no further run is worth its price"),
        ("max_runs", "max_runs"),
        ("horizon", "horizon"),
        ("failing", "the last ten runs all failed"),
        ("nothing left", "every candidate has failed"),
    ],
)
def test_every_reason_has_its_sentence(reason: str, word: str) -> None:
    why = Stop(reason, 4, 0.5).why
    assert why.startswith("Stopped after 4 runs: ")
    assert word in why
    assert why.endswith(".")


@pytest.mark.parametrize("decision", [TRAIN, Stop("max_runs", 4, 0.5)])
def test_a_decision_is_data_and_stays_as_it_is(decision: Train | Stop) -> None:
    with pytest.raises(FrozenInstanceError):
        decision.value = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.123456, "0.1235"), (1e-7, "1e-07"), (3, "3"), (True, "True"), ("relu", "relu"), (None, "None")],
)
def test_values_are_written_as_a_person_would(value: Any, text: str) -> None:
    assert short(value) == text


def test_the_sentences_of_a_tuning_carry_its_numbers() -> None:
    trained, stop = play(Tuner(LINE, price=0.01))
    assert len(trained) > 1
    assert f"score {trained[0].expected_score:.3g} at a cost of {trained[0].expected_cost:.3g}." in trained[0].why
    for decision in trained[1:]:
        assert f"x={short(decision.params['x'])}: " in decision.why
        assert f"gain {decision.expected_gain:.3g} for a cost worth {decision.price_of_run:.3g}." in decision.why
    assert stop.best_alternative is not None
    assert f"after {len(trained)} run" in stop.why
    assert f"cost {stop.best_alternative.price_of_run:.3g}." in stop.why


def test_the_first_decision_says_where_its_numbers_are_guesses() -> None:
    ranges: dict[str, Any] = {"score_range": (0, 1), "cost_range": (1, 5)}
    assert Tuner(LINE, price=0.01, **ranges).ask().note == ""
    for name, what in (("score_range", "score"), ("cost_range", "cost")):
        first = Tuner(LINE, price=0.01, **{key: value for key, value in ranges.items() if key != name}).ask()
        assert first.note == f"No {name} is stated, so the expected {what} is a guess."
    tuner = Tuner(LINE, price=0.01)
    first = tuner.ask()
    assert first.why.endswith("No score_range or cost_range is stated, so the expected score and cost are guesses.")
    assert "is stated" not in tuner.ask().why
    assert isinstance(first, Train)
    run = tuner.tell(first, 0.5, 1e4)
    assert [note.text for note in tuner.notes] == [
        f"Run 1 cost {run.cost:.4g}, far from what was guessed from the price. Set cost_range if you know it."
    ]
    stop = Tuner(LINE, price=0.01, max_cost=1e-6).ask()
    assert isinstance(stop, Stop)
    assert stop.note == "No cost_range is stated, so this cost is a guess."
