"""Runs side by side: the order in which they end determines everything, and what is running counts."""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, hill, numbers

import autobct
from autobct import Float, Stop, Train, Tuner, TuningError, tune
from autobct.run.executors import Processes, Threads
from autobct.tuning.decide import position
from autobct.tuning.decide.position import assessed, train_at
from autobct.tuning.decide.under_way import Waiting, waiting_for
from autobct.tuning.jobs import EndedRun, Here, WorkerLostError, check_jobs, cores, places
from autobct.tuning.loop import Alone, LoopOrder, until_stop
from autobct.tuning.model.other_surrogates import NetworkSurrogate
from autobct.tuning.progress import Listeners
from autobct.tuning.training import WorkerError
from autobct.value.state import variance

CUBE = {name: Float(0, 1) for name in "abcdef"}


class Shuffled:
    """An executor whose runs end in an order that is given: by position among those that are running."""

    def __init__(self, order: list[int]) -> None:
        self.order, self.running, self.most = list(order), [], 0

    def submit(self, number: int, run: Callable[[], Any]) -> None:
        self.running.append((number, run))
        self.most = max(self.most, len(self.running))

    def wait(self) -> EndedRun[Any]:
        at = self.order.pop(0) % len(self.running) if self.order else 0
        number, run = self.running.pop(at)
        return EndedRun(number, run())

    def cancel(self) -> None:
        self.running.clear()


def side_by_side(order: list[int], jobs: int = 4, price: float = 0.002) -> tuple[autobct.Result, Shuffled]:
    executor = Shuffled(order)
    tuner = Tuner(SQUARE, price=price)
    return until_stop(Alone(tuner), executor, LoopOrder(hill, jobs=jobs), Listeners([])), executor


@pytest.mark.parametrize("order", [[0] * 30, [1, 2, 0, 3] * 8, [3] * 30], ids=["first", "mixed", "last"])
def test_at_its_own_price_it_would_have_done_what_it_did(order: list[int]) -> None:
    """Runs that are under way when it stops are made and counted."""
    result, _ = side_by_side(order)
    assert isinstance(result.decisions[-1], Stop)
    higher, own, lower = result.what_if([0.004, 0.002, 0.001])
    assert (own.known, own.runs, own.params) == (True, len(result.history), result.params)
    assert own.cost == pytest.approx(result.cost)
    assert higher.runs <= own.runs <= lower.runs


# ---- what is pending


def rough(params: dict[str, Any]) -> float:
    return sum(math.sin(37 * x) * math.cos(11 * x + i) for i, x in enumerate(params.values()))


def test_with_hundreds_of_pending_runs_all_are_different_ones() -> None:
    tuner = Tuner(CUBE, price=1e-9)
    for _ in range(6):
        train = ask_train(tuner)
        tuner.tell(train, rough(train.params), 1.0)
    first = ask_train(tuner)
    for trial, control in enumerate(np.random.default_rng(0).random((270, 6)), start=tuner.memory.asked):
        tuner.adopt(replace(first, trial=trial, control=control, params=dict(zip(CUBE, control.tolist(), strict=True))))
    for _ in range(29):
        decision = tuner.ask()
        if isinstance(decision, Stop):  # what it would have been; a host may start it all the same
            assert decision.best_alternative is not None
            tuner.adopt(decision.best_alternative)
    assert len({train.control.tobytes() for train in tuner.under_way}) == len(tuner.under_way) == 300


def test_beyond_the_horizon_of_a_policy_there_is_no_run_beside_those_under_way() -> None:
    tuner = Tuner(LINE, price=1e-6, policy=autobct.exact(2))
    train = ask_train(tuner)
    tuner.tell(train, 0.5, 1.0)
    ask_train(tuner)
    decision = tuner.peek()
    assert isinstance(decision, Stop)
    assert decision.reason == "horizon"


def test_the_network_is_asked_once_for_a_decision_with_pending_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    network = NetworkSurrogate()

    def counted(problem: Any, runs: Any, pending: Any, controls: Any) -> Any:
        asked.append(len(pending))
        return network.posterior(problem, runs, pending, controls)

    tuner = Tuner(SQUARE, price=1e-4)
    for _ in range(4):
        train = ask_train(tuner)
        tuner.tell(train, *hill(train.params))
    for _ in range(3):
        ask_train(tuner)
    monkeypatch.setattr(position, "OTHERS", (SimpleNamespace(posterior=counted),))
    assert tuner.position().state.others
    tuner.peek()
    assert asked == [3, 3]  # once for the position above, and once for the decision


FOUR = Waiting(0.0, 4, 4, "compute")
"""Four jobs, and nothing is running."""


def test_with_several_jobs_a_run_has_to_gain_twice_as_much() -> None:
    found = list[tuple[bool, bool]]()
    for price in np.geomspace(1e-3, 0.1, 16):
        tuner = Tuner(SQUARE, price=price)
        tuner.tell(ask_train(tuner), 0.6, 1.0)
        alone, beside = tuner.peek(), tuner.peek(None, FOUR)
        run, other = (one if isinstance(one, Train) else one.best_alternative for one in (alone, beside))
        assert run is not None
        assert other is not None
        assert (other.params, other.price_of_run) == (run.params, run.price_of_run)
        assert other.expected_gain == pytest.approx(run.expected_gain / 2, rel=1e-9)
        assert isinstance(beside, Train) == (run.expected_gain > 2 * run.price_of_run)
        found.append((isinstance(alone, Train), isinstance(beside, Train)))
    assert {*found} == {(True, True), (True, False), (False, False)}


def test_a_host_that_asks_beside_runs_under_way_is_answered_like_several_jobs() -> None:
    tuner = Tuner(SQUARE, price=1e-4)
    for _ in range(3):
        train = ask_train(tuner)
        tuner.tell(train, *hill(train.params))
    assert tuner.position().counted == 1.0
    assert tuner.position(None, Waiting(0.0, 4, 4)).counted == 0.5  # a price of waiting
    ask_train(tuner)
    beside, told = tuner.peek(), tuner.peek(None, FOUR)
    assert isinstance(beside, Train)
    assert numbers(beside) == numbers(told)


def test_the_price_at_which_a_decision_beside_others_changes_is_the_one_it_is_made_with() -> None:
    """What is explained at another price counts on as much as the decision itself."""
    tuner = Tuner(SQUARE, price=1e-4)
    for _ in range(3):
        train = ask_train(tuner)
        tuner.tell(train, *hill(train.params))
    ask_train(tuner)
    position = tuner.position()
    same = assessed(position, tuner.assess, position.problem)
    np.testing.assert_allclose(same.value, assessed(position, tuner.assess).value, rtol=1e-12)


def test_where_all_candidates_are_under_way_one_is_asked_for_again() -> None:
    tuner = Tuner({"c": autobct.Categorical(["a", "b", "c"])}, price=1e-9)
    for _ in range(3):
        decision = tuner.peek()
        train = decision if isinstance(decision, Train) else decision.best_alternative
        assert train is not None
        tuner.adopt(train)
    assert sorted(train.params["c"] for train in tuner.under_way) == ["a", "b", "c"]
    assert isinstance(tuner.peek(), Train | Stop)
    assert tuner.position().excluded.sum() == 0


def test_a_pending_run_tells_as_much_as_a_run_of_the_learned_noise() -> None:
    """Its variance shrinks as a Kalman step with what no surface explains, not with the noise of a fixed prior."""
    tuner = Tuner(SQUARE, price=1e-9)
    for score in (0.2, 0.9, 0.1, 0.8):
        tuner.tell(ask_train(tuner), score, 1.0)
    before = tuner.position().state
    evidence = tuner.known.evidence
    assert evidence is not None
    train = ask_train(tuner)
    at = int(np.flatnonzero((tuner.problem.controls == train.control).all(axis=1))[0])
    after = tuner.position().state
    var, noise = variance(before.score)[at], evidence.misfit.total
    assert variance(after.score)[at] == pytest.approx(var * noise**2 / (var + noise**2), rel=1e-6)


# ---- the loop


def test_one_job_is_the_loop_as_it_was() -> None:
    alone, inline = tune(hill, SQUARE, price=0.002), side_by_side([], jobs=1)[0]
    assert [numbers(one) for one in alone.decisions] == [numbers(one) for one in inline.decisions]


@pytest.mark.parametrize("order", [[0] * 40, [3, 1, 2, 0] * 10, [2] * 40])
def test_the_same_order_of_completion_gives_the_same_answer(order: list[int]) -> None:
    first, executor = side_by_side(order, price=0.001)
    again, _ = side_by_side(order, price=0.001)
    assert executor.most == 4
    assert [numbers(one) for one in first.decisions] == [numbers(one) for one in again.decisions]
    assert [run.trial for run in first.history] == [one.trial for one in first.decisions if isinstance(one, Train)]
    assert first.params == again.params
    assert (first.n_jobs, first.price_of) == (4, "compute")


def test_another_order_of_completion_may_decide_otherwise_and_still_finds_the_best() -> None:
    found = [side_by_side(order)[0] for order in ([0] * 40, [3, 1, 2, 0] * 10)]
    assert [run.trial for run in found[0].history] != [run.trial for run in found[1].history]
    assert all(result.score > 0.88 for result in found)


@pytest.mark.parametrize(
    ("told", "price_of", "first"),
    [
        ({}, "compute", 1),
        ({}, "waiting", 1),
        ({"cost_range": (0.5, 2.0)}, "compute", 4),
        ({"prior": "paper"}, "compute", 4),
    ],
    ids=str,
)
def test_one_run_comes_first_where_nothing_is_known_of_costs(told: Any, price_of: Any, first: int) -> None:
    """Before it, no price is too high for another run: what a run costs is then guessed from the price itself."""
    at_once: list[int] = []

    class Counting(Shuffled):
        def wait(self) -> EndedRun[Any]:
            at_once.append(len(self.running))
            return super().wait()

    tuner = Tuner(SQUARE, price="0.0001 per 1s", max_runs=9, **told)
    order = LoopOrder(lambda params: hill(params)[0], jobs=4, price_of=price_of)
    heard: list[Any] = []
    until_stop(Alone(tuner), Counting([]), order, Listeners([lambda tuner, event: heard.append(event)]))
    assert (at_once[0], max(at_once)) == (first, 4)
    assert ("made alone" in getattr(heard[0], "text", "")) == (first == 1)
    assert places(Tuner(SQUARE, price=0.01, **told), 4) == first


def test_runs_under_way_are_finished_and_counted_before_it_stops() -> None:
    heard: list[Any] = []
    executor = Shuffled([])
    tuner = Tuner(SQUARE, price=0.002)
    result = until_stop(
        Alone(tuner), executor, LoopOrder(hill, jobs=4), Listeners([lambda tuner, event: heard.append(event)])
    )
    assert isinstance(heard[-1], Stop)
    assert heard[-1] is result.decisions[-1]
    assert sum(isinstance(event, Stop) for event in heard) == 1
    assert len(result.history) == sum(isinstance(event, Train) for event in heard)
    assert isinstance(heard[-2], autobct.Run)
    assert not tuner.under_way


def test_max_runs_and_max_cost_count_what_is_running() -> None:
    executor = Shuffled([2] * 9)
    result = until_stop(Alone(Tuner(SQUARE, price=1e-6, max_runs=6)), executor, LoopOrder(hill, jobs=4), Listeners([]))
    assert (len(result.history), executor.most) == (6, 4)
    tuner = Tuner(SQUARE, price=1e-6, max_cost=5.0, cost_range=(0.9, 1.1))
    first = until_stop(Alone(tuner), Shuffled([1] * 40), LoopOrder(lambda p: (hill(p)[0], 1.0), jobs=4), Listeners([]))
    assert 3 <= len(first.history) <= 5


def test_a_bug_in_train_ends_the_tuning_and_all_that_is_running() -> None:
    def train(params: dict[str, Any]) -> float:
        raise KeyError("rate")

    executor = Shuffled([])
    with pytest.raises(TuningError, match="runs 1 and 2 both failed with KeyError: 'rate'") as caught:
        until_stop(Alone(Tuner(LINE, price=0.01)), executor, LoopOrder(train, jobs=4), Listeners([]))
    assert isinstance(caught.value.__cause__, KeyError)
    assert executor.running == []


def test_interrupted_it_returns_what_there_is_and_ends_the_rest() -> None:
    class Interrupted(Shuffled):
        def wait(self) -> EndedRun[Any]:
            if not self.order:
                raise KeyboardInterrupt
            return super().wait()

    executor = Interrupted([0, 0])
    result = until_stop(Alone(Tuner(SQUARE, price=1e-5)), executor, LoopOrder(hill, jobs=3), Listeners([]))
    assert result.why == "Interrupted after 2 runs."
    assert len(result.decisions) == 2 + 3  # and those that were running
    assert executor.running == []
    with pytest.raises(KeyboardInterrupt):
        until_stop(Alone(Tuner(SQUARE, price=0.01)), Interrupted([]), LoopOrder(hill, jobs=3), Listeners([]))


class Losing(Shuffled):
    """Loses the worker of the second run so many times."""

    times = 1

    def wait(self) -> EndedRun[Any]:
        ended = super().wait()
        if ended.number != 1 or not self.times:
            return ended
        self.times -= 1
        return EndedRun(ended.number, error=WorkerLostError("the worker ended"))


def test_the_run_of_a_lost_worker_is_made_again() -> None:
    told: list[str] = []
    heard = Listeners([lambda tuner, event: told.append(event.text) if isinstance(event, autobct.Note) else None])
    result = until_stop(Alone(Tuner(SQUARE, price=0.002)), Losing([]), LoopOrder(hill, jobs=2), heard)
    assert all(run.error is None for run in result.history)
    assert "Run 2: the worker ended. It is made again." in told


def test_a_run_that_loses_its_worker_twice_has_failed() -> None:
    executor = Losing([])
    executor.times = 2
    result = until_stop(Alone(Tuner(SQUARE, price=0.002)), executor, LoopOrder(hill, jobs=2), Listeners([]))
    assert [run.error for run in result.history if run.trial == 1] == ["the worker ended"]
    assert result.score > 0.85


# ---- threads and processes


def test_threads_share_memory_and_run_at_the_same_time() -> None:
    together = threading.Barrier(3)
    seen: set[int] = set()

    def train(params: dict[str, Any]) -> tuple[float, float]:
        if len(seen) < 3:
            seen.add(threading.get_ident())
            together.wait(timeout=30)  # only three at once get past it
        return hill(params)

    result = tune(train, SQUARE, price=1e-4, n_jobs=3, backend="threads", max_runs=6, cost_range=(0.5, 3))
    assert len(seen) == 3
    assert len(result.history) == 6


def test_processes_run_what_only_this_test_knows() -> None:
    """A closure; and the worker is another process, with its share of the cores."""
    here, offset = os.getpid(), 0.1

    def train(params: dict[str, Any]) -> tuple[float, float]:
        assert os.getpid() != here
        assert int(os.environ["OMP_NUM_THREADS"]) >= 1
        if params["x"] > 0.8:
            raise OddError(params["x"], "cannot be pickled back")
        return hill(params)[0] - offset, 1.0

    class OddError(Exception):
        def __init__(self, first: float, second: str) -> None:
            super().__init__(second)

    result = tune(train, {"x": Float(0, 1)}, price=0.003, n_jobs=2, guess={"x": 0.9}, max_runs=8)
    assert 0.7 < result.score <= 0.8
    assert all("OddError: cannot be pickled back" in run.error for run in result.history if run.error is not None)
    assert any(run.error for run in result.history)


def test_what_processes_raise_comes_back_with_its_traceback() -> None:
    def train(params: dict[str, Any]) -> float:
        raise LookupError("no data")

    with pytest.raises(TuningError, match="failed with LookupError: no data") as caught:
        tune(train, LINE, price=0.01, n_jobs=2)
    assert isinstance(caught.value.__cause__, WorkerError)
    assert "Traceback (most recent call last)" in str(caught.value.__cause__)


def test_a_worker_that_dies_is_replaced() -> None:
    executor: Processes[int] = Processes(1)
    try:
        executor.submit(0, lambda: os._exit(7))
        executor.submit(1, os.getpid)  # waits for room
        lost = executor.wait()
        assert isinstance(lost.error, WorkerLostError)
        assert "7" in str(lost.error)
        assert executor.wait().outcome != os.getpid()
        executor.submit(2, threading.Lock().acquire)
        refused = executor.wait().error
        assert isinstance(refused, TypeError)
        assert "cannot be sent to another process" in str(refused)
    finally:
        executor.cancel()


INTERRUPTED = """
import os, sys, time
from pathlib import Path
import autobct

def train(params):
    place = Path(sys.argv[1]) / str(os.getpid())
    place.touch()
    if len(list(place.parent.iterdir())) < 3 and not (place.parent / "done").exists():
        (place.parent / "done").touch()
        return 0.5
    time.sleep(600)

if __name__ == "__main__":
    print(autobct.tune(train, {"x": autobct.Float(0, 1)}, price="0.0001 per 1s", n_jobs=2).why)
"""


def test_ctrl_c_ends_the_workers_and_returns_the_result(tmp_path: Path) -> None:
    script, place = tmp_path / "script.py", tmp_path / "pids"
    script.write_text(INTERRUPTED)
    place.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.Popen(
        [sys.executable, str(script), str(place)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and len([path for path in place.iterdir() if path.name != "done"]) < 2:
        time.sleep(0.05)
    time.sleep(0.5)  # the first result is told, and the next run has begun
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all of them hear it
    out, _ = process.communicate(timeout=30)
    assert out.startswith("Interrupted after 1 run.")
    for path in place.iterdir():
        if path.name != "done":
            with pytest.raises(ProcessLookupError):
                os.kill(int(path.name), 0)


def test_without_joblib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib.externals.loky", None)
    with pytest.raises(ImportError, match=r"pip install 'autobct\[jobs\]', or write backend='threads'"):
        tune(hill, LINE, price=0.1, n_jobs=2)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"n_jobs": 0}, "n_jobs must be a whole number of at least 1, got 0; write e.g. 4"),
        ({"n_jobs": 2.5}, "n_jobs must be a whole number"),
        ({"backend": "dask"}, "backend must be 'processes' or 'threads', got 'dask'"),
        ({"price_of": "time"}, "price_of must be 'compute' or 'waiting', got 'time'"),
        ({"price_of": "waiting", "policy": autobct.relaxed(depth=2)}, 'price_of="waiting" works with the default'),
        ({"price_of": "waiting", "prior": "paper"}, 'price_of="waiting" works with the default policy and prior'),
    ],
)
def test_bad_input_is_refused(told: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tune(hill, LINE, price=0.1, **told)


def test_minus_one_is_all_cores() -> None:
    assert check_jobs(-1, "threads", "compute") == cores() >= 1


def test_executors_keep_the_order_in_which_runs_end() -> None:
    first, second = threading.Event(), threading.Event()
    executor: Threads[str] = Threads(2)
    executor.submit(0, lambda: str(first.wait(30)))
    executor.submit(1, lambda: str(second.wait(30)))
    second.set()
    assert executor.wait() == EndedRun(1, "True")
    first.set()
    assert executor.wait() == EndedRun(0, "True")
    here: Here[int] = Here()
    here.submit(5, lambda: 1)
    here.submit(6, lambda: 2)
    assert [here.wait(), here.wait()] == [EndedRun(5, 1), EndedRun(6, 2)]


# ---- a price of waiting


def test_a_run_that_ends_before_the_others_costs_nothing_and_one_alone_its_whole_price() -> None:
    tuner = Tuner(SQUARE, price="0.005 per 1s", prior="ensemble")
    tuner.tell(ask_train(tuner), 0.5, 1.0)
    tuner.tell(ask_train(tuner), 0.6, 1.2)
    alone, beside = (tuner.peek(None, Waiting(covered, 1)) for covered in (0.0, 50.0))
    compute = tuner.peek(None, FOUR)
    assert isinstance(compute, Train)
    assert isinstance(alone, Train)
    assert isinstance(beside, Train)
    assert numbers(alone) == numbers(compute)
    assert beside.price_of_run < 1e-6 * alone.price_of_run
    assert beside.expected_cost > 0.5  # it takes as long as ever


def test_the_price_of_a_wait_is_the_mean_of_what_sticks_out() -> None:
    """Against draws of the predicted cost."""
    tuner = Tuner(SQUARE, price="0.02 per 1s", prior="ensemble")
    tuner.tell(ask_train(tuner), 0.5, 1.0)
    position = tuner.position(None, Waiting(0.8, 1))
    train = tuner.peek(None, Waiting(0.8, 1))
    assert isinstance(train, Train)
    state, at = position.state, int(np.flatnonzero((position.problem.controls == train.control).all(axis=1))[0])
    sd = math.sqrt(variance(state.cost)[at] + state.cost_noise[at] ** 2)
    draws = np.exp(state.cost.mean[at] + sd * np.random.default_rng(0).standard_normal(400_000))
    seconds = draws * position.problem.cost_scale.unit
    assert train.price_of_run == pytest.approx(0.02 * np.maximum(seconds - 0.8, 0.0).mean(), rel=0.01)


@pytest.mark.parametrize("prior", ["ensemble", None])
def test_a_run_beside_longer_ones_is_charged_its_share_of_the_clock(prior: Any) -> None:
    """Whatever is covered: a quarter of its whole price with four jobs, by both surrogates."""
    tuner = Tuner(SQUARE, price="0.002 per 1s", prior=prior)
    tuner.tell(ask_train(tuner), 0.5, 1.0)
    tuner.tell(ask_train(tuner), 0.6, 1.2)
    whole, beside = (tuner.position(None, Waiting(covered, 1, 4)) for covered in (0.0, 50.0))
    prices = [
        [train_at(position, candidate, 0.0) for candidate in range(0, len(position.excluded), 40)]
        for position in (whole, beside)
    ]
    for alone, charged in zip(*prices, strict=True):
        price = alone.price_of_run - alone.overhead
        assert charged.price_of_run - charged.overhead == pytest.approx(price / 4, rel=1e-6)
        assert charged.expected_cost == pytest.approx(alone.expected_cost)
    sixteen = tuner.peek(None, Waiting(50.0, 1, 16))
    assert isinstance(sixteen, Train)
    assert sixteen.price_of_run < min(run.price_of_run for run in prices[0])


def test_runs_that_are_not_worth_their_wait_alone_may_be_together() -> None:
    tuner = Tuner(SQUARE, price="0.02 per 1s", prior="ensemble")
    while isinstance(decision := tuner.peek(None, Waiting(0.0, 1)), Train):
        tuner.tell(ask_train(tuner), hill(decision.params)[0], 1.0)
    alternative = decision.best_alternative
    assert alternative is not None
    assert alternative.expected_gain < alternative.price_of_run
    together = tuner.peek(None, Waiting(0.0, 64))
    assert isinstance(together, Train)
    assert together.control.tolist() == alternative.control.tolist()
    gain = cost = 0.0
    other = tuner.twin()
    for _ in range(64):  # what the rule says, added up by hand: gains one after the other, the price once
        step = other.peek(None, Waiting(cost, 1))
        train = step if isinstance(step, Train) else step.best_alternative
        assert train is not None
        gain, cost = gain + train.expected_gain, max(cost, train.expected_cost)
        if gain > 0.02 * cost:
            break
        other.adopt(train)
    assert gain > 0.02 * cost


def test_what_is_running_covers_until_its_last_run_is_expected_to_end() -> None:
    tuner = Tuner(SQUARE, price="0.02 per 1s")
    trains = [ask_train(tuner), ask_train(tuner)]
    costs = [train.expected_cost for train in trains]
    begun = list(zip((100.0, 100.2), trains, strict=True))
    found = waiting_for(begun, 100.3, 4, "waiting")
    assert found is not None
    assert found.covered == pytest.approx(max(costs[0] - 0.3, costs[1] - 0.1, 0.0))
    assert found.free == 2
    assert waiting_for(begun, 1e6, 2, "waiting") == Waiting(0.0, 1, 2)
    assert waiting_for([], 0.0, 4, "waiting") == Waiting(0.0, 4, 4)


def test_waiting_counts_seconds_so_train_may_not_return_a_cost() -> None:
    with pytest.raises(TuningError, match='price_of="waiting" counts seconds; return the score alone'):
        tune(hill, SQUARE, price=0.1, n_jobs=2, backend="threads", price_of="waiting")


def runs_on_a_clock(price_of: str) -> int:
    """How many runs four jobs make of trainings that take 0.1 to 0.3 seconds on a clock of their own."""
    tuner, running, now = Tuner(SQUARE, price="0.002 per 0.2s", max_runs=30), list[tuple[float, float, Train]](), 0.0
    while True:
        while len(running) < places(tuner, 4):
            waiting = waiting_for([(began, train) for _, began, train in running], now, 4, price_of)
            decision = tuner.ask(None, waiting)
            if not isinstance(decision, Train):
                break
            running.append((now + 0.1 + 0.2 * decision.control[0], now, decision))
        if not running:
            return len(tuner.history)
        ended = min(running, key=lambda run: (run[0], run[2].trial))
        running.remove(ended)
        now = ended[0]
        tuner.tell(ended[2], hill(ended[2].params)[0], ended[0] - ended[1])


def test_waiting_makes_more_runs_than_computing_at_the_same_price() -> None:
    assert runs_on_a_clock("waiting") > runs_on_a_clock("compute")


# ---- the log


def test_the_log_is_silent_until_somebody_listens(caplog: pytest.LogCaptureFixture) -> None:
    code = "import autobct; autobct.tune(lambda p: 1 / 0 if p['x'] > 0.6 else 0.5, {'x': autobct.Float(0, 1)}, price=1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    with caplog.at_level(logging.DEBUG, logger="autobct"):
        result = tune(lambda p: hill(p) if p["x"] < 0.7 else float("nan"), LINE, price=0.01, guess={"x": 0.9})
    levels = [record.levelno for record in caplog.records]
    failed = sum(run.error is not None for run in result.history)
    assert levels.count(logging.DEBUG) == len(result.history)
    assert levels.count(logging.WARNING) == failed > 0
    assert caplog.records[-1].getMessage() == result.decisions[-1].why
    assert {record.name for record in caplog.records} == {"autobct"}


def test_the_example_runs() -> None:
    path = Path(__file__).parents[2] / "examples" / "side_by_side.py"
    assert len(path.read_text("utf-8").splitlines()) < 40
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert "compute: " in done.stdout
    assert "waiting: " in done.stdout


def test_an_interruption_while_runs_are_being_ended_ends_them_at_once() -> None:
    asked: list[int] = []
    ended = threading.Event()

    def end() -> None:
        asked.append(1)
        if len(asked) == 1:
            raise KeyboardInterrupt
        ended.set()

    threads: Threads[bool] = Threads(1, end=end)
    threads.submit(0, ended.wait)
    threads.cancel()
    assert len(asked) == 2
