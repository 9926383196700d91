"""A low price keeps its meaning: no price is charged that nobody asked for, and free runs end all the same."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import ask_train, numbers, play

from autobct import Float, Stop, Tuner, paper_prior
from autobct.tuning.decide.position import RESOLUTION
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.units.limits import Left

SPACE = {name: Float(0, 1) for name in "abcd"}
MINUTE = 60.0


def smooth(params: Mapping[str, Any]) -> tuple[float, float]:
    """Best at 0.9 with ripples; a run takes a few minutes, in seconds."""
    x = np.array([params[name] for name in SPACE])
    score = 0.9 - 0.3 * np.square(x - [0.3, 0.6, 0.5, 0.8]) @ [1, 0.5, 0.2, 0.05] + 0.01 * np.sin(12 * x[1])
    return float(score), float(MINUTE * (1 + 3 * x[2]))


def runs_at(price: str) -> tuple[int, Stop]:
    trained, stop = play(Tuner(SPACE, price=price, max_runs=150), smooth)
    return len(trained), stop


def test_a_low_price_buys_what_can_be_had() -> None:
    found = {price: runs_at(price) for price in ("0.01 per 10min", "0.01 per 10h", "0.0001 per 100d")}
    counts = [count for count, _ in found.values()]
    assert counts[0] == min(counts)
    assert counts[0] < 18
    assert counts[-1] > 25


def test_free_runs_end_because_there_is_nothing_to_gain_and_say_so() -> None:
    count, stop = runs_at("0.0001 per 100d")
    assert stop.reason == "nothing to gain"
    assert count < 150
    assert stop.best_alternative is not None
    gain = stop.best_alternative.expected_gain
    assert stop.best_alternative.price_of_run < gain < 1e-4
    said = f"there is nothing more to gain; the best next run would add {gain:.1g} to the score."
    assert stop.why == f"Stopped after {count} runs: {said}"


def test_free_runs_end_by_a_limit_and_say_so() -> None:
    tuner = Tuner(SPACE, price="0.0001 per 100d", max_runs=5)
    assert play(tuner, smooth)[1].reason == "max_runs"
    tuner = Tuner(SPACE, price="0.0001 per 100d")
    tuner.tell(ask_train(tuner), 0.8, MINUTE)
    stop = tuner.ask(Left(0.0, "deadline"))
    assert isinstance(stop, Stop)
    assert stop.reason == "deadline"


def test_a_gain_is_nothing_far_below_what_no_surface_explains() -> None:
    tuner = Tuner(SPACE, price="0.0001 per 100d")
    tuner.tell(ask_train(tuner), 0.8, MINUTE)
    assert tuner.known.evidence is not None
    assert tuner.position().least == RESOLUTION * tuner.known.evidence.misfit.total
    own = Tuner({"x": Float(0, 1)}, price=0.16, prior=paper_prior("synthetic"))
    assert own.position().least == 0.0


def test_nothing_is_charged_that_nobody_asked_for() -> None:
    tuner = Tuner(SPACE, price=0.01)
    decision = ask_train(tuner)
    assert decision.overhead == 0.0
    assert decision.price_of_run == pytest.approx(0.01 * decision.expected_cost)
    own = ask_train(Tuner({"x": Float(0, 1)}, price=0.16, prior=paper_prior("synthetic")))
    assert own.overhead == OVERHEAD


def test_time_to_decide_is_charged_as_measured() -> None:
    tuner = Tuner(SPACE, price=1e-6)
    tuner.tell(ask_train(tuner), *smooth(dict.fromkeys(SPACE, 0.5)))
    before = ask_train(tuner.twin())
    for seconds in (2.0, 4.0):
        tuner.charge(seconds, deciding=True)
    tuner.charge(100.0)  # of no decision
    after = ask_train(tuner.twin())
    assert tuner.charged == 106.0
    assert after.overhead == pytest.approx(3e-6)
    assert before.overhead == 0.0
    assert ask_train(tuner.twin(fresh=True)).overhead == pytest.approx(3e-6)


def test_time_to_decide_survives_ranges_that_move_and_another_process() -> None:
    tuner = Tuner(SPACE, price=0.001, score_range=(0, 0.5))
    tuner.charge(3.0, deciding=True)
    tuner.tell(ask_train(tuner), 0.8, MINUTE)
    assert tuner.problem.score_scale.high == pytest.approx(0.8)
    assert tuner.problem.terms.overhead == pytest.approx(0.001 * 3.0 / tuner.problem.score_scale.unit)
    again = Tuner(SPACE, price=0.001, score_range=(0, 0.5))
    again.replay(tuner.history)
    again.charge(3.0, deciding=True)
    assert again.charged == tuner.charged
    assert numbers(again.ask()) == numbers(tuner.ask())
