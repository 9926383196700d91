"""`autobct report`, as a user types it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.report.cases import HOSTILE, Document
from typer.testing import CliRunner, Result

from autobct.cli import app

pytestmark = pytest.mark.skipif(os.name != "posix", reason="autobct run needs POSIX")

TOML = """
command = ["sh", "train.sh", "{x}"]
price = 0.02
score_range = [0.3, 1.0]
cost_range = [0.1, 0.3]
[space]
x = { type = "int", low = 1, high = 20 }
[cost]
measure = "told"
[env]
SECRET_TOKEN = "hunter2"
"""
TRAIN = 'echo "{\\"score\\": $(( 10000 - 20 * ($1 - 7) * ($1 - 7) ))e-4, \\"cost\\": $(( 10 + $1 ))e-2}"\n'


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="autobct")


def tuned(folder: Path, toml: str = TOML, train: str = TRAIN) -> Path:
    (folder / "train.sh").write_text(train)
    (folder / "tune.toml").write_text(toml)
    run("run", folder / "tune.toml", "--quiet")
    return folder / "tune.run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tuned(tmp_path_factory.mktemp("tuned"))


@pytest.mark.parametrize("named", ["folder", "toml", "journal"])
def test_a_page_beside_the_folder(folder: Path, named: str) -> None:
    paths = {"folder": folder, "toml": folder.with_suffix(".toml"), "journal": folder / "journal.jsonl"}
    result = run("report", paths[named])
    assert result.exit_code == 0, result.output
    page = folder.with_suffix(".html")
    assert result.stdout.startswith(f"Wrote {page}, ")
    text = Document(page.read_text(encoding="utf-8")).text
    assert "Stopped after" in text
    assert "Not finished." not in text
    page.unlink()


def test_the_page_shows_no_secrets(folder: Path, tmp_path: Path) -> None:
    assert run("report", folder, "--out", tmp_path / "page.html").exit_code == 0
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "SECRET_TOKEN" in text
    assert "hunter2" not in text


def test_a_half_written_journal_has_a_page_that_says_so(folder: Path, tmp_path: Path) -> None:
    journal = (folder / "journal.jsonl").read_bytes()
    lines = journal.splitlines(keepends=True)
    told = [number for number, line in enumerate(lines) if b'"kind":"told"' in line.replace(b": ", b":")]
    cut = tmp_path / "cut.run"
    cut.mkdir()
    (cut / "journal.jsonl").write_bytes(b"".join(lines[: told[0] + 1]) + lines[told[0] + 1][:20])  # a torn line
    result = run("report", cut)
    assert result.exit_code == 0, result.output
    assert "not finished" in result.stdout
    document = Document((tmp_path / "cut.html").read_text(encoding="utf-8"))
    assert "Not finished." in document.text
    assert len(document.all("tr")) == 1 + 1


def test_a_program_that_always_fails_has_a_page_with_its_errors(tmp_path: Path) -> None:
    folder = tuned(tmp_path, train="echo '<b>no</b>' >&2\nexit 3\n")
    result = run("report", folder)
    assert result.exit_code == 0, result.output
    document = Document(folder.with_suffix(".html").read_text(encoding="utf-8"))
    assert "ended with exit code 3" in document.text
    assert "the first runs failed with the same error" in document.text
    assert {a["class"] for a in document.all("td") if "error" in (a.get("class") or "")} == {"text error"}


def test_what_a_program_is_called_cannot_become_markup(tmp_path: Path) -> None:
    choices = f"c = {{ type = 'choice', choices = ['''{HOSTILE}''', 'b'] }}\n"
    toml = TOML.replace("[cost]", choices.replace("'choice'", "'categorical'") + "[cost]")
    folder = tuned(tmp_path, toml=toml.replace('"{x}"]', '"{x}", "{c}"]'))
    result = run("report", folder)
    assert result.exit_code == 0, result.output
    document = Document(folder.with_suffix(".html").read_text(encoding="utf-8"))
    assert len(document.all("script")) == 1
    assert not document.all("img")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere"),
        ([".", "--out", "page.pdf"], ".html file"),
        ([".", "--out", "no/page.html"], "does not exist"),
        (["."], "journal"),
    ],
)
def test_bad_arguments_get_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("report", *arguments)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_page_that_cannot_be_written_gets_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("autobct.report.page.write_file", full)
    result = run("report", folder)
    assert result.exit_code == 2
    assert "could not be written (No space left on device)" in result.stderr


def test_a_missing_library_gets_the_install_line(folder: Path) -> None:
    code = "import sys; sys.modules['jinja2'] = None; sys.argv[0] = 'autobct'; from autobct.cli import app; app()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", code, "report", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'autobct[report]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
