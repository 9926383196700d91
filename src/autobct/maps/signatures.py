"""Signed files: check the author of a file against trusted public keys.

    map.safetensors        any file
    map.safetensors.sig    "autobct signature 1", the public key and the signature, in hexadecimal, one a line

What is signed is a fixed prefix and the SHA-512 of the file, so that a signature of ours is one of nothing else.  The
bytes that were checked are the bytes that are used: a file is read once.

Ed25519 is verified as RFC 8032 section 5.1.7 says.  Only verification, which handles no secret: it need not hide its
timing, and big integers are enough.  Signing is `autobct sign`, with the cryptography package.  Points are (X, Y, Z, T)
with x = X / Z, y = Y / Z, x y = T / Z.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable

from autobct.maps.container import MapFileError, read_file
from autobct.maps.ordinary import FileError, read_ordinary

Key = str
"""A public key: 64 hexadecimal digits, as `autobct new-key` prints it."""

SUFFIX = ".sig"

_HEAD = "autobct signature 1"
_PREFIX = b"autobct file signature 1\0"
_LARGEST = 1024
_FORM = re.compile(rf"{_HEAD}\n([0-9a-f]{{64}})\n([0-9a-f]{{128}})\n", re.ASCII)

Point = tuple[int, int, int, int]

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)  # of -1

_Y = 4 * pow(5, -1, _P) % _P


class SignatureError(MapFileError):
    """A file that is not signed, or not by a key that is trusted."""


def signed_message(data: bytes) -> bytes:
    """What is signed of a file."""
    return _PREFIX + hashlib.sha512(data).digest()


def signature_text(public_key: bytes, signature: bytes) -> str:
    """The text of a signature file."""
    return f"{_HEAD}\n{public_key.hex()}\n{signature.hex()}\n"


def checked_keys(keys: Iterable[object]) -> tuple[bytes, ...]:
    """Public keys as bytes; ValueError for what is none."""
    if isinstance(keys, str | bytes):
        raise TypeError("trusted_keys must be a list of keys, got one text; write trusted_keys=[key]")
    found = []
    for key in keys:
        if not isinstance(key, str) or not re.fullmatch("[0-9a-fA-F]{64}", key):
            raise ValueError(f"a trusted key must be 64 hexadecimal digits, got {key!r:.80}")
        found.append(bytes.fromhex(key))
    if not found:
        raise ValueError("trusted_keys is empty, so no file could be read; leave it out to read unsigned files")
    return tuple(found)


def check_signature(path: str | os.PathLike[str], data: bytes, keys: Iterable[Key]) -> Key:
    """The trusted key that signed a file; SignatureError if none did.  data: what was read from `path`."""
    trusted, beside = checked_keys(keys), f"{os.fspath(path)}{SUFFIX}"
    try:
        text = read_ordinary(beside, _LARGEST).decode("ascii")
    except (FileError, UnicodeDecodeError):
        raise SignatureError(f"{os.fspath(path)!r} is not signed: there is no signature {beside!r}") from None
    found = _FORM.fullmatch(text)
    if found is None:
        raise SignatureError(f"{beside!r} is not an autobct signature")
    signer, signature = bytes.fromhex(found[1]), bytes.fromhex(found[2])
    if signer not in trusted:
        raise SignatureError(f"{os.fspath(path)!r} is signed with {found[1]}, which is not a key you trust")
    if not is_signed(signer, signed_message(data), signature):
        raise SignatureError(f"{os.fspath(path)!r} was altered after it was signed, or the signature is forged")
    return signer.hex()


def checked_bytes(source: str | os.PathLike[str] | bytes, keys: Iterable[Key] | None) -> bytes:
    """The bytes of a map or surrogate file; with keys, only if one of them signed it."""
    if isinstance(source, bytes):
        if keys is not None:
            raise SignatureError("bytes have no signature beside them; give the path of a signed file")
        return source
    data = read_file(source)
    if keys is not None:
        check_signature(source, data, keys)
    return data


def is_signed(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of a public key (32 bytes) signed a message; signature: 64 bytes."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, commitment = _point(public_key), _point(signature[:32])
    response = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or response >= _ORDER or _is_small(key):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    return _same(_times(response, _BASE), _sum(commitment, _times(challenge, key)))


def _point(data: bytes) -> Point | None:
    """The point that 32 bytes stand for (5.1.3); None if they stand for none."""
    number = int.from_bytes(data, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    if y >= _P:
        return None
    x = _root(y, sign)
    return None if x is None else (x, y, 1, x * y % _P)


def _root(y: int, sign: int) -> int | None:
    """The x of a point, by its y and the parity of x."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return x if x & 1 == sign else _P - x


def _sum(one: Point, other: Point) -> Point:
    """Of any two points (5.1.4)."""
    x1, y1, z1, t1 = one
    x2, y2, z2, t2 = other
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(factor: int, point: Point) -> Point:
    found: Point = (0, 1, 1, 0)
    while factor:
        if factor & 1:
            found = _sum(found, point)
        point, factor = _sum(point, point), factor >> 1
    return found


def _same(one: Point, other: Point) -> bool:
    return (one[0] * other[2] - other[0] * one[2]) % _P == 0 and (one[1] * other[2] - other[1] * one[2]) % _P == 0


def _is_small(point: Point) -> bool:
    """Whether it is one of the eight points of small order: with such a key, anybody can sign anything."""
    return _same(_times(8, point), (0, 1, 1, 0))


_X = _root(_Y, 0) or 0
_BASE: Point = (_X, _Y, 1, _X * _Y % _P)
