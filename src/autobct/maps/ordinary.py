"""Untrusted files: read only if regular and small enough, with bounded work, and rejected with one type of error.

A link to a device would be read until memory ends, and a pipe without a writer waited for: the kind of a file and its
size are looked at before its first byte.  Python's TOML reader takes quadratic memory for a key with many dots (40 kB:
1.6 GB), both readers of text recurse with the depth of nesting, and a whole number of any length is computed.  No file
of ours needs any of these, and one quick look finds them.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from itertools import accumulate
from typing import Any

_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe that took the file's place meanwhile is not waited for
_BINARY = getattr(os, "O_BINARY", 0)  # Windows

MOST_DOTS = 4
MOST_DEPTH = 16

MOST_DIGITS = 64
"""Dots in one key, brackets around one value, and digits of one number."""

_TOML_TEXTS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:[^"\\\n]|\\.)*+"?'
    r"|'[^'\n]*+'?"
    r"|\#[^\n]*+",
    re.DOTALL,
)  # each matches unclosed too: a second try would be quadratic
_JSON_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_KEYS = re.compile(r"[^\s.=,\[\]{}]++(?:[ \t]*+\.[ \t]*+[^\s.=,\[\]{}]++)*+")
_DIGITS = re.compile(rf"[0-9][0-9a-fA-FxX_]{{{MOST_DIGITS}}}")


class FileError(ValueError):
    """A file that is refused: damaged, altered, too large, or not what it should be.  The message is one sentence.

    Every file that the package reads, e.g. a map, a prior, a surrogate, a TOML file or a journal, is refused with this
    type or one derived from it.
    """


def read_ordinary(path: str | os.PathLike[str], most: int, refused: type[FileError] = FileError) -> bytes:
    """The bytes of an ordinary file of at most `most` bytes; `refused`, in one sentence, if it is none."""
    shown = repr(os.fspath(path))
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening some devices already does something
            raise refused(f"{shown} is not an ordinary file")
        descriptor = os.open(path, os.O_RDONLY | _NONBLOCK | _BINARY)
    except FileError:
        raise
    except FileNotFoundError:
        raise refused(f"{shown} cannot be read: there is no such file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise refused(f"{shown} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise refused(f"{shown} is not an ordinary file")
        if status.st_size > most:
            raise refused(f"{shown} is larger than {most} bytes; is it the right file?")
        with open(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size)
    except OSError as error:
        raise refused(f"{shown} cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def read_toml(text: str) -> dict[str, Any]:
    """The table that a TOML text describes; ValueError, in one sentence, if it is none or would take much work."""
    bare = _TOML_TEXTS.sub(lambda found: "" if found[0].startswith("#") else "text", text)
    for key in _KEYS.finditer(bare):
        if key[0].count(".") > MOST_DOTS:
            raise ValueError(f"a key has more than {MOST_DOTS} dots, beginning with {key[0][:20]!r}")
    _check(bare)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(text: str) -> Any:
    """The value of a JSON text; ValueError if it is none, a key occurs twice, or reading it would take much work."""
    _check(_JSON_TEXTS.sub('"', text))
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def decoded(data: bytes, path: object, refused: type[FileError]) -> str:
    """The text of a file; `refused` if it is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused(f"{str(path)!r} cannot be read: it is not UTF-8 at byte {error.start}") from None


def _check(bare: str) -> None:
    """bare: without texts and comments."""
    if max(accumulate((c in "[{") - (c in "]}") for c in bare), default=0) > MOST_DEPTH:
        raise ValueError(f"it is nested more than {MOST_DEPTH} deep")
    if found := _DIGITS.search(bare):
        raise ValueError(f"a number has more than {MOST_DIGITS} digits, beginning with {found[0][:20]}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found
