"""A tuning does not slow down or grow: work and memory of a decision are the same however many runs were told."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.tuning.cases import numbers

from autobct import Categorical, Float, Int, Run, Train, Tuner
from autobct.tuning import memory as remembered
from autobct.tuning.decide import feasibility
from autobct.tuning.model import alarm, posterior
from autobct.tuning.model.posterior import beliefs, learned
from autobct.tuning.statement import Plan
from autobct.tuning.units import ranges
from autobct.tuning.units.ranges import shown

SPACE = {"a": Float(0, 1), "b": Int(1, 50), "c": Categorical(["x", "y"])}
FAILING = 7  # every so manyth run fails
TELLING = 40


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that ends after some number of runs ends after fewer, so that a test need not tell hundreds."""
    for module, name, few in (
        (ranges, "TELLING", TELLING),
        (posterior, "TELLING", TELLING),
        (alarm, "TELLING", TELLING),
        (posterior, "MOST", 16),
        (posterior, "_BEST", 32),
        (feasibility, "_LOOKED_AT", 30),
        (remembered, "_REMEMBERED", 16),
        (ranges, "_HELD", 30),
    ):
        assert getattr(module, name) > few
        monkeypatch.setattr(module, name, few)


class Counted(tuple[Run, ...]):
    """A history that counts how many of its runs are looked at, those added to it included."""

    looked: ClassVar[int] = 0

    def __iter__(self) -> Iterator[Run]:
        for run in tuple.__iter__(self):
            Counted.looked += 1
            yield run

    def __getitem__(self, which: Any) -> Any:
        found = tuple.__getitem__(self, which)
        Counted.looked += len(found) if isinstance(which, slice) else 1
        return found

    def __add__(self, more: Any) -> Any:
        return Counted(tuple.__add__(self, tuple(more)))


def tell_anything(tuner: Tuner, rng: np.random.Generator, *, level: float = 0.0, unit: float = 1.0) -> None:
    """One run somewhere, told as if it had been asked for: sometimes a failure."""
    space, number = tuner.problem.space, len(tuner.history)
    params: dict[str, Any] = {"a": round(rng.random(), 6), "b": int(rng.integers(1, 51)), "c": "xy"[rng.integers(2)]}
    score = level + unit * (0.7 - 0.2 * (params["a"] - 0.3) ** 2 + 0.02 * rng.standard_normal())
    failed = number % FAILING == FAILING - 1
    told = (None, "failed") if failed else (score, None)
    tuner.replay([Run(number, params, space.control(params), told[0], 1.0 + params["b"], told[1], math.nan)])


def work(tuner: Tuner, rng: np.random.Generator) -> tuple[int, dict[str, int]]:
    """Runs looked at in one tell and one question, and how much a tuner holds besides its history."""
    tuner = Tuner.standing(Plan(), replace(tuner.memory, runs=Counted(tuner.history)))
    Counted.looked = 0
    tell_anything(tuner, rng)
    decision = tuner.ask()
    if isinstance(decision, Train):  # it may be that there is nothing to gain
        tuner.tell(decision, score=0.6, cost=2.0)
    known = tuner.memory.known
    assert known.evidence is not None
    held = {
        "candidates": len(tuner.problem.controls),
        "models": len(tuner.memory.finished),
        "failures": len(tuner.candidates.excluded(tuner.memory)),
        "scores": len(known.scores),
        "evidence": len(known.evidence.scores),
        "weights": known.belief.score.cov.size,
    }
    return Counted.looked, held


@pytest.mark.parametrize(
    ("price", "level", "unit"),
    [(1e-6, 0.0, 1.0), (1e-12, 0.0, 1.0), (1e-6, 200.0, 50.0)],
    ids=["as usual", "a cost far from the guess", "a score that is learned"],
)
@pytest.mark.usefixtures("soon")
def test_a_decision_looks_at_no_more_runs_and_holds_no_more(price: float, level: float, unit: float) -> None:
    tuner, rng = Tuner(SPACE, price=price, max_cost=1e9, overhead=0.0), np.random.default_rng(0)
    found = []
    for told in range(3 * TELLING + 1):
        tell_anything(tuner, rng, level=level, unit=unit)
        if told in (3 * TELLING // 2, 3 * TELLING):
            found.append(work(tuner, rng))
    (early, held_early), (late, held_late) = found
    assert late <= early
    for name, before in held_early.items():
        assert held_late[name] <= 1.1 * before + 5, name
    assert held_early["candidates"] < 1500
    assert held_early["scores"] <= 32
    assert held_late["failures"] <= 5  # most of the failed runs were at none of the candidates


@pytest.mark.usefixtures("soon")
def test_after_many_runs_ranges_stay() -> None:
    tuner, rng = Tuner(SPACE, price=1e-6, score_range=(0.5, 0.8)), np.random.default_rng(0)
    while tuner.memory.known.finished < TELLING:
        tell_anything(tuner, rng)
    before = tuner.problem.ranges
    tell_anything(tuner, rng, level=3.0)
    assert tuner.problem.ranges == before
    assert shown(tuner.problem, tuner.history) is tuner.problem
    assert tuner.history[-1].score is not None
    assert "the range found in the first 40 runs" in (tuner.ask().note or "")


def test_what_is_known_after_many_runs_is_the_fold_of_them() -> None:
    """Told one by one, at once, or one after the other from the start: the same to the last bit."""
    tuner, rng = Tuner(SPACE, price=1e-6), np.random.default_rng(1)
    for _ in range(90):
        tell_anything(tuner, rng, level=200.0, unit=50.0)
    whole, last = learned(tuner.problem, tuner.history), beliefs(tuner.problem, tuner.history)[-1]
    for found in (whole, last):
        np.testing.assert_array_equal(found.belief.score.mean, tuner.belief.score.mean)
        np.testing.assert_array_equal(found.belief.score.cov, tuner.belief.score.cov)
        np.testing.assert_array_equal(found.belief.cost.mean, tuner.belief.cost.mean)
        assert found.scores == tuner.memory.known.scores
        assert found.finished == sum(run.score is not None for run in tuner.history)


def test_a_control_that_failed_is_never_tried_again() -> None:
    """Even where candidates are renewed and only some fifty values of each number exist."""
    space = {"a": Int(0, 20), "b": Int(0, 20), "c": Categorical(["x", "y"])}
    tuner, failed = Tuner(space, price=1e-9, overhead=0.0), set()
    for number in range(90):
        decision = tuner.ask()
        assert isinstance(decision, Train)
        place = tuple(decision.params.values())
        assert place not in failed
        if number % 3 == 1:
            failed.add(place)
            tuner.tell(decision, error="failed", cost=1.0)
        else:
            tuner.tell(decision, score=0.5 - 0.001 * (decision.params["a"] - 7) ** 2, cost=1.0)


def test_the_total_cost_is_exact_however_it_is_added() -> None:
    tuner, rng = Tuner(SPACE, price=1e-6), np.random.default_rng(2)
    costs = [float(cost) for cost in 10 ** rng.uniform(-9, 9, 40)]
    for number, cost in enumerate(costs):
        control = tuner.problem.controls[number]
        tuner.replay([Run(number, tuner.problem.space.params(control), control, 0.5, cost, None, math.nan)])
    assert tuner.total_cost == math.fsum(costs)


def test_a_twin_stands_where_the_tuner_stands_after_failures() -> None:
    tuner, rng = Tuner(SPACE, price=1e-6), np.random.default_rng(3)
    for _ in range(15):
        tell_anything(tuner, rng)
    twin = tuner.twin()
    assert numbers(twin.ask()) == numbers(tuner.peek())
    assert twin.total_cost == tuner.total_cost
