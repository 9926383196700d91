"""Signed files: whose they are, for whoever pins the keys of those they trust.

    map.safetensors        any file
    map.safetensors.sig    "autobct signature 1", the public key and the signature, in hexadecimal, one a line

What is signed is a fixed prefix and the SHA-512 of the file, so that a signature of ours is one of nothing else.  The
bytes that were checked are the bytes that are used: a file is read once.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable

from autobct.maps.container import MapFileError
from autobct.maps.ed25519 import is_signed
from autobct.maps.ordinary import FileError, read_ordinary
from autobct.maps.store import read_file

Key = str
"""A public key: 64 hexadecimal digits, as `autobct new-key` prints it."""

SUFFIX = ".sig"

_HEAD = "autobct signature 1"
_PREFIX = b"autobct file signature 1\0"
_LARGEST = 1024
_FORM = re.compile(rf"{_HEAD}\n([0-9a-f]{{64}})\n([0-9a-f]{{128}})\n", re.ASCII)


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
        raise ValueError("trusted_keys is empty, so that no file could be read; leave it out to read unsigned files")
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
