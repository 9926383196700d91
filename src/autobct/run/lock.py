"""One tuning at a time per folder, even if a killed one is still ending its program."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from autobct.run.processes import command_of, holders

_NAME = "lock"
_POLL = 0.05
_PATIENCE = 30.0  # seconds for the keeper of a killed tuning to end its program


class LockedError(RuntimeError):
    """Another process is using the folder."""


class Lock:
    """A folder that is held.

    descriptor: of the lock file, which a keeper holds as well until its program has ended; -1 in a forked copy
    mark:       by which the programs that were started in this folder are found again
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.descriptor = _opened(folder)
        try:
            _take(self.descriptor, folder)
            self.mark = _sign(self.descriptor)
        except BaseException:
            self.close()
            raise
        _HELD.add(self)

    def check(self) -> None:
        """Take the lock again if its file was removed; LockedError if another process has the folder by now."""
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(self._folder / _NAME), os.fstat(self.descriptor)):
                return
        again = _opened(self._folder)
        try:
            _take(again, self._folder, 0.0)
            os.ftruncate(again, 0)
            os.pwrite(again, f"{os.getpid()}\n{self.mark}\n".encode(), 0)
            os.dup2(again, self.descriptor, inheritable=False)
        finally:
            os.close(again)

    def close(self) -> None:
        """Let go of the folder."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _let_go() -> None:
    """In a forked copy: an orphan must not hold the folder when the tuner is gone."""
    for lock in list(_HELD):
        lock.close()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[Lock]:
    """Hold the folder."""
    lock = Lock(folder)
    try:
        yield lock
    finally:
        lock.close()


def _opened(folder: Path) -> int:
    return os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o666)


def _take(descriptor: int, folder: Path, patience: float | None = None) -> None:
    """The lock; waited for only where its owner is gone and a keeper holds it to the end."""
    until = time.monotonic() + (_PATIENCE if patience is None else patience)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError:
            owner = _owner(descriptor)
            if owner is None or _alive(owner) or time.monotonic() > until:
                raise LockedError(_who(descriptor, folder, owner)) from None
            time.sleep(_POLL)


def _who(descriptor: int, folder: Path, owner: int | None) -> str:
    """A sentence that names a live process."""
    if owner is not None and _alive(owner):
        return f"process {owner} is already tuning in {str(folder)!r}; wait for it, or end it"
    others = [pid for pid in holders(descriptor) if pid != os.getpid()]
    if not others:
        return f"another process is already tuning in {str(folder)!r}; wait for it, or end it"
    which = f"process {others[0]} ({command_of(others[0])})"
    left = "" if owner is None else f", left behind by process {owner}, which has ended,"
    return f"{which}{left} still holds {str(folder)!r}; wait for it, or end it with: kill {others[0]}"


def _sign(descriptor: int) -> str:
    """Write who holds the folder; the mark of the folder, which stays the same."""
    lines = os.pread(descriptor, 200, 0).decode("ascii", "replace").split()
    mark = lines[1] if len(lines) > 1 and lines[1].isalnum() else secrets.token_hex(8)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n{mark}\n".encode(), 0)
    return mark


def _owner(descriptor: int) -> int | None:
    found = os.pread(descriptor, 200, 0).split()
    return int(found[0]) if found and found[0].isdigit() else None


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
