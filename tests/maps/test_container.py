"""The map file: what goes in comes out, and nothing else does."""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autobct.maps.container import MAX_FILE, MAX_HEADER, MapFileError, pack, unpack

TENSORS: dict[str, np.ndarray] = {
    "bytes": np.arange(3, dtype=np.uint8),
    "count": np.array(7, np.int32),
    "net.weights.0": np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4),
    "probe": np.linspace(0, 1, 5),
    "state": np.arange(4, dtype=np.int64).reshape(2, 2),
}
METADATA = {"kind": "network", "note": 'a "quoted" [note] {with brackets}, \u03b3 = 0.16'}
VALID = pack(TENSORS, METADATA)


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert set(one) == set(other)
    for name, array in one.items():
        assert array.dtype == other[name].dtype
        assert array.shape == other[name].shape
        assert array.tobytes() == other[name].tobytes()


kinds = st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint8])
arrays = kinds.flatmap(
    lambda kind: hnp.arrays(
        kind,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
        elements=hnp.from_dtype(np.dtype(kind), allow_nan=False, allow_infinity=False),
    )
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
names = texts.filter(lambda name: name != "__metadata__")


@given(st.dictionaries(names, arrays, max_size=5), st.dictionaries(texts.filter(lambda k: k != "sha256"), texts))
def test_what_goes_in_comes_out(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> None:
    data = pack(tensors, metadata)
    found, notes = unpack(data)
    assert_same(found, tensors)
    assert notes == metadata
    assert pack(found, notes) == data


def test_the_same_content_is_the_same_file_whatever_its_order_and_memory_layout() -> None:
    turned = {name: np.array(TENSORS[name], order="F") for name in reversed(TENSORS)}
    turned["probe"] = TENSORS["probe"].astype(">f8")
    turned["state"] = np.repeat(TENSORS["state"], 2, axis=1)[:, ::2]
    assert pack(turned, dict(reversed(METADATA.items()))) == VALID


def test_arrays_are_copies_aligned_and_read_only() -> None:
    data = bytearray(VALID)
    found, _ = unpack(data)
    data[:] = bytes(len(data))
    assert_same(found, TENSORS)
    for array in found.values():
        assert array.flags.aligned
        assert array.flags.c_contiguous
        assert array.flags.owndata
        assert array.dtype.isnative
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


def test_the_arrays_are_aligned_in_the_file_as_well() -> None:
    header, _ = opened(VALID)
    start = 8 + struct.unpack("<Q", VALID[:8])[0]
    assert start % 8 == 0
    for name, array in TENSORS.items():
        assert (start + header[name]["data_offsets"][0]) % array.itemsize == 0


def test_the_official_library_reads_it() -> None:
    official = pytest.importorskip("safetensors")
    loader = pytest.importorskip("safetensors.numpy")
    empty = {**TENSORS, "none": np.zeros((0, 3), np.float32)}
    assert_same(loader.load(pack(empty, METADATA)), empty)
    described = dict(official.deserialize(VALID))
    assert described["net.weights.0"]["dtype"] == "F32"


def test_the_official_library_reads_the_metadata(tmp_path: Any) -> None:
    official = pytest.importorskip("safetensors")
    (tmp_path / "map.safetensors").write_bytes(VALID)
    with official.safe_open(tmp_path / "map.safetensors", "np") as file:
        notes = file.metadata()
        assert len(notes.pop("sha256")) == 64
        assert notes == METADATA


def test_files_of_the_official_library_have_no_digest_and_are_refused() -> None:
    loader = pytest.importorskip("safetensors.numpy")
    with pytest.raises(MapFileError, match="sha256"):
        unpack(loader.save(TENSORS, METADATA))


# --- what pack refuses, unpack would refuse as well


@pytest.mark.parametrize(
    ("tensors", "metadata", "says"),
    [
        ({"x": np.array([np.nan])}, {}, "finite"),
        ({"x": np.array([1, -np.inf], np.float32)}, {}, "finite"),
        ({"x": np.array([True])}, {}, "dtype bool"),
        ({"x": np.array([1.0], np.longdouble)}, {}, "dtype float128"),
        ({"x": np.array([None])}, {}, "dtype object"),
        ({"__metadata__": np.zeros(1)}, {}, "name"),
        ({5: np.zeros(1)}, {}, "name"),
        ({"\ud800": np.zeros(1)}, {}, "name"),
        ({"x": np.zeros((1,) * 9)}, {}, "shape"),
        ({"x": np.broadcast_to(np.float64(0), MAX_FILE)}, {}, "larger"),
        ({"x": np.broadcast_to(np.float64(0), MAX_FILE // 8)}, {}, "limits"),
        ({}, {"x": "y" * MAX_HEADER}, "limits"),
        ({}, {"x": 1}, "text to text"),
        ({}, {"x": "\udfff"}, "text to text"),
        ({}, {"sha256": "0"}, "sha256"),
    ],
)
def test_pack_refuses_what_a_file_cannot_hold(tensors: Any, metadata: Any, says: str) -> None:
    with pytest.raises(MapFileError, match=says):
        pack(tensors, metadata)


# --- malformed files, each with a correct sha256 wherever one can be computed, so that the check itself is met


def opened(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def framed(header: bytes, payload: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + payload


def signed(header: Any, payload: bytes) -> bytes:
    if isinstance(header, dict) and isinstance(header.get("__metadata__"), dict):
        header["__metadata__"].pop("sha256", None)
        content = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
        header["__metadata__"]["sha256"] = hashlib.sha256(content + payload).hexdigest()
    return framed(json.dumps(header).encode(), payload)


def edited(change: Callable[[dict[str, Any]], object], payload: Callable[[bytes], bytes] = bytes) -> bytes:
    header, rest = opened(VALID)
    change(header)
    return signed(header, payload(rest))


def weights(**fields: Any) -> bytes:
    """The file with other fields for `net.weights.0`, which is 48 bytes from 76 on."""
    return edited(lambda header: header["net.weights.0"].update(fields))


def only(dtype: str, shape: Any, offsets: Any, payload: bytes = b"") -> bytes:
    return signed({"x": {"dtype": dtype, "shape": shape, "data_offsets": offsets}, "__metadata__": {}}, payload)


def floats(number: float, code: str, kind: str) -> bytes:
    payload = struct.pack(kind, number)
    return only(code, [1], [0, len(payload)], payload)


NESTED = b'{"x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
MALFORMED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "too short"),
    "seven bytes": (VALID[:7], "too short"),
    "length only": (VALID[:8], "too short"),
    "header cut": (VALID[:60], "too short"),
    "payload cut": (VALID[:-1], "follow the header"),
    "no header": (framed(b""), "cannot be read"),
    "header too long": (framed(b"{" + b" " * MAX_HEADER + b"}"), "more than"),
    "header claims 2^64 - 1": (b"\xff" * 8 + VALID[8:], "more than"),
    "file too large": (bytes(MAX_FILE + 1), "larger"),
    "not JSON": (framed(b"PK\x03\x04 not JSON"), "cannot be read"),
    "JSON and more": (framed(b"{} {}"), "cannot be read"),
    "not UTF-8": (framed(b'{"\xff": 1}'), "UTF-8"),
    "UTF-16": (framed('{"__metadata__": {}}'.encode("utf-16")), "UTF-8"),
    "byte order mark": (framed(b"\xef\xbb\xbf{}"), "cannot be read"),
    "leading blank": (framed(b" {}"), "JSON object"),
    "a list": (framed(b"[]"), "JSON object"),
    "a number": (framed(b"1"), "JSON object"),
    "null": (framed(b"null"), "JSON object"),
    "duplicate array": (framed(b'{"x": {}, "x": {}, "__metadata__": {}}'), "twice"),
    "duplicate field": (framed(b'{"x": {"dtype": "F32", "dtype": "F32"}}'), "twice"),
    "duplicate metadata": (framed(b'{"__metadata__": {"a": "b", "a": "b"}}'), "twice"),
    "duplicate in disguise": (framed(rb'{"__metadata__": {"a": "b", "\u0061": "b"}}'), "twice"),
    "nested lists": (framed(NESTED), "nested"),
    "nested, never closed": (framed(b"[" * 1_000_000), "nested"),
    "nested objects": (framed(b'{"a":' * 150_000), "nested"),
    "quotes, never closed": (framed(b'{"' + rb"\"" * 500_000), "cannot be read"),
    "enormous number": (framed(b'{"x": ' + b"9" * 1_000_000 + b"}"), "whole number"),
    "enormous negative number": (framed(b'{"x": -' + b"9" * 5_000 + b"}"), "whole number"),
    "fraction": (framed(b'{"x": 1.5}'), "whole number"),
    "exponent": (framed(b'{"x": 1e400}'), "whole number"),
    "NaN": (framed(b'{"x": NaN}'), "whole number"),
    "Infinity": (framed(b'{"x": -Infinity}'), "whole number"),
    "no metadata": (edited(lambda h: h.pop("__metadata__")), "no __metadata__"),
    "metadata a list": (edited(lambda h: h.update(__metadata__=[])), "no __metadata__"),
    "metadata a number": (edited(lambda h: h["__metadata__"].update(runs=4)), "text to text"),
    "metadata null": (edited(lambda h: h["__metadata__"].update(runs=None)), "text to text"),
    "metadata an object": (edited(lambda h: h["__metadata__"].update(runs={})), "text to text"),
    "metadata half a character": (edited(lambda h: h["__metadata__"].update(a="\ud800")), "text to text"),
    "name half a character": (edited(lambda h: h.update({"\ud800": h.pop("probe")})), "name"),
    "sha256 missing": (framed(b'{"__metadata__": {}}'), "no sha256"),
    "sha256 wrong": (framed(b'{"__metadata__": {"sha256": "00"}}'), "altered"),
    "sha256 of another payload": (VALID[:-1] + bytes([VALID[-1] ^ 1]), "altered"),
    "sha256 of other metadata": (VALID.replace(b"network", b"netw0rk"), "altered"),
    "entry not an object": (edited(lambda h: h.update(x=[])), "nothing else"),
    "entry a number": (edited(lambda h: h.update(x=3)), "nothing else"),
    "field missing": (edited(lambda h: h["probe"].pop("shape")), "nothing else"),
    "field unknown": (weights(strides=[4, 4]), "nothing else"),
    "dtype unknown": (weights(dtype="BF16"), "dtype 'BF16'"),
    "dtype lower case": (weights(dtype="f32"), "dtype"),
    "dtype object": (weights(dtype="O"), "dtype"),
    "dtype a list": (weights(dtype=["F32"]), "dtype"),
    "dtype null": (weights(dtype=None), "dtype"),
    "shape a number": (weights(shape=12), "shape"),
    "shape text": (weights(shape="12"), "shape"),
    "shape negative": (weights(shape=[-3, -4]), "shape"),
    "shape true": (weights(shape=[True, 12]), "shape"),
    "shape text inside": (weights(shape=["12"]), "shape"),
    "shape huge": (weights(shape=[10**11, 12]), "shape"),
    "shape huge with zero": (only("F32", [0, 10**11], [0, 0]), "shape"),
    "shape overflowing with zero": (only("F32", [0, 2**25, 2**25, 2**25], [0, 0]), "larger"),
    "shape overflowing to its size": (only("U8", [2**16, 2**16, 2**16, 2**16], [0, 0]), "larger"),
    "shape of too many axes": (only("U8", [1] * 9, [0, 1], b"0"), "shape"),
    "shape of 70 axes": (only("U8", [1] * 70, [0, 1], b"0"), "shape"),
    "shape too small": (weights(shape=[3, 3]), "shape need"),
    "shape too large": (weights(shape=[3, 5]), "shape need"),
    "offsets three": (weights(data_offsets=[72, 80, 120]), "two data_offsets"),
    "offsets one": (weights(data_offsets=[72]), "two data_offsets"),
    "offsets null": (weights(data_offsets=None), "two data_offsets"),
    "offsets true": (only("U8", [1], [False, True], b"0"), "two data_offsets"),
    "offsets negative": (weights(data_offsets=[-48, 0]), "two data_offsets"),
    "offsets turned": (weights(data_offsets=[120, 72]), "shape need"),
    "offsets huge": (weights(data_offsets=[10**11, 10**11 + 48]), "two data_offsets"),
    "offsets beyond the end": (weights(data_offsets=[10_000, 10_048]), "gap"),
    "overlap": (weights(data_offsets=[64, 112]), "overlap"),
    "same bytes twice": (edited(lambda h: h.update(again=dict(h["net.weights.0"]))), "overlap"),
    "gap": (edited(lambda h: h.pop("net.weights.0")), "gap"),
    "gap at the start": (only("U8", [1], [1, 2], b"01"), "gap"),
    "trailing bytes": (edited(lambda h: None, lambda rest: rest + b"\0"), "follow the header"),
    "payload without arrays": (signed({"__metadata__": {}}, b"abc"), "follow the header"),
    "NaN in float32": (floats(np.nan, "F32", "<f"), "finite"),
    "infinity in float32": (floats(np.inf, "F32", "<f"), "finite"),
    "NaN in float64": (floats(np.nan, "F64", "<d"), "finite"),
    "infinity in float64": (floats(-np.inf, "F64", "<d"), "finite"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_refused_in_one_sentence(name: str) -> None:
    data, says = MALFORMED[name]
    with pytest.raises(MapFileError, match=says) as refusal:
        unpack(data)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


def test_deep_nesting_is_refused_whatever_the_recursion_limit() -> None:
    """With a high limit the parser itself would run out of C stack and take the process along."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(2_000_000)
        with pytest.raises(MapFileError, match="nested"):
            unpack(framed(NESTED))
    finally:
        sys.setrecursionlimit(limit)


def test_the_tools_of_this_file_sign_as_pack_does() -> None:
    """Otherwise the table would only show that a wrong sha256 is refused."""
    found, notes = unpack(edited(lambda header: None))
    assert_same(found, TENSORS)
    assert notes == METADATA


# --- damage at random


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three small accidents."""
    for _ in range(int(rng.integers(1, 4))):
        header = 8 + int.from_bytes(data[:8], "little")
        end = min(header, len(data)) if rng.random() < 0.6 else len(data)  # mostly in the header
        if end == 0:
            return data
        at = int(rng.integers(end))
        piece = data[at : at + int(rng.integers(1, 40))]
        match int(rng.integers(6)):
            case 0:
                data = data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
            case 1:
                data = data[:at]
            case 2:
                data = data[:at] + rng.bytes(int(rng.integers(1, 20))) + data[at:]
            case 3:
                data = data[:at] + piece + data[at:]
            case 4:
                data = data[:at] + data[at + len(piece) :]
            case _:
                token = [b"0", b"9" * 30, b"-1", b"[", b"{", b'"', b"null", b" ", b",", b"\\", b"1e9", b"true"]
                data = data[:at] + token[int(rng.integers(len(token)))] + data[at + 1 :]
    return data


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_file_is_refused_or_unharmed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(100):
        data = damaged(VALID, rng)
        try:
            found, notes = unpack(data)
        except MapFileError:
            continue
        assert_same(found, TENSORS)
        assert notes == METADATA


@pytest.mark.parametrize("seed", range(2))
def test_a_forged_file_is_refused_or_sound(seed: int) -> None:
    """The same accidents to the header, then signed anew as a forger would: the checks stand by themselves."""
    rng = np.random.default_rng(seed)
    header, payload = opened(VALID)
    read = 0
    for _ in range(1000):
        text = damaged(framed(json.dumps(header).encode()), rng)[8:]
        try:
            data = signed(json.loads(text), payload)
        except (ValueError, RecursionError):
            data = framed(text, payload)
        try:
            found, notes = unpack(data)
        except MapFileError:
            continue
        read += 1
        assert sum(array.nbytes for array in found.values()) == len(payload)
        assert all(np.isfinite(array).all() for array in found.values())
        assert all(isinstance(note, str) for note in notes.values())
    assert read > 10  # some accidents only change a name or a note
