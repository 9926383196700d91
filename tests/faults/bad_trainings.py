"""Trainings that misbehave, each in its own way, from the second run on; importable, as a process of its own needs."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import signal
import subprocess
import sys
import time
from typing import Any


def good(params: dict[str, Any]) -> tuple[float, float]:
    """A hill at 0.3, which costs 1."""
    return 1.0 - (params["x"] - 0.3) ** 2, 1.0


def raises(params: dict[str, Any]) -> float:
    raise RuntimeError(f"no such layer at {params['x']:.3f}")


def exits(params: dict[str, Any]) -> float:
    sys.exit(3)


def is_nan(params: dict[str, Any]) -> Any:
    return math.nan, 1.0


def is_infinite(params: dict[str, Any]) -> Any:
    return math.inf, 1.0


def is_huge(params: dict[str, Any]) -> Any:
    return 1e300, 0.0


def costs_less_than_nothing(params: dict[str, Any]) -> Any:
    return 0.5, -1.0


def costs_nothing(params: dict[str, Any]) -> Any:
    return good(params)[0], 0.0


def costs_too_much(params: dict[str, Any]) -> Any:
    return 0.5, 1e308


def is_text(params: dict[str, Any]) -> Any:
    return "0.9"


def hangs(params: dict[str, Any]) -> float:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    time.sleep(600)
    return 0.0


def segfaults(params: dict[str, Any]) -> float:
    ctypes.string_at(0)
    return 0.0


def aborts(params: dict[str, Any]) -> float:
    os.abort()


def leaves(params: dict[str, Any]) -> float:
    os._exit(0)


def is_killed(params: dict[str, Any]) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


def eats_memory(params: dict[str, Any]) -> float:
    eaten = []
    while True:
        eaten.append(bytearray(20_000_000))
        time.sleep(0.01)


def floods(params: dict[str, Any]) -> Any:
    line = b"x" * (1 << 20)
    for _ in range(200):
        os.write(1, line)
    return good(params)


def floods_for_gigabytes(params: dict[str, Any]) -> Any:
    """More than 2 GB on standard output, and a little on the other stream."""
    line = b"x" * (1 << 20)
    for _ in range(2200):
        os.write(1, line)
    os.write(2, b"the end\n")
    return good(params)


def forks(params: dict[str, Any]) -> Any:
    """Leaves processes behind that would run for ever, one of them in a session of its own."""
    subprocess.Popen(["sleep", "600"], start_new_session=True)
    if os.fork() == 0:
        time.sleep(600)
    return good(params)


def comes_back_twice(params: dict[str, Any]) -> Any:
    """A forked child that comes back from the training as well."""
    if os.fork() == 0:
        return 0.0, 0.0
    time.sleep(0.2)
    return good(params)


def ends_badly_after_it_returned(params: dict[str, Any]) -> Any:
    """As a library does that crashes when the interpreter shuts down."""
    atexit.register(os.abort)
    return good(params)
