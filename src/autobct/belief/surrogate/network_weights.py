"""A network of the arrays of a file: their names and shapes, and norms as a part of what follows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.surrogate.network import HEAD, Block, Linear, Network, Think, softplus
from autobct.belief.surrogate.network_inputs import FACTS, OUTPUTS, PLACE, SHAPES, WHOLE, Rows

_FOLLOW = {
    "norm1": ("column_query", "column_key_value"),
    "norm2": ("shapes", "relevance", "gather"),
    "norm3": ("query", "key_value"),
    "norm4": ("up",),
    "norm5": ("column_up",),
    "norm6": ("side",),
}
_NORM = {name: norm for norm, names in _FOLLOW.items() for name in names}  # which one a matrix follows


def sizes_of(weights: Mapping[str, NDArray[Any]]) -> tuple[int, int, int]:
    """Width of rows, width of coordinates, number of layers; ValueError if a file's arrays do not tell."""
    sizes = []
    for name in ("whole.bias", "place.bias"):
        if name not in weights or weights[name].ndim != 1:
            raise ValueError(f"it has no {name}")
        sizes.append(len(weights[name]))
    layers = {name.split(".")[1] for name in weights if name.startswith("blocks.")}
    return sizes[0], sizes[1], len(layers)


def array_shapes(width: int, narrow: int, layers: int) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every array of a file."""
    linear: dict[str, tuple[int, ...]] = {
        "place": (narrow, PLACE),
        "embed": (narrow, narrow),
        "whole": (width, WHOLE),
        "whole2": (width, width),
        "head": (OUTPUTS, width),
    }
    norms = {"norm": width}
    shapes: dict[str, tuple[int, ...]] = {"fact.weight": (narrow, FACTS), "shared.weight": (narrow, WHOLE)}
    for k in range(layers):
        heads = width // HEAD
        block = {
            "column_query": (narrow, narrow),
            "column_key_value": (2 * narrow, narrow),
            "column_out": (narrow, narrow),
            "shapes": (PLACE * SHAPES, narrow),
            "read": (width, SHAPES),
            "relevance": (heads, narrow),
            "query": (width, width),
            "key_value": (2 * width, width),
            "out": (width, width),
            "up": (2 * width, width),
            "down": (width, 2 * width),
        }
        sizes = {"norm1": narrow, "norm2": narrow, "norm3": width, "norm4": width}
        if k < layers - 1:
            block |= {
                "gather": (width, narrow),
                "column_up": (2 * narrow, narrow),
                "side": (2 * narrow, width),
                "column_down": (narrow, 2 * narrow),
            }
            sizes |= {"norm5": narrow, "norm6": width}
        linear |= {f"blocks.{k}.{name}": shape for name, shape in block.items()}
        norms |= {f"blocks.{k}.{name}": size for name, size in sizes.items()}
        shapes |= {f"blocks.{k}.{name}": (heads,) for name in ("near", "sharp")}
    linear |= {name: (size,) for name, size in norms.items()}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def network_of(weights: Mapping[str, NDArray[np.floating]]) -> Network:
    """The network of a file's arrays; ValueError if one is missing, unknown or of another shape."""
    width, narrow, layers = sizes_of(weights)
    expected = array_shapes(width, narrow, layers)
    if set(weights) != set(expected):
        raise ValueError(f"it has {len(set(weights) ^ set(expected))} arrays too many or too few")
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise ValueError(f"{name} has shape {weights[name].shape}, not {shape}")

    def array(name: str) -> Rows:
        return np.ascontiguousarray(weights[name], dtype=np.float32)

    def linear(name: str, norm: str = "") -> Linear:
        weight, bias = array(f"{name}.weight"), array(f"{name}.bias")
        if norm:
            weight, bias = weight * array(f"{norm}.weight"), bias + weight @ array(f"{norm}.bias")
        return weight, bias[:, None]

    def linears(kind: type[Block] | type[Think], name: str) -> dict[str, Any]:
        inside = [each.name for each in fields(kind) if each.name not in ("near", "sharp", "think")]
        return {each: linear(f"{name}.{each}", f"{name}.{_NORM[each]}" if each in _NORM else "") for each in inside}

    def block(name: str, *, last: bool) -> Block:
        return Block(
            **linears(Block, name),
            near=softplus(array(f"{name}.near"))[:, None, None],
            sharp=array(f"{name}.sharp")[:, None, None],
            think=None if last else Think(**linears(Think, name)),
        )

    return Network(
        place=linear("place"),
        fact=array("fact.weight"),
        shared=array("shared.weight"),
        embed=linear("embed"),
        whole=linear("whole"),
        whole2=linear("whole2"),
        blocks=tuple(block(f"blocks.{k}", last=k == layers - 1) for k in range(layers)),
        head=linear("head", "norm"),
    )
