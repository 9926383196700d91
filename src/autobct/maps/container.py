"""The file format of value maps: the safetensors layout with strict reading and writing, and the maps of the package.

    8 bytes             length of the header, little-endian
    header              JSON: {name: {"dtype", "shape", "data_offsets"}, ..., "__metadata__": {text: text}}
    the rest            the arrays' bytes, little-endian, one after the other without gaps

`__metadata__` holds one entry of our own, `sha256`: over the header without it and the arrays.  It tells a
damaged file from a whole one, not a friend from a foe: whatever the header says is checked before it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import reprlib
import secrets
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import accumulate
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from autobct.maps.ordinary import FileError, read_ordinary

MAX_FILE = 32 << 20
MAX_HEADER = 1 << 20
MAX_AXES = 8
MAX_ARRAYS = 4096

_METADATA, _DIGEST = "__metadata__", "sha256"
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1"}
_DTYPE = {code: np.dtype(kind) for code, kind in _DTYPES.items()}
_FIELDS = {"dtype", "shape", "data_offsets"}
_DEPTH = 3  # {name: {"shape": [...]}}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)  # an unclosed one too: a second try would be quadratic
_PARTS = 8  # commas and colons that one array takes: three fields, a shape of two sizes, two offsets
_DIGITS = 12  # more than any number in a header of a file of at most MAX_FILE bytes

Tensors = dict[str, NDArray[Any]]


class MapFileError(FileError):
    """A file that is not a map or a surrogate, or not a whole one.  The message is one sentence."""


class _Entry(NamedTuple):
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int


def pack(tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """The file for these arrays and notes: the same bytes for the same content, whatever the order it comes in."""
    if _DIGEST in metadata:
        raise MapFileError(f"metadata may not contain {_DIGEST!r}: the file keeps its own there")
    codes = {_name(name): _code(name, array) for name, array in tensors.items()}
    if sum(array.nbytes for array in tensors.values()) > MAX_FILE:
        raise MapFileError(f"the arrays are larger than {MAX_FILE} bytes, the limit of a map file")
    header: dict[str, Any] = {_METADATA: _texts(metadata)}
    payload = bytearray()
    for name in sorted(codes, key=lambda name: (-_DTYPE[codes[name]].itemsize, name)):  # so each stays aligned
        start, dtype, shape = len(payload), _DTYPE[codes[name]], tensors[name].shape
        payload += tensors[name].astype(dtype).tobytes()
        header[name] = {"dtype": codes[name], "shape": list(shape), "data_offsets": [start, len(payload)]}
        _finite(name, tensors[name])
        _entry(name, header[name])
    header[_METADATA] = {**header[_METADATA], _DIGEST: _digest(header, payload)}
    text = _canonical(header)
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER or 8 + len(text) + len(payload) > MAX_FILE:
        raise MapFileError(f"the map file would be over its limits: header {MAX_HEADER} bytes, file {MAX_FILE}")
    return len(text).to_bytes(8, "little") + text + bytes(payload)


def unpack(data: bytes | bytearray) -> tuple[Tensors, dict[str, str]]:
    """The arrays (read-only, no copies where `data` never changes) and the notes of a file; MapFileError if amiss."""
    header, payload = _split(data)
    metadata = _texts(header.get(_METADATA))
    entries = {_name(name): _entry(name, fields) for name, fields in header.items() if name != _METADATA}
    _check_tiling(entries, len(payload))
    signed = metadata.pop(_DIGEST, None)
    if signed is None:
        raise MapFileError("the map file has no sha256 of its content")
    if signed != _digest({**header, _METADATA: metadata}, payload):
        raise MapFileError("the map file was damaged or altered: its content does not match its sha256")
    return {name: _tensor(name, entry, payload) for name, entry in entries.items()}, metadata


def _split(data: bytes | bytearray) -> tuple[dict[str, Any], memoryview]:
    """Header and payload, after the sizes are checked."""
    if len(data) > MAX_FILE:
        raise MapFileError(f"the map file is larger than {MAX_FILE} bytes, the limit")
    if len(data) < 8:
        raise MapFileError(f"the map file is too short: {len(data)} bytes do not hold the length of a header")
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER:
        raise MapFileError(f"the map file is not one of ours: its header claims more than {MAX_HEADER} bytes")
    if length > len(data) - 8:
        raise MapFileError(f"the map file is too short: its header claims {length} bytes, {len(data) - 8} follow")
    return _parse(bytes(data[8 : 8 + length])), memoryview(data)[8 + length :]


def _parse(header: bytes) -> dict[str, Any]:
    """The header as an object: no key twice, no fraction, no nesting beyond its own."""
    try:
        text = header.decode("utf-8")
        bare = _STRING.sub("", text)
        if max(accumulate((c in "[{") - (c in "]}") for c in bare), default=0) > _DEPTH:
            raise ValueError("nested too deeply")
        if bare.count("{") > MAX_ARRAYS + 2 or bare.count(",") + bare.count(":") > _PARTS * MAX_ARRAYS:
            raise ValueError(f"more than {MAX_ARRAYS} arrays")
        parsed = json.loads(
            text,
            object_pairs_hook=_unique,
            parse_int=_whole,
            parse_float=_no_number,
            parse_constant=_no_number,
        )
    except UnicodeDecodeError:
        raise MapFileError("the header of the map file is not UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise MapFileError(f"the header of the map file cannot be read: {error}") from None
    if not isinstance(parsed, dict) or not text.startswith("{"):
        raise MapFileError("the header of the map file is not a JSON object")
    return parsed


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _whole(digits: str) -> int:
    return int(digits) if len(digits) <= _DIGITS else _no_number(digits)


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{reprlib.repr(text)} is not a small whole number")


def _texts(metadata: object) -> dict[str, str]:
    if not isinstance(metadata, Mapping):
        raise MapFileError(f"the map file has no {_METADATA} object")
    if not all(_is_text(part) for item in metadata.items() for part in item):
        raise MapFileError(f"{_METADATA} of the map file must map text to text")
    return dict(metadata)


def _name(name: object) -> str:
    if not isinstance(name, str) or not _is_text(name) or name == _METADATA:
        raise MapFileError(f"{reprlib.repr(name)} cannot be the name of an array in a map file")
    return name


def _is_text(value: object) -> bool:
    """A string that UTF-8 can hold: no half of a surrogate pair."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _entry(name: str, fields: object) -> _Entry:
    """What the header says of one array, once it makes sense."""
    label = f"array {reprlib.repr(name)} of the map file"
    if not isinstance(fields, dict) or set(fields) != _FIELDS:
        raise MapFileError(f"{label} must have dtype, shape and data_offsets, and nothing else")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPE:
        raise MapFileError(f"{label} has dtype {reprlib.repr(code)}; known are {', '.join(_DTYPE)}")
    if not _are_sizes(shape) or len(shape) > MAX_AXES:
        raise MapFileError(f"{label} has no shape of at most {MAX_AXES} whole numbers, zero or more")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise MapFileError(f"{label} must have two data_offsets, whole numbers, zero or more")
    dtype, (start, stop) = _DTYPE[code], offsets
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > MAX_FILE:  # NumPy minds it of empty ones too
        raise MapFileError(f"{label} is larger than a map file may be")
    if stop - start != math.prod(shape) * dtype.itemsize:
        raise MapFileError(f"{label} takes {stop - start} bytes, which is not what its dtype and shape need")
    return _Entry(dtype, tuple(shape), start, stop)


def _are_sizes(values: object) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= MAX_FILE for value in values)


def _check_tiling(entries: Mapping[str, _Entry], length: int) -> None:
    """The arrays follow one another from the first byte to the last."""
    end = 0
    for start, stop in sorted((entry.start, entry.stop) for entry in entries.values()):
        if start != end:
            raise MapFileError(f"the arrays of the map file {'overlap' if start < end else 'leave a gap'} at {start}")
        end = stop
    if end != length:
        raise MapFileError(f"the arrays of the map file take {end} bytes, but {length} follow the header")


def _digest(header: Mapping[str, Any], payload: bytes | bytearray | memoryview) -> str:
    """sha256 of a header without its own sha256, then of the payload; the way the JSON is laid out is no matter."""
    digest = hashlib.sha256(_canonical(header))
    digest.update(payload)
    return digest.hexdigest()


def _canonical(header: Mapping[str, Any]) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode("ascii")


def _tensor(name: str, entry: _Entry, payload: memoryview) -> NDArray[Any]:
    stored = np.frombuffer(payload[entry.start : entry.stop], dtype=entry.dtype)
    array = stored.reshape(entry.shape)
    if not (payload.readonly and array.flags.aligned and array.dtype.isnative):  # the file may be what is looked at
        array = np.array(array, dtype=entry.dtype.newbyteorder("="), order="C")
        array.flags.writeable = False
    _finite(name, array)
    return array


def _code(name: str, array: NDArray[Any]) -> str:
    for code, dtype in _DTYPE.items():
        if array.dtype.newbyteorder("<") == dtype:
            return code
    raise MapFileError(f"array {reprlib.repr(name)} has dtype {array.dtype}; a map file holds {', '.join(_DTYPE)}")


def _finite(name: str, array: NDArray[Any]) -> None:
    if not np.isfinite(array).all():
        raise MapFileError(f"array {reprlib.repr(name)} of the map file holds a number that is not finite")


SUFFIX = ".safetensors"

_BINARY = getattr(os, "O_BINARY", 0)  # Windows


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of an ordinary file of at most MAX_FILE bytes; MapFileError, in one sentence, if it is none."""
    return read_ordinary(path, MAX_FILE, MapFileError)


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` at `path` in one step: whoever looks finds the old file or the new one, never a part.

    OSError if that fails, e.g. because the disk is full: the old file is then still there, and nothing else.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(8)}.tmp")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except BaseException:  # an interrupted build must not leave drafts behind either
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise
    _sync_folder(folder)


def shipped() -> dict[str, Traversable]:
    """The maps inside the package: name, without the suffix -> where it is."""
    folder = resources.files("autobct.maps") / "files"
    if not folder.is_dir():
        return {}
    found = sorted((item for item in folder.iterdir() if item.name.endswith(SUFFIX)), key=lambda item: item.name)
    return {item.name.removesuffix(SUFFIX): item for item in found}


def read_shipped(name: str) -> bytes:
    """The bytes of a map inside the package, also where the package is a zip file."""
    maps = shipped()
    if name not in maps:
        raise MapFileError(f"the package has no map {name!r}; there are: {', '.join(maps) or 'none'}")
    with resources.as_file(maps[name]) as path:
        return read_file(path)


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
