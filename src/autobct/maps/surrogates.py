"""The learned surrogate that comes with the package: a file in the strict container, read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

from autobct.belief.surrogate.network import Network, network_of
from autobct.maps.container import MapFileError, unpack
from autobct.maps.store import read_file

KIND = "surrogate"
NAME = "default.surrogate"


def read_surrogate(data: bytes) -> tuple[Network, Mapping[str, str]]:
    """The network of a file's bytes, and what its trainer tells of it; MapFileError if anything is amiss."""
    weights, notes = unpack(data)
    if notes.get("kind") != KIND:
        raise MapFileError(f"the file is of kind {notes.get('kind')!r:.40}; a learned surrogate has kind {KIND!r}")
    try:
        return network_of(weights), notes
    except (KeyError, ValueError, IndexError) as error:
        raise MapFileError(f"the file of the surrogate is not whole: {error}") from None


@cache
def shipped_surrogate() -> Network:
    """The one that every default tuning asks."""
    with resources.as_file(resources.files("autobct.maps") / "files" / NAME) as path:
        return read_surrogate(read_file(path))[0]
