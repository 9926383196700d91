"""Who is at work: one process on one machine, and whether it is still there."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def identity() -> dict[str, Any]:
    """This process as plain data: the same for no other, on this machine or elsewhere."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "place": _place(), "born": _born(os.getpid())}


def is_gone(worker: Mapping[str, Any]) -> bool:
    """Whether a process has certainly ended; False for one on another machine, of which nothing is known."""
    place, born = worker.get("place"), worker.get("born")
    if place is None or born is None or place != _place():
        return False
    return _born(int(worker["pid"])) != born


def _place() -> str | None:
    """Where process numbers mean the same: this boot of this machine, and this container on it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return None


def _born(pid: int) -> str | None:
    """When a process was started, in ticks since boot; None if there is none, or only what is left of one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
