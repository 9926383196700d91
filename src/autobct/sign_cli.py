"""`autobct new-key`, `autobct sign` and `autobct verify`: signed files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autobct.console import fail, one_sentence, say

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_INSTALL = "pip install 'autobct[sign]'"
_MOST = 1 << 28  # bytes of a file to sign
_KEY_BYTES = 256  # of a key file

Signed = Annotated[Path, typer.Argument(metavar="FILE", help="A map, a surrogate, a prior or any other file.")]


def add_to(app: typer.Typer) -> None:
    """Add the three commands to the command line."""
    app.command("new-key")(new_key)
    app.command("sign")(sign)
    app.command("verify")(verify)


def new_key(
    path: Annotated[Path, typer.Argument(metavar="KEYFILE", help="The file to write; keep it secret.")],
) -> None:
    """Make a key to sign files with, and print its public half for those who trust you."""
    ed25519 = _library()
    private = ed25519.Ed25519PrivateKey.generate()
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(private.private_bytes_raw().hex() + "\n")
    except FileExistsError:
        fail(f"'{path}' already exists; give another name.")
    except OSError as error:
        fail(f"'{path}' cannot be written: {error.strerror}.")
    say(f"Wrote the secret key '{path}'. The public key is\n{private.public_key().public_bytes_raw().hex()}")


def sign(
    path: Signed,
    key: Annotated[Path, typer.Option("--key", metavar="KEYFILE", help="The file that autobct new-key wrote.")],
) -> None:
    """Sign a file: write FILE.sig beside it."""
    from autobct.maps.container import write_file
    from autobct.maps.ordinary import read_ordinary
    from autobct.maps.signatures import SUFFIX, signature_text, signed_message

    private = _private_key(key)
    with one_sentence(2):
        data = read_ordinary(path, _MOST)
        text = signature_text(private.public_key().public_bytes_raw(), private.sign(signed_message(data)))
        write_file(f"{path}{SUFFIX}", text.encode("ascii"))
    say(f"Wrote {path}{SUFFIX}.")


def verify(
    path: Signed,
    key: Annotated[list[str], typer.Option("--key", metavar="PUBLIC-KEY", help="A key you trust; may be repeated.")],
) -> None:
    """Check that a file was signed with a key you trust and not altered since; exit code 1 if not."""
    from autobct.maps.ordinary import read_ordinary
    from autobct.maps.signatures import check_signature, checked_keys

    with one_sentence(2):
        checked_keys(key)
    with one_sentence(1):
        signer = check_signature(path, read_ordinary(path, _MOST), key)
    say(f"{path} is as it was when {signer} signed it.")


def _private_key(path: Path) -> Ed25519PrivateKey:
    from autobct.maps.ordinary import read_ordinary

    ed25519 = _library()
    with one_sentence(2):
        text = read_ordinary(path, _KEY_BYTES)
    try:
        found: Ed25519PrivateKey = ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text.decode().strip()))
        return found
    except ValueError:
        fail(f"'{path}' is not a secret key; make one with: autobct new-key KEYFILE")


def _library() -> Any:
    """The module for signing, where it is installed."""
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        fail(f"Signing needs cryptography, which is not installed; install it with: {_INSTALL}")
    return ed25519
