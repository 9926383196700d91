"""Trainings in a process of their own: whatever they do, the run has a documented outcome and the tuner goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.faults import bad_trainings as bad
from tests.faults.scripts import all_ended, script, stopped_twice, waited_for

import autobct
from autobct.run import processes
from autobct.run.isolated import NotIsolatedError, RemoteTraceback, isolated
from autobct.tuning.jobs import Isolation
from autobct.tuning.returned import WrongReturnError
from autobct.tuning.training import Measured, TrainingError

SPACE = {"x": autobct.Float(0, 1)}
AT = {"x": 0.5}
GOOD = (0.96, 1.0)

RETURNS = {
    bad.good: GOOD,
    bad.is_huge: (1e300, 0.0),
    bad.costs_nothing: (0.96, 0.0),
    bad.costs_less_than_nothing: (0.5, -1.0),
    bad.costs_too_much: (0.5, 1e308),
    bad.floods: GOOD,
    bad.forks: GOOD,
    bad.comes_back_twice: GOOD,
}

FAILS = {
    bad.raises: "RuntimeError: no such layer at 0.500",
    bad.exits: "SystemExit: 3",
    bad.segfaults: "killed by SIGSEGV",
    bad.aborts: "killed by SIGABRT",
    bad.leaves: "ended with exit code 0 and returned nothing; did it call os._exit?",
    bad.is_killed: "ended twice from outside, as the system does when memory runs out: killed by SIGKILL",
}


@pytest.mark.parametrize("train", RETURNS, ids=lambda train: train.__name__)
def test_what_a_training_returns_comes_back_bit_for_bit(train: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = f"{os.getpid()}-{train.__name__}"
    monkeypatch.setattr("autobct.run.process.secrets.token_hex", lambda _: mark)
    found = isolated(train, Isolation())(AT)
    assert found.returned == RETURNS[train]
    assert found.seconds >= 0.0
    assert processes.marked(f":{mark}") == []  # nothing that it started is left


@pytest.mark.parametrize("train", FAILS, ids=lambda train: train.__name__)
def test_a_training_that_fails_says_how(train: Any) -> None:
    with pytest.raises(TrainingError) as failed:
        isolated(train, Isolation())(AT)
    assert str(failed.value).startswith(FAILS[train])
    assert failed.value.lost > 0.0 or train is not bad.is_killed
    if train is bad.raises:
        assert isinstance(failed.value.__cause__, RemoteTraceback)
        assert "in raises" in str(failed.value.__cause__)


def test_limits_of_time_and_memory() -> None:
    with pytest.raises(TrainingError, match=r"ended after 0.5 s by Isolation.timeout") as late:
        isolated(bad.hangs, Isolation(timeout=0.5))(AT)
    assert late.value.limited
    with pytest.raises(TrainingError, match=r"ended at more than 400 MB of memory by Isolation.memory"):
        isolated(bad.eats_memory, Isolation(memory="400 MB"))(AT)


def test_a_wrong_return_type_ends_the_tuning_in_the_same_words() -> None:
    said = []
    for isolate in (False, True):
        with pytest.raises(autobct.TuningError) as failed:
            autobct.tune(bad.is_text, SPACE, price=0.01, isolate=isolate)
        said.append(str(failed.value))
    assert said[0] == said[1]
    assert isinstance(failed.value.__cause__, WrongReturnError)


@pytest.mark.parametrize("train", [bad.is_nan, bad.is_infinite], ids=lambda train: train.__name__)
def test_what_is_not_finite_is_a_failed_run_in_the_same_words(train: Any) -> None:
    errors = []
    for isolate in (False, True):
        with pytest.raises(autobct.TuningError) as failed:
            autobct.tune(train, SPACE, price=0.01, isolate=isolate, max_runs=1)
        errors.append(failed.value.history[0].error)
    assert errors[0] == errors[1]
    assert "must be finite" in str(errors[0])


def test_an_isolated_tuning_is_the_same_tuning() -> None:
    alone = autobct.tune(bad.good, SPACE, price=0.05, max_runs=3)
    apart = autobct.tune(bad.good, SPACE, price=0.05, max_runs=3, isolate=True)
    assert [(run.params, run.score, run.cost) for run in alone.history] == [
        (run.params, run.score, run.cost) for run in apart.history
    ]
    assert alone.why == apart.why


def test_what_is_printed_is_kept_and_bounded(tmp_path: Path) -> None:
    train = isolated(bad.floods, Isolation(output=tmp_path / "kept"))
    train(AT)
    train(AT)
    assert sorted(folder.name for folder in (tmp_path / "kept").iterdir()) == ["0001", "0002"]
    assert (tmp_path / "kept" / "0001" / "params.json").read_text() == '{"x": 0.5}\n'
    assert (tmp_path / "kept" / "0002" / "stdout.txt").stat().st_size < 17_000_000


def test_functions_that_cannot_be_sent_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"train cannot be sent to a process of its own: .* top level of a module"):
        autobct.tune(lambda params: 0.5, SPACE, price=0.01, isolate=True)


def test_a_session_without_a_file_can_isolate_functions_of_modules_only() -> None:
    code = (
        "import autobct\nfrom tests.faults import bad_trainings as bad\ndef train(params):\n    return 0.5\n\n"
        "for each in (bad.good, train):\n    try:\n"
        "        found = autobct.tune(each, {'x': autobct.Float(0, 1)}, price=0.01, max_runs=1, isolate=True)\n"
        "        print(len(found.history))\n"
        "    except TypeError as error:\n        print(error)\n"
    )
    found = subprocess.run(
        [sys.executable],
        input=code,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=120,
    )
    one, refused = found.stdout.splitlines()
    assert one == "1", found.stderr
    assert "interactive session, which another process cannot import; define it at the top level" in refused


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"timeout": "soon"}, "timeout must be a time, got 'soon'; write seconds, '10 min' or '2h'"),
        ({"timeout": 0}, "timeout must be a time, got 0"),
        ({"timeout": True}, "timeout must be a time, got True"),
        ({"memory": "4"}, "memory must be an amount of memory of at least 1 MB, got '4'; write e.g. \"4 GB\""),
        ({"memory": 4}, "memory must be an amount of memory of at least 1 MB, got 4"),
        ({"memory": float("nan")}, "memory must be an amount of memory"),
    ],
)
def test_limits_that_make_no_sense(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence.replace('(', '.')}"):
        Isolation(**given)


def test_what_isolate_and_output_may_be() -> None:
    assert Isolation(timeout="2 min", memory="1.5 GiB").seconds == 120.0
    assert Isolation(memory="1.5 GiB").bytes == 1.5 * 2**30
    with pytest.raises(TypeError, match=r"isolate must be True, False or an Isolation, got 60"):
        autobct.tune(bad.good, SPACE, price=0.01, isolate=60)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="output must be a folder, got 7"):
        Isolation(output=7)  # type: ignore[arg-type]


def test_ctrl_c_ends_the_training_and_returns_what_there_is(tmp_path: Path) -> None:
    with script(tmp_path, "polite") as process:
        waited_for(tmp_path / "second")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert out == "1 Interrupted after 1 run.\n", err


def test_ctrl_c_twice_does_not_wait_for_a_training_that_will_not_end(tmp_path: Path) -> None:
    with script(tmp_path, "stubborn") as process:
        out, err = stopped_twice(process, tmp_path)
    assert out == "1 Interrupted after 1 run.\n", err
    assert not (tmp_path / "stayed").exists()


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    with script(tmp_path, "polite", "if True:") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert not out
    assert "train cannot be called in a process of its own: RuntimeError: tune(isolate=True) was called while" in err
    assert "if __name__ == '__main__':" in err


@pytest.mark.skipif(not processes.LINUX, reason="only Linux finds what a killed keeper has left")
def test_the_death_of_the_tuner_ends_the_training(tmp_path: Path) -> None:
    with script(tmp_path, "polite") as process:
        waited_for(tmp_path / "second")
        found = [process_.pid for process_ in processes.family(process.pid, None)]
        process.kill()
        process.communicate()
    assert all_ended(found, within=30.0)


def test_a_training_that_cannot_be_imported_there_ends_the_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    train = isolated(bad.good, Isolation())
    monkeypatch.setattr("autobct.run.isolated._pickled", lambda *_: b"cno_such_module\ntrain\n.")
    with pytest.raises(NotIsolatedError, match="train cannot be called in a process of its own: ModuleNotFoundError"):
        train(AT)


def test_an_answer_that_was_given_counts_whatever_comes_after() -> None:
    found = isolated(bad.ends_badly_after_it_returned, Isolation())(AT)
    assert isinstance(found, Measured)
    assert found.returned == GOOD
