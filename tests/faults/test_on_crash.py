"""What becomes of runs that a crash has cut short, as the user chooses: programs in a folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.faults.commands import TOML as TWENTY
from tests.faults.commands import TRAIN, Command
from tests.run.cases import TOML, told, tune, write_job

from autobct.run import job as jobs
from autobct.run import processes
from autobct.run.interrupts import Interrupts
from autobct.run.job import Job, opened
from autobct.run.journal import JournalError, read_journal
from autobct.run.journal_replay import cut_short
from autobct.run.process import LOST
from autobct.run.recorded import _written
from autobct.run.run_clock import DIED, RunClock
from autobct.run.session import Session
from autobct.run.trial import Trainer
from autobct.tuning.progress import Listeners

SIX = TWENTY.replace("max_runs = 20", "max_runs = 6")
# Programs hang until somebody has come by.
WAITS = TRAIN.replace("sleep", "[ -e went ] || sleep 300\nsleep", 1)


def killed(folder: Path, toml: str = SIX) -> Command:
    """A command that was killed with all its keepers while three programs ran."""
    what = Command.new(folder, "--jobs", "3", "--on-crash", "fail", toml=toml, script=WAITS)
    with what.start() as tuner:
        what.wait_for(tuner, 3)
        keepers = [process.pid for process in processes.family(tuner.pid, None) if process.parent == tuner.pid]
        os.kill(tuner.pid, signal.SIGSTOP)
        for pid in (*keepers, tuner.pid):
            os.kill(pid, signal.SIGKILL)
        tuner.communicate()
    (folder / "went").touch()
    return what


@pytest.mark.skipif(not processes.LINUX, reason="only Linux says which processes belong together")
def test_all_runs_that_were_cut_short_have_failed_and_none_is_begun_again(tmp_path: Path) -> None:
    what = killed(tmp_path)
    cut = cut_short(read_journal(what.results / "journal.jsonl"))
    assert sorted(cut) == [0, 1, 2]
    with what.start() as tuner:
        said, _ = tuner.communicate()
    assert tuner.returncode == 4, said
    assert "Cut short when the process died, and counted as failed: runs 1, 2, 3." in said
    assert {trial: what.on_record()[trial] for trial in cut} == {t: (None, cost, DIED) for t, cost in cut.items()}
    assert sorted(what.started()) == list(range(6))
    assert what.is_quiet()
    with what.start() as tuner:  # what was said once is not said again
        said, _ = tuner.communicate()
    assert "Cut short" not in said
    assert len(what.on_record()) == 6


@pytest.mark.slow
@pytest.mark.skipif(not processes.LINUX, reason="only Linux says which processes belong together")
def test_the_same_journal_may_be_continued_the_other_way(tmp_path: Path) -> None:
    what = killed(tmp_path)
    again = Command(tmp_path, ("--jobs", "3"))
    with again.start() as tuner:
        said, _ = tuner.communicate()
    assert tuner.returncode == 4, said
    assert all(error is None for _, _, error in what.on_record().values())
    assert sorted(what.started()) == [0, 0, 1, 1, 2, 2, 3, 4, 5]


def test_a_journal_that_is_inconsistent_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    tune(path)
    journal = tmp_path / "tune.run" / "journal.jsonl"
    records = [record for record in read_journal(journal) if record["kind"] != "stopped"]
    last = max(place for place, record in enumerate(records) if record["kind"] == "told")
    records[last] = {**records[last], "trial": 900}  # a run without an outcome, and an outcome without a run
    journal.write_bytes(_written(records))
    before = journal.read_bytes()
    with pytest.raises(JournalError, match="inconsistent"), opened(Job.of(path), fresh=False, on_crash="fail"):
        pass
    assert journal.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b'{"0": NaN}',
        b'{"0": 1e999}',
        b'{"0": -1}',
        b'{"0": "1"}',
        b"[]",
        b"\xff",
        b'{"0": ' + b"9" * 400,
    ],
)
def test_a_clock_that_is_none_of_ours_costs_the_times_in_it_only(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "running.json").write_bytes(text)
    with contextlib.closing(RunClock(tmp_path, 60.0)) as clock:
        assert clock.seconds(0) == 0.0


def test_the_time_of_a_run_that_ended_or_began_again_is_taken_back(tmp_path: Path) -> None:
    """Otherwise seconds that were charged when it was given up would be charged once more after a crash."""
    file = tmp_path / "running.json"
    with contextlib.closing(RunClock(tmp_path, 0.02)) as clock:
        clock.begin(3)
        while '"3"' not in (file.read_text() if file.exists() else ""):
            time.sleep(0.01)
        clock.finish(3)
        assert json.loads(file.read_text()) == {}
    file.write_text('{"3": 50.0, "4": 60.0}')
    with contextlib.closing(RunClock(tmp_path, 60.0)) as clock:
        assert (clock.seconds(3), clock.seconds(4)) == (50.0, 60.0)
        clock.begin(3)
        assert json.loads(file.read_text()).keys() == {"3"}
        assert json.loads(file.read_text())["3"] < 50.0


def test_nor_is_a_pipe_in_its_place_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "running.json")
    with contextlib.closing(RunClock(tmp_path, 60.0)) as clock:
        assert clock.seconds(0) == 0.0


def asked(trial: int) -> dict[str, Any]:
    return {"kind": "asked", "decision": {"trial": trial, "expected_cost": 2.0 + trial}}


def test_only_a_crash_cuts_a_run_short() -> None:
    one, given_up = asked(0), {"kind": "charged", "trial": 0, "cost": 1.0, "why": "interrupted"}
    assert cut_short([one, given_up]) == {}
    assert cut_short([one, {**given_up, "why": LOST, "again": True}]) == {0: 2.0}
    assert cut_short([one, given_up, {"kind": "again", "trials": [0]}]) == {0: 2.0}
    assert cut_short([one, given_up, {"kind": "again", "trials": [0]}, {"kind": "stopped"}]) == {}
    assert cut_short([one, asked(1), {"kind": "told", "trial": 0}]) == {1: 3.0}
    with pytest.raises(JournalError, match="inconsistent"):
        cut_short([{"kind": "again", "trials": [7]}])


def test_the_cost_of_a_run_that_is_time_is_what_was_last_heard_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "INTERVAL", 0.05)
    timed = TOML.replace('measure = "told"', 'measure = "wall"').replace("price = 0.004", 'price = "0.004 per 1s"')
    path = write_job(tmp_path, timed + "[limits]\nmax_runs = 2\n")
    clock = tmp_path / "tune.run" / "running.json"

    class Died(BaseException):
        pass

    def die(*_: Any) -> None:
        while not clock.exists() or json.loads(clock.read_text()).get("0", 0.0) < 0.2:
            time.sleep(0.01)
        raise Died

    monkeypatch.setattr(Trainer, "train", die)
    with pytest.raises(Died):
        tune(path)
    monkeypatch.undo()
    with opened(Job.of(path), fresh=False, on_crash="fail") as folder:
        assert "Cut short when the process died, and counted as failed: run 1." in folder.again.note
        Session(Job.of(path), folder, Listeners([]), Interrupts()).go_on()
    first, second = told(tmp_path / "tune.run")
    assert (first["score"], first["error"], second["error"]) == (None, DIED, None)
    assert float(str(first["cost"])) >= 0.2
