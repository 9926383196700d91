"""What a failed program wrote last on stderr, short and safe to print: that is where most programs say why."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

__all__ = ["last_words"]

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
