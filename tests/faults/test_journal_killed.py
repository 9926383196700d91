"""A tuner that is killed, runs out of disk, may not write, or sees its clock jump: nothing lost, nothing counted twice.

Five SIGKILLs by default; as many as `AUTOBCT_KILLS` says.  The moments are drawn with a fixed seed.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, TRAIN, decided, tune, write_job

import autobct
from autobct.run import stored
from autobct.run.journal import read_journal
from autobct.tuning.history import Train

KILLS = int(os.environ.get("AUTOBCT_KILLS", "5"))
RUNS = 20

TUNE = """
import hashlib, json, os, sys, time
import autobct
from autobct.run import stored

def score(params):
    rough = int.from_bytes(hashlib.sha256(repr(sorted(params.items())).encode()).digest()[:4], "big") / 2**32
    return 1 - sum((x - 0.3) ** 2 for x in params.values()) / len(params) + 0.3 * rough

space = {name: autobct.Float(0, 1) for name in "abcdef"}
with stored(autobct.Tuner(space, price=1e-9, max_runs=20), sys.argv[1]) as kept, open(sys.argv[2], "ab", 0) as log:
    print("ready", flush=True)
    while isinstance(decision := kept.ask(), autobct.Train):
        time.sleep(0.005)
        run = kept.tell(decision, score=score(decision.params), cost=1.0)
        log.write(json.dumps([run.trial, run.score]).encode() + b"\\n")
    print(len(kept.tuner.history), flush=True)
"""


def start(folder: Path, log: Path, **more: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", TUNE, str(folder), str(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        **more,
    )


def facts(folder: Path) -> list[str]:
    """All that was decided and told, in order; a run that was asked for twice is the same run."""
    records = [record for record in read_journal(folder / "journal.jsonl") if record["kind"] in ("asked", "told")]
    return list(dict.fromkeys(json.dumps(record) for record in records))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("whole")
    process = start(folder / "run", folder / "log")
    out, err = process.communicate(timeout=120)
    assert out == b"ready\n20\n", err
    return facts(folder / "run")


def test_sigkill_at_random_moments(tmp_path: Path, whole: list[str]) -> None:
    rng, kills, number = random.Random(20), 0, 0
    while kills < KILLS:
        number += 1
        folder, log = tmp_path / f"run{number}", tmp_path / f"log{number}"
        finished = False
        while not finished:
            with start(folder, log) as process:
                assert process.stdout is not None
                if kills < KILLS:
                    process.stdout.readline()
                    time.sleep(rng.uniform(0.0, 0.4))
                    process.kill()
                process.communicate()
                finished = process.returncode == 0
                kills += not finished
        told = [json.loads(line) for line in log.read_bytes().split(b"\n") if line.endswith(b"]")]
        stored_runs = [json.loads(fact) for fact in facts(folder) if '"told"' in fact]
        assert [run["trial"] for run in stored_runs] == list(range(RUNS))  # none twice, none missing
        assert all(stored_runs[trial]["score"] == score for trial, score in told)  # none lost
        assert facts(folder) == whole  # and every decision the same, bit for bit


FULL = """
import resource, signal, sys
import autobct
from autobct.run import stored

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-7), sys.argv[1]) as kept:
    decision, made = kept.ask(), 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    failed = 0
    while made < 6:
        try:
            kept.tell(decision, score=1 - (decision.params["x"] - 0.3) ** 2, cost=1.0)
            made += 1
            decision = kept.ask()
        except OSError:
            failed += 1
            before = len(kept.tuner.history)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            if made != before:
                raise SystemExit(f"the tuner has {before} runs, the journal {made}")
            if kept.tuner.under_way == ():
                decision = kept.ask()
    print(failed, len(kept.tuner.history))
"""


@pytest.mark.parametrize("more", [150, 700, 1100, 1500])
def test_a_full_disk_is_an_error_and_the_same_tuner_goes_on_when_there_is_room(tmp_path: Path, more: int) -> None:
    def new() -> autobct.Tuner:
        return autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-7)

    with stored(new(), tmp_path) as kept:
        pass
    limit = (tmp_path / "journal.jsonl").stat().st_size + 600 + more  # in the midst of some line
    found = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        timeout=120,
    )
    assert found.stdout == "1 6\n", found.stderr
    with stored(new(), tmp_path) as kept:
        assert [run.trial for run in kept.tuner.history] == list(range(6))


def without_privileges() -> None:
    """Root may write anywhere; what it starts after this may not."""
    if os.getuid() == 0:
        pr_capbset_drop, cap_dac_override = 24, 1
        if ctypes.CDLL(None).prctl(pr_capbset_drop, cap_dac_override, 0, 0, 0):
            os._exit(77)


def test_a_folder_that_may_not_be_written_is_one_sentence(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    tmp_path.chmod(0o555)
    try:
        found = subprocess.run(
            [sys.executable, "-m", "autobct", "run", str(path)],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            preexec_fn=without_privileges,
            timeout=120,
        )
    finally:
        tmp_path.chmod(0o755)
    if found.returncode == 77:
        pytest.skip("this root cannot give up its privileges")
    assert found.returncode == 2, found.stderr
    assert "tune.run' cannot be used: Permission denied" in found.stderr
    assert "Traceback" not in found.stderr
    assert sorted(file.name for file in tmp_path.iterdir()) == ["train.sh", "tune.toml"]


def test_a_stored_folder_that_may_not_be_written_changes_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = start(tmp_path / "run", log)
    process.communicate(timeout=120)
    before = (tmp_path / "run" / "journal.jsonl").read_bytes()
    for file in (tmp_path / "run").iterdir():
        file.chmod(0o444)
    again = start(tmp_path / "run", log, preexec_fn=without_privileges)
    _, err = again.communicate(timeout=120)
    if again.returncode == 77:
        pytest.skip("this root cannot give up its privileges")
    assert b"PermissionError" in err
    assert (tmp_path / "run" / "journal.jsonl").read_bytes() == before


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hours back and forth: only the dates in the journal follow the clock."""
    for name in ("steady", "jumping"):
        (tmp_path / name).mkdir()
    writes = TRAIN.replace('echo "{', 'echo "{').replace('echo "training', 'date > seen; echo "training')
    limits = "[limits]\ndeadline = 600\ntimeout = 60\n"
    steady = tune(write_job(tmp_path / "steady", TOML + limits, writes))
    jumps, real = iter(range(1, 10_000)), time.time

    def jumping() -> float:
        return real() + (-1) ** next(jumps) * 1e6

    monkeypatch.setattr(time, "time", jumping)
    jumped = tune(write_job(tmp_path / "jumping", TOML + limits, writes))
    assert [run.params for run in jumped.tuner.history] == [run.params for run in steady.tuner.history]
    assert jumped.code == steady.code == 0
    assert decided(tune(tmp_path / "jumping" / "tune.toml")) == decided(jumped)


def test_a_jump_does_not_reach_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 1e9)

    def train(params: dict[str, Any]) -> tuple[float, float]:
        return 1 - (params["x"] - 0.3) ** 2, 1.0

    result = autobct.tune(train, {"x": autobct.Float(0, 1)}, price=0.05, deadline=3600)
    assert "deadline" not in result.why
    assert isinstance(result.decisions[0], Train)
