"""A damaged journal, repaired: what is sound is kept, what was lost is said, and the original stays beside it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autobct.maps.container import write_file
from autobct.run.journal import FORMAT, NAME, JournalError, chained, checked, journal_bytes, lines_of
from autobct.run.lock import locked

_STATED = re.compile(rb', "check": "([0-9a-f]{32})"}\n$')


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of a repair.

    kept, lost:  numbers of lines, from 1;  runs: outcomes that are kept
    original:    the damaged file under its new name; None if nothing was damaged
    """

    path: Path
    kept: tuple[int, ...]
    lost: tuple[int, ...]
    runs: int
    original: Path | None

    def __str__(self) -> str:
        """In one or two sentences."""
        runs = f"{self.runs} run{'s' if self.runs != 1 else ''}"
        if self.original is None:
            return f"{str(self.path)!r} is sound: {len(self.kept)} lines, {runs}."
        lost = f"line{'s' if len(self.lost) != 1 else ''} {', '.join(map(str, self.lost))}"
        return (
            f"Kept {len(self.kept)} of {len(self.kept) + len(self.lost)} lines, with {runs}; lost {lost}. "
            f"A run whose outcome was lost counts as not made. The damaged file is kept as {self.original.name!r}."
        )


def repair(folder: Path) -> Repaired:
    """Repair the journal in a folder; JournalError if what was tuned cannot be read any more."""
    path = folder / NAME
    if not path.is_file():
        raise JournalError(f"there is no journal {str(path)!r}")
    with locked(folder):
        lines = lines_of(journal_bytes(path))
        sound = _sound(lines)
        if not sound or 0 not in sound or sound[0].get("kind") != "header" or sound[0].get("format") != FORMAT:
            raise JournalError(
                f"{str(path)!r} cannot be repaired: its first line, which says what was tuned, is damaged; "
                f"restore the file from a copy"
            )
        kept = _consistent(sound)
        numbers = tuple(number + 1 for number in kept)
        lost = tuple(number + 1 for number in range(len(lines)) if number not in kept)
        runs = sum(record["kind"] == "told" for record in kept.values())
        if not lost:
            return Repaired(path=path, kept=numbers, lost=(), runs=runs, original=None)
        original = _aside(path)
        shutil.copy2(path, original)
        note = {"kind": "repaired", "lost": list(lost), "original": original.name}
        write_file(path, _written([*kept.values(), note]))
        return Repaired(path=path, kept=numbers, lost=lost, runs=runs, original=original)


def _sound(lines: list[bytes]) -> dict[int, dict[str, Any]]:
    """Place -> record, of all lines that are what was written.

    A line is held against the fingerprint of the line before it as that line states it, so that a line that is gone
    takes no other along than the one after it, which nothing vouches for any more.
    """
    found, check = {}, ""
    for number, line in enumerate(lines):
        if (good := checked(line, check)) is not None and isinstance(good[0], dict):
            found[number] = good[0]
        stated = _STATED.search(line)
        check = stated[1].decode() if stated else "unknown"
    return found


def _consistent(sound: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Without outcomes of runs whose decision was lost: nobody knows their params."""
    asked: set[Any] = set()
    kept = {}
    for number, record in sound.items():
        kind = record.get("kind")
        if kind == "asked":
            asked.add(record["decision"]["trial"])
        if kind == "told" and record["trial"] not in asked:
            continue
        if kind == "told":
            asked.discard(record["trial"])
        kept[number] = record
    return kept


def _written(records: list[dict[str, Any]]) -> bytes:
    lines, check = [], ""
    for record in records:
        line, check = chained(record, check)
        lines.append(line)
    return b"".join(lines)


def _aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    return aside
