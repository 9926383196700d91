"""Learned surrogates as files, read as strictly as a map; the one that comes with the package is read once.

Which arrays there are, and of which shape, follows from three numbers: width, hidden width and layers.  They are
bounded before anything is computed, and a file that has one array more, less or of another shape is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.surrogate.network import INPUTS, OUTPUTS, Network, network_of
from autobct.maps.container import MapFileError, Tensors, unpack
from autobct.maps.signatures import Key, checked_bytes

KIND = "surrogate"
NAME = "default.surrogate"
MOST_WIDTH, MOST_HIDDEN, MOST_LAYERS = 512, 2048, 16
LARGEST = 1e4
"""No weight may be larger: sums of products stay far from the largest float32."""

_HEAD = 32  # width of an attention head


def read_surrogate(
    source: str | os.PathLike[str] | bytes, *, trusted_keys: Iterable[Key] | None = None
) -> tuple[Network, Mapping[str, str]]:
    """The network of a file, and what its trainer tells of it; MapFileError, in one sentence, if anything is amiss.

    source:       a path, or the bytes of a file
    trusted_keys: public keys; the file must then be signed with one of them, see `autobct sign`
    """
    tensors, notes = unpack(checked_bytes(source, trusted_keys))
    if notes.get("kind") != KIND:
        raise MapFileError(f"the file is of kind {notes.get('kind')!r:.40}; a learned surrogate has kind {KIND!r}")
    try:
        _check(tensors)
        return network_of({name: _weights(name, array) for name, array in tensors.items()}), notes
    except (KeyError, ValueError, IndexError) as error:
        raise MapFileError(f"the file of the surrogate is not whole: {error}") from None


@cache
def shipped_surrogate() -> Network:
    """The one that every default tuning asks."""
    with resources.as_file(resources.files("autobct.maps") / "files" / NAME) as path:
        return read_surrogate(path)[0]


def _check(tensors: Tensors) -> None:
    """All arrays are there, with the shapes that belong together, and no others."""
    width, hidden = (_length(tensors, name) for name in ("embed.bias", "blocks.0.up.bias"))
    layers = len({name.split(".")[1] for name in tensors if name.startswith("blocks.")})
    if not (0 < width <= MOST_WIDTH and width % _HEAD == 0 and 0 < hidden <= MOST_HIDDEN and layers <= MOST_LAYERS):
        raise ValueError(f"it has width {width}, hidden width {hidden} and {layers} layers, which is not known here")
    expected = array_shapes(width, hidden, layers)
    if set(tensors) != set(expected):
        raise ValueError(f"it has {len(set(tensors) ^ set(expected))} arrays too many or too few")
    for name, shape in expected.items():
        if tensors[name].shape != shape:
            raise ValueError(f"{name} has shape {tensors[name].shape}, not {shape}")


def _length(tensors: Tensors, name: str) -> int:
    if name not in tensors or tensors[name].ndim != 1:
        raise ValueError(f"it has no {name}")
    return len(tensors[name])


def array_shapes(width: int, hidden: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every array."""
    linear = {"embed": (width, INPUTS), "embed2": (width, width), "head": (OUTPUTS, width)}
    shapes: dict[str, tuple[int, ...]] = {}
    for k in range(layers):
        block = {
            "query": (width, width),
            "key_value": (2 * width, width),
            "out": (width, width),
            "up": (hidden, width),
            "down": (width, hidden),
        }
        linear |= {f"blocks.{k}.{name}": shape for name, shape in block.items()}
        shapes[f"blocks.{k}.near"] = (2, width // _HEAD)
    for name in ("norm", *(f"blocks.{k}.norm{part}" for k in range(layers) for part in (1, 2))):
        shapes |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def _weights(name: str, array: NDArray[Any]) -> NDArray[np.floating]:
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must be floating-point numbers, got {array.dtype}")
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise ValueError(f"{name} has a number beyond {LARGEST:g}")
    return array
