"""Nothing runs on that nobody waits for: keepers and tuners that are killed, programs that hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, TRAIN, told, tune, write_job

from autobct import Storage
from autobct.integrations.storage.program import tune_program_together
from autobct.run import processes
from autobct.run.interrupts import Interrupts
from autobct.run.job import Job, opened
from autobct.run.lock import LockedError, locked
from autobct.run.process import LOST, Order, SlowNotice, run_program
from autobct.run.session import Session
from autobct.tuning.progress import Listeners

linux = pytest.mark.skipif(not processes.LINUX, reason="only Linux says which processes belong together")

# A training with a child in a session of its own, which nothing but a search can find.
HIDDEN = """#!/bin/sh
[ -e hide ] || { touch hide; setsid sh -c 'echo $$ >> pids; exec sleep 300' & echo $$ >> pids; sleep 300; }
x=$1
"""


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + 30
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    assert found
    return found


def alive(pid: int) -> bool:
    return processes._stat(str(pid)) is not None


def pids(folder: Path, count: int) -> list[int]:
    path = folder / "pids"
    until(lambda: path.exists() and len(path.read_text().split()) >= count)
    return [int(pid) for pid in path.read_text().split()]


def keepers(parent: int) -> list[int]:
    """The keepers that a process has started."""
    found = [process.pid for process in processes.family(parent, None)]
    kept = [pid for pid in found if b"keeper.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert kept
    return kept


@linux
def test_the_death_of_the_keeper_ends_what_hides_from_it(tmp_path: Path) -> None:
    write_job(tmp_path, script=HIDDEN)
    order = Order(
        ("./train.sh", "1"), dict(os.environ), str(tmp_path), str(tmp_path / "o"), str(tmp_path / "e"), grace=0.1
    )
    ended: list[Any] = []
    thread = threading.Thread(target=lambda: ended.append(run_program(order)))
    thread.start()
    running = pids(tmp_path, 2)
    for keeper in keepers(os.getpid()):
        os.kill(keeper, signal.SIGKILL)
    thread.join()
    assert ended[0].capped == LOST
    assert "supervising process was ended by SIGKILL" in ended[0].failure
    assert not any(map(alive, running))


def orphans(path: Path, *options: str) -> list[int]:
    """What a command has left running that was killed together with its keepers."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "autobct", "run", str(path), *options]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        running = pids(path.parent, 2)
        keeper = keepers(process.pid)
        os.kill(process.pid, signal.SIGSTOP)  # so that it cannot notice
        for each in keeper:
            os.kill(each, signal.SIGKILL)
        process.kill()
    assert any(map(alive, running))
    return running


@linux
def test_a_resume_ends_what_outlived_tuner_and_keeper(tmp_path: Path) -> None:
    path = write_job(
        tmp_path, script=HIDDEN + TRAIN.partition("x=$1 ")[2].join(["", ""]) + TRAIN.replace("#!/bin/sh", "")
    )
    running = orphans(path)
    ending = tune(path)
    assert not any(map(alive, running))
    assert ending.code == 0
    trials = [run["trial"] for run in told(tmp_path / "tune.run")]
    assert trials == list(range(len(trials)))


@linux
def test_so_does_a_worker_on_the_same_database(tmp_path: Path) -> None:
    path, address = write_job(tmp_path, script=HIDDEN + TRAIN.replace("#!/bin/sh", "")), f"sqlite:///{tmp_path}/run.db"
    running = orphans(path, "--storage", address, "--study", "one")
    try:
        left: list[int] = []
        heard = Listeners([lambda _, event: left.extend(filter(alive, running))])  # none when the run is begun again
        ending = tune_program_together(Job.of(path), Storage(address, study="one"), heard)
        assert ending.code == 0
        assert [run.trial for run in ending.tuner.history] == list(range(len(ending.tuner.history)))
        assert not left
    finally:
        for pid in filter(alive, running):
            os.kill(pid, signal.SIGKILL)


@linux
def test_the_message_names_a_live_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.lock._PATIENCE", 0.0)
    with locked(tmp_path) as lock:
        holder = subprocess.Popen(["sleep", "300"], pass_fds=(lock.descriptor,))
        gone = subprocess.Popen(["true"])
        gone.wait()
        os.pwrite(lock.descriptor, f"{gone.pid}\n{lock.mark}\n".encode(), 0)
    try:
        with pytest.raises(LockedError) as refused, locked(tmp_path):
            pass
        assert f"process {holder.pid} (sleep 300), left behind by process {gone.pid}, which has ended," in str(
            refused.value
        )
        assert f"kill {holder.pid}" in str(refused.value)
    finally:
        holder.kill()
        holder.wait()


def test_a_program_that_takes_long_without_a_limit_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.retries.HANGING", 0.1)
    path = write_job(tmp_path, TOML, "#!/bin/sh\nsleep 300\n")
    said: list[str] = []
    interrupts = Interrupts()

    def hear(_: Any, event: Any) -> None:
        if "has been running for" in getattr(event, "text", ""):
            said.append(event.text)
            if len(said) == 2:
                interrupts.request()

    with opened(Job.of(path), fresh=False) as folder:
        ending = Session(Job.of(path), folder, Listeners([hear]), interrupts).go_on()
    assert ending.code == 130
    assert "Run 1 has been running for 0 s, and no timeout is set." in said[0]
    assert 'write timeout = "1h" under [limits] in' in said[0]


def test_one_with_a_limit_is_left_in_peace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.run.retries.HANGING", 0.05)
    path = write_job(tmp_path, TOML + "[limits]\ntimeout = 0.3\nmax_runs = 1\n", "#!/bin/sh\nsleep 300\n")
    said: list[str] = []
    with opened(Job.of(path), fresh=False) as folder:
        heard = Listeners([lambda _, event: said.append(getattr(event, "text", ""))])
        Session(Job.of(path), folder, heard, Interrupts()).go_on()
    assert not any("has been running" in text for text in said)


def test_waiting_is_told_again_after_twice_as_long(tmp_path: Path) -> None:
    heard: list[float] = []
    interrupts = Interrupts()

    def tell(seconds: float) -> None:
        heard.append(seconds)
        if len(heard) == 3:
            interrupts.request()

    order = Order(("sleep", "300"), dict(os.environ), str(tmp_path), str(tmp_path / "o"), str(tmp_path / "e"))
    run_program(order, interrupts=interrupts, waiting=SlowNotice(tell, 0.05))
    assert len(heard) == 3
    assert heard[1] >= 2 * 0.05
    assert heard[2] >= 4 * 0.05


@pytest.mark.skipif(not processes.LINUX, reason="memory is watched through /proc")
def test_a_program_that_eats_memory_is_ended(tmp_path: Path) -> None:
    eats = f"#!/bin/sh\nexec {sys.executable} -c 'import time; a = bytearray(200_000_000); time.sleep(300)'\n"
    path = write_job(tmp_path, TOML + '[limits]\nmemory = "100 MB"\nmax_runs = 1\n', eats)
    tune(path)
    [run] = told(tmp_path / "tune.run")
    assert run["error"] == "ended at more than 100 MB of memory by limits.memory"
