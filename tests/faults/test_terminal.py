"""Nothing that somebody else wrote moves the cursor of a terminal, rings its bell or becomes a formula."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.value.map_cases import random_map
from typer.testing import CliRunner

import autobct
from autobct.cli import app
from autobct.maps.library import save_map
from autobct.report.notebook import csv_text
from autobct.run.matching import last_match
from autobct.run.reading import NoNumberError, Reading
from autobct.tuning.progress import plain

EVIL = "\x1b[2J\x1b]0;title\x07\r\x9b31m\u202e\x00\x08evil"


def is_safe(text: str) -> bool:
    return not any(ord(c) < 32 and c not in "\n\t" for c in text) and not {"\x7f", "\x9b", "\u202e"} & set(text)


def test_a_map_with_escapes_in_its_notes_is_shown_safely(tmp_path: Path) -> None:
    path = tmp_path / "map.safetensors"
    save_map(path, random_map((1, "log-linear", True)), {EVIL: EVIL, "build": EVIL, "policy": "[]"})
    done = CliRunner().invoke(app, ["maps", "info", str(path)])
    assert done.exit_code == 0
    assert "evil" in done.output
    assert is_safe(done.output)


@pytest.mark.parametrize(
    "words", [["maps", "info"], ["maps", "verify"], ["run"], ["report"], ["verify", "--key", "0" * 64]]
)
def test_names_of_files_too(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / EVIL.replace("\x00", "").replace("/", "")
    path.write_bytes(b"nothing")
    done = CliRunner().invoke(app, [*words, str(path)])
    assert done.exit_code != 0
    assert is_safe(done.output)


def test_a_toml_file_with_escapes_is_refused_and_shown_safely(tmp_path: Path) -> None:
    path = tmp_path / "tune.toml"
    quoted = "\\u001b[2J\\u0007\\u202e"
    path.write_text(f'command = ["true", "{{x}}"]\nprice = 1\n"{quoted}" = 1\n[space]\nx = {{ type = "{quoted}" }}\n')
    done = CliRunner().invoke(app, ["run", str(path)])
    assert done.exit_code == 2
    assert is_safe(done.output)


def test_parameters_and_errors_in_plain_lines() -> None:
    stream = io.StringIO()
    printed = plain(stream)

    def train(params: dict[str, Any]) -> float:
        if params[EVIL] == "good":
            return 0.5
        raise RuntimeError(EVIL)

    space = {EVIL: autobct.Categorical(["good", EVIL])}
    result = autobct.tune(train, space, price=1e-9, max_runs=2, callbacks=[printed])
    assert "evil" in stream.getvalue()
    assert is_safe(stream.getvalue())
    assert is_safe(str(result))
    assert is_safe("".join(map(str, result.what_if([1e-9, 1.0]))))


FORMULAS = ["=1+1", "+1", "-1", "@SUM(1)", "  =cmd|' /C calc'!A0", "\t=1", "\r=1", "＝1", "|x", "%x"]


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    records = [{"run": 1, "score": -0.5, "error": text, "params_a": text} for text in FORMULAS]
    cells = list(csv.reader(io.StringIO(csv_text(records))))
    assert cells[0] == ["run", "score", "error", "params_a"]
    for row, text in zip(cells[1:], FORMULAS, strict=True):
        assert row[1] == "-0.5"  # a number stays one
        for cell in row[2:]:
            assert cell.startswith(("'", "\ufffd"))
            assert cell.lstrip("'\ufffd").strip() == text.strip()


def test_a_result_as_csv(tmp_path: Path) -> None:
    space = {"a": autobct.Categorical(["=1+1", "b"]), "x": autobct.Float(-2, -1)}
    result = autobct.tune(lambda params: (params["x"], 1.0), space, price=1e-9, max_runs=3)
    result.to_csv(tmp_path / "runs.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text("utf-8"))))
    assert [float(row["params_x"]) for row in rows] == [run.params["x"] for run in result.history]
    assert {row["params_a"] for row in rows} <= {"'=1+1", "b"}
    assert [float(row["score"]) for row in rows] == [run.score for run in result.history]


# --- a pattern that takes for ever, and Ctrl-C before anything is imported


def test_a_pattern_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "stdout"
    path.write_text("a" * 60 + "!\n")
    with pytest.raises(TimeoutError):
        last_match("^(a+)+$", "score", path, patience=0.5)
    monkeypatch.setattr("autobct.run.reading.last_match", lambda *asked: last_match(*asked, patience=0.5))
    with pytest.raises(NoNumberError, match=r"took more than 10 s in the output; write one without a repeat"):
        Reading("score", pattern="^(a+)+$").number(path)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
@pytest.mark.parametrize(
    "words", [["-m", "autobct", "maps", "list"], ["-c", "from autobct.__main__ import main; main()"]]
)
def test_interrupted_while_it_is_still_importing(words: list[str], tmp_path: Path) -> None:
    """A typer that takes long to import stands for a slow disk."""
    (tmp_path / "typer.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    source = str(Path(autobct.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    process = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "Interrupted before anything was run.\n")
