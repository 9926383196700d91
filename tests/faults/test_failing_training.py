"""Training that fails: recorded with its cost, never chosen, and not the end of the tuning."""

import math
import pickle
import traceback
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, hill

from autobct import AffineLog, Categorical, Int, TuningError, exact, gittins, relaxed, sampled, tune

GIVE_UP = 10  # failures without a single success


def failing_at(numbers: set[int], fail: Callable[[], Any]) -> Callable[[dict[str, Any]], Any]:
    """The hill, but the runs with these numbers (from 1) do `fail()` instead."""
    made = iter(range(1, 1000))

    def train(params: dict[str, Any]) -> Any:
        return fail() if next(made) in numbers else hill(params)

    return train


def explode() -> float:
    raise RuntimeError("CUDA out of memory")


_NUMBERS = count()


def falter() -> float:
    """Fails with other words every time, as what depends on params does."""
    raise RuntimeError(f"CUDA out of memory, tried {next(_NUMBERS)} MiB")


_SCORE, _COST = "the score that train returned must be ", "the cost that train returned must be "

FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "raises": (explode, "RuntimeError: CUDA out of memory"),
    "raises nothing to say": (lambda: [][0], "IndexError: list index out of range"),
    "NaN": (lambda: (math.nan, 1.0), f"{_SCORE}finite, got nan; return the score as a number, or (score, cost)"),
    "NaN alone": (lambda: math.nan, f"{_SCORE}finite, got nan; return"),
    "infinity": (lambda: (math.inf, 1.0), f"{_SCORE}finite, got inf; return"),
    "-infinity": (lambda: -math.inf, f"{_SCORE}finite, got -inf; return"),
    "NumPy NaN": (lambda: np.float32("nan"), f"{_SCORE}finite, got"),
    "negative cost": (lambda: (0.9, -1.0), f"{_COST}at least 0, got -1.0; return"),
    "NaN cost": (lambda: (0.9, math.nan), f"{_COST}finite, got nan; return"),
    "infinite cost": (lambda: (0.9, math.inf), f"{_COST}finite, got inf; return"),
}

WRONG: dict[str, tuple[Any, str]] = {
    "text": ("0.9", f"{_SCORE}a number, got str '0.9'; return float(...): return the score as a number, or"),
    "text in a pair": (("0.9", 1.0), f"{_SCORE}a number, got str '0.9'; return float"),
    "nothing": (None, f"{_SCORE}a number, got None; a return statement seems to be missing: return the score"),
    "a flag": (True, f"{_SCORE}a number, got bool True; return float"),
    "a dict": (
        {"accuracy": 1},
        f"{_SCORE}a number, got dict {{'accuracy': 1}}; return one of its values, e.g. metrics",
    ),
    "an array": (np.ones(3), f"{_SCORE}a number, got ndarray of shape (3,); return one number, e.g. float("),
    "a list": ([0.9, 1.0], f"{_SCORE}a number, got list [0.9, 1.0]; return the score as a number, or (score, cost)"),
    "a complex number": (1j, f"{_SCORE}a number, got complex 1j; return"),
    "cost as text": ((0.9, "3s"), f"{_COST}a number, got str '3s'; return"),
    "three values": ((0.9, 1.0, 2.0), "train returned 3 values, (0.9, 1.0, 2.0); return the score"),
    "one in a tuple": ((0.9,), "train returned 1 values, (0.9,); return"),
    "empty": ((), "train returned 0 values, (); return"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=list(WRONG))
@pytest.mark.parametrize("told", [{}, {"on_failure": "raise"}, {"repeats": 3}], ids=str)
def test_a_wrong_return_type_ends_the_tuning_at_once(wrong: tuple[Any, str], told: dict[str, Any]) -> None:
    calls: list[Any] = []
    returned, message = wrong
    with pytest.raises(TuningError) as raised:
        tune(lambda params: calls.append(params) or returned, LINE, price=0.001, **told)
    assert len(calls) == 1
    assert str(raised.value).startswith(f"run 1: {message}")
    assert [run.error is None for run in raised.value.history] == [False]
    assert raised.value.result is None


def test_what_was_found_before_a_wrong_return_type_is_not_lost() -> None:
    with pytest.raises(TuningError, match=r"^run 3: .* got None") as raised:
        tune(failing_at({3}, lambda: None), LINE, price=0.0001)
    result = raised.value.result
    assert result is not None
    assert [run.error is None for run in result.history] == [True, True, False]
    assert result.score == hill(result.params)[0]
    assert len(result.decisions) == 3
    assert result.why == str(raised.value)


@pytest.mark.parametrize("one", [np.array(0.9), np.array([0.9]), np.array([[0.9]]), np.float32(0.9)], ids=repr)
def test_an_array_of_one_number_is_that_number(one: Any) -> None:
    assert tune(lambda params: one, LINE, price=0.01, max_runs=1).score == pytest.approx(0.9)


def test_an_exception_that_repeats_on_the_first_runs_ends_the_tuning() -> None:
    def train(params: dict[str, Any]) -> float:
        return params["learning_rate"]  # a slip: the space has x

    with pytest.raises(TuningError) as raised:
        tune(train, LINE, price=0.001)
    assert len(raised.value.history) == 2
    assert str(raised.value).startswith(
        "runs 1 and 2 both failed with KeyError: 'learning_rate', and no run has finished"
    )
    cause = raised.value.__cause__
    assert isinstance(cause, KeyError)
    assert cause.__traceback__ is not None
    assert traceback.extract_tb(cause.__traceback__)[-1].name == "train"


def test_an_exception_that_repeats_later_or_in_other_words_is_a_failed_run() -> None:
    later = tune(failing_at({2, 3}, explode), LINE, price=0.0001, max_runs=5)
    assert [run.error is None for run in later.history] == [True, False, False, True, True]
    other = tune(failing_at({1, 2}, falter), LINE, price=0.0001, max_runs=5)
    assert [run.error is None for run in other.history] == [False, False, True, True, True]
    diverged = tune(failing_at({1, 2, 3}, lambda: math.nan), LINE, price=0.0001, max_runs=5)
    assert [run.error is None for run in diverged.history] == [False, False, False, True, True]


def test_the_last_exception_is_the_cause_where_nothing_finished() -> None:
    with pytest.raises(
        TuningError, match=r"^no run finished; the last of 4 runs failed with RuntimeError: CUDA"
    ) as raised:
        tune(lambda params: falter(), LINE, price=0.0001, max_runs=4)
    assert isinstance(raised.value.__cause__, RuntimeError)
    assert raised.value.__cause__.__traceback__ is not None


def test_the_error_goes_through_a_process_pool() -> None:
    with pytest.raises(TuningError) as raised:
        tune(failing_at({1}, explode), LINE, price=0.001, on_failure="raise")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value)
    assert [run.error for run in again.history] == [run.error for run in raised.value.history]
    assert again.result is None


@pytest.fixture(params=FAULTS.values(), ids=list(FAULTS))
def fault(request: pytest.FixtureRequest) -> tuple[Callable[[], Any], str]:
    return request.param


def test_a_failed_run_is_recorded_and_the_tuning_goes_on(fault: tuple[Callable[[], Any], str]) -> None:
    fail, message = fault
    result = tune(failing_at({1, 3}, fail), LINE, price=0.0005)
    failed = [run for run in result.history if run.error is not None]
    assert [run.trial for run in failed] == [0, 2]
    assert len(result.history) > 3
    for run in failed:
        assert run.score is None
        assert run.error is not None
        assert run.error.startswith(message)
        assert run.cost >= 0.0
        later = [other.params for other in result.history if other.trial > run.trial]
        assert run.params not in later  # not tried again
        assert run.params != result.params
    assert result.score == hill(result.params)[0]
    assert result.score > max(run.score for run in result.history if run.score is not None) - 0.05
    assert result.cost == pytest.approx(math.fsum(run.cost for run in result.history))


def test_raise_ends_the_tuning_at_the_first_failure_and_loses_nothing(fault: tuple[Callable[[], Any], str]) -> None:
    fail, message = fault
    with pytest.raises(TuningError) as raised:
        tune(failing_at({3}, fail), LINE, price=0.001, on_failure="raise")
    assert str(raised.value).startswith(f"run 3 failed: {message}")
    assert [run.score is None for run in raised.value.history] == [False, False, True]
    assert isinstance(raised.value, RuntimeError)


def test_a_failure_costs_the_time_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    for fail in (lambda: math.nan, lambda: (0.9, -5.0)):

        def slow(fail: Callable[[], Any] = fail) -> Any:
            now[0] += 12.5
            return fail()

        result = tune(failing_at({2}, slow), LINE, price=0.001, max_runs=2)
        assert result.history[1].error is not None
        assert result.history[1].cost == 12.5
        assert result.cost == result.history[0].cost + 12.5


def test_a_failure_that_tells_its_cost_is_charged_that() -> None:
    result = tune(failing_at({2}, lambda: (math.nan, 77.0)), LINE, price=0.0001, max_runs=2)
    assert result.history[1].error is not None
    assert result.history[1].cost == 77.0


def test_where_costs_are_the_trainings_own_a_crash_is_charged_what_was_expected() -> None:
    result = tune(failing_at({2}, explode), LINE, price=0.001, max_runs=2)
    assert result.history[1].cost == result.decisions[1].expected_cost  # type: ignore[union-attr]


def test_repeats_that_finished_are_not_lost_with_one_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = iter([(0.5, 10.0), (0.7, 10.0), (math.nan, 100.0), (0.6, 10.0), (math.nan, 1.0), (math.nan, 2.0)])
    result = tune(lambda params: next(outcomes), LINE, price=0.00001, repeats=2, max_runs=3)
    assert [run.score for run in result.history] == [0.6, 0.6, None]
    assert [run.cost for run in result.history] == [20.0, 110.0, 3.0]


def test_a_score_without_a_logarithm_is_a_failed_run_on_a_log_scale() -> None:
    result = tune(failing_at({2}, lambda: (0.0, 4.0)), LINE, price=0.001, score_range=AffineLog(0.1, 1), max_runs=4)
    assert [run.score is None for run in result.history] == [False, True, False, False]
    assert result.history[1].cost == 4.0
    assert result.history[1].error is not None
    assert "score must be positive on the log scale" in result.history[1].error


def test_a_region_that_fails_is_left_alone() -> None:
    def train(params: dict[str, Any]) -> tuple[float, float]:
        if params["x"] > 0.6:
            raise MemoryError
        return 0.4 + 0.5 * params["x"], 1.0

    result = tune(train, LINE, price=0.003, max_runs=60)
    assert len(result.history) < 30
    assert result.params["x"] <= 0.6
    assert len({run.params["x"] for run in result.history if run.error}) == sum(
        bool(run.error) for run in result.history
    )


@pytest.mark.parametrize(
    "policy", [relaxed(1), relaxed(2), relaxed(2, damping=0.02), gittins(), sampled(2, samples=10)]
)
@pytest.mark.parametrize("recall", [True, False])
def test_when_all_but_the_first_run_fail_the_first_is_returned(policy: Any, recall: bool) -> None:
    result = tune(
        failing_at(set(range(2, 1000)), explode), LINE, price=0.01, policy=policy, recall=recall, candidates=21
    )
    assert result.params == result.history[0].params
    assert len(result.history) <= 22


SPACES: dict[str, dict[str, Any]] = {
    "line": LINE,
    "square": SQUARE,
    "mixed": {**SQUARE, "n": Int(1, 9), "c": Categorical(["a", "b"])},
}


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
@pytest.mark.parametrize("price", [1e-9, 0.01, 1.0])
@pytest.mark.parametrize("told", [{}, {"cost_range": (1, 10)}], ids=["", "cost range"])
def test_always_failing_training_is_given_up_soon(space: dict[str, Any], price: float, told: dict[str, Any]) -> None:
    with pytest.raises(TuningError) as raised:
        tune(lambda params: falter(), space, price=price, **told)
    runs = len(raised.value.history)
    assert 1 <= runs <= GIVE_UP  # of 101 to 131 candidates
    which, last = "only run" if runs == 1 else f"last of {runs} runs", raised.value.history[-1].error
    assert str(raised.value) == f"no run finished; the {which} failed with {last}"
    assert all(run.score is None for run in raised.value.history)


@pytest.mark.parametrize("policy", [relaxed(1), relaxed(3), gittins(), exact(3), sampled(2, samples=10)])
def test_every_policy_gives_up(policy: Any) -> None:
    with pytest.raises(TuningError, match="no run finished") as raised:
        tune(lambda params: falter(), LINE, price=0.01, policy=policy, candidates=21)
    assert len(raised.value.history) <= GIVE_UP


def test_costly_failures_are_given_up_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    def train(params: dict[str, Any]) -> float:
        now[0] += 30.0
        return falter()

    runs = []
    for price in (1e-6, 0.01, 1.0):
        with pytest.raises(TuningError) as raised:
            tune(train, LINE, price=price)
        runs.append(len(raised.value.history))
    assert runs == sorted(runs, reverse=True)
    assert runs[0] == GIVE_UP
    assert runs[-1] == 1


def test_a_late_success_is_found_in_time() -> None:
    result = tune(failing_at(set(range(1, GIVE_UP)), falter), LINE, price=0.001)
    assert sum(run.error is None for run in result.history) >= 1
    assert result.score == hill(result.params)[0]


def test_few_candidates_that_all_fail() -> None:
    with pytest.raises(TuningError, match="the last of 3 runs failed with"):
        tune(lambda params: falter(), {"n": Int(1, 3)}, price=1e-9)


def test_a_training_script_that_exits_has_failed_and_takes_nothing_along() -> None:
    def leave() -> float:
        raise SystemExit(3)

    result = tune(failing_at({2}, leave), LINE, price=0.001, max_runs=4)
    assert [run.error for run in result.history][1] == "SystemExit: 3"
    assert len(result.history) == 4


def test_raise_keeps_the_original_error_as_the_cause() -> None:
    def explode() -> float:
        raise KeyError("column")

    with pytest.raises(TuningError) as caught:
        tune(failing_at({2}, explode), LINE, price=0.001, on_failure="raise")
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_failure_before_anything_is_known_of_costs_teaches_no_cost() -> None:
    """Microseconds until an exception are not what a training costs that tells its cost itself."""

    def train(params: dict[str, Any]) -> tuple[float, float]:
        if params["x"] > 0.5:
            raise RuntimeError("out of memory")
        return 0.5 + 0.3 * params["x"], 10.0

    result = tune(train, LINE, price=0.001, cost_range=(5, 20), max_runs=6)
    assert result.score > 0.5
    assert all(run.cost > 1.0 for run in result.history)


def test_a_failure_costs_its_time_where_the_price_is_per_time() -> None:
    calls: list[float] = []

    def train(params: dict[str, Any]) -> float:
        calls.append(params["x"])
        if len(calls) == 1:
            raise RuntimeError("out of memory")
        return 0.5

    result = tune(train, LINE, price="0.01 per 30s", max_runs=3)
    assert result.history[0].error is not None
    assert result.history[0].cost < 1.0
