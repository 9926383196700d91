"""One run of a program as the tuner sees it: a request to the keeper, and one clear sentence if it failed."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import selectors
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from autobct.run import keeper, processes
from autobct.run.interrupts import Interrupts

TIMEOUT = "limits.timeout"
"""The limit of the time of every single run."""

MEMORY = "limits.memory"
"""The limit of the memory of every single run."""

INTERRUPTED = "interrupted"

LOST = "lost"
"""What ended a program that somebody killed from outside, or whose keeper was killed: its params are not the cause."""

TWICE = "ended twice from outside, as the system does when memory runs out"
"""Of a program that was lost once more when it was made again: then its params are probably the cause."""

NOT_STARTED = "not started"
"""What ended a program that could not be started at all, e.g. as it is gone."""

OWN_LIMITS = (TIMEOUT, MEMORY, "Isolation.timeout", "Isolation.memory")
"""Limits of a single run, which fails by them; any other ends the tuning."""

_SHELL = 128  # plus the number of a signal: the exit code of a shell whose program was killed
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)  # the others are a program's own

GRACE = 5.0
"""Seconds between asking a program to end (SIGTERM) and ending it (SIGKILL)."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to run.

    argv:        the program and its arguments, each taken as it is: no shell reads them
    env:         the whole environment
    timeout:     seconds of wall time after which it is ended; None: never
    most_cpu:    seconds of processor time after which it is ended, where the system tells (Linux); None: never
    most_memory: bytes of memory in use, of the program and of all it has started, above which it is ended; None: never
    timeout_reason, cpu_reason, memory_reason:  which limit says so
    descriptors: open files that the program is given besides these
    stdout, stderr, most_output:  files for what it prints, and how many bytes of each stream are kept
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    directory: str
    stdout: str
    stderr: str
    timeout: float | None = None
    timeout_reason: str = TIMEOUT
    most_cpu: float | None = None
    cpu_reason: str = TIMEOUT
    most_memory: float | None = None
    memory_reason: str = MEMORY
    most_output: int = 1 << 24
    grace: float = GRACE
    descriptors: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a program.

    wall, cpu:  seconds; processor time is that of the program and of all it has started
    failure:    one sentence, or None if it ended by itself with exit code 0
    capped:     what ended it though it was not its fault: "interrupted", "lost", "not started", or a limit of the
                whole tuning
    trouble:    why not all it printed could be kept, e.g. that the disk is full
    notes:      sentences about what else there is to know, e.g. that output was left out
    by_itself:  it was started and ended without being told to, well or badly
    """

    wall: float
    cpu: float
    failure: str | None
    notes: tuple[str, ...] = ()
    capped: str | None = None
    trouble: str | None = None
    by_itself: bool = False


def run_program(
    order: Order,
    *,
    interrupts: Interrupts | None = None,
    hold: int | None = None,
    mark: str = "",
    waiting: SlowNotice | None = None,
) -> Ended:
    """Run it to its end.

    interrupts:  the first request lets the program end within its grace, a second one ends it at once
    hold:        a descriptor, e.g. of a lock, that stays open until the program has ended, even if this process is gone
    mark:        by which it is found, with all that it has started, when its keeper was killed
    waiting:     is called while the program runs
    """
    started = time.perf_counter()
    mark = f"{mark}:{secrets.token_hex(8)}"
    order = replace(order, env={**order.env, processes.MARK: mark})
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", keeper.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(*order.descriptors, *(() if hold is None else (hold,))),
    )
    answer = b""
    with contextlib.suppress(BrokenPipeError), process:  # a keeper that was killed has no answer
        _pipe(process.stdin).write(json.dumps(asdict(order)).encode() + b"\n")
        _pipe(process.stdin).flush()
        with (interrupts or Interrupts()).heard_by(lambda count: _interrupt(process, count)):
            answer = _answer(_pipe(process.stdout), waiting)
    if not answer.endswith(b"\n"):
        process.wait()
        processes.end_all(lambda: processes.marked(mark), order.grace)
        code = process.returncode
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        return Ended(time.perf_counter() - started, 0.0, f"lost: its supervising process {how}", capped=LOST)
    return _ended(json.loads(answer), order)


@dataclass(frozen=True, slots=True)
class SlowNotice:
    """Whom to tell of a program that takes long.  after: seconds until the first time, doubled for each further one."""

    tell: Callable[[float], object]
    after: float


def _answer(pipe: IO[bytes], waiting: SlowNotice | None) -> bytes:
    """All that the keeper says; meanwhile it is told how long that takes."""
    started = time.perf_counter()
    after = math.inf if waiting is None else waiting.after
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while True:
            left = started + after - time.perf_counter()
            if selector.select(None if after == math.inf else max(left, 0.0)):
                return pipe.read()
            if waiting is not None and left <= 0.0:
                waiting.tell(time.perf_counter() - started)
                after *= 2.0


def _interrupt(process: subprocess.Popen[bytes], count: int) -> None:
    if count > 1:
        process.terminate()
    else:
        with contextlib.suppress(BrokenPipeError):
            _pipe(process.stdin).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _ended(answer: dict[str, object], order: Order) -> Ended:
    notes = []
    if answer["left_out"]:
        notes.append(f"it printed more than is kept; {answer['left_out']} bytes were left out")
    if answer["output_trouble"]:
        notes.append(f"not all it printed could be kept: {answer['output_trouble']}")
    if answer["survivors"]:
        notes.append(f"{answer['survivors']} of its processes could not be ended")
    wall, cpu = answer["wall"], answer["cpu"]
    assert isinstance(wall, float)
    assert isinstance(cpu, float)
    reasons = {"timeout": order.timeout_reason, "most_cpu": order.cpu_reason, "interrupted": INTERRUPTED}
    reasons["most_memory"] = order.memory_reason
    reason = reasons.get(str(answer["why"]), TIMEOUT)
    capped = None if reason in OWN_LIMITS else reason
    if answer["not_started"] is not None:
        capped = NOT_STARTED
    elif answer["why"] is None and _killer(answer["code"]) in _FROM_OUTSIDE:
        capped = LOST
    trouble = str(answer["output_trouble"]) if answer["output_trouble"] else None
    by_itself = answer["why"] is None and isinstance(answer["code"], int)
    return Ended(
        wall=wall,
        cpu=cpu,
        failure=_failure(answer, order),
        notes=tuple(notes),
        capped=capped,
        trouble=trouble,
        by_itself=by_itself,
    )


def _failure(answer: dict[str, object], order: Order) -> str | None:
    trouble, why, code = answer["not_started"], answer["why"], answer["code"]
    if isinstance(trouble, dict):
        return _not_started(trouble, order)
    if why == "timeout":
        return f"ended after {order.timeout:.4g} s by {order.timeout_reason}"
    if why == "most_cpu":
        return f"ended after {order.most_cpu:.4g} s of processor time by {order.cpu_reason}"
    if why == "most_memory":
        return f"ended at more than {shown_bytes(order.most_memory or 0.0)} of memory by {order.memory_reason}"
    if why is not None or not isinstance(code, int):
        return INTERRUPTED
    if code < 0:
        return f"killed by {_signal_name(-code)}"
    shell = f" (a process of it was killed by {_signal_name(code - _SHELL)})" if _killer(code) in _FROM_OUTSIDE else ""
    return None if code == 0 else f"ended with exit code {code}{shell}"


def _killer(code: object) -> int | None:
    """The signal that ended a program, or a process of it for which a shell speaks; None if none did."""
    if not isinstance(code, int):
        return None
    return -code if code < 0 else code - _SHELL if code > _SHELL else None


def shown_bytes(size: float) -> str:
    """512 MB; 4 GB."""
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def _not_started(trouble: dict[str, object], order: Order) -> str:
    program, reason = order.argv[0], trouble["reason"]
    if trouble["directory"]:
        return f"could not be started in {order.directory!r}: {reason}"
    if trouble["errno"] == errno.ENOENT:
        return f"command not found: {program!r}"
    if trouble["errno"] == errno.EACCES:
        return f"not executable: {program!r}"
    if trouble["errno"] == errno.ENOEXEC:
        return f"not a program: {program!r} has no #! line, or is for another kind of machine"
    return f"could not be started: {program!r}: {reason}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def find_program(name: str, directory: Path) -> str | None:
    """Why a program cannot be started, in one sentence; None if it can."""
    if os.sep in name:
        folders = [directory]
    else:
        folders = [directory / folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)]
    found = [folder / name for folder in folders if (folder / name).is_file()]
    if any(os.access(path, os.X_OK) for path in found):
        return None
    if found:
        return f"not executable: {name!r}; make it so with chmod +x {shlex.quote(str(found[0]))}"
    return f"command not found: {name!r}"
