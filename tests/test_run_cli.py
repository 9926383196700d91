"""`autobct run` and `autobct init`, as a user types them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.run.cases import TOML, write_job
from typer.testing import CliRunner, Result

from autobct.cli import app

ROOT = Path(__file__).parents[1]
LINE = TOML.replace('y = { type = "int", low = 1, high = 20 }', 'y = { type = "int", low = 4, high = 4 }')


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="autobct")


def one_sentence(result: Result) -> str:
    """What a command says that fails before it begins: one line on standard error, nothing else."""
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output
    return result.stderr


def test_a_tuning_in_plain_lines(tmp_path: Path) -> None:
    result = run("run", write_job(tmp_path))
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("Train x=")
    assert lines[1].startswith("Run 1: score ")
    assert lines[-2].startswith("Stopped after ")
    assert re.match(r"\{'x': \d+, 'y': \d+\} scores 0\.\d+ ", lines[-1])
    assert (tmp_path / "tune.run" / "result.json").exists()
    again = run("run", tmp_path / "tune.toml", "--quiet")
    assert again.exit_code == 0
    assert again.stdout.splitlines() == [lines[-1], lines[-2]]


def test_another_folder(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\n")
    assert run("run", path, "--dir", tmp_path / "there", "--quiet").exit_code == 4
    assert (tmp_path / "there" / "runs" / "0001" / "stdout.txt").exists()
    assert not (tmp_path / "tune.run").exists()


def test_looking_ahead_runs_and_writes_nothing(tmp_path: Path) -> None:
    path = write_job(tmp_path, LINE + "[limits]\ndeadline = '1h'\n", "#!/bin/sh\ntouch ran\n")
    result = run("run", path, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Expected final score" in result.stdout
    assert re.search(r"  \./train\.sh \d+ \d+\n", result.stdout)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.sh", "tune.toml"]


def test_looking_ahead_from_where_it_stands(tmp_path: Path) -> None:
    path = write_job(tmp_path, LINE + "[limits]\nmax_runs = 1\n")
    assert run("run", path).exit_code == 4
    assert "max_runs is reached" in run("run", path, "--dry-run").stdout
    path.write_text(LINE)
    assert "Train x=" in run("run", path, "--dry-run").stdout
    path.write_text(LINE.replace("0.004", "0.03"))
    assert "price changed since" in one_sentence(run("run", path, "--dry-run"))


def test_no_run_finished(tmp_path: Path) -> None:
    result = run("run", write_job(tmp_path, TOML + "[limits]\nmax_runs = 2\n", "#!/bin/sh\nexit 7\n"))
    assert result.exit_code == 3
    assert result.stderr.startswith("No run finished. Stopped after 2 runs: ")
    assert "The last run failed: ended with exit code 7." in result.stderr


def test_a_changed_file_and_a_fresh_start(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\n")
    run("run", path)
    path.write_text(path.read_text().replace("0.004", "0.03"))
    assert "tune.toml: price changed since the tuning in" in one_sentence(run("run", path))
    assert run("run", path, "--fresh").exit_code == 4
    assert len(list(tmp_path.glob("tune.run*"))) == 2


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("prise = 1\n" + TOML, "tune.toml: prise is not a key of this file; did you mean price?"),
        (TOML.replace("./train.sh", "no-such-program"), "tune.toml: command: command not found: 'no-such-program'"),
        (TOML.replace("./train.sh", "./tune.toml"), "command: not executable: './tune.toml'; make it so with"),
        ("directory = 'none'\n" + TOML, "tune.toml: directory: there is no folder"),
        ("price = [\n", "tune.toml: is not TOML: "),
        ('prior = "synthetic"\n' + TOML, "tune.toml: prior is for 1 coordinate but the space has 2"),
    ],
)
def test_one_sentence_for_a_bad_file(tmp_path: Path, toml: str, words: str) -> None:
    assert words in one_sentence(run("run", write_job(tmp_path, toml)))
    assert not (tmp_path / "tune.run").exists()


def test_no_file(tmp_path: Path) -> None:
    assert "there is no such file; autobct init writes one" in one_sentence(run("run", tmp_path / "none.toml"))


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    (tmp_path / "tune.run").write_text("in the way")
    assert "cannot be used" in one_sentence(run("run", path))
    assert (tmp_path / "tune.run").read_text() == "in the way"


def test_help_tells_the_exit_codes() -> None:
    said = " ".join(run("run", "--help").stdout.split())
    assert "3 no run finished; 4 stopped by max_runs, max_cost or deadline; 130 interrupted" in said


def test_init_writes_a_file_that_runs(tmp_path: Path) -> None:
    path = tmp_path / "tune.toml"
    assert run("init", path).exit_code == 0
    result = run("run", path)
    assert result.exit_code == 0, result.output
    assert "already exists" in one_sentence(run("init", path))
    assert "cannot be written" in one_sentence(run("init", tmp_path / "none" / "tune.toml"))


def test_output_into_a_pipe_that_closes_loses_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = f"{sys.executable} -m autobct run {write_job(tmp_path)} | head -1"
    subprocess.run(["sh", "-c", command], env=environment, capture_output=True, check=True)
    assert (tmp_path / "tune.run" / "result.json").exists()


def test_the_python_of_the_page_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "howto" / "any-program.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    for _ in range(2):
        exec(compile(example, "any-program.md", "exec"), {})
    first, second = re.findall(r"scores (\S+)", capsys.readouterr().out)
    assert first == second
    assert (tmp_path / "my-tuning" / "journal.jsonl").exists()


@pytest.mark.parametrize("name", ["shell.toml", "python.toml"])
def test_the_examples_run(tmp_path: Path, name: str) -> None:
    for file in (ROOT / "examples").iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
            (tmp_path / file.name).chmod(file.stat().st_mode)
    result = run("run", tmp_path / name)
    assert result.exit_code == 0, result.output


def test_the_page_of_the_docs_runs_as_it_stands(tmp_path: Path) -> None:
    """Its first two blocks are a program and a TOML file; the commands after them are typed in."""
    page = (ROOT / "docs" / "howto" / "any-program.md").read_text()
    for name, text in re.findall(r"```\w+ title=\"(\S+)\"\n(.*?)```", page, flags=re.DOTALL):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    commands = re.search(r"```sh\n(.*?)```", page, flags=re.DOTALL)
    assert commands is not None
    autobct = f"{sys.executable} -m autobct"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for command in commands[1].splitlines():
        typed = command.replace("autobct ", f"{autobct} ", 1)
        done = subprocess.run(["sh", "-c", typed], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "Stopped after" in done.stdout
