"""The journal of a tuning: one line of JSON for everything that happened, added only, on disk before we go on.

Each line carries a fingerprint of itself and of all lines before it.  A last line that was cut off by a crash is
recognised and dropped; a journal that was changed in any other way is not believed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from autobct.maps.store import write_file

NAME = "journal.jsonl"
FORMAT = 1

_CHECK = ', "check": "'
_DIGITS = 32
_MOST_BYTES = 1 << 28


class JournalError(ValueError):
    """A journal cannot be used, in one sentence."""


class Journal:
    """A journal that is being written."""

    def __init__(self, path: Path, check: str) -> None:
        self._check = check
        self._file = open(path, "ab")  # noqa: SIM115 - open as long as the tuning runs

    @classmethod
    def start(cls, path: Path, **header: Any) -> Journal:
        """A new journal: there with its first line, or not at all."""
        line, check = _line({"kind": "header", "format": FORMAT, **header}, "")
        write_file(path, line)
        return cls(path, check)

    @classmethod
    def resume(cls, path: Path) -> tuple[Journal, list[dict[str, Any]]]:
        """Go on with a journal, and what stands in it; a line that was cut off is removed."""
        records, check, whole = _read(path)
        if whole != path.stat().st_size:
            os.truncate(path, whole)
        return cls(path, check), records

    def add(self, kind: str, **data: Any) -> None:
        """One more line; it is on disk when this returns."""
        line, self._check = _line({"kind": kind, **data}, self._check)
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """No more lines."""
        self._file.close()


def read_journal(path: Path) -> list[dict[str, Any]]:
    """What stands in a journal, without touching it; JournalError if it is none."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """Records, the last fingerprint, and how many bytes are whole lines."""
    records: list[dict[str, Any]] = []
    check, whole = "", 0
    for number, line in enumerate(_bytes(path).splitlines(keepends=True), start=1):
        found = _checked(line, check) if line.endswith(b"\n") else None
        if found is None and not line.endswith(b"\n") and records:
            break  # the last line, cut off
        if found is None:
            raise JournalError(f"{str(path)!r} was changed or damaged in line {number}; restore the original file")
        record, check = found
        records.append(record)
        whole += len(line)
    if not records or records[0].get("kind") != "header":
        raise JournalError(f"{str(path)!r} is not an autobct journal")
    if records[0].get("format") != FORMAT:
        raise JournalError(
            f"{str(path)!r} is a journal of another autobct version, format {records[0].get('format')!r}"
        )
    return records, check, whole


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise JournalError(f"there is no journal {str(path)!r}")
        if path.stat().st_size > _MOST_BYTES:
            raise JournalError(f"{str(path)!r} is larger than {_MOST_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        raise JournalError(f"{str(path)!r} cannot be read: {error.strerror}") from None


def _line(record: dict[str, Any], check: str) -> tuple[bytes, str]:
    body = json.dumps(record)
    check = _fingerprint(body, check)
    return f'{body[:-1]}{_CHECK}{check}"}}\n'.encode(), check


def _checked(line: bytes, check: str) -> tuple[dict[str, Any], str] | None:
    """A line's record and fingerprint; None if it is not what was written after the lines before it."""
    try:
        body, found, rest = line.decode().rpartition(_CHECK)
        stated = rest.removesuffix('"}\n')
        if not found or stated != _fingerprint(body + "}", check):
            return None
        return json.loads(body + "}"), stated
    except (ValueError, RecursionError):
        return None


def _fingerprint(body: str, check: str) -> str:
    return hashlib.sha256(f"{check}{body}".encode()).hexdigest()[:_DIGITS]
