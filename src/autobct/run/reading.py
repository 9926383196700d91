"""Reads score or cost from a program's last line, a file or a pattern; and the last output of a failed program.

Last words are what it wrote last on stderr, short and safe to print: that is where most programs say why.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autobct.run.matching import PATIENCE, last_match

__all__ = ["last_words"]

_LINE = 1 << 16  # bytes of one line that are looked at
_FILE = 1 << 20  # bytes of a file that are read as one JSON text
_SHOWN = 60


class NoNumberError(ValueError):
    """There was nothing to read, in one sentence."""


class NotFiniteError(NoNumberError):
    """There was a number, and it was not finite: the training has diverged."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a number is found.

    what:     "score" or "cost"; also the key in JSON if no other is told
    key:      the key of the number in the JSON of the last line, dots for nesting: "metrics.accuracy"
    file:     the file whose last line is read instead of the output's; a template
    pattern:  a regular expression whose last match has the number in its group `what`, or else in its first
    """

    what: str
    key: str | None = None
    file: str | None = None
    pattern: str | None = None

    def number(self, path: Path) -> float:
        """The number in a file that the program wrote or its output is kept in; NoNumberError if there is none."""
        where = "the output" if self.file is None else f"the file {str(path)!r}"
        if self.pattern is not None:
            return _finite(self._matched(path, where), self.what)
        line = (self.file and _whole_json(path)) or _last_line(path)
        if line is None:
            raise NoNumberError(f"no {self.what}: {where} is empty")
        return _finite(self._in_line(line, where), self.what)

    def _matched(self, path: Path, where: str) -> str:
        try:
            found = last_match(self.pattern or "", self.what, path)
        except TimeoutError:
            slow = f"the pattern {self.pattern!r} took more than {PATIENCE:g} s in {where}"
            raise NoNumberError(f"no {self.what}: {slow}; write one without a repeat inside a repeat") from None
        except OSError as error:
            raise NoNumberError(f"the file {str(path)!r} cannot be read: {error.strerror}") from None
        if found is None:
            raise NoNumberError(f"no {self.what}: nothing in {where} matches the pattern {self.pattern!r}")
        return found

    def _in_line(self, line: str, where: str) -> Any:
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = line  # nan, inf, 1_000 and the like are judged as text
        if isinstance(found, dict):
            return self._in_json(found, where)
        if self.key is not None:
            raise NoNumberError(
                f"no {self.what}: the last line of {where}, {_shown(line)}, is not JSON with {self.key!r}"
            )
        if isinstance(found, str | int | float) and not isinstance(found, bool):
            return found
        raise NoNumberError(f"no {self.what}: the last line of {where}, {_shown(line)}, is not one number")

    def _in_json(self, found: Any, where: str) -> Any:
        key = self.key or self.what
        for part in [key] if key in found else key.split("."):
            if not isinstance(found, dict) or part not in found:
                there = ", ".join(map(repr, list(found)[:10])) if isinstance(found, dict) else _shown(found)
                raise NoNumberError(f"no {self.what}: the JSON of {where} has no {key!r}, it has {there}")
            found = found[part]
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise NoNumberError(f"no {self.what}: {key!r} in the JSON of {where} is {_shown(found)}, not a number")
        return found


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a file was before a run: a score that an earlier run left there must not count as this one's."""

    identity: tuple[int, ...] | None

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """The file as it is now; a missing one has no identity."""
        try:
            status = path.stat()
        except OSError:
            return cls(None)
        return cls((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))


def check_written(path: Path, before: Stamp, what: str) -> None:
    """NoNumberError unless the program wrote this ordinary file."""
    now = Stamp.of(path)
    if now.identity is None:
        raise NoNumberError(f"no {what}: the program did not write the file {str(path)!r}")
    if now == before:
        raise NoNumberError(f"no {what}: the file {str(path)!r} is from before the run; the program did not write it")
    if not stat.S_ISREG(path.stat().st_mode):
        raise NoNumberError(f"no {what}: {str(path)!r} is not an ordinary file")


def _finite(found: Any, what: str) -> float:
    try:
        number = float(found)
    except (ValueError, OverflowError):
        raise NoNumberError(f"no {what}: {_shown(found)} is not one number") from None
    if not math.isfinite(number):
        raise NotFiniteError(f"no {what}: it is {_shown(found)}, which is not finite")
    if what == "cost" and number < 0:
        raise NoNumberError(f"no {what}: it is {_shown(found)}, which is negative")
    return number


def _last_line(path: Path) -> str | None:
    """The last line that is not blank, of the last bytes of a file of any size."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _LINE, 0))
            lines = file.read(_LINE).decode(errors="replace").splitlines()
    except OSError as error:
        raise NoNumberError(f"the file {str(path)!r} cannot be read: {error.strerror}") from None
    return next((line.strip() for line in reversed(lines) if line.strip()), None)


def _whole_json(path: Path) -> str | None:
    """A file that is one JSON object over several lines; None if it is not."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        text = path.read_text("utf-8") if path.stat().st_size <= _FILE else ""
        if isinstance(json.loads(text), dict):
            return text
    return None


def _shown(found: object) -> str:
    text = repr(found)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_BYTES = 1 << 14  # at the end of the stream that are looked at
_LINES = 4
_LONGEST = 300  # characters of all lines together
_SECRET = 6  # an [env] value of so many characters is replaced by its name; shorter ones are numbers and switches

# Sequences that a terminal obeys: ESC [ ... (colours, cursor), ESC ] ... (titles, links), strings, and two-byte ones.
_ESCAPE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|$)"
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c|$)"
    r"|\x1b[ -/]*[0-~]?"
)
_POINTS = re.compile(r"[\s^~]*")  # Python underlines the place in a line with ^ and ~


def last_words(path: str | Path, env: Mapping[str, str] | None = None) -> str:
    """The last lines that a program wrote to its stderr, as a clause to append to a sentence; "" if there are none.

    path: the file in which its stderr is kept
    env:  what was added to its environment; a value in it may be a password and is shown as its $NAME
    """
    lines = [line for line in map(_plain, _end(path).split("\n")) if not _POINTS.fullmatch(line)]
    said = _without_secrets(" / ".join(lines[-_LINES:]), env or {})
    if not said:
        return ""
    return f"; on stderr it wrote: {said if len(said) <= _LONGEST else '…' + said[1 - _LONGEST :]}"


def _end(path: str | Path) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _BYTES, 0))
            return file.read(_BYTES).decode(errors="replace")
    except OSError:  # what the program printed could not be kept, which is said elsewhere
        return ""


def _plain(line: str) -> str:
    """What is left to see of a line: after the last return of a progress bar, without anything a terminal obeys."""
    shown = _ESCAPE.sub("", line).rstrip("\r").rpartition("\r")[2]
    return " ".join("".join(map(_visible, shown)).split())


def _visible(character: str) -> str:
    if character == "\t":
        return " "
    return "" if unicodedata.category(character) in ("Cc", "Cf", "Cs") else character


def _without_secrets(text: str, env: Mapping[str, str]) -> str:
    for name, value in sorted(env.items(), key=lambda item: -len(item[1])):
        plain = " ".join(value.split())
        if len(plain) >= _SECRET:
            text = text.replace(plain, f"${name}")
    return text
