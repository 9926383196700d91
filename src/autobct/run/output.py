"""Program output on disk: bounded in size, with the end always kept.

Imported by the keeper, a script of its own, so it knows the standard library only and nothing of this package.
"""

from __future__ import annotations

from typing import BinaryIO

TAIL = 1 << 16
"""Bytes at the end of a stream that are always kept: the score stands there."""


class Store:
    """One stream on disk: the beginning and the end of it, never more than `most` bytes, little in memory."""

    def __init__(self, path: str, most: int) -> None:
        self._room = max(most - TAIL, 0)
        self._tail = bytearray()
        self._dropped = 0
        self.trouble: str | None = None
        self._file: BinaryIO | None = None
        try:
            self._file = open(path, "wb")  # noqa: SIM115 - open as long as the program runs
        except OSError as error:
            self.trouble = error.strerror

    def write(self, data: bytes) -> None:
        """Take what the program printed."""
        head, rest = data[: self._room], data[self._room :]
        self._room -= len(head)
        self._store(head)
        self._tail += rest
        if len(self._tail) > 2 * TAIL:
            self._trim()

    def close(self) -> int:
        """Write the end; how many bytes before it were left out."""
        self._trim()
        if self._dropped:
            self._store(f"\n[{self._dropped} bytes of output left out here]\n".encode())
        self._store(bytes(self._tail))
        if self._file is not None:
            self._file.close()
        return self._dropped

    def _trim(self) -> None:
        excess = max(len(self._tail) - TAIL, 0)
        self._dropped += excess
        del self._tail[:excess]

    def _store(self, data: bytes) -> None:
        if self._file is None or not data:
            return
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:  # a full disk must not end the training
            self.trouble = error.strerror
            self._file = None
