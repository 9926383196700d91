"""One tuning at a time in a folder, also when one was killed and its program is still being ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = "lock"
_POLL = 0.05
_PATIENCE = 30.0  # seconds for the keeper of a killed tuning to end its program


class LockedError(RuntimeError):
    """Somebody else is at work in the folder."""


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the folder; the descriptor of the lock, which a keeper holds as well until its program has ended."""
    descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _take(descriptor, folder)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int, folder: Path) -> None:
    """The lock; waited for only where its owner is gone and a keeper holds it to the end."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            owner = _owner(descriptor)
            if owner is None or _alive(owner) or time.monotonic() > until:
                by = "another process" if owner is None else f"process {owner}"
                raise LockedError(f"{by} is already tuning in {str(folder)!r}; wait for it, or end it") from None
            time.sleep(_POLL)


def _owner(descriptor: int) -> int | None:
    found = os.pread(descriptor, 20, 0).strip()
    return int(found) if found.isdigit() else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
