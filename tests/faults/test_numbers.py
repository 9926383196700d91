"""A hundred random tunings; `benchmarks/random_tunings.py` has the thousand, and says what is drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from random_tunings import Case, drawn, played

import autobct

RUNS = 5  # of each: what goes wrong with ranges and scales goes wrong early
LONG = 1000  # of those whose runs have a price: either they stop soon, or they run away


def case(number: int) -> Case:
    """A tuning with as many runs as it takes to see that it does not run away."""
    long = drawn(number, LONG)
    return long if long.can_run_away(LONG) else drawn(number, RUNS)


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_random_tunings_go_well(first: int) -> None:
    cases = [case(number) for number in range(first, first + 10)]
    assert any(one.can_run_away(LONG) for one in cases)
    outcomes = [played(one) for one in cases]
    assert [(one.number, one.trouble) for one in outcomes if one.trouble] == []
    assert all(one.runs >= 1 for one in outcomes)


def test_a_range_far_too_wide_with_a_diverged_score_in_it_is_no_runaway() -> None:
    assert played(drawn(796)).trouble == ""


def test_the_harness_sees_trouble() -> None:
    """A policy that warns is noticed, and one that says NaN."""
    case = drawn(3, RUNS)

    def broken(state: object, terms: object, made: int) -> autobct.Assessment:
        return autobct.Assessment.by_value(np.log(np.full(state.score.mean.shape, -1.0)))  # type: ignore[attr-defined]

    case.keywords["policy"] = lambda controls, seed: broken
    assert played(case).trouble


def test_the_harness_sees_a_runaway() -> None:
    """A policy for which every run is worth its price is ended as soon as it has spent all there is to gain."""

    def greedy(state: object, terms: object, made: int) -> autobct.Assessment:
        return autobct.Assessment.by_value(np.full(state.score.mean.shape, 1e3))  # type: ignore[attr-defined]

    expensive = next(one for one in map(case, range(100)) if one.price > 1.0 and one.can_run_away(LONG))
    expensive.keywords["policy"] = lambda controls, seed: greedy
    found = played(expensive)
    assert found.trouble.startswith("runaway: runs after the tenth cost")
    assert 10 < found.runs < LONG


def peak(params: dict[str, float]) -> float:
    return 1.0 - (params["x"] - 0.3) ** 2 - (params["y"] - 0.7) ** 2


SPACE = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}


def tuned_with(slip: str, at: int, **keywords: object) -> autobct.Result:
    made = 0

    def train(params: dict[str, float]) -> tuple[float, float]:
        nonlocal made
        made += 1
        score, cost = peak(params), 1.0 + params["x"]
        if made != at + 1:
            return score, cost
        return (1e15, cost) if slip == "score" else (score, 1e15)

    return autobct.tune(train, SPACE, price=0.0005, max_runs=20, **keywords)


@pytest.mark.parametrize("slip", ["score", "cost"])
@pytest.mark.parametrize(
    ("at", "keywords"), [(2, {}), (0, {"score_range": (0, 1), "cost_range": (1, 3)}), (2, {"cost_range": (1, 3)})]
)
def test_one_slip_of_the_program_does_not_end_a_tuning(slip: str, at: int, keywords: dict[str, object]) -> None:
    result = tuned_with(slip, at, **keywords)
    slipped = result.history[at]
    assert slipped.score is None
    assert "beyond all others" in (slipped.error or "")
    assert len(result.history) >= 6
    assert peak(result.params) > 0.98
    assert result.score < 2.0
    if slip == "cost":
        assert result.cost > 1e15  # it is paid all the same


@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_a_range_that_is_wrong_by_a_thousand_is_no_slip(factor: float) -> None:
    result = autobct.tune(
        lambda params: (peak(params), 1.0),
        SPACE,
        price=0.002,
        max_runs=6,
        score_range=(0.0, factor),
        cost_range=(1e-3, 2e-3),
    )
    assert all(run.error is None for run in result.history)


def test_scores_may_be_zero_first_and_large_later() -> None:
    scores = iter([0.0, 0.0, 1e9, 2e9])
    result = autobct.tune(lambda params: (next(scores), 1.0), SPACE, price=1e-6, max_runs=4)
    assert result.score >= 1e9


def test_numpy_may_be_set_to_raise() -> None:
    """Underflow far from the data is right, whatever the user's own code wants to hear of."""
    with np.errstate(all="raise"):
        assert np.geterr()["under"] == "raise"
        seen: list[str] = []

        def train(params: dict[str, float]) -> tuple[float, float]:
            seen.append(np.geterr()["under"])
            return peak(params), 1.0

        result = autobct.tune(train, {**SPACE, "c": autobct.Categorical(["a", "b"])}, price=1e-5, max_runs=12)
        tuner = autobct.Tuner(SPACE, price=1e-5)
        while len(tuner.history) < 4:
            decision = tuner.ask()
            tuner.tell(decision, score=peak(decision.params), cost=1e-8)
        tuner.explain()
        tuner.forecast(2)
    assert seen == ["raise"] * len(result.history)
    assert math.isfinite(result.expected_score)
