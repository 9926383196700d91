"""What is no number, or too large a one, at every door; and results that are not this tuner's."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import autobct
from autobct.belief.arrays import finite_number
from autobct.tuning.units.limits import Left

HUGE = 10**400
SPACE = {"x": autobct.Float(0, 1)}


def asked() -> tuple[autobct.Tuner, autobct.Train]:
    tuner = autobct.Tuner(SPACE, price=0.01)
    decision = tuner.ask()
    assert isinstance(decision, autobct.Train)
    return tuner, decision


DOORS: dict[str, Callable[[], Any]] = {
    "tell score": lambda: asked()[0].tell(0, HUGE, 1.0),
    "tell cost": lambda: asked()[0].tell(0, 1.0, HUGE),
    "charge": lambda: asked()[0].charge(HUGE),
    "Int high": lambda: autobct.Int(0, HUGE),
    "Int low": lambda: autobct.Int(-HUGE, 0),
    "Int step": lambda: autobct.Int(0, 10, step=HUGE),
    "Float high": lambda: autobct.Float(0, HUGE),
    "Float step": lambda: autobct.Float(0, 1, step=HUGE),
    "price": lambda: autobct.Tuner(SPACE, price=HUGE),
    "price_from": lambda: autobct.price_from(HUGE, 60),
    "score_range": lambda: autobct.Tuner(SPACE, price=1, score_range=(0, HUGE)),
    "cost_range": lambda: autobct.Tuner(SPACE, price=1, cost_range=(0, HUGE)),
    "score_noise": lambda: autobct.Tuner(SPACE, price=1, score_noise=HUGE),
    "overhead": lambda: autobct.Tuner(SPACE, price=1, overhead=HUGE),
    "guess": lambda: autobct.Tuner(SPACE, price=1, guess={"x": HUGE}),
    "guess_strength": lambda: autobct.Tuner(SPACE, price=1, guess={"x": 0.5}, guess_strength=HUGE),
    "max_cost": lambda: autobct.Limits(max_cost=HUGE),
    "deadline": lambda: autobct.Limits(deadline=HUGE),
    "left": lambda: Left(HUGE, "deadline"),
    "candidates": lambda: autobct.Tuner(SPACE, price=1, candidates=HUGE),
    "candidates, rows": lambda: autobct.Tuner(SPACE, price=1, candidates=[[HUGE], [0]]),
    "forecast": lambda: asked()[0].forecast(HUGE),
    "certificate": lambda: asked()[0].certificate(seconds=HUGE),
    "table": lambda: autobct.Table([{"a": 1}, {"a": HUGE}]),
    "prior": lambda: autobct.Gaussian.of([HUGE], [1]),
}


@pytest.mark.parametrize("door", DOORS)
def test_a_number_beyond_floats_is_refused_in_a_sentence(door: str) -> None:
    with pytest.raises(ValueError, match=r"too large|below 1e308|a million|at most 100000") as refused:
        DOORS[door]()
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("returned", [HUGE, (0.5, HUGE), -HUGE])
def test_a_training_that_returns_one_has_failed(returned: Any) -> None:
    results = iter([(0.5, 1.0), returned, (0.6, 1.0)])
    result = autobct.tune(lambda params: next(results), SPACE, price=1e-6, max_runs=3)
    assert [run.score is None for run in result.history] == [False, True, False]
    assert "too large" in (result.history[1].error or "")


class Metric:
    """A number of some other library."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __float__(self) -> float:
        return float(self.value)


@pytest.mark.parametrize("number", [Metric(0.5), Decimal("0.5"), Fraction(1, 2), np.float32(0.5), np.array(0.5)])
def test_whatever_knows_its_float_is_a_number(number: Any) -> None:
    tuner, decision = asked()
    run = tuner.tell(decision, number, number)
    assert (run.score, run.cost) == (0.5, 0.5)
    assert type(run.score) is float
    result = autobct.tune(lambda params: (number, number), SPACE, price=0.01, max_runs=1)
    assert (result.score, result.cost) == (0.5, 0.5)


@pytest.mark.parametrize(
    "thing",
    [
        *(True, np.True_, "0.5", None, 1j, np.complex128(1), np.str_("1"), np.array([0.5]), np.array("1"), [0.5]),
        *(np.datetime64("2020-01-01"), Metric("half"), Metric(None), object(), np.array(True)),
    ],
)
def test_what_is_no_number_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="score must be a number"):
        finite_number(thing, "score")


@pytest.mark.parametrize("thing", [Metric(float("nan")), Decimal("inf"), Metric(1e400), Decimal("1e400"), HUGE])
def test_what_is_not_finite_is_refused(thing: Any) -> None:
    with pytest.raises(ValueError, match=r"finite|too large"):
        finite_number(thing, "score")


def test_true_is_no_trial() -> None:
    tuner = autobct.Tuner(SPACE, price=1e-6)
    tuner.ask()
    tuner.ask()
    for trial in (True, False, np.True_):
        with pytest.raises(ValueError, match="is not under way"):
            tuner.tell(trial, 0.5, 1.0)
    assert len(tuner.under_way) == 2


def test_a_run_of_another_tuner_is_refused() -> None:
    tuner, mine = asked()
    others = (
        autobct.Tuner({"x": autobct.Float(5, 9)}, price=0.01).ask(),
        autobct.Tuner({"y": autobct.Float(0, 1)}, price=1).ask(),
        autobct.Tuner(SPACE, price=0.02).ask(),
        autobct.Tuner(SPACE, price=0.01, cost_range=(1, 9)).ask(),
        autobct.Tuner(SPACE, price=0.01, score_range=(0, 5)).ask(),
    )
    for other in others:
        assert isinstance(other, autobct.Train)
        with pytest.raises(ValueError, match="other params"):
            tuner.tell(other, 0.5, 1.0)
    assert tuner.history == ()
    assert tuner.tell(mine, 0.5, 1.0).params == mine.params


def test_a_copy_of_a_run_is_the_run() -> None:
    for copied in (copy.deepcopy, lambda train: pickle.loads(pickle.dumps(train))):
        tuner, mine = asked()
        assert tuner.tell(copied(mine), 0.5, 1.0).trial == 0
