"""One run of a program, from the tuner's side: an order to the keeper, and one clear sentence if it went wrong."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from autobct.run import keeper
from autobct.run.interrupts import Interrupts

TIMEOUT = "limits.timeout"
"""The limit of every single run; any other ends the tuning."""

INTERRUPTED = "interrupted"

GRACE = 5.0
"""Seconds between asking a program to end (SIGTERM) and ending it (SIGKILL)."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to run.

    argv:        the program and its arguments, each taken as it is: no shell reads them
    env:         the whole environment
    timeout:     seconds of wall time after which it is ended; None: never
    most_cpu:    seconds of processor time after which it is ended, where the system tells (Linux); None: never
    timeout_reason, cpu_reason:  which limit says so
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
    most_output: int = 1 << 24
    grace: float = GRACE


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a program.

    wall, cpu:  seconds; processor time is that of the program and of all it has started
    failure:    one sentence, or None if it ended by itself with exit code 0
    capped:     what ended it though it was not its fault: "interrupted", or a limit of the whole tuning
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


def run_program(order: Order, *, interrupts: Interrupts | None = None, hold: int | None = None) -> Ended:
    """Run it to its end.

    interrupts:  the first request lets the program end within its grace, a second one ends it at once
    hold:        a descriptor, e.g. of a lock, that stays open until the program has ended, even if this process is gone
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", keeper.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        pass_fds=() if hold is None else (hold,),
    )
    answer = b""
    with contextlib.suppress(BrokenPipeError), process:  # a keeper that was killed has no answer
        _pipe(process.stdin).write(json.dumps(asdict(order)).encode() + b"\n")
        _pipe(process.stdin).flush()
        with (interrupts or Interrupts()).heard_by(lambda count: _interrupt(process, count)):
            answer = _pipe(process.stdout).read()
    if not answer.endswith(b"\n"):
        process.wait()
        code = process.returncode
        how = f"was ended by {_signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        return Ended(time.perf_counter() - started, 0.0, f"lost: its supervising process {how}")
    return _ended(json.loads(answer), order)


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
    reason = reasons.get(str(answer["why"]), TIMEOUT)
    capped = None if reason == TIMEOUT else reason
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
    if why is not None or not isinstance(code, int):
        return INTERRUPTED
    if code < 0:
        return f"killed by {_signal_name(-code)}"
    return None if code == 0 else f"ended with exit code {code}"


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
