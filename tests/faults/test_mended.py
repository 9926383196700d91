"""Ten failures in a row in a database: once their cause is mended, the same call continues, as in a folder."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.faults.work import outcome, trained
from tests.run.cases import TOML, TRAIN, write_job

import autobct
from autobct.integrations.storage.claims import CLAIM
from autobct.integrations.storage.program import tune_program_together
from autobct.run.job import Job
from autobct.tuning.progress import Listeners

optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE: dict[str, Any] = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1), "k": autobct.Int(1, 9)}
SETTINGS: dict[str, Any] = {"price": 1e-6, "score_noise": 0.02}


def tuned(where: str, mount: Path, runs: int) -> autobct.Result:
    """Trainings that need something mounted."""
    made = 0

    def train(params: dict[str, Any]) -> tuple[float, float]:
        nonlocal made
        made += 1
        if made > 2 and not mount.exists():
            raise OSError("the disk was not mounted")
        return trained(params)

    return autobct.tune(train, SPACE, storage=where, max_runs=runs, **SETTINGS)


@pytest.mark.parametrize("where", ["sqlite:///{}/run.db", "{}/kept"])
def test_the_same_call_continues_once_the_cause_is_mended(where: str, tmp_path: Path) -> None:
    address, mount = where.format(tmp_path), tmp_path / "mount"
    broken = tuned(address, mount, 20)
    assert "10 failures in a row" in broken.why or "failed" in broken.why
    assert [run.error is None for run in broken.history] == [True] * 2 + [False] * 10
    mount.touch()
    with pytest.warns(RuntimeWarning, match="The last 10 runs failed; they are not held against their parameters"):
        mended = tuned(address, mount, 16)
    assert [run.error is None for run in mended.history[12:]] == [True] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = tuned(address, mount, 16)
    assert outcome(again) == outcome(mended)
    assert again.tuner.memory.excluded == frozenset()
    assert again.tuner.memory.forgiven == frozenset(range(2, 12))


def test_both_kinds_of_storage_decide_alike_afterwards(tmp_path: Path) -> None:
    ends = []
    for where in (f"sqlite:///{tmp_path}/run.db", str(tmp_path / "kept")):
        mount = tmp_path / "mount"
        mount.unlink(missing_ok=True)
        tuned(where, mount, 20)
        mount.touch()
        with pytest.warns(RuntimeWarning, match="The last 10 runs failed"):
            ends.append(outcome(tuned(where, mount, 16)))
    assert ends[0] == ends[1]


def test_another_worker_learns_that_the_cause_was_mended_from_the_database(tmp_path: Path) -> None:
    """Ten new failures after it are counted anew, and one claim says it."""
    address, mount = f"sqlite:///{tmp_path}/run.db", tmp_path / "mount"
    tuned(address, mount, 40)
    with pytest.warns(RuntimeWarning, match="The last 10 runs failed"):
        broken = tuned(address, mount, 40)
    assert [run.error is None for run in broken.history] == [True] * 2 + [False] * 10 + [True] * 2 + [False] * 10
    trials = optuna.load_study(study_name="autobct", storage=address).trials
    assert [trial.number for trial in trials if trial.system_attrs[CLAIM].get("mends")] == [12]


def test_a_program_whose_script_was_gone_continues(tmp_path: Path) -> None:
    path, storage = write_job(tmp_path, TOML, "#!/bin/sh\nexit 9\n"), autobct.Storage(f"sqlite:///{tmp_path}/run.db")
    failed = tune_program_together(Job.of(path), storage, Listeners([]))
    assert failed.code == 3
    (tmp_path / "train.sh").write_text(TRAIN)
    said: list[str] = []
    heard = Listeners([lambda _, event: said.append(getattr(event, "text", ""))])
    mended = tune_program_together(Job.of(path), storage, heard)
    assert mended.code == 0
    assert mended.tuner.memory.excluded == frozenset()
    assert f"The last {len(failed.tuner.history)} runs failed; they are not held" in said[0]
