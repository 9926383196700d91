"""Seeded mutations of files: bytes, texts, and the containers of maps with their checksum made right again."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

Mutation = Callable[[bytes, np.random.Generator], bytes]

_NUMBERS = ("0", "-1", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "9" * 25, "9" * 400, "0x" + "f" * 80)
_NUMBERS += ("true", '"text"', "[]", "{}", "null", "1979-05-27T07:32:00Z", "0.1", "255", "4294967296", "")
_WORDS = (
    "a." * 50 + "a",
    "[" * 40,
    "{" * 40,
    '"""',
    "'''",
    "\\u0000",
    "\x1b[2J",
    "=HYPERLINK(1)",
    "#",
    ",,",
    "..",
    "=",
)
_WORDS += ("\ufeff", "\ud7ff", "[[", "]]", "[space]", "price = 1", "rows = []", "\n\n", "\r", "\0", "é", "\u202e")
_SIZES = (0, 1, 2, 3, 7, 8, 255, 256, 65535, 1 << 20, 1 << 25, 1 << 31, 1 << 40, -1)


def of_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """One to four changes anywhere: flip, set, cut, insert, repeat, move."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        _CHANGES[int(rng.integers(len(_CHANGES)))](changed, rng)
    return bytes(changed)


def _at(data: bytearray, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data))) if data else 0


def _flip(data: bytearray, rng: np.random.Generator) -> None:
    if data:
        data[_at(data, rng)] ^= 1 << int(rng.integers(8))


def _set(data: bytearray, rng: np.random.Generator) -> None:
    if data:
        data[_at(data, rng)] = int(rng.choice([0, 1, 9, 10, 34, 39, 44, 46, 91, 92, 93, 123, 125, 127, 128, 255]))


def _cut(data: bytearray, rng: np.random.Generator) -> None:
    start = _at(data, rng)
    del data[start : start + int(rng.choice([1, 2, 8, 64, len(data)]))]


def _insert(data: bytearray, rng: np.random.Generator) -> None:
    start = _at(data, rng)
    data[start:start] = rng.bytes(int(rng.choice([1, 2, 8, 64])))


def _repeat(data: bytearray, rng: np.random.Generator) -> None:
    start, length = _at(data, rng), int(rng.choice([1, 8, 64, 512]))
    data[start:start] = data[start : start + length] * int(rng.choice([1, 2, 20]))


def _move(data: bytearray, rng: np.random.Generator) -> None:
    start, length = _at(data, rng), int(rng.choice([1, 8, 64]))
    part = data[start : start + length]
    del data[start : start + length]
    place = _at(data, rng)
    data[place:place] = part


def _head(data: bytearray, rng: np.random.Generator) -> None:
    data[:8] = struct.pack("<Q", int(rng.choice(_SIZES)) % 2**64)


_CHANGES = (_flip, _flip, _set, _cut, _insert, _repeat, _move, _head)


def of_text(data: bytes, rng: np.random.Generator) -> bytes:
    """Numbers, words, lines and quotes changed for others; now and then bytes."""
    if rng.random() < 0.2:
        return of_bytes(data, rng)
    text = data.decode()
    for _ in range(int(rng.integers(1, 4))):
        kind = int(rng.integers(5))
        if kind == 0:
            text = _replaced(text, r"-?\d+\.?\d*", str(rng.choice(_NUMBERS)), rng)
        elif kind == 1:
            text = _replaced(text, r"[A-Za-z_]+", str(rng.choice(_WORDS)), rng)
        elif kind == 2:
            text = _replaced(text, r"[\[\]{}\"'=,:.]", str(rng.choice(_WORDS)), rng)
        else:
            lines = text.split("\n")
            one, other = rng.integers(len(lines), size=2)
            lines.insert(int(other), lines[int(one)] if kind == 3 else str(rng.choice(_WORDS)))
            text = "\n".join(lines)
    return text.encode("utf-8", "replace")


def _replaced(text: str, pattern: str, by: str, rng: np.random.Generator) -> str:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    one = found[int(rng.integers(len(found)))]
    return text[: one.start()] + by + text[one.end() :]


def of_container(data: bytes, rng: np.random.Generator) -> bytes:
    """A map or a surrogate with another header or other values, and a checksum that is right."""
    length = int.from_bytes(data[:8], "little")
    header, payload = json.loads(data[8 : 8 + length]), bytearray(data[8 + length :])
    for _ in range(int(rng.integers(1, 4))):
        _CONTAINED[int(rng.integers(len(_CONTAINED)))](header, payload, rng)
    return sealed(header, bytes(payload))


def sealed(header: dict[str, Any], payload: bytes) -> bytes:
    """A container with its checksum."""
    notes = header.get("__metadata__")
    if isinstance(notes, dict):
        notes.pop("sha256", None)
        digest = hashlib.sha256(json.dumps(header, sort_keys=True, separators=(",", ":")).encode())
        digest.update(payload)
        notes["sha256"] = digest.hexdigest()
    text = json.dumps(header, sort_keys=True).encode()
    return struct.pack("<Q", len(text)) + text + payload


def _arrays(header: dict[str, Any]) -> list[str]:
    return [name for name, fields in header.items() if isinstance(fields, dict) and "shape" in fields]


def _shape(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    if names := _arrays(header):
        shape = header[str(rng.choice(names))]["shape"]
        action = int(rng.integers(3))
        if action == 0 and shape:
            shape[int(rng.integers(len(shape)))] = int(rng.choice(_SIZES))
        elif action == 1:
            shape.reverse()
        else:
            shape.insert(0, int(rng.choice([1, 0, 2])))


def _fields(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    if names := _arrays(header):
        fields = header[str(rng.choice(names))]
        if rng.random() < 0.5:
            fields["dtype"] = str(rng.choice(["F16", "F32", "F64", "I32", "I64", "U8", "BF16", ""]))
        else:
            fields["data_offsets"] = [int(value) for value in rng.choice(_SIZES, 2)]


def _named(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    if names := _arrays(header):
        one, other = str(rng.choice(names)), str(rng.choice(names))
        header[one], header[other] = header[other], header[one]
        if rng.random() < 0.3:
            header[f"{one}.{rng.integers(100)}"] = header.pop(one)


def _noted(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    notes = header.get("__metadata__")
    if isinstance(notes, dict) and notes:
        notes[str(rng.choice(list(notes)))] = str(rng.choice([*_NUMBERS, *_WORDS, '"cubic"', "[1.0, 2.0]", "forest"]))


def _values(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    if payload:
        start = _at(payload, rng) // 8 * 8
        number = float(rng.choice([0.0, -0.0, 1.0, -1.0, 1e300, -1e300, 1e38, 1e4, 1e-300, np.nan, np.inf]))
        single = max(min(number, 3e38), -3e38) if np.isfinite(number) else number
        for form in (("<d", number), ("<ff", single, single), ("<q", int(rng.choice(_SIZES)))):
            if rng.random() < 0.4:
                payload[start : start + 8] = struct.pack(*form)[: len(payload) - start]


def _all_values(header: dict[str, Any], payload: bytearray, rng: np.random.Generator) -> None:
    """One array of extreme numbers."""
    if names := _arrays(header):
        fields = header[str(rng.choice(names))]
        start, stop = (min(max(int(end), 0), len(payload)) for end in fields["data_offsets"])
        payload[start:stop] = (rng.bytes(8) * ((stop - start) // 8 + 1))[: max(stop - start, 0)]


_CONTAINED = (_shape, _fields, _named, _noted, _values, _values, _all_values)


def of_journal(data: bytes, rng: np.random.Generator) -> bytes:
    """The records of a journal changed, and its fingerprints made right again."""
    lines, check = [], ""
    records = [line.rpartition(b', "check": "')[0].decode() + "}" for line in data.splitlines() if line]
    for _ in range(int(rng.integers(1, 4))):
        one = int(rng.integers(len(records)))
        action = int(rng.integers(6))
        if action == 0 and len(records) > 1:
            records.pop(one)
        elif action == 1:
            records.insert(one, records[int(rng.integers(len(records)))])
        else:
            records[one] = of_text(records[one].encode(), rng).decode("utf-8", "replace").replace("\n", " ")
    for body in records:
        check = hashlib.sha256(f"{check}{body}".encode()).hexdigest()[:32]
        lines.append(f'{body[:-1]}, "check": "{check}"}}\n')
    return "".join(lines).encode()
