"""Map files on disk, and those that came with the package."""

from __future__ import annotations

import contextlib
import os
import secrets
from importlib import resources
from importlib.resources.abc import Traversable

from autobct.maps.container import MAX_FILE, MapFileError
from autobct.maps.ordinary import read_ordinary

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
