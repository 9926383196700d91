"""Real processes: what came of each in one sentence, and nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from autobct.run import keeper, processes
from autobct.run.interrupts import Interrupts
from autobct.run.process import Ended, Order, find_program, run_program


class Kept:
    """Runs programs in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def order(self, *argv: str, **options: object) -> Order:
        return Order(
            argv=argv,
            env=dict(os.environ),
            directory=str(self.folder),
            stdout=str(self.folder / "stdout.txt"),
            stderr=str(self.folder / "stderr.txt"),
            **{"grace": 0.2, **options},  # type: ignore[arg-type]
        )

    def __call__(self, *argv: str, **options: object) -> Ended:
        return run_program(self.order(*argv, **options))

    @property
    def stdout(self) -> bytes:
        return (self.folder / "stdout.txt").read_bytes()

    @property
    def stderr(self) -> bytes:
        return (self.folder / "stderr.txt").read_bytes()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def gone(pid: int, patience: float = 10.0) -> bool:
    """Whether a process ends (a zombie has)."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def pid_in(path: Path, patience: float = 10.0) -> int:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if path.exists() and path.read_text().strip():
            return int(path.read_text())
        time.sleep(0.02)
    raise AssertionError(f"{path} was never written")


def test_output_and_times(kept: Kept) -> None:
    ended = kept("sh", "-c", "echo out; echo err >&2; sleep 0.3")
    assert ended.failure is None
    assert kept.stdout == b"out\n"
    assert kept.stderr == b"err\n"
    assert ended.wall >= 0.3
    assert ended.cpu < ended.wall


@pytest.mark.parametrize(
    "value", ["a b", "$(touch hacked)", "; touch hacked", "`touch hacked`", "\"'\n<b>&", "*", "-rf"]
)
def test_arguments_arrive_as_they_are(kept: Kept, value: str) -> None:
    kept(sys.executable, "-c", "import sys; sys.stdout.write(sys.argv[1])", value)
    assert kept.stdout == value.encode()
    assert not (kept.folder / "hacked").exists()


def test_standard_input_is_empty(kept: Kept) -> None:
    assert kept("sh", "-c", "cat; echo done", timeout=10.0).failure is None
    assert kept.stdout == b"done\n"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (("sh", "-c", "exit 3"), "ended with exit code 3"),
        (("sh", "-c", "kill -KILL $$"), "killed by SIGKILL"),
        (("sh", "-c", "kill -SEGV $$"), "killed by SIGSEGV"),
        (("no-such-program", "x"), "command not found: 'no-such-program'"),
        (("./plain.txt",), "not executable: './plain.txt'"),
        (("./noscript",), "not a program: './noscript' has no #! line, or is for another kind of machine"),
    ],
)
def test_a_program_that_fails(kept: Kept, argv: tuple[str, ...], sentence: str) -> None:
    (kept.folder / "plain.txt").write_text("hello")
    (kept.folder / "noscript").write_text("echo hello")
    (kept.folder / "noscript").chmod(0o755)
    assert kept(*argv).failure == sentence


def test_a_directory_that_is_gone(tmp_path: Path) -> None:
    order = Order(("true",), {}, str(tmp_path / "gone"), str(tmp_path / "o"), str(tmp_path / "e"))
    failure = run_program(order).failure
    assert failure is not None
    assert "could not be started in" in failure


def test_a_program_that_hangs_is_ended(kept: Kept) -> None:
    ended = kept("sleep", "60", timeout=0.2)
    assert ended.failure == "ended after 0.2 s by limits.timeout"
    assert ended.capped is None
    assert ended.wall >= 0.2


def test_a_program_may_clean_up_when_it_is_ended(kept: Kept) -> None:
    kept("sh", "-c", "trap 'echo clean; exit 0' TERM; sleep 60 & wait", timeout=0.5, grace=20.0)
    assert kept.stdout == b"clean\n"


def test_a_program_that_will_not_end_is_killed(kept: Kept) -> None:
    ended = kept("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", timeout=0.3)
    assert ended.failure == "ended after 0.3 s by limits.timeout"


FORKS = """
import os, sys, time
if os.fork() == 0:
    os.setsid()                      # a session of its own, as daemons do
    if os.fork() == 0:
        open(sys.argv[1], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
while not os.path.exists(sys.argv[1]): time.sleep(0.01)
time.sleep(float(sys.argv[2]))
print(0.5)
"""


@pytest.mark.skipif(not processes.LINUX, reason="only Linux hands orphans to their keeper")
@pytest.mark.parametrize("longer", [0, 60], ids=["ends by itself", "hangs"])
def test_children_that_hide_end_with_it(kept: Kept, tmp_path: Path, longer: int) -> None:
    ended = kept(sys.executable, "-c", FORKS, str(tmp_path / "pid"), str(longer), timeout=1.5)
    assert (ended.failure is None) == (longer == 0)
    assert gone(pid_in(tmp_path / "pid"), patience=0.0) or gone(pid_in(tmp_path / "pid"), patience=0.1)


def test_background_children_of_a_shell_end_with_it(kept: Kept, tmp_path: Path) -> None:
    ended = kept("sh", "-c", "sleep 60 & echo $! > pid; echo 0.5")
    assert ended.failure is None
    assert kept.stdout == b"0.5\n"
    assert gone(pid_in(tmp_path / "pid"), patience=0.1)


BURN = "import time\nwhile time.process_time() < {}: pass\n"


def test_processor_time_is_that_of_all_children(kept: Kept) -> None:
    script = f"import subprocess, sys; [subprocess.run([sys.executable, '-c', {BURN.format(0.2)!r}]) for _ in range(2)]"
    assert kept(sys.executable, "-c", script).cpu >= 0.4


@pytest.mark.skipif(not processes.LINUX, reason="only Linux tells while it runs")
def test_processor_time_is_limited(kept: Kept) -> None:
    ended = kept(sys.executable, "-c", BURN.format(60), most_cpu=0.3, cpu_reason="max_cost")
    assert ended.failure == "ended after 0.3 s of processor time by max_cost"
    assert ended.capped == "max_cost"
    assert ended.cpu < 30


def test_a_flood_is_bounded_on_disk_and_its_end_is_kept(kept: Kept) -> None:
    ended = kept("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo 0.75", most_output=100_000)
    assert ended.failure is None
    assert ended.notes == (f"it printed more than is kept; {3_000_006 - 100_000} bytes were left out",)
    assert len(kept.stdout) < 101_000
    assert kept.stdout.startswith(b"xxx")
    assert b"bytes of output left out here]" in kept.stdout
    assert kept.stdout.endswith(b"x\n0.75\n")


def test_output_just_within_the_bound_is_whole(kept: Kept) -> None:
    kept("sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x", most_output=100_000)
    assert kept.stdout == b"x" * 100_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_does_not_end_the_program(kept: Kept, tmp_path: Path) -> None:
    order = Order(("sh", "-c", "echo 1"), dict(os.environ), str(tmp_path), "/dev/full", str(tmp_path / "e"))
    ended = run_program(order)
    assert ended.failure is None
    assert ended.notes == ("not all it printed could be kept: No space left on device",)


def test_an_interruption_ends_it(kept: Kept, tmp_path: Path) -> None:
    interrupts = Interrupts()
    threading.Timer(0.4, interrupts.request).start()
    ended = run_program(kept.order("sleep", "60"), interrupts=interrupts)
    assert (ended.failure, ended.capped) == ("interrupted", "interrupted")
    assert ended.wall < 30


def test_an_interruption_after_its_end_does_not_lose_it(kept: Kept) -> None:
    """The program is done; only what it has left behind is still being ended."""
    interrupts = Interrupts()
    threading.Timer(0.8, interrupts.request).start()
    leaves = "sh -c 'trap \"\" TERM; sleep 60; sleep 60' & echo 0.5"
    ended = run_program(kept.order("sh", "-c", leaves, grace=1.4), interrupts=interrupts)
    assert (ended.failure, ended.capped) == (None, None)
    assert kept.stdout == b"0.5\n"


def test_a_second_interruption_ends_it_at_once(kept: Kept) -> None:
    interrupts = Interrupts()
    for seconds in (0.4, 0.6):
        threading.Timer(seconds, interrupts.request).start()
    stubborn = kept.order("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done", grace=60.0)
    assert run_program(stubborn, interrupts=interrupts).wall < 30


STARTS = """
import os, sys
from autobct.run.process import Order, run_program
script = "sleep 60 & echo $! > child; echo $$ > parent; wait"
folder = sys.argv[1]
run_program(Order(("sh", "-c", script), dict(os.environ), folder, folder + "/o", folder + "/e", grace=0.2))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_our_own_death_ends_it(tmp_path: Path, number: int) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen([sys.executable, "-c", STARTS, str(tmp_path)], env=environment) as tuner:
        pids = [pid_in(tmp_path / "child"), pid_in(tmp_path / "parent")]
        tuner.send_signal(number)
    assert all(map(gone, pids))


@pytest.mark.skipif(not processes.LINUX, reason="finds the keeper in /proc")
def test_the_death_of_the_keeper_is_a_failed_run_and_ends_it(kept: Kept, tmp_path: Path) -> None:
    def kill_keeper() -> None:
        pid_in(tmp_path / "pid")
        [found] = [p.pid for p in processes.family(os.getpid(), None) if keeper.__file__ in _command(p.pid)]
        os.kill(found, signal.SIGKILL)

    threading.Thread(target=kill_keeper).start()
    ended = kept("sh", "-c", "echo $$ > pid; exec sleep 60")
    assert ended.failure == "lost: its supervising process was ended by SIGKILL"
    assert gone(pid_in(tmp_path / "pid"))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_ps_sees_what_proc_sees(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        seen = {(p.pid, p.parent, p.group) for p in processes._ps()}
        assert (sleeper.pid, os.getpid(), os.getpgid(0)) in seen
        sleeper.kill()


def test_find_program(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("#!/bin/sh\n")
    assert find_program("sh", tmp_path) is None
    assert find_program("./here", tmp_path) == f"not executable: './here'; make it so with chmod +x {tmp_path}/here"
    (tmp_path / "here").chmod(0o755)
    assert find_program("./here", tmp_path) is None
    assert find_program("here", tmp_path) == "command not found: 'here'"
