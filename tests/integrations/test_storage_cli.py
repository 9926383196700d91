"""`autobct run --storage`: several commands on one tuning, Ctrl-C, and what is refused."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner

from autobct.cli import app

TOML = """\
command = ["{python}", "train.py", "{{x}}"]
price = "0.00001 per 1s"
score_range = [0.0, 1.0]
cost_range = [0.5, 2.0]
[cost]
measure = "reported"
[space]
x = {{ type = "float", low = 0.0, high = 2.0 }}
[limits]
max_runs = 3
"""
TRAIN = """\
import json, sys
x = float(sys.argv[1])
print(json.dumps({"score": x * (2 - x), "cost": 1.0}))
"""


def written(folder: Path) -> Path:
    (folder / "train.py").write_text(TRAIN)
    (folder / "tune.toml").write_text(TOML.format(python=sys.executable))
    return folder / "tune.toml"


def test_two_commands_share_one_tuning(tmp_path: Path) -> None:
    path = written(tmp_path)
    command = [sys.executable, "-m", "autobct", "run", str(path), "--storage", f"sqlite:///{tmp_path}/run.db"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [4, 4], printed  # max_runs
    assert printed[0].splitlines()[-1] == printed[1].splitlines()[-1]
    made = sorted(line.partition(":")[0] for text in printed for line in text.splitlines() if line.startswith("Run "))
    assert made == ["Run 1", "Run 2", "Run 3"]


MEETING = """\
import os, time
open(f"here-{os.getpid()}", "w").close()
while not os.path.exists("met"):
    if sum(name.startswith("here-") for name in os.listdir()) >= 3:
        open("met", "w").close()
    time.sleep(0.02)
"""


def test_one_command_runs_several_programs_at_once(tmp_path: Path) -> None:
    """Three that wait for one another: only side by side do they ever end."""
    path = written(tmp_path)
    (tmp_path / "train.py").write_text(MEETING + TRAIN)
    found = CliRunner().invoke(app, ["run", str(path), "--storage", f"sqlite:///{tmp_path}/run.db", "--jobs", "3"])
    assert found.exit_code == 4, found.output  # max_runs
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path}/run.db")
    assert [trial.state.name for trial in study.trials] == ["COMPLETE"] * 3
    starts, ends = (
        [getattr(trial, moment) for trial in study.trials] for moment in ("datetime_start", "datetime_complete")
    )
    assert max(starts) < min(ends)


def test_interrupted_it_gives_all_its_runs_back(tmp_path: Path) -> None:
    path = written(tmp_path)
    (tmp_path / "train.py").write_text("import time\nopen('here', 'a').write('.')\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "autobct", "run", str(path), "--storage", f"sqlite:///{tmp_path}/run.db"]
    process = subprocess.Popen([*command, "--jobs", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert all(process.stdout.readline().startswith("Train ") for _ in range(2))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path}/run.db")
    assert [trial.state.name for trial in study.trials] == ["PRUNED", "PRUNED"]


def test_an_interrupted_command_gives_its_run_back_at_once(tmp_path: Path) -> None:
    path = written(tmp_path)
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)\n"
    (tmp_path / "train.py").write_text(wait + TRAIN)
    command = [sys.executable, "-m", "autobct", "run", str(path), "--storage", f"sqlite:///{tmp_path}/run.db"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("Train ")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "run.db, and the same command continues" in said
    (tmp_path / "go").touch()
    again = subprocess.run(command, capture_output=True, text=True)
    assert again.returncode == 4, again.stderr
    assert [line[:5] for line in again.stdout.splitlines() if line.startswith("Run ")] == ["Run 1", "Run 2", "Run 3"]
    study = optuna.load_study(study_name="tune", storage=f"sqlite:///{tmp_path}/run.db")
    assert [trial.state.name for trial in study.trials] == ["PRUNED", "COMPLETE", "COMPLETE", "COMPLETE"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--storage", "sqlite://run.db"], "with three slashes"),
        (["--storage", "./folder"], "give a folder with --dir"),
        (["--storage", "sqlite:///{}/run.db", "--fresh"], "--study NAME"),
        (["--storage", "sqlite:///{}/run.db", "--jobs", "0"], "--jobs must be at least 1, or -1 for one per core"),
        (["--storage", "sqlite:///{}/run.db", "--on-crash", "what"], "--on-crash must be 'rerun' or 'fail'"),
        (["--storage", "sqlite:///{}/run.db", "--grace", "-5"], "--grace must be positive, got -5"),
        (["--storage", "sqlite:///{}/run.db", "--grace", "nan"], "--grace must be positive, got nan"),
        (["--storage", "sqlite:///{}/run.db", "--study", " "], "--study must be a name"),
        (["--storage", "nonsense://x", "--dry-run"], "'nonsense' is not a supported kind of database"),
        (["--storage", "./folder", "--dry-run"], "give a folder with --dir"),
        (["--on-crash", "bogus"], "--on-crash must be 'rerun' or 'fail', got 'bogus'"),
        (["--on-crash", "bogus", "--dry-run"], "--on-crash must be 'rerun' or 'fail', got 'bogus'"),
        (["--grace", "-5", "--study", "s"], "--grace must be positive, got -5"),
        (["--grace", "5", "--study", "s"], "give --study and --grace only with --storage"),
        (["--storage", "sqlite:///{}/run.db", "--study", "mine"], "is of another problem: price differs"),
    ],
)
def test_the_command_says_what_is_wrong_and_exits_with_2(options: list[str], sentence: str, tmp_path: Path) -> None:
    path, address = written(tmp_path), f"sqlite:///{tmp_path}/run.db"
    run = CliRunner().invoke
    if "mine" in options:
        assert run(app, ["run", str(path), "--storage", address, "--study", "mine"]).exit_code == 4
        path.write_text(path.read_text().replace("0.00001 per 1s", "0.00002 per 1s"))
    found = run(app, ["run", str(path), *(option.format(tmp_path) for option in options)])
    assert (found.exit_code, sentence in found.stderr) == (2, True), found.output
    assert len(found.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "address",
    ["my_user:secret-word@host/db", "postgresql//me:secret-word@host/db", "sqlite://me:secret-word@host/x.db"],
)
@pytest.mark.parametrize("command", ["run", "run --dry-run", "report"])
def test_no_command_prints_a_password(command: str, address: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    words = ["report", address] if command == "report" else [*command.split(), str(path), "--storage", address]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 2, found.output
    assert "***" in found.output
    assert "secret-word" not in found.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.py", "tune.toml"]


def test_looking_ahead_names_the_database_and_leaves_it_alone(tmp_path: Path) -> None:
    path, address = written(tmp_path), f"sqlite:///{tmp_path}/run.db"
    found = CliRunner().invoke(app, ["run", str(path), "--storage", address, "--dry-run"])
    assert found.exit_code == 0, found.output
    assert f"would be stored in {address}. Runs that are already there" in " ".join(found.output.split())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.py", "tune.toml"]
