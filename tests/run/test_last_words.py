"""What a program wrote on stderr is in the sentence about its failure: bounded, plain, and without its passwords."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.cases import TOML, TRAIN, told, tune, write_job

from autobct.run.job import first_file
from autobct.run.reading import last_words

TWO = "[limits]\nmax_runs = 2\n"
WALL = TOML.replace('measure = "told"', 'measure = "wall"')


def said(tmp_path: Path, script: str, toml: str = WALL + TWO) -> str:
    """What is recorded of the first run of a program that fails."""
    tune(write_job(tmp_path, toml, f"#!/bin/sh\n{script}\n"))
    return str(told(tmp_path / "tune.run")[0]["error"])


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("echo 'no such column: age' >&2; exit 3", "ended with exit code 3; on stderr it wrote: no such column: age"),
        (
            "echo out of memory >&2; kill -KILL $$",
            "ended twice from outside, as the system does when memory runs out: killed by SIGKILL; on stderr it wrote: "
            "out of memory",
        ),
        ("echo accuracy 0.93 >&2", "no score: the output is empty; on stderr it wrote: accuracy 0.93"),
        ("echo; echo one >&2; echo two >&2; exit 1", "ended with exit code 1; on stderr it wrote: one / two"),
        ("exit 3", "ended with exit code 3"),
        ("echo 0.5; exit 3", "ended with exit code 3"),
    ],
)
def test_a_failure_says_what_the_program_said(tmp_path: Path, script: str, sentence: str) -> None:
    assert said(tmp_path, script) == sentence


def test_a_python_program_is_quoted_with_its_exception(tmp_path: Path) -> None:
    script = "exec python3 -c \"def train():\n    raise ValueError('bad depth')\ntrain()\""
    assert said(tmp_path, script).endswith("ValueError: bad depth")


def test_a_password_given_in_env_is_not_repeated(tmp_path: Path) -> None:
    toml = 'env = { TOKEN = "hunter2", THREADS = "1" }\n' + WALL + TWO
    error = said(tmp_path, 'echo "cannot log in with $TOKEN on 1 thread" >&2; exit 1', toml)
    assert error == "ended with exit code 1; on stderr it wrote: cannot log in with $TOKEN on 1 thread"


def test_a_program_that_was_stopped_is_not_quoted(tmp_path: Path) -> None:
    limits = "[limits]\nmax_runs = 1\ntimeout = 0.5\n"
    assert said(tmp_path, "echo warming up >&2; sleep 60", WALL + limits) == "ended after 0.5 s by limits.timeout"


def test_a_run_that_finishes_is_not_quoted(tmp_path: Path) -> None:
    tune(write_job(tmp_path, TOML + TWO, TRAIN.replace("x=$1", "echo a warning >&2\nx=$1")))
    assert [run["error"] for run in told(tmp_path / "tune.run")] == [None, None]


PREFIX = "; on stderr it wrote: "


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"\x1b[31;1mError:\x1b[0m no \x1b]8;;http://x\x1b\\data\x1b]8;;\x1b\\", "Error: no data"),
        (b"\x1b]0;own the title\x07bad", "bad"),
        (b"\x1bP1$r0m\x1b\\bad\x1b(B", "bad"),
        (b" 10%|#   \r 20%|##  \r 30%|### \nbad\r\n", "30%|### / bad"),
        (b"bell\x07 and back\x08space\x00", "bell and backspace"),
        ("left\u202eright \u200bzero".encode(), "leftright zero"),
        (b"tab\tstop   wide", "tab stop wide"),
        (b"\xff\xfe not text", "\ufffd\ufffd not text"),
        (b"x = f(1)\n    ~^^^\nTypeError: f", "x = f(1) / TypeError: f"),
        (b"1\n2\n\n3\n4\n5\n\n", "2 / 3 / 4 / 5"),
        ("größer".encode(), "größer"),
    ],
)
def test_what_a_terminal_obeys_is_removed(tmp_path: Path, written: bytes, shown: str) -> None:
    (tmp_path / "stderr.txt").write_bytes(written)
    assert last_words(tmp_path / "stderr.txt") == PREFIX + shown


@pytest.mark.parametrize("written", [b"", b"\n\n", b"\x1b[0m\x1b[K\r\n", b"^^^^\n"])
def test_nothing_said(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "stderr.txt").write_bytes(written)
    assert last_words(tmp_path / "stderr.txt") == ""
    assert last_words(tmp_path / "missing.txt") == ""


@given(st.binary(max_size=2000) | st.text("\x1b[]0;m\\\r\n\x07\x9b ab", max_size=400).map(str.encode))
def test_whatever_is_written_is_one_short_printable_line(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any-stderr.txt"
    path.write_bytes(data)
    shown = last_words(path)
    assert len(shown) <= len(PREFIX) + 300
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e]", shown)


def test_a_flood_is_cut_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "stderr.txt").write_bytes(b"x" * 1_000_000 + b" the reason")
    shown = last_words(tmp_path / "stderr.txt")
    assert len(shown) == len(PREFIX) + 300
    assert shown.startswith(PREFIX + "…xxx")
    assert shown.endswith("x the reason")


def test_the_first_file_says_of_repeats_what_they_do(tmp_path: Path) -> None:
    [line] = [line for line in first_file().splitlines() if line.startswith("# repeats")]
    assert "the score is the median of those that finish, the cost the sum of all" in line
    script = '#!/bin/sh\necho "{\\"score\\": 0.$(( $1 * $1 )), \\"cost\\": $1}"\n[ $1 != 4 ]\n'
    toml = "repeats = 4\n" + TOML.replace('"{x}", "{y}"', '"{repeat}", "{params_json}"') + "[limits]\nmax_runs = 1\n"
    [run] = tune(write_job(tmp_path, toml, script)).tuner.history
    assert run.score == pytest.approx(0.4)  # of 0.1, 0.4 and 0.9, whose mean is 0.4667
