"""Failures that are not the params' fault: a script that is gone, a program that was killed, a tuner that forks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, TRAIN, decided, gone_for_a_moment, told, tune, write_job

import autobct
from autobct.run import read_run, stored
from autobct.run.job import Job
from autobct.run.session import tune_program
from autobct.tuning.history import Stop, Train
from autobct.tuning.progress import Listeners

CHEAP = TOML.replace("price = 0.004", "price = 0.0005")
ONCE = '[ -e "$0.gone" ] && exit 9\nx=$1'  # as if the script it calls were gone


def kinds(folder: Path) -> list[str]:
    from autobct.run.journal import read_journal

    return [record["kind"] for record in read_journal(folder / "journal.jsonl")]


def test_ten_failures_end_a_tuning_and_the_same_command_goes_on(tmp_path: Path) -> None:
    path = write_job(tmp_path, CHEAP, TRAIN.replace("x=$1", ONCE))
    gone = tmp_path / "train.sh.gone"
    broken = TRAIN.replace("x=$1", '[ "$(ls tune.run/runs | wc -l)" -gt 2 ] && touch "$0.gone"\n' + ONCE)
    write_job(tmp_path, CHEAP, broken)
    ending = tune(path)
    assert ending.stop is not None
    assert ending.stop.reason == "failing"
    failed = [run for run in ending.tuner.history if run.error is not None]
    assert len(failed) == 10
    gone.unlink()
    write_job(tmp_path, CHEAP)
    again = tune(path)
    assert again.code == 0
    assert not any(run.error for run in again.tuner.history[len(ending.tuner.history) :])
    assert len(again.tuner.history) > len(ending.tuner.history)
    assert again.tuner.memory.excluded == frozenset()  # none of the ten is barred
    assert kinds(tmp_path / "tune.run").count("forgiven") == 1
    assert decided(tune(path)) == decided(again)
    assert read_run(path).tuner.memory.forgiven == again.tuner.memory.forgiven


def test_forgiven_failures_leave_the_belief_as_if_they_had_not_been(tmp_path: Path) -> None:
    """Derived independently: a tuner that never saw them."""
    for prior in (None, "paper"):
        never = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.001, prior=prior)
        tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.001, prior=prior)
        for number in range(4):
            decision = tuner.ask()
            assert isinstance(decision, Train)
            if number < 2:
                tuner.tell(decision, score=0.5 + 0.1 * number, cost=1.0)
                never.adopt(decision)
                never.tell(decision, score=0.5 + 0.1 * number, cost=1.0)
            else:
                tuner.tell(decision, error="gone", cost=9.0)
        assert tuner.forgive() == 2
        assert tuner.forgive() == 0
        assert tuner.belief.score.mean.tolist() == never.belief.score.mean.tolist()
        assert tuner.belief.cost.cov.tolist() == never.belief.cost.cov.tolist()
        assert tuner.total_cost == 20.0
        assert len(tuner.history) == 4


def test_a_stored_tuning_goes_on_after_ten_failures(tmp_path: Path) -> None:
    def new() -> autobct.Tuner:
        return autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-6)

    with stored(new(), tmp_path) as kept:
        while isinstance(decision := kept.ask(), Train):
            kept.tell(decision, error="the disk was not mounted", cost=0.1)
        assert decision.reason == "failing"
    for _ in range(2):  # once more: what was forgiven stands in the journal
        with pytest.warns(RuntimeWarning, match="The last 10 runs failed; they are not held") if not _ else _quiet():
            opened = stored(new(), tmp_path)
            kept = opened.__enter__()
        assert isinstance(kept.ask(), Train)
        opened.__exit__(None, None, None)


def _quiet() -> Any:
    import warnings

    return warnings.catch_warnings()


def test_a_program_that_is_gone_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.retries._RETRY", 0.05)
    path = write_job(tmp_path)
    whole = tune(write_job(_folder(tmp_path / "whole")))
    said, hear = gone_for_a_moment(tmp_path)
    ending = tune_program(Job.of(path), Listeners([hear]))
    assert any("Run 2 could not be started: command not found" in text for text in said)
    assert decided(ending) == decided(whole)
    assert {folder.name for folder in (tmp_path / "tune.run" / "runs").iterdir()} == {
        f"{number + 1:04d}" for number in range(len(ending.tuner.history))
    }


def test_a_program_that_stays_away_ends_the_tuning_and_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.retries.WAIT", 0.1)
    path = write_job(tmp_path, script=TRAIN + "rm train.sh\n")
    ending = tune(path)
    assert ending.stop is not None
    assert (ending.stop.reason, ending.code) == ("not started", 1)
    assert "run the same command when it is back" in ending.stop.why
    assert [run["error"] for run in told(tmp_path / "tune.run")] == [None]
    write_job(tmp_path)
    assert decided(tune(path)) == decided(tune(write_job(_folder(tmp_path / "whole"))))


@pytest.mark.parametrize("how", ["kill -KILL $$", "kill -TERM $$", "sh -c 'kill -KILL $$'; exit $?"])
def test_a_program_that_somebody_killed_is_made_again(tmp_path: Path, how: str) -> None:
    whole = tune(write_job(_folder(tmp_path / "whole")))
    killed = TRAIN.replace("x=$1", f"[ -e one ] || {{ touch one; echo begun; {how}; }}\nx=$1")
    ending = tune(write_job(tmp_path, script=killed))
    assert not any(run.error for run in ending.tuner.history)
    params = [run.params for run in ending.tuner.history]
    assert params == [run.params for run in whole.tuner.history]
    assert "charged" in kinds(tmp_path / "tune.run")
    assert (tmp_path / "tune.run" / "runs" / "0001.interrupted-1").exists()


def test_threads_share_a_tuner(tmp_path: Path) -> None:
    with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-7, max_runs=60), tmp_path) as kept:
        errors: list[BaseException] = []

        def work() -> None:
            try:
                while isinstance(decision := kept.ask(), Train):
                    kept.tell(decision, score=1 - (decision.params["x"] - 0.3) ** 2, cost=1.0)
                    kept.tuner.explain()
                    kept.tuner.twin()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        made = sorted(run.trial for run in kept.tuner.history)
        assert made == list(range(len(made)))
        assert not kept.tuner.under_way
    with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-7, max_runs=60), tmp_path) as again:
        assert sorted(run.trial for run in again.tuner.history) == made


FORKED = """
import os, sys, copy
import autobct
from autobct.run import stored

with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-4), sys.argv[1]) as kept:
    decision = kept.ask()
    child = os.fork()
    if child == 0:
        said = []
        for do in (kept.ask, lambda: kept.tell(decision, 0.5, 1.0), kept.tuner.ask, lambda: kept.tuner.charge(1.0)):
            try:
                do()
            except RuntimeError as error:
                said.append("fork" in str(error) and f"process {os.getppid()}" in str(error))
        own = copy.copy(kept.tuner)
        own.tell(decision, 0.5, 1.0)
        print(said, len(own.history), len(kept.tuner.history), kept.tuner.explain() is not None, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    kept.tell(decision, 0.9, 1.0)
with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-4), sys.argv[1]) as kept:
    print([run.score for run in kept.tuner.history])
"""


def test_a_forked_copy_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path)], capture_output=True, text=True, timeout=60
    )
    assert found.stdout.splitlines() == ["[True, True, True, True] 1 0 True", "[0.9]"], found.stderr


ORPHAN = """
import os, sys, time
import autobct
from autobct.run import stored

with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-4), sys.argv[1]) as kept:
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    print("ready", flush=True)
    time.sleep(60)
"""


def test_an_orphan_does_not_hold_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.lock._PATIENCE", 0.0)
    with subprocess.Popen(
        [sys.executable, "-c", ORPHAN, str(tmp_path)], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        process.wait()
        try:
            with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-4), tmp_path) as kept:
                assert isinstance(kept.ask(), Train | Stop)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
