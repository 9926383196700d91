"""Process trees: descendants of a process, and the CPU time they have used.

Imported by the keeper, a script of its own, so it knows the standard library only and nothing of this package.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

LINUX = sys.platform.startswith("linux")
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_TICK = os.sysconf("SC_CLK_TCK") if LINUX else 100
_PAGE = os.sysconf("SC_PAGE_SIZE")
_POLL = 0.02  # seconds between two looks at who is still alive, while ending
UNKILLABLE = 5.0
"""Seconds after SIGKILL in which a process must have ended."""

MARK = "AUTOBCT_KEPT"
"""The environment variable by which a program and all that it starts are found when their keeper was killed."""


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


def marked(mark: str) -> list[Process]:
    """Live processes whose mark begins so, where the system tells (Linux); never this one, nor who started it."""
    if not os.path.exists("/proc/self/environ"):
        return []
    alive = {process.pid: process for process in _linux()}
    mine, pid = set[int](), os.getpid()
    while pid in alive and pid not in mine:
        mine.add(pid)
        pid = alive[pid].parent
    wanted = f"{MARK}={mark}".encode()
    return [process for pid, process in alive.items() if pid not in mine and _has(pid, wanted)]


def _has(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(entry.startswith(wanted) for entry in file.read().split(b"\0"))
    except OSError:
        return False


def end_all(find: Callable[[], list[Process]], grace: float) -> int:
    """End all that `find` finds, politely and then not; how many could not be ended."""
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, UNKILLABLE)):
        until, sent = time.monotonic() + patience, set[int]()
        while members := find():
            signal_all([process for process in members if process.pid not in sent], number)
            sent.update(process.pid for process in members)
            if time.monotonic() > until:
                break
            time.sleep(_POLL)
    return len(find())


def memory_of(members: Iterable[Process], most: float) -> float:
    """Bytes of memory in use by some processes; pages that they share count once where that makes a difference."""
    pids = [process.pid for process in members]
    resident = sum(_resident(pid) for pid in pids)
    return resident if resident <= most else sum(_share(pid) for pid in pids)


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * _PAGE
    except FileNotFoundError:
        return 0 if LINUX else _ps_resident(pid)
    except (OSError, IndexError):
        return 0


def _share(pid: int) -> int:
    """The proportional set size; the resident set where the system does not tell."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            return next(int(line.split()[1]) << 10 for line in file if line.startswith(b"Pss:"))
    except (OSError, StopIteration):
        return _resident(pid)


def _ps_resident(pid: int) -> int:
    with subprocess.Popen(["ps", "-o", "rss=", "-p", str(pid)], stdout=subprocess.PIPE) as ps:
        found = ps.communicate()[0].split()
    return int(found[0]) << 10 if found else 0


def holders(descriptor: int) -> list[int]:
    """Live processes that have the same file open, where the system tells (Linux)."""
    wanted = os.fstat(descriptor)
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc") if LINUX else []):
        try:
            files = os.listdir(f"/proc/{entry}/fd")
        except OSError:
            continue
        if any(_same_file(f"/proc/{entry}/fd/{file}", wanted) for file in files):
            found.append(int(entry))
    return found


def _same_file(path: str, wanted: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), wanted)
    except OSError:
        return False


def command_of(pid: int) -> str:
    """The command line of a process, short; "?" if nobody tells."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(500).decode(errors="replace").split("\0")
    except OSError:
        return "?"
    shown = "".join(c if c.isprintable() else "?" for c in " ".join(filter(None, words)))
    return shown[:60] or "?"


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that none can leave; where the system can."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(number: int, parent: int) -> None:
    """Have this process sent a signal when its parent ends; where the system can."""
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:  # it has ended already
        os.kill(os.getpid(), number)


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
