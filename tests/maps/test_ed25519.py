"""Ed25519 against the vectors of RFC 8032, section 7.1, and against the cryptography package."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from autobct.maps.signatures import _ORDER, _P, is_signed

VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]


@pytest.mark.parametrize(("key", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard(key: str, message: str, signature: str) -> None:
    public, told, signed = map(bytes.fromhex, (key, message, signature))
    assert is_signed(public, told, signed)
    for k in range(0, 512, 37):  # any one bit of the signature
        other = bytearray(signed)
        other[k // 8] ^= 1 << k % 8
        assert not is_signed(public, told, bytes(other))
    assert not is_signed(public, told + b"x", signed)
    assert not is_signed(bytes.fromhex(VECTORS[0][0] if key != VECTORS[0][0] else VECTORS[1][0]), told, signed)


def test_what_another_library_signs() -> None:
    rng = np.random.default_rng(0)
    for length in (0, 1, 31, 32, 33, 1000):
        private, message = Ed25519PrivateKey.from_private_bytes(rng.bytes(32)), rng.bytes(length)
        signature = private.sign(message)
        assert is_signed(private.public_key().public_bytes_raw(), message, signature)
        assert not is_signed(private.public_key().public_bytes_raw(), message, rng.bytes(64))


def test_a_signature_has_one_form() -> None:
    """s + L would verify as well as s if it were let through."""
    public, _, signature = (bytes.fromhex(part) for part in VECTORS[0])
    larger = int.from_bytes(signature[32:], "little") + _ORDER
    assert not is_signed(public, b"", signature[:32] + larger.to_bytes(32, "little"))


@pytest.mark.parametrize("small", [1, 0, _P - 1, _P, _P + 1, 2**255 - 1])
def test_keys_with_which_anybody_can_sign_are_refused(small: int) -> None:
    """With the neutral point as key and R, and s = 0, every message is "signed"."""
    point = small.to_bytes(32, "little")
    assert not is_signed(point, b"anything", (1).to_bytes(32, "little") + bytes(32))
    assert not is_signed(point, b"anything", point + bytes(32))


@pytest.mark.parametrize(("key", "signature"), [(b"", bytes(64)), (bytes(31), bytes(64)), (bytes(32), bytes(63))])
def test_wrong_lengths(key: bytes, signature: bytes) -> None:
    assert not is_signed(key, b"", signature)
