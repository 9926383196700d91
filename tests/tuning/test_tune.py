"""tune(): from a training function to a result."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, hill, numbers

import autobct
from autobct import (
    AffineLog,
    Assessment,
    Categorical,
    Float,
    Int,
    Result,
    Stop,
    Train,
    TuningError,
    exact,
    paper_prior,
    sampled,
    tune,
)


class Clock:
    """A clock that moves only when a training says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.perf_counter", made)
    return made


# ---- the result


def test_the_result_is_the_model_to_use_and_what_it_took() -> None:
    result = tune(hill, LINE, price=0.003)
    best = max(result.history, key=lambda run: result.tuner.estimated_score(run.control))
    assert isinstance(result, Result)
    assert result.params == best.params
    assert result.score == best.score == hill(result.params)[0]
    assert result.expected_score == result.tuner.estimated_score(best.control)
    assert result.cost == pytest.approx(math.fsum(hill(run.params)[1] for run in result.history), rel=1e-12)
    assert len(result.decisions) == len(result.history) + 1
    assert [decision.params for decision in result.decisions[:-1]] == [run.params for run in result.history]
    assert isinstance(result.decisions[-1], Stop)
    assert result.why == result.decisions[-1].why
    assert result.history == result.tuner.history


def test_the_result_in_words() -> None:
    result = tune(hill, LINE, price=0.003, max_runs=2)
    params, why = str(result).split("\n")
    believed = f"(estimated from all runs: {result.expected_score:.4g})"
    assert params == f"{result.params} scores {result.score:.4g} {believed}; 2 runs cost {result.cost:.4g}."
    assert why == result.why == "Stopped after 2 runs: max_runs is reached."
    assert "; 1 run cost " in str(tune(hill, LINE, price=0.003, max_runs=1))


def test_params_belong_to_the_caller() -> None:
    def train(params: dict[str, Any]) -> tuple[float, float]:
        score = hill(params)
        params["x"] = "spoiled"
        return score

    result = tune(train, LINE, price=0.003)
    assert all(isinstance(run.params["x"], float) for run in result.history)
    result.params["x"] = "spoiled"
    assert all(isinstance(run.params["x"], float) for run in result.history)


def test_the_same_seed_gives_the_same_run() -> None:
    one, two, other = (
        tune(hill, LINE, price=0.003, policy=sampled(2, samples=30), prior="paper", candidates=21, seed=seed)
        for seed in (3, 3, 4)
    )
    assert [numbers(decision) for decision in one.decisions] == [numbers(decision) for decision in two.decisions]
    assert one.params == two.params
    assert numbers(one.decisions[0]) != numbers(other.decisions[0])


# ---- score and cost


def test_the_time_a_training_takes_is_its_cost(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> float:
        clock.now += 7.5 + params["x"]
        return hill(params)[0]

    result = tune(train, LINE, price="0.01 per 30s", cost_range=(5, 10))
    assert [run.cost for run in result.history] == pytest.approx([7.5 + run.params["x"] for run in result.history])


def test_a_cost_that_is_returned_counts_and_not_the_time(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> tuple[float, float]:
        clock.now += 1000.0
        return 0.5, 3.0

    assert {run.cost for run in tune(train, LINE, price=0.01).history} == {3.0}


def test_repeats_give_the_median_score_and_the_summed_cost() -> None:
    returned = iter([(0.1, 1.0), (0.9, 2.0), (0.4, 4.0)])
    result = tune(lambda params: next(returned), LINE, price=0.01, repeats=3, max_runs=1)
    assert (result.score, result.cost) == (0.4, 7.0)
    assert len(result.history) == 1


def test_an_even_number_of_repeats_gives_the_middle(clock: Clock) -> None:
    scores = iter([0.1, 0.9, 0.5, 0.4])

    def train(params: dict[str, Any]) -> float:
        clock.now += 2.0
        return next(scores)

    result = tune(train, LINE, price=0.01, repeats=4, max_runs=1)
    assert (result.score, result.cost) == (pytest.approx(0.45), 8.0)


def test_every_repeat_gets_the_same_params() -> None:
    seen: list[dict[str, Any]] = []

    def train(params: dict[str, Any]) -> tuple[float, float]:
        seen.append(params)
        return 0.5, 1.0

    tune(train, SQUARE, price=0.001, repeats=2, max_runs=2)
    assert len(seen) == 4
    assert seen[0] == seen[1]
    assert seen[0] is not seen[1]
    assert seen[2] == seen[3]


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, int])
def test_numbers_of_any_kind(kind: Any) -> None:
    for returned in ((kind(1), kind(2)), kind(1)):
        result = tune(lambda params, r=returned: r, LINE, price=0.01, max_runs=1)
        assert result.score == 1.0
        assert type(result.score) is type(result.cost) is float


# ---- the price


@pytest.mark.parametrize("text", ["0.6 per min", "1% per 1 s", "36/h"])
def test_a_price_in_words_is_the_same_as_a_number(text: str) -> None:
    by_number, by_text = (tune(hill, LINE, price=price, cost_range=(0.1, 2)) for price in (0.01, text))
    assert [run.params for run in by_text.history] == [run.params for run in by_number.history]
    assert by_text.why == by_number.why


@pytest.mark.parametrize("told", [{}, {"score_range": (0.4, 1.0)}, {"cost_range": (0.1, 2.0)}], ids=str)
@pytest.mark.parametrize(("a", "b"), [(100.0, 1.0), (1.0, 3600.0), (0.37, 0.021)])
def test_only_ratios_of_units_matter(a: float, b: float, told: dict[str, Any]) -> None:
    """Scores times a, costs times b, price times a / b: the same params in the same order."""
    low, high = told.get("score_range", (0.0, 1.0))
    scaled = {name: tuple(b * end for end in ends) for name, ends in told.items() if name == "cost_range"}
    plain = tune(hill, LINE, price=0.005, **{"score_range": (0.0, 1.0), **told})
    rescaled = tune(
        lambda params: (a * hill(params)[0], b * hill(params)[1]),
        LINE,
        price=0.005 * a / b,
        score_range=(a * low, a * high),
        **scaled,
    )
    assert [run.params for run in rescaled.history] == [run.params for run in plain.history]
    assert rescaled.score == pytest.approx(a * plain.score)
    assert rescaled.cost == pytest.approx(b * plain.cost)


BOWL = {"space": SQUARE, "train": lambda p: (0.8 - (p["x"] - 0.3) ** 2 - (p["y"] - 0.6) ** 2, 1 + p["y"])}
SLOPE = {"space": LINE, "train": lambda p: (0.3 + 0.5 * p["x"], 0.5 + 2 * p["x"])}
HILL = {"space": LINE, "train": hill}


@pytest.mark.parametrize("example", [HILL, SLOPE, BOWL], ids=["hill", "slope", "bowl"])
def test_a_higher_price_never_buys_more_runs_here(example: dict[str, Any]) -> None:
    prices = (0.001, 0.01, 0.1, 0.5, 2.0)
    runs = [len(tune(**example, price=price, max_runs=60).history) for price in prices]
    assert runs == sorted(runs, reverse=True)
    assert runs[0] > runs[-1]


@pytest.mark.parametrize("price", [1e-5, 1e-4, 1e-3])
@pytest.mark.parametrize("peak", [0.2, 0.37, 0.5, 0.8])
def test_a_cheap_price_finds_the_top_of_a_hill(peak: float, price: float) -> None:
    result = tune(lambda p: (0.9 - (p["x"] - peak) ** 2, 1.0), LINE, price=price)
    assert result.score > 0.9 - 0.05
    assert 2 <= len(result.history) <= 20


@pytest.mark.parametrize("price", [0.2, 1.0])
def test_a_high_price_stops_soon(price: float) -> None:
    for told in ({}, {"cost_range": (0.5, 2)}):
        assert len(tune(lambda p: (0.9 - (p["x"] - 0.37) ** 2, 1.0), LINE, price=price, **told).history) <= 3


# ---- the direction


def test_minimising_is_maximising_upside_down() -> None:
    for told in ({}, {"score_range": (0.2, 1.0)}):
        up = tune(hill, LINE, price=0.003, **told)
        flipped = {name: (1 - high, 1 - low) for name, (low, high) in told.items()}
        down = tune(lambda p: (1 - hill(p)[0], hill(p)[1]), LINE, price=0.003, direction="minimize", **flipped)
        assert [run.params for run in down.history] == [run.params for run in up.history]
        assert down.why == up.why
        assert down.score == pytest.approx(1 - up.score)
        assert down.expected_score == pytest.approx(1 - up.expected_score)
        assert down.problem.direction == "minimize"


def test_a_loss_in_other_units_is_minimised() -> None:
    result = tune(lambda p: (3000 - 1000 * hill(p)[0], 1.0), LINE, price=3.0, direction="minimize")
    assert result.score < 2130
    assert 3 <= len(result.history) <= 12


def test_a_loss_on_a_log_scale_is_minimised() -> None:
    loss = AffineLog(1e-3, 1.0)
    result = tune(lambda p: (math.exp(-6 * hill(p)[0]), 1.0), LINE, price=0.003, direction="minimize", score_range=loss)
    assert result.score < 0.006


# ---- limits of cost and time


def test_a_budget_is_kept_and_named() -> None:
    result = tune(lambda p: (hill(p)[0], 0.4), LINE, price=1e-4, cost_range=(0.1, 2), max_cost=1.1)
    assert result.cost == pytest.approx(0.8)
    assert "is left of max_cost" in result.why
    with pytest.raises(TuningError, match=r"^no run finished\. Stopped after 0 runs: the cheapest next run may"):
        tune(hill, LINE, price=1e-4, cost_range=(10, 20), max_cost=1.0)


def test_no_run_is_started_that_would_likely_end_after_the_deadline(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> float:
        clock.now += 10.0
        return 0.5 + 0.05 * next(steps)

    steps = iter(range(99))
    result = tune(train, LINE, price="1e-6 per s", cost_range=(5, 20), deadline=29)
    assert result.cost <= 29
    assert len(result.history) == 2
    assert "is left before the deadline" in result.why


def test_costs_of_ones_own_run_at_the_pace_of_the_clock(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> tuple[float, float]:
        clock.now += 100.0
        return 0.5 + 0.05 * next(steps), 1.0

    steps = iter(range(99))
    result = tune(train, LINE, price=1e-6, cost_range=(0.9, 1.1), deadline=350)
    assert len(result.history) == 3
    assert result.decisions[-1].left == pytest.approx(0.5)  # type: ignore[union-attr]


def test_a_deadline_that_has_passed_ends_it(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> tuple[float, float]:
        clock.now += 1000.0
        return 0.5, 1e-9

    assert len(tune(train, LINE, price=1e-6, deadline="10 min").history) == 1


# ---- the optimiser's own time


def test_deciding_counts_where_the_cost_is_time(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> float:
        clock.now += 7.0
        return hill(params)[0]

    def slow(tuner: Any, event: Any) -> None:
        clock.now += 0.5

    result = tune(train, LINE, price="0.01 per 30s", cost_range=(5, 10), callbacks=[slow])
    runs = len(result.history)
    assert result.cost == pytest.approx(7.0 * runs)
    assert result.deciding == pytest.approx(0.5 * (2 * runs + 1))
    assert result.total_cost == pytest.approx(result.cost + result.charged)
    assert result.charged == pytest.approx(0.5 * (2 * runs - 1))  # up to the last run


def test_deciding_is_told_but_not_counted_where_the_cost_is_not_time(clock: Clock) -> None:
    def slow(tuner: Any, event: Any) -> None:
        clock.now += 0.5

    result = tune(hill, LINE, price=0.01, callbacks=[slow])
    assert result.deciding > 0
    assert result.charged == 0.0
    assert result.total_cost == result.cost


def test_deciding_counts_against_the_budget(clock: Clock) -> None:
    def train(params: dict[str, Any]) -> float:
        clock.now += 10.0
        return 0.5 + 0.05 * next(steps)

    def slow(tuner: Any, event: Any) -> None:
        clock.now += 5.0

    steps = iter(range(99))
    result = tune(train, LINE, price=1e-6, cost_range=(5, 20), max_cost=45, callbacks=[slow])
    free = tune(train, LINE, price=1e-6, cost_range=(5, 20), max_cost=45)
    assert len(result.history) < len(free.history)
    assert result.total_cost < 45 + 15


# ---- what may be returned, and when to stop


def test_the_best_or_the_last() -> None:
    for recall in (True, False):
        result = tune(hill, LINE, price=0.003, recall=recall)
        believed = {run.trial: result.tuner.estimated_score(run.control) for run in result.history}
        if recall:
            assert result.expected_score == max(believed.values())
        else:
            assert result.params == result.history[-1].params


def test_limits() -> None:
    assert len(tune(hill, LINE, price=1e-6, max_runs=2).history) == 2
    assert len(tune(hill, LINE, price=1e-6, policy=exact(2), prior="paper", candidates=21).history) == 2


def test_the_papers_prior() -> None:
    told: dict[str, Any] = {"price": 0.16, "prior": paper_prior("synthetic"), "policy": autobct.relaxed(depth=2)}
    result = tune(hill, LINE, recall=False, candidates=21, **told)
    first = result.decisions[0]
    assert isinstance(first, Train)
    assert first.params == {"x": 0.0}


def test_a_log_scale_of_scores() -> None:
    result = tune(
        lambda p: (math.exp(-5 * (p["x"] - 0.6) ** 2), 1.0), LINE, price=0.001, score_range=AffineLog(0.05, 1.0)
    )
    assert result.score > 0.9


def test_interrupted_after_a_run_it_returns_the_best_so_far() -> None:
    result = tune(interrupted_at(3), LINE, price=0.001)
    assert len(result.history) == 2
    assert result.why == "Interrupted after 2 runs."
    assert result.params in [run.params for run in result.history]
    assert [type(decision) for decision in result.decisions] == [Train] * 3
    assert tune(interrupted_at(2), LINE, price=0.001).why == "Interrupted after 1 run."


def test_interrupted_before_any_run_finished_it_stays_interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        tune(interrupted_at(1), LINE, price=0.001)


def test_interrupted_after_nothing_but_failures_it_stays_interrupted() -> None:
    def train(params: dict[str, Any]) -> float:
        if (number := next(runs)) == 2:
            raise KeyboardInterrupt
        raise RuntimeError(number)

    runs = iter(range(9))
    with pytest.raises(KeyboardInterrupt):
        tune(train, LINE, price=0.001)


def interrupted_at(number: int) -> Callable[[dict[str, Any]], tuple[float, float]]:
    runs: Iterator[int] = iter(range(1, 99))

    def train(params: dict[str, Any]) -> tuple[float, float]:
        if next(runs) == number:
            raise KeyboardInterrupt
        return hill(params)

    return train


# ---- spaces


def test_optunas_distributions() -> None:
    distributions = pytest.importorskip("optuna.distributions")
    ours = {"x": Float(1e-3, 1, log=True), "n": Int(2, 8, step=2), "c": Categorical(("a", "b"))}
    theirs = {
        "x": distributions.FloatDistribution(1e-3, 1, log=True),
        "n": distributions.IntDistribution(2, 8, step=2),
        "c": distributions.CategoricalDistribution(("a", "b")),
    }

    def train(params: dict[str, Any]) -> tuple[float, float]:
        return 0.5 + 0.1 * (params["c"] == "b") - 0.05 * abs(params["n"] - 4) + 0.1 * params["x"], 1.0

    one, two = (tune(train, space, price=0.002) for space in (ours, theirs))
    assert [run.params for run in two.history] == [run.params for run in one.history]
    assert two.params["c"] == "b"
    assert two.params["n"] in (2, 4, 6, 8)


def test_a_space_of_three_numbers_and_a_choice() -> None:
    space = {"x": Float(0, 1), "y": Float(0, 1), "n": Int(1, 100, log=True), "c": Categorical(["a", "b", "c"])}

    def train(params: dict[str, Any]) -> tuple[float, float]:
        return 0.5 + 0.3 * (params["c"] == "b") + 0.1 * params["x"] - 0.1 * params["y"], 1.0

    result = tune(train, space, price=0.002)
    assert result.params["c"] == "b"
    assert result.score > 0.8


# ---- bad input


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"train": "train.py"},
            r"train must be a function of params, got 'train.py'; write tune\(train, space, price=",
        ),
        ({"train": None}, "train must be a function of params, got None; write"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, got 0; write e.g. 5"),
        ({"repeats": 2.5}, "repeats must be a whole number of at least 1, got 2.5; write e.g. 5"),
        ({"on_failure": "ignore"}, "on_failure must be 'record' or 'raise', got 'ignore'"),
        ({"space": []}, "space must be a dict .*write e.g."),
        ({"space": {"x": Float(1, 1)}}, "space has nothing to tune.*write e.g."),
        ({"price": -0.1}, "price must be positive.*got -0.1; write it as score per cost, e.g."),
        ({"price": "0.01"}, "price '0.01' does not say per which cost.*write"),
        ({"score_range": (1.0, 0.5)}, r"score_range is reversed.*write \(0.5, 1\)"),
        ({"cost_range": (-1, 1)}, "cost_range must not be negative.*write e.g."),
        ({"prior": paper_prior("cnn-2d")}, "prior is for 2 coordinates but the space has 1; use"),
        ({"policy": autobct.relaxed}, "policy must come from a call.*write e.g."),
        ({"recall": 1}, "recall must be True or False, got 1; write"),
        ({"max_runs": -3}, "max_runs must be a whole number of at least 1, got -3; write e.g."),
        ({"candidates": 0}, "candidates must be a whole number of at least 2, got 0; write e.g."),
        ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5; write e.g."),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_bad_input_names_the_argument_and_what_to_write(changed: dict[str, Any], message: str) -> None:
    ran = []
    told = {"train": lambda params: ran.append(params), "space": LINE, "price": 0.1, **changed}
    with pytest.raises((TypeError, ValueError), match=f"(?s)^{message}"):
        tune(**told)
    assert not ran  # checked before anything is trained


def test_a_policy_that_never_trains_is_told_apart_from_failures() -> None:
    def never(controls: Any, seed: int) -> Any:
        return lambda state, terms, runs: Assessment.by_value(np.full(len(controls), -np.inf))

    with pytest.raises(TuningError, match=r"^no run finished$") as raised:
        tune(hill, LINE, price=0.1, policy=never)
    assert raised.value.history == ()
