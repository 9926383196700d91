"""Disks of a test's own, small enough to be filled, that can be made read-only: tmpfs, where it may be mounted."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

_BALLAST = "ballast"


@dataclass(frozen=True)
class Disk:
    """A mounted disk."""

    path: Path

    def fill(self) -> None:
        """Take all room."""
        with open(self.path / _BALLAST, "ab", 0) as ballast:
            for size in (1 << 16, 1 << 12):  # a page is the least that tmpfs gives
                with contextlib.suppress(OSError):
                    while True:
                        ballast.write(bytes(size))
        self._check_full()

    def free(self) -> None:
        """Give the room back."""
        (self.path / _BALLAST).unlink()

    def read_only(self) -> None:
        """Nothing can be written any more, by nobody."""
        _run("mount", "-o", "remount,ro", str(self.path))

    def writable(self) -> None:
        _run("mount", "-o", "remount,rw", str(self.path))

    def _check_full(self) -> None:
        more = self.path / "more"
        with pytest.raises(OSError, match="No space left on device"):
            more.write_bytes(bytes(1 << 12))
        more.unlink(missing_ok=True)


@contextlib.contextmanager
def disk(size: str = "16m") -> Iterator[Disk]:
    """A disk of some size; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="autobct-disk-") as folder:
        _run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)
        try:
            yield Disk(Path(folder))
        finally:
            _run("umount", "--lazy", folder)


@cache
def missing() -> str:
    """Why no disk can be mounted here; "" if one can."""
    if os.getuid() != 0:
        return "only root may mount a disk"
    try:
        with disk("1m"):
            return ""
    except (OSError, subprocess.CalledProcessError):
        return "this root may not mount a disk"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
