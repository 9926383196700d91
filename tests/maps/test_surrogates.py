"""Surrogate files: the shipped ones are read, and one array more, less or of another shape is refused."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
import pytest
from tools.file_kinds import surrogate_bytes

from autobct.belief.surrogate.network_weights import network_of
from autobct.maps.container import MapFileError, pack, unpack
from autobct.maps.library import NAME, read_surrogate


def test_the_trained_one_is_read() -> None:
    data = (resources.files("autobct.maps") / "files" / NAME).read_bytes()
    network, notes = read_surrogate(data)
    assert {name: int(notes[name]) for name in ("width", "narrow", "layers")} == {
        "width": len(network.whole[1]),
        "narrow": len(network.place[1]),
        "layers": len(network.blocks),
    }
    again = network_of(unpack(data)[0])
    for one, other in zip(network.head, again.head, strict=True):
        np.testing.assert_array_equal(one, other)


def altered(**changed: Any) -> bytes:
    tensors, notes = unpack(surrogate_bytes())
    return pack({**tensors, **changed}, notes)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"more": np.zeros(1)}, "too many or too few"),
        ({"blocks.0.near": np.zeros((2, 2), np.float16)}, "near has shape"),
        ({"blocks.1.sharp": np.zeros(2, np.float16)}, "sharp has shape"),
        ({"fact.weight": np.zeros((5, 16), np.float16)}, "fact.weight has shape"),
        ({"whole.bias": np.zeros(33, np.float16)}, "this version does not support"),
        ({"whole.bias": np.zeros(0, np.float16)}, "this version does not support"),
        ({"whole.bias": np.zeros((32, 1), np.float16)}, "no whole.bias"),
        ({"whole.bias": np.zeros(1 << 20, np.uint8)}, "this version does not support"),
        ({"whole.bias": np.zeros(64, np.float16)}, "has shape"),
        ({"whole.bias": np.zeros(32, np.int32)}, "floating-point"),
        ({"place.bias": np.zeros(17, np.float16)}, "this version does not support"),
        ({"place.bias": np.zeros(0, np.float16)}, "this version does not support"),
        ({"place.bias": np.zeros(1 << 12, np.float16)}, "this version does not support"),
        ({"place.bias": np.zeros(32, np.float16)}, "has shape"),
        ({"norm.bias": np.full(32, 1e5, np.float32)}, "beyond 10000"),
        ({f"blocks.{k}.near": np.zeros(1) for k in range(99)}, "this version does not support"),
        ({"blocks.2.near": np.zeros(1)}, "too many or too few"),
        ({"blocks.1.gather.bias": np.zeros(32)}, "too many or too few"),  # the last layer has none
    ],
)
def test_what_does_not_belong_together_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(MapFileError, match=says):
        read_surrogate(altered(**changed))


def test_a_file_without_layers_is_refused() -> None:
    tensors, notes = unpack(surrogate_bytes())
    bare = {name: array for name, array in tensors.items() if not name.startswith("blocks.")}
    with pytest.raises(MapFileError, match="0 layers"):
        read_surrogate(pack(bare, notes))
    with pytest.raises(MapFileError, match=r"no whole\.bias"):
        read_surrogate(pack({"more": np.zeros(1)}, notes))


def test_a_map_is_no_surrogate() -> None:
    tensors, _ = unpack(surrogate_bytes())
    with pytest.raises(MapFileError, match="a learned surrogate has kind"):
        read_surrogate(pack(tensors, {"kind": "network"}))
    with pytest.raises(MapFileError, match="a learned surrogate has kind"):
        read_surrogate(pack(tensors, {}))
