"""Several trainings at once, each in a process of its own: what one does is no concern of the others."""

from __future__ import annotations

import os
import pickle
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.faults import bad_trainings as bad
from tests.faults.scripts import all_ended, script, stopped_twice, waited_for

import autobct
from autobct.run import processes
from autobct.tuning.jobs import Isolation
from autobct.tuning.loop import Alone
from autobct.tuning.training import Measured, Times, Training, TrainingError, summed_up

SPACE = {"x": autobct.Float(0, 1)}
SEVERAL = "isolate=True, n_jobs=3, callbacks=[told]"
GUARD = """
def told(tuner, event):
    if isinstance(event, autobct.Run):
        pathlib.Path(sys.argv[1]).joinpath("told").touch()

if __name__ == "__main__":
"""


def crashes_at_the_right(params: dict[str, Any]) -> Any:
    if params["x"] <= 0.6:
        return bad.good(params)
    time.sleep(1.0)  # those on the left are done by then
    return bad.segfaults(params)


def names_its_parent(params: dict[str, Any]) -> Any:
    print(os.environ["OMP_NUM_THREADS"], flush=True)
    return bad.good(params)


def is_measured(params: dict[str, Any]) -> Measured:
    return Measured(0.8, 2.0, lost=3.0)


def fails_elsewhere(params: dict[str, Any]) -> float:
    raise TrainingError("ended after 5 s by Isolation.timeout", 5.0, 1.5, limited=True)


def test_a_crash_is_one_failed_run_and_the_others_go_on() -> None:
    settings: Any = {"price": 1e-6, "cost_range": (0.5, 2.0), "max_runs": 6}
    result = autobct.tune(crashes_at_the_right, SPACE, n_jobs=3, isolate=True, **settings)
    assert len(result.history) == 6
    for run in result.history:
        assert (run.error == "killed by SIGSEGV") == (run.params["x"] > 0.6)
    assert any(run.error for run in result.history)
    assert result.score == pytest.approx(bad.good(result.params)[0])
    assert result.n_jobs == 3


def test_a_limit_that_ends_the_first_runs_is_no_bug_in_train() -> None:
    isolation = Isolation(timeout=0.5)
    with pytest.raises(autobct.TuningError) as nothing:
        autobct.tune(bad.hangs, SPACE, price=0.01, n_jobs=2, isolate=isolation, max_runs=3)
    assert len(nothing.value.history) == 3
    assert {run.error for run in nothing.value.history} == {"ended after 0.5 s by Isolation.timeout"}
    assert "bug" not in str(nothing.value)


def test_each_has_its_share_of_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr("autobct.run.executors.cores", lambda: 6)
    isolation = Isolation(output=tmp_path)
    autobct.tune(names_its_parent, SPACE, price=0.001, n_jobs=2, isolate=isolation, max_runs=2)
    assert [path.read_text() for path in sorted(tmp_path.glob("*/stdout.txt"))] == ["3\n", "3\n"]


@pytest.mark.skipif(not processes.LINUX, reason="only Linux tells which processes belong to another")
def test_ctrl_c_ends_all_trainings_and_returns_what_there_is(tmp_path: Path) -> None:
    with script(tmp_path, "polite", GUARD, SEVERAL) as process:
        waited_for(tmp_path / "told")
        waited_for(tmp_path / "second")
        below = [one.pid for one in processes.family(process.pid, None) if one.pid != process.pid]
        assert below
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "1 Interrupted after 1 run.\n", err
    assert all_ended(below)


def test_ctrl_c_twice_does_not_wait_for_trainings_that_will_not_end(tmp_path: Path) -> None:
    with script(tmp_path, "stubborn", GUARD, SEVERAL) as process:
        waited_for(tmp_path / "told")
        out, err = stopped_twice(process, tmp_path)
    assert out == "1 Interrupted after 1 run.\n", err
    assert not (tmp_path / "stayed").exists()


@pytest.mark.skipif(not processes.LINUX, reason="only Linux tells which processes belong to another")
def test_the_death_of_the_tuner_ends_trainings_in_plain_processes(tmp_path: Path) -> None:
    """Otherwise the next call would make their runs beside them."""
    with script(tmp_path, "polite", GUARD, "n_jobs=3, callbacks=[told]") as process:
        waited_for(tmp_path / "told")
        waited_for(tmp_path / "second")
        below = [one.pid for one in processes.family(process.pid, None) if one.pid != process.pid]
        assert len(below) >= 3
        process.kill()
    assert all_ended(below, within=30.0)


def test_what_was_measured_elsewhere_crosses_processes_and_is_charged() -> None:
    [made] = pickle.loads(pickle.dumps(Training(is_measured, {"x": 0.5})()))
    assert (made.score, made.seconds, made.lost) == (0.8, 2.0, 3.0)
    tuner = autobct.Tuner(SPACE, price="0.01 per 1s")
    times = Times(time.perf_counter(), in_seconds=True)
    decision = tuner.ask()
    assert isinstance(decision, autobct.Train)
    outcome = summed_up([made], decision.expected_cost, times)
    assert (outcome.score, outcome.cost) == (0.8, 2.0)
    tuner.tell(decision, outcome.score, outcome.cost)
    times.charge(Alone(tuner))
    assert 3.0 <= tuner.charged <= 3.0 + times.elapsed
    charged = tuner.charged
    times.charge(Alone(tuner))  # what was lost is charged once
    assert tuner.charged < charged + 3.0


def test_a_failure_elsewhere_says_what_it_took_and_whether_a_limit_ended_it() -> None:
    [made] = pickle.loads(pickle.dumps(Training(fails_elsewhere, {"x": 0.5})()))
    assert (made.error, made.seconds, made.lost, made.limited) == (
        "ended after 5 s by Isolation.timeout",
        5.0,
        1.5,
        True,
    )
    times = Times(time.perf_counter(), in_seconds=True)
    outcome = summed_up([made], 1.0, times)
    assert (outcome.cost, outcome.raised, times.lost, times.finished) == (5.0, False, 1.5, False)
