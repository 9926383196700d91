"""What `make test` prints: how many tests, how far it is, and a last line that says what came of it and what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.run_tests import Progress, count, last_line, minutes

ROOT = Path(__file__).resolve().parents[1]
FINE = "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_fine(n): pass\n"
SLOW = "@pytest.mark.slow\ndef test_slow(): pass\n"
SKIPPED = "@pytest.mark.skip(reason='no such machine')\ndef test_skipped(): pass\n"
FAILS = "def test_fails(): assert 1 == 2\n"
BROKEN = "@pytest.fixture\ndef broken(): raise OSError\ndef test_broken(broken): pass\n"


def make_test(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Its lines, for a suite of this one file; the coverage is that of the whole suite and left out."""
    (folder / "test_some.py").write_text(source)
    command = [sys.executable, "-m", "tools.run_tests", "--no-cov", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")]), "PYTEST_ADDOPTS": ""}
    command += ["-c", str(ROOT / "pyproject.toml"), *arguments, str(folder / "test_some.py")]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=100)


def test_it_says_what_runs_and_what_came_of_it(tmp_path: Path) -> None:
    done = make_test(tmp_path, FINE + SLOW + SKIPPED)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^Running 4 tests on \d cores?\.$", done.stdout, re.MULTILINE)
    last = done.stdout.strip().splitlines()[-1]
    assert re.match(r"All 3 tests passed in \d+ s \(1 skipped: no such machine\)\. Slow tests", last)
    assert "make test-slow" in last


@pytest.mark.slow
def test_the_slow_ones_are_those_that_were_left_out(tmp_path: Path) -> None:
    done = make_test(tmp_path, FINE + SLOW, "--slow")
    assert done.returncode == 0, done.stdout
    assert re.match(r"All 1 test passed in \d+ s\.$", done.stdout.strip().splitlines()[-1])


def test_a_failure_says_how_to_run_it_again(tmp_path: Path) -> None:
    done = make_test(tmp_path, FINE + FAILS + BROKEN)
    assert done.returncode == 1
    assert "FAILED test_some.py::test_fails\n" in done.stdout
    assert "assert 1 == 2" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("2 of 5 tests FAILED, see above. To run only these again: ")
    assert last.endswith("-m pytest --last-failed")


@pytest.mark.slow
def test_a_suite_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    done = make_test(tmp_path, "import no_such_library\n")
    assert done.returncode != 0
    assert "No module named 'no_such_library'" in done.stdout
    assert done.stdout.strip().splitlines()[-1] == "1 test file could not be read; the reason is above."


def test_too_little_coverage_is_said_in_words() -> None:
    progress = Progress(2, total=9, done=9, coverage=94.21)
    assert last_line(1, progress, 61.0, slow=False).startswith("All tests passed, but they run only 94.2 % of the core")
    assert "core packages covered to 96.0 %" in last_line(0, Progress(2, coverage=96.04), 61.0, slow=False)


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60.0, "1 min 0 s"), (185.0, "3 min 5 s")])
def test_times(seconds: float, text: str) -> None:
    assert minutes(seconds) == text


def test_numbers() -> None:
    assert (count(1, "test"), count(4123, "test")) == ("1 test", "4,123 tests")


def test_each_target_has_an_environment_of_its_own_and_ci_tests_first_in_a_new_one() -> None:
    makefile, ci = (ROOT / "Makefile").read_text(), (ROOT / ".ci" / "run").read_text()
    used = dict(re.findall(r"^([\w-]+): \.venv/(\w+)/\.installed$", makefile, re.MULTILINE))
    assert {name: used[name] for name in ("demo", "test", "test-slow", "lint", "docs", "bench")} == {
        "demo": "demo", "test": "test", "test-slow": "slow", "lint": "lint", "docs": "docs", "bench": "bench",
    }  # fmt: skip
    commands = [line.strip() for line in ci.splitlines() if not line.lstrip().startswith("#")]
    first = commands.index("make test")
    assert "rm -rf .venv/test" in commands[:first]
    assert not [line for line in commands[:first] if line.startswith(("make ", "pip ", "python")) or "install" in line]
