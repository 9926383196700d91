"""Which processes there are: the descendants of one of them, and the processor time they have used.

Imported by the keeper, a script of its own, so it knows the standard library only and nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICK = os.sysconf("SC_CLK_TCK") if LINUX else 100


@dataclass(frozen=True)
class Process:
    """One live process.  cpu: seconds it and the children it has waited for have used; 0 where that is not known."""

    pid: int
    parent: int
    group: int
    cpu: float


def family(root: int, group: int | None) -> list[Process]:
    """Live descendants of `root`, and members of a process group that may have been adopted by another process."""
    alive = list(_linux() if os.path.exists("/proc/self/stat") else _ps())
    found: dict[int, Process] = {}
    ancestors = {root}
    while more := [p for p in alive if p.pid not in found and (p.parent in ancestors or p.group == group)]:
        found.update((process.pid, process) for process in more)
        ancestors.update(process.pid for process in more)
    return [process for process in found.values() if process.pid != root]


def signal_all(members: Iterable[Process], number: int) -> None:
    """Send a signal to each; one that has just ended, or that belongs to somebody else, is passed over."""
    for process in members:
        try:
            os.kill(process.pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none can leave; where the system can."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: int) -> None:
    """Have this process sent a signal when its parent ends; where the system can."""
    _prctl(_PR_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _linux() -> Iterator[Process]:
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (process := _stat(entry)) is not None:
            yield process


def _stat(entry: str) -> Process | None:
    """One process from /proc; None if it has ended.  Its name stands in brackets and may contain anything."""
    try:
        with open(f"/proc/{entry}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return Process(int(entry), int(fields[1]), int(fields[2]), sum(map(int, fields[11:15])) / _TICK)


def _ps() -> Iterator[Process]:
    """The same by the `ps` of POSIX."""
    with subprocess.Popen(["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="], stdout=subprocess.PIPE) as ps:
        lines = ps.communicate()[0].decode(errors="replace").splitlines()
    for line in lines:
        pid, parent, group, state = line.split()[:4]
        if not state.startswith("Z") and int(pid) != ps.pid:
            yield Process(int(pid), int(parent), int(group), 0.0)
