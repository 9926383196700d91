"""The journal of a tuning: one line of JSON per event, append-only, on disk before anything else happens.

Each line carries a fingerprint of itself and of all lines before it.  A last line that was cut off by a crash is
recognised and dropped; a journal that was changed in any other way is rejected.

Decisions are plain data in it, and their numbers come back to the last bit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.maps.container import write_file
from autobct.maps.ordinary import FileError, read_ordinary
from autobct.tuning.guard import Guard
from autobct.tuning.history import REASONS, Decision, Stop, Train
from autobct.tuning.space.space import Space

NAME = "journal.jsonl"
FORMAT = 1

RESCUED = "journal.rescued.jsonl"
"""What a journal held that was removed while it was written."""

_FORKED = (
    "this journal belongs to process {owner} and was copied into process {here} by a fork; "
    "ask and tell in process {owner} only"
)
_BINARY = getattr(os, "O_BINARY", 0)  # Windows
_CHECK = ', "check": "'
_DIGITS = 32
_MOST_BYTES = 1 << 28


class JournalError(FileError):
    """A journal cannot be used, in one sentence."""


class Journal:
    """A journal that is being written, by one process and one thread at a time.

    held: called before every line; raises if another process has the folder by now
    """

    def __init__(self, path: Path, check: str, size: int, held: Callable[[], object] = lambda: None) -> None:
        self._path, self._check, self._size, self._held = path, check, size, held
        self._guard, self._torn = Guard(), False
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | _BINARY)

    @classmethod
    def start(cls, path: Path, held: Callable[[], object] = lambda: None, **header: Any) -> Journal:
        """A new journal: there with its first line, or not at all."""
        line, check = chained({"kind": "header", "format": FORMAT, **header}, "")
        write_file(path, line)
        return cls(path, check, len(line), held)

    @classmethod
    def resume(cls, path: Path, held: Callable[[], object] = lambda: None) -> tuple[Journal, list[dict[str, Any]]]:
        """Go on with a journal, and what stands in it; a line that was cut off is removed."""
        records, check, whole = _read(path)
        if whole != path.stat().st_size:
            os.truncate(path, whole)
        return cls(path, check, whole, held), records

    def add(self, kind: str, **data: Any) -> None:
        """One more line; it is on disk when this returns.

        OSError if it could not be written, e.g. on a full disk: the journal is then as before, and may be gone on with.
        JournalError if the file was removed or changed by another process.
        """
        self._guard.check_owner(_FORKED)
        with self._guard:
            line, check = chained({"kind": kind, **data}, self._check)
            self._held()
            self._check_same(line)
            self._write(line)
            self._check, self._size = check, self._size + len(line)

    def close(self) -> None:
        """Write nothing more."""
        with self._guard:
            descriptor, self._file = self._file, -1
            if descriptor >= 0:
                os.close(descriptor)

    def _write(self, line: bytes) -> None:
        if self._torn:
            os.ftruncate(self._file, self._size)
        self._torn, rest = True, line
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except BaseException:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
                self._torn = False
            raise
        self._torn = False

    def _check_same(self, line: bytes) -> None:
        """JournalError if what is on disk is not what was written; all of it is then saved beside it."""
        here = os.fstat(self._file)
        try:
            there: os.stat_result | None = os.stat(self._path)
        except OSError:
            there = None
        if there is None or not os.path.samestat(here, there):
            raise JournalError(
                f"{str(self._path)!r} was removed or replaced while the tuning was running{self._saved(line)}"
            )
        if here.st_size != self._size and not self._torn:
            raise JournalError(f"{str(self._path)!r} was changed by another process{self._saved(line)}")

    def _saved(self, line: bytes) -> str:
        """Save all lines, and the one that was to follow; half a sentence that says where."""
        rescued = self._path.with_name(RESCUED)
        try:
            write_file(rescued, os.pread(self._file, self._size, 0) + line)
        except OSError as error:
            return f", and what it held could not be saved: {error.strerror}"
        return f"; all it held is in {RESCUED!r} beside it: rename that to {self._path.name!r} to continue"


def read_journal(path: Path) -> list[dict[str, Any]]:
    """What stands in a journal, without touching it; JournalError if it is none."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """Records, the last fingerprint, and how many bytes are whole lines."""
    records: list[dict[str, Any]] = []
    check, whole = "", 0
    for number, line in enumerate(lines_of(journal_bytes(path)), start=1):
        found = checked(line, check) if line.endswith(b"\n") else None
        if found is None and not line.endswith(b"\n") and records:
            break  # the last line, cut off
        if found is None:
            raise JournalError(
                f"{str(path)!r} was changed or damaged in line {number}; "
                f"restore the original file, or keep what is sound with: autobct repair {str(path.parent)!r}"
            )
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


def journal_bytes(path: Path) -> bytes:
    """The bytes of a journal; JournalError if they cannot be read, or are far too many."""
    if not path.is_file():
        raise JournalError(f"there is no journal {str(path)!r}")
    return read_ordinary(path, _MOST_BYTES, JournalError)


def lines_of(data: bytes) -> list[bytes]:
    """The lines, each with its end; the last one without if it was cut off.  Only a newline ends a line."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


def chained(record: Mapping[str, Any], check: str) -> tuple[bytes, str]:
    """A line that follows others, and its fingerprint.  check: the fingerprint of the line before."""
    body = json.dumps(dict(record))
    check = _fingerprint(body, check)
    return f'{body[:-1]}{_CHECK}{check}"}}\n'.encode(), check


def checked(line: bytes, check: str) -> tuple[dict[str, Any], str] | None:
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


ROUNDING = 1e-9
"""Controls that differ by less are the same: another processor or library rounds the last bits otherwise."""

_NUMBERS = ("expected_gain", "expected_cost", "price_of_run", "expected_score", "value", "stop_value")


class CodecError(ValueError):
    """Data that is not what was stored."""


def encoded(thing: Train | Stop) -> dict[str, Any]:
    """A decision as plain data."""
    return {field.name: _plain(getattr(thing, field.name)) for field in dataclasses.fields(thing)}


def decision_of(data: Mapping[str, Any], space: Space) -> Decision:
    """The decision that was encoded; what its params are is the space's to say."""
    return _train(data, space) if "control" in data else _stop(data, space)


def same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two encoded things are the same to the last bit (NaN is NaN)."""
    return repr(first) == repr(second)


def alike(first: Decision, second: Decision) -> bool:
    """Whether two decisions ask for the same: to stop, or to train with the same params but for rounding."""
    if isinstance(first, Stop) or isinstance(second, Stop):
        return isinstance(first, Stop) and isinstance(second, Stop)
    return first.control.shape == second.control.shape and bool(
        np.allclose(first.control, second.control, rtol=0.0, atol=ROUNDING)
    )


def _train(data: Mapping[str, Any], space: Space) -> Train:
    return Train(**_fields(Train, data, space))


def _stop(data: Mapping[str, Any], space: Space) -> Stop:
    fields = _fields(Stop, data, space)
    if fields.get("reason") not in REASONS:
        raise CodecError("a reason to stop is not known")
    best = fields.get("best_alternative")
    return Stop(**{**fields, "best_alternative": None if best is None else _train(best, space)})


def _fields(kind: type, data: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """What another version wrote besides is left out, and a number that it did not know is NaN."""
    known = {field.name: field.default for field in dataclasses.fields(kind)}
    missing = {name: float("nan") for name in _NUMBERS if known.get(name) is dataclasses.MISSING}
    fields = {**missing, **{key: value for key, value in data.items() if key in known}}
    try:
        if "control" in fields:
            fields["control"] = _in_the_cube(np.array(fields["control"], dtype=float))
            fields["params"] = space.params(fields["control"])
    except (TypeError, ValueError) as error:
        raise CodecError(str(error)) from None
    return fields


def _in_the_cube(control: Array) -> Array:
    """A control as it is; a number that no control has would only fail later, and elsewhere."""
    if not np.all((control >= -ROUNDING) & (control <= 1.0 + ROUNDING)):
        raise CodecError("a control is not in the unit cube")
    return control


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return encoded(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
