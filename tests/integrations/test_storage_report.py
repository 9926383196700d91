"""`autobct report` on a database, and what `autobct run --storage` leaves for scripts."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import optuna
import pytest
from tests.faults.work import SPACE, outcome, settings, trained
from tests.report.cases import Document
from tests.test_report_cli import TOML, TRAIN, run

import autobct
from autobct.integrations.storage.stored_study import read_study

optuna.logging.set_verbosity(optuna.logging.ERROR)
pytestmark = pytest.mark.skipif(os.name != "posix", reason="autobct run needs POSIX")


def program(folder: Path, *more: str) -> str:
    """A tuning of a program in a database; the address."""
    (folder / "train.sh").write_text(TRAIN)
    (folder / "tune.toml").write_text(TOML)
    address = f"sqlite:///{folder}/run.db"
    result = run("run", folder / "tune.toml", "--quiet", "--storage", address, *more)
    assert result.exit_code == 0, result.output
    return address


def test_a_page_of_a_program_tuned_in_a_database(tmp_path: Path) -> None:
    address = program(tmp_path)
    before = hashlib.sha256((tmp_path / "run.db").read_bytes()).hexdigest()
    result = run("report", address)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"Wrote {tmp_path / 'run.html'}, ")
    page = (tmp_path / "run.html").read_text("utf-8")
    assert "Stopped after" in Document(page).text
    assert "Not finished." not in Document(page).text
    assert "hunter2" not in page
    assert hashlib.sha256((tmp_path / "run.db").read_bytes()).hexdigest() == before  # reading changes nothing


def test_what_is_read_is_what_was_tuned(tmp_path: Path) -> None:
    """The same decisions, runs and estimates as the folder of an undisturbed tuning."""
    address, folder = program(tmp_path), tmp_path / "alone"
    folder.mkdir()
    (folder / "train.sh").write_text(TRAIN)
    (folder / "tune.toml").write_text(TOML)
    run("run", folder / "tune.toml", "--quiet")
    found, alone = read_study(address), autobct.run.read_run(folder / "tune.run")
    assert outcome(found.result()) == outcome(alone.result())
    assert found.finished
    assert found.why == alone.why


def test_the_answer_for_scripts_is_that_of_a_folder(tmp_path: Path) -> None:
    program(tmp_path)
    shared = json.loads((tmp_path / "tune.run" / "result.json").read_text())
    folder = tmp_path / "alone"
    folder.mkdir()
    (folder / "train.sh").write_text(TRAIN)
    (folder / "tune.toml").write_text(TOML)
    run("run", folder / "tune.toml", "--quiet")
    assert shared == json.loads((folder / "tune.run" / "result.json").read_text())
    assert shared["params"] is not None
    assert shared["exit_code"] == 0


def test_a_study_by_its_name(tmp_path: Path) -> None:
    address = program(tmp_path, "--study", "first")
    autobct.tune(trained, SPACE, storage=autobct.Storage(address, study="second"), **settings(4))
    several = run("report", address)
    assert several.exit_code == 2
    assert "several tunings" in several.output
    assert "'first', 'second'" in " ".join(several.output.split())
    missing = run("report", address, "--study", "third")
    assert missing.exit_code == 2
    assert "there is no tuning 'third'" in " ".join(missing.output.split())
    named = run("report", address, "--study", "second")
    assert named.exit_code == 0, named.output
    assert (tmp_path / "second.html").exists()


@pytest.mark.parametrize(
    "given",
    [
        {"guess": {"x": 0.123, "k": 4}, "increases_cost": ["k"]},
        {"score_range": (0.0, 2.0), "cost_range": (0.5, 9.0), "recall": False},
        {"direction": "minimize", "prior": "paper", "seed": 3, "score_noise": None},
    ],
)
def test_a_tuning_from_python_is_read_as_it_was(given: dict[str, Any], tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"
    tuned = autobct.tune(trained, SPACE, storage=address, **(settings(5) | given))
    assert outcome(read_study(address).result())[1] == outcome(tuned)[1]


def test_settings_that_no_database_holds_are_refused(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"
    autobct.tune(trained, SPACE, storage=address, policy=autobct.relaxed(depth=2), **settings(2))
    refused = run("report", address)
    assert refused.exit_code == 2
    assert "started from Python with settings that the database does not hold" in " ".join(refused.output.split())


def test_a_tuning_that_is_not_finished(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/run.db"

    tuned = 0

    def stops(params: dict[str, Any]) -> tuple[float, float]:
        nonlocal tuned
        tuned += 1
        if tuned > 3:
            raise KeyboardInterrupt
        return trained(params)

    autobct.tune(stops, SPACE, storage=address, **settings(9))
    found = read_study(address)
    assert not found.finished
    assert found.why == "Not finished: 3 runs so far."


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("sqlite:///{}/none.db", "there is no database"),
        ("sqlite:///{}/empty.db", "there is no tuning in"),
        ("postgresql://me:s3cret-w0rd@127.0.0.1:1/db", "does not answer"),
        ("mysql://me:s3cret-w0rd@host/db", "is not a supported kind of database"),
    ],
)
def test_what_cannot_be_read_is_said_and_nothing_is_made(
    address: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autobct.integrations.storage.stored_study._PATIENCE", 0.2)
    (tmp_path / "empty.db").touch()
    refused = run("report", address.format(tmp_path))
    assert refused.exit_code == 2
    assert sentence in " ".join(refused.output.split())
    assert "s3cret" not in refused.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.db"]
    assert (tmp_path / "empty.db").stat().st_size == 0
