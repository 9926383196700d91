"""Value maps and learned surrogates as files: strictly checked, with what is needed to verify and rebuild them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.surrogate.network import HEAD, NARROW_HEAD, Network
from autobct.belief.surrogate.network_weights import network_of, sizes_of
from autobct.maps.container import MapFileError, Tensors, pack, read_shipped, unpack, write_file
from autobct.maps.probes import Probes, check_probes, probes_of
from autobct.maps.signatures import Key, checked_bytes
from autobct.value.maps.map_spec import MapSpec
from autobct.value.maps.value_map import Perceptron, ValueMap

FORMAT = "1"
KIND = "network"
SURROGATE = "surrogate"

Source = str | os.PathLike[str] | bytes
"""A path, or the bytes of a file."""

NAME = "default.surrogate"
LARGEST = 1e4
"""No weight may be larger: sums of products stay far from the largest float32."""

_GAME = ("basis", "dim", "cost_model", "recall", "overhead", "prices", "noises")
_MOST_NETWORKS, _MOST_REFERENCES, _MOST_NEIGHBOURS, _MOST_LAYERS = 64, 64, 512, 8


@dataclass(frozen=True, slots=True, eq=False)
class MapFile:
    """A map, what its builder tells of it, and its probe points."""

    value_map: ValueMap
    about: Mapping[str, str]
    probes: Probes


def save_map(path: str | os.PathLike[str], value_map: ValueMap, about: Mapping[str, str]) -> None:
    """Write a map in one step.  about: settings, versions, seed, device, time, worth, certificate: text to text.

    OSError if the disk is full, MapFileError if a note cannot be kept.
    """
    write_file(path, map_bytes(value_map, about))


def map_bytes(value_map: ValueMap, about: Mapping[str, str]) -> bytes:
    """The file of a map: the same bytes for the same map and notes."""
    spec = value_map.spec
    taken = {"kind", "format", *_GAME} & set(about)
    if taken:
        raise MapFileError(f"the notes of a map may not contain {', '.join(sorted(taken))}: the file adds these itself")
    tensors: dict[str, NDArray[Any]] = {
        "references": np.asarray(spec.references, dtype=np.float64),
        "neighbours": np.asarray(spec.neighbours, dtype=np.int32),
        **probes_of(value_map).to_tensors(),
    }
    for index, network in enumerate(value_map.networks):
        tensors |= network.to_tensors(f"network.{index}")
    plain = {
        "basis": spec.basis,
        "dim": int(spec.dim),
        "cost_model": spec.cost_model,
        "recall": bool(spec.recall),
        "overhead": float(spec.overhead),
        "prices": [float(end) for end in spec.prices],
        "noises": [float(end) for end in spec.noises],
    }
    game = {name: json.dumps(plain[name]) for name in _GAME}
    return pack(tensors, {**about, **game, "kind": KIND, "format": FORMAT})


def read_map(source: Source, *, trusted_keys: Iterable[Key] | None = None) -> MapFile:
    """A map file, read but not yet verified; MapFileError, in one sentence, if anything is amiss."""
    tensors, notes = unpack(checked_bytes(source, trusted_keys))
    if notes.get("kind") != KIND or notes.get("format") != FORMAT:
        raise MapFileError(
            f"the map file is of kind {notes.get('kind')!r:.40}, format {notes.get('format')!r:.40}; "
            f"this version reads kind {KIND!r}, format {FORMAT!r}"
        )
    try:
        spec = _spec(tensors, notes)
        networks = _networks(tensors)
        probes = Probes.from_tensors(tensors, spec)
        value_map = ValueMap(spec, networks)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MapFileError(f"the map file is incomplete or inconsistent: {error}") from None
    about = {name: text for name, text in notes.items() if name not in ("kind", "format", *_GAME)}
    return MapFile(value_map, about, probes)


def verify(source: Source) -> float:
    """Read a map file and recompute its probe points: the largest difference found; MapFileError beyond 1e-5."""
    found = read_map(source)
    return check_probes(found.value_map, found.probes)


def load_map(source: Source, *, trusted_keys: Iterable[Key] | None = None) -> ValueMap:
    """Load a map from a file and verify it; MapFileError if it is damaged.

    trusted_keys: public keys; the file must then be signed with one of them, see `autobct sign`
    """
    found = read_map(source, trusted_keys=trusted_keys)
    check_probes(found.value_map, found.probes)
    return found.value_map


@cache
def shipped_map(name: str) -> ValueMap:
    """A map that came with the package; read once."""
    return read_map(read_shipped(name)).value_map


def _spec(tensors: Tensors, notes: Mapping[str, str]) -> MapSpec:
    game = {name: json.loads(notes[name]) for name in _GAME}
    kinds: dict[str, type | tuple[type, ...]] = {
        "basis": str,
        "dim": int,
        "cost_model": str,
        "recall": bool,
        "overhead": (int, float),
    }
    if any(not isinstance(game[name], kind) for name, kind in kinds.items()):
        raise ValueError("it does not state its problem")
    low_high = [game[name] for name in ("prices", "noises")]
    if any(not isinstance(pair, list) or [type(end) for end in pair] != [float, float] for pair in low_high):
        raise ValueError("it does not state its prices and noises")
    references, neighbours = tensors["references"], tensors["neighbours"]
    if len(references) > _MOST_REFERENCES or references.dtype != np.float64 or neighbours.dtype.kind != "i":
        raise ValueError("its references are not controls, or too many")
    if neighbours.size > 2 * _MOST_NEIGHBOURS:
        raise ValueError(f"it has more than {_MOST_NEIGHBOURS} pairs of neighbours")
    prices, noises = ((pair[0], pair[1]) for pair in low_high)
    return MapSpec(
        basis=game["basis"],
        dim=game["dim"],
        cost_model=game["cost_model"],
        recall=game["recall"],
        overhead=float(game["overhead"]),
        references=references,
        neighbours=neighbours.astype(np.intp),
        prices=prices,
        noises=noises,
    )


def _networks(tensors: Tensors) -> tuple[Perceptron, ...]:
    names = {name for name in tensors if name.startswith("network.")}
    count = len({name.split(".")[1] for name in names})
    if not 0 < count <= _MOST_NETWORKS:
        raise ValueError(f"it must have 1 to {_MOST_NETWORKS} networks, got {count}")
    if len(names) > 2 * _MOST_LAYERS * count:
        raise ValueError(f"its networks have more than {_MOST_LAYERS} layers")
    networks = tuple(Perceptron.from_tensors(tensors, f"network.{index}") for index in range(count))
    known = {name for index, network in enumerate(networks) for name in network.to_tensors(f"network.{index}")}
    others = {name for name in tensors if not name.startswith("probe.")} - known - {"references", "neighbours"}
    if others:
        raise ValueError(f"it holds {len(others)} arrays that do not belong there")
    return networks


MOST_WIDTH, MOST_NARROW, MOST_LAYERS = 512, 256, 16


def read_surrogate(
    source: str | os.PathLike[str] | bytes, *, trusted_keys: Iterable[Key] | None = None
) -> tuple[Network, Mapping[str, str]]:
    """The network of a file, and what its trainer tells of it; MapFileError, in one sentence, if anything is amiss.

    source:       a path, or the bytes of a file
    trusted_keys: public keys; the file must then be signed with one of them, see `autobct sign`
    """
    tensors, notes = unpack(checked_bytes(source, trusted_keys))
    if notes.get("kind") != SURROGATE:
        raise MapFileError(f"the file is of kind {notes.get('kind')!r:.40}; a learned surrogate has kind {SURROGATE!r}")
    try:
        _check_sizes(tensors)
        return network_of({name: _weights(name, array) for name, array in tensors.items()}), notes
    except ValueError as error:
        raise MapFileError(f"the surrogate file is incomplete or inconsistent: {error}") from None


@cache
def shipped_surrogate() -> Network:
    """The one that every default tuning asks."""
    with resources.as_file(resources.files("autobct.maps") / "files" / NAME) as path:
        return read_surrogate(path)[0]


def _check_sizes(tensors: Tensors) -> None:
    """Widths and layers are such as can be evaluated; `network_of` checks every array by them."""
    width, narrow, layers = sizes_of(tensors)
    fits = width % HEAD == narrow % NARROW_HEAD == 0
    if not (fits and 0 < width <= MOST_WIDTH and 0 < narrow <= MOST_NARROW and 0 < layers <= MOST_LAYERS):
        raise ValueError(f"it has widths {width} and {narrow} and {layers} layers, which this version does not support")


def _weights(name: str, array: NDArray[Any]) -> NDArray[np.floating]:
    if array.dtype.kind != "f":
        raise ValueError(f"{name} must be floating-point numbers, got {array.dtype}")
    if np.abs(array).max(initial=0.0) > LARGEST:
        raise ValueError(f"{name} has a number beyond {LARGEST:g}")
    return array
