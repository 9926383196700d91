"""A training that prints gigabytes, really: the run finishes, and neither memory nor disk grows with what it prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.commands import TOML, TRAIN, Command

from autobct.run import processes

pytestmark = pytest.mark.slow

BYTES = 2_200_000_000
KEPT = 17_000_000
"""Bytes of one stream on disk: 16 MiB, and the sentence about what was left out."""

MEMORY = 400_000
"""KiB of one process: what Python, NumPy and SciPy take, and not what is printed."""

FUNCTION = """
import sys
import autobct
from tests.faults.bad_trainings import floods_for_gigabytes

if __name__ == "__main__":
    isolation = autobct.Isolation(output=sys.argv[1])
    settings = dict(price=1e-4, max_runs=2, isolate=isolation)
    result = autobct.tune(floods_for_gigabytes, {"x": autobct.Float(0, 1)}, **settings)
    print([run.error for run in result.history])
"""


WATCH = """
import os, subprocess, sys

process = subprocess.Popen(sys.argv[2:])
_, status, used = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Starts a command and notes its memory.  A process counts that of the one it was forked from, which must be small."""


def watching(place: Path) -> tuple[str, ...]:
    """What starts a command and notes in a file the most memory that it or a process below it had, in KiB."""
    return sys.executable, "-c", WATCH, str(place)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit code, and what it said."""
    said, _ = process.communicate()
    return process.returncode, said


def check_output(place: Path) -> None:
    """Its beginning and its end, and how much is not there."""
    kept = (place / "stdout.txt").read_bytes()
    assert len(kept) < KEPT
    left_out = int(kept.rpartition(b" bytes of output left out here]")[0].rpartition(b"[")[2])
    assert left_out > BYTES - KEPT


@pytest.mark.skipif(not processes.LINUX, reason="other systems count memory in other units")
def test_a_function_that_prints_gigabytes(tmp_path: Path) -> None:
    script, kept, memory = tmp_path / "tune_it.py", tmp_path / "kept", tmp_path / "memory"
    script.write_text(FUNCTION)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), *filter(None, sys.path)])}
    process = subprocess.Popen(
        [*watching(memory), sys.executable, str(script), str(kept)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
    )
    assert ended(process) == (0, "[None, None]\n")
    assert int(memory.read_text()) < MEMORY
    for place in ("0001", "0002"):
        check_output(kept / place)
        assert (kept / place / "stderr.txt").read_text() == "the end\n"


@pytest.mark.skipif(not processes.LINUX, reason="other systems count memory in other units")
def test_a_program_that_prints_gigabytes_and_then_its_score(tmp_path: Path) -> None:
    floods = f"head -c {BYTES} /dev/zero; echo\n"
    toml = TOML.replace("max_runs = 20", "max_runs = 1")
    what = Command.new(tmp_path, toml=toml, script=TRAIN.replace("sleep", f"{floods}sleep", 1))
    memory = tmp_path / "memory"
    code, said = ended(what.start(watching(memory)))
    assert code == 4, said
    assert "it printed more than is kept" in said
    assert int(memory.read_text()) < MEMORY
    [(score, _, error)] = what.on_record().values()
    assert error is None
    assert score is not None
    check_output(what.results / "runs" / "0001")
    assert sum(path.stat().st_size for path in what.results.rglob("*") if path.is_file()) < KEPT + 1_000_000
