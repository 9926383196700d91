"""TOML and JSON from others, read after one quick look that bounds the work of reading them.

Python's TOML reader takes quadratic memory for a key with many dots (40 kB: 1.6 GB), both readers recurse with the
depth of nesting, and a whole number of any length is computed.  No file of ours needs any of these.
"""

from __future__ import annotations

import json
import re
import tomllib
from itertools import accumulate
from typing import Any

from autobct.maps.ordinary import FileError

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
