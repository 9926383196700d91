"""Surrogate files: the shipped ones are read, and one array more, less or of another shape is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.file_kinds import surrogate_bytes

from autobct.belief.surrogate.network import network_of
from autobct.maps.container import MapFileError, pack, unpack
from autobct.maps.library import read_surrogate

WEIGHTS = sorted((Path(__file__).parents[2] / "experiments" / "surrogate" / "weights").glob("*.surrogate"))


@pytest.mark.parametrize("path", WEIGHTS, ids=lambda path: path.stem)
def test_the_trained_ones_are_read(path: Path) -> None:
    network, notes = read_surrogate(path)
    assert notes["width"] == "128"
    again = network_of(unpack(path.read_bytes())[0])
    for one, other in zip(network.embed, again.embed, strict=True):
        np.testing.assert_array_equal(one, other)


def altered(**changed: Any) -> bytes:
    tensors, notes = unpack(surrogate_bytes())
    return pack({**tensors, **changed}, notes)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"more": np.zeros(1)}, "too many or too few"),
        ({"blocks.0.near": np.zeros((2, 2), np.float16)}, "near has shape"),
        ({"blocks.0.near": np.zeros(2, np.float16)}, "near has shape"),
        ({"embed.bias": np.zeros(33, np.float16)}, "this version does not support"),
        ({"embed.bias": np.zeros(0, np.float16)}, "this version does not support"),
        ({"embed.bias": np.zeros((32, 1), np.float16)}, "no embed.bias"),
        ({"embed.bias": np.zeros(1 << 20, np.uint8)}, "this version does not support"),
        ({"embed.bias": np.zeros(32, np.int32)}, "floating-point"),
        ({"norm.bias": np.full(32, 1e5, np.float32)}, "beyond 10000"),
        ({f"blocks.{k}.near": np.zeros((2, 1)) for k in range(99)}, "this version does not support"),
        ({"blocks.1.near": np.zeros((2, 1))}, "too many or too few"),
    ],
)
def test_what_does_not_belong_together_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(MapFileError, match=says):
        read_surrogate(altered(**changed))


def test_a_map_is_no_surrogate() -> None:
    tensors, _ = unpack(surrogate_bytes())
    with pytest.raises(MapFileError, match="a learned surrogate has kind"):
        read_surrogate(pack(tensors, {"kind": "network"}))
    with pytest.raises(MapFileError, match="a learned surrogate has kind"):
        read_surrogate(pack(tensors, {}))
