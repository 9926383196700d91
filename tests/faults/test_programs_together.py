"""Programs on a database that are killed, gone or hanging, not by the fault of their params: as in a folder."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.faults.work import SPACE, settings
from tests.run.cases import TOML, TRAIN, decided, gone_for_a_moment, tune, write_job

import autobct
from autobct.integrations.storage import shared
from autobct.integrations.storage.claims import KILLED
from autobct.integrations.storage.program import tune_program_together
from autobct.run.job import Ending, Job
from autobct.run.process import TWICE
from autobct.run.session import tune_program
from autobct.tuning.history import Train
from autobct.tuning.progress import Listeners, line
from autobct.tuning.storage import LateError

NUMBERED = TOML.replace('"{y}"]', '"{y}", "{run}"]')
TIMED = TOML.replace('measure = "told"', 'measure = "wall"').replace("price = 0.004", 'price = "0.004 per 1s"')


def together(path: Path, hear: Any = lambda tuner, event: None, jobs: int = 1) -> Ending:
    storage = autobct.Storage(f"sqlite:///{path.parent}/run.db")
    return tune_program_together(Job.of(path), storage, Listeners([hear]), jobs=jobs)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """All decisions of the same tuning in a folder, where nothing goes wrong."""
    return decided(tune(write_job(tmp_path_factory.mktemp("whole"))))


def test_what_is_said_of_a_run_counts_that_run(tmp_path: Path) -> None:
    said: dict[str, list[str]] = {"folder": [], "database": []}
    for where, words in said.items():
        (tmp_path / where).mkdir()
        path = write_job(tmp_path / where)
        heard = partial(lambda words, tuner, event: words.append(line(tuner, event)), words)
        tune_program(Job.of(path), Listeners([heard])) if where == "folder" else together(path, heard)
    assert said["database"] == said["folder"]


def test_a_program_that_somebody_killed_is_made_again(tmp_path: Path, undisturbed: str) -> None:
    killed = TRAIN.replace("x=$1", "[ -e one ] || { touch one; echo begun; kill -KILL $$; }\nx=$1")
    said: list[str] = []
    ending = together(write_job(tmp_path, script=killed), lambda tuner, event: said.append(getattr(event, "text", "")))
    assert decided(ending) == undisturbed
    assert ending.code == 0
    assert not any(run.error for run in ending.tuner.history)
    assert [text for text in said if "not by its own doing as far as we know: it is made again." in text]
    assert (tmp_path / "tune.run" / "runs" / "0001.interrupted-1").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_that_is_killed_every_time_has_failed_and_the_tuning_continues(tmp_path: Path, jobs: int) -> None:
    killed = TRAIN.replace("x=$1", 'echo . >> begun-$3; [ "$3" = 2 ] && kill -KILL $$\nx=$1')
    ending = together(write_job(tmp_path, NUMBERED, killed), jobs=jobs)
    assert ending.code == 0
    assert {run.trial: run.error for run in ending.tuner.history if run.error is not None} == {
        1: f"{TWICE}: killed by SIGKILL"
    }
    assert len(ending.tuner.history) > 3
    assert (tmp_path / "begun-2").read_text().split() == [".", "."]


def test_what_the_killed_try_has_cost_is_charged(tmp_path: Path) -> None:
    killed = TRAIN.replace("x=$1", "[ -e one ] || { touch one; sleep 0.3; kill -KILL $$; }\nx=$1")
    ending = together(write_job(tmp_path, TIMED + "[limits]\nmax_runs = 1\n", killed))
    [trial] = optuna.load_study(study_name="autobct", storage=f"sqlite:///{tmp_path}/run.db").trials
    [run] = ending.tuner.history
    assert trial.system_attrs[KILLED] >= 0.3
    assert ending.tuner.total_cost >= run.cost + trial.system_attrs[KILLED]


def test_the_cost_of_a_killed_try_counts_at_once_for_all_workers_and_once(tmp_path: Path) -> None:
    storage = autobct.Storage(f"sqlite:///{tmp_path}/run.db")
    with shared(autobct.Tuner(SPACE, **settings(3)), storage) as one:
        decision = one.ask()
        assert isinstance(decision, Train)
        one.lose(decision.trial, 5.0)
        assert one.tuner.total_cost == 5.0
        with shared(autobct.Tuner(SPACE, **settings(3)), storage) as other:
            assert other.tuner.total_cost == 5.0
            one.tell(decision, 0.5, 2.0)
            assert one.tuner.total_cost == 7.0
            assert isinstance(other.ask(), Train)
            assert other.tuner.total_cost == 7.0


def test_a_killed_try_of_a_run_that_went_to_another_worker_is_late(tmp_path: Path) -> None:
    with shared(autobct.Tuner(SPACE, **settings(3)), autobct.Storage(f"sqlite:///{tmp_path}/run.db")) as worker:
        decision = worker.ask()
        assert isinstance(decision, Train)
        study = optuna.load_study(study_name="autobct", storage=f"sqlite:///{tmp_path}/run.db")
        study._storage.set_trial_state_values(study.trials[0]._trial_id, optuna.trial.TrialState.PRUNED)
        with pytest.raises(LateError, match="Run 1 took longer"):
            worker.lose(decision.trial, 5.0)
        again = worker.ask()
        assert isinstance(again, Train)
        assert (again.params, worker.attempt(again)) == (decision.params, 1)


def test_a_program_that_is_gone_is_waited_for(
    tmp_path: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autobct.run.retries._RETRY", 0.05)
    path = write_job(tmp_path)
    said, hear = gone_for_a_moment(tmp_path)
    ending = together(path, hear)
    assert any("Run 2 could not be started: command not found" in text for text in said)
    assert decided(ending) == undisturbed


def test_a_program_that_stays_away_ends_the_tuning_and_no_run(
    tmp_path: Path, undisturbed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autobct.run.retries.WAIT", 0.1)
    path = write_job(tmp_path, script=TRAIN + "rm train.sh\n")
    ending = together(path)
    assert ending.stop is not None
    assert (ending.stop.reason, ending.code) == ("not started", 1)
    assert "run the same command when it is back" in ending.stop.why
    assert [run.error for run in ending.tuner.history] == [None]
    write_job(tmp_path)
    assert decided(together(path)) == undisturbed


def test_a_program_that_takes_long_without_a_limit_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.retries.HANGING", 0.1)
    path, said = write_job(tmp_path, script="#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\n" + TRAIN), list[str]()

    def hear(_: Any, event: Any) -> None:
        if "has been running for" in getattr(event, "text", ""):
            said.append(event.text)
            (tmp_path / "go").touch()

    rescue = threading.Timer(10.0, (tmp_path / "go").touch)  # silence must not hang the tests
    rescue.start()
    ending = together(path, hear)
    rescue.cancel()
    assert ending.code == 0
    assert "Run 1 has been running for 0 s, and no timeout is set." in said[0]
    assert 'write timeout = "1h" under [limits] in' in said[0]
