"""The network in NumPy: keys and values of the runs once, then any number of candidates, each on its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.surrogate.encoding import COST_EDGES, FARTHEST, INPUTS, NEAREST, SCORE_EDGES, SLOT, SLOTS, Rows

SCORE_BINS, COST_BINS, BEFORE = len(SCORE_EDGES) - 1, len(COST_EDGES) - 1, 4
OUTPUTS = SCORE_BINS + COST_BINS + 1 + BEFORE

_HEAD = 32  # width of an attention head


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Weights of one layer: attention to the runs, then a small network.  Matrices are (in, out)."""

    norm1: tuple[Rows, Rows]
    query: tuple[Rows, Rows]
    key_value: tuple[Rows, Rows]
    out: tuple[Rows, Rows]
    norm2: tuple[Rows, Rows]
    up: tuple[Rows, Rows]
    down: tuple[Rows, Rows]
    near: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the network makes of the runs.  places: (n, SLOTS),  layers: keys and values, (heads, n, 32) each.

    special: the first so many are no runs and have no place
    """

    places: Rows
    special: int
    layers: tuple[tuple[Rows, Rows], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A prior-data-fitted network (Mueller et al. 2022): a transformer that was trained to predict."""

    embed: tuple[Rows, Rows]
    embed2: tuple[Rows, Rows]
    blocks: tuple[Block, ...]
    norm: tuple[Rows, Rows]
    head: tuple[Rows, Rows]

    def read(self, runs: Rows, special: int = 1) -> Context:
        """The runs in every layer.  runs: (n, INPUTS), first the `special` rows that are no runs."""
        rows, layers = self._embedded(runs), []
        places = _places(runs)
        near = _distances(places, places, special)
        near[:, :special] = 0.0
        for block in self.blocks:
            keys, values = np.split(_linear(_normed(rows, block.norm1), block.key_value), 2, axis=-1)
            layers.append((_headed(keys), _headed(values)))
            rows = _advanced(rows, block, layers[-1], near)
        return Context(places, special, tuple(layers))

    def predict(self, memory: Context, candidates: Rows) -> Rows:
        """Logits at candidates, (G, OUTPUTS).  candidates: (G, INPUTS)."""
        rows = self._embedded(candidates)
        near = _distances(_places(candidates), memory.places, memory.special)
        for block, seen in zip(self.blocks, memory.layers, strict=True):
            rows = _advanced(rows, block, seen, near)
        return _linear(_normed(rows, self.norm), self.head)

    def _embedded(self, rows: Rows) -> Rows:
        return _linear(_gelu(_linear(rows, self.embed)), self.embed2)


def network_of(weights: Mapping[str, NDArray[np.floating]]) -> Network:
    """The network of a file's arrays; ValueError if one is missing or has another shape."""
    layers = 1 + max((int(name.split(".")[1]) for name in weights if name.startswith("blocks.")), default=-1)
    width = weights["embed.bias"].shape[0]

    def pair(name: str, inputs: int | None, outputs: int) -> tuple[Rows, Rows]:
        weight, bias = (np.asarray(weights[f"{name}.{part}"], dtype=np.float32) for part in ("weight", "bias"))
        expected = (outputs,) if inputs is None else (outputs, inputs)
        if weight.shape != expected or bias.shape != (outputs,):
            raise ValueError(f"{name} has shapes {weight.shape} and {bias.shape}, not {expected} and {(outputs,)}")
        return np.ascontiguousarray(weight.T), bias

    hidden = weights["blocks.0.up.bias"].shape[0]
    blocks = tuple(
        Block(
            norm1=pair(f"blocks.{k}.norm1", None, width),
            query=pair(f"blocks.{k}.query", width, width),
            key_value=pair(f"blocks.{k}.key_value", width, 2 * width),
            out=pair(f"blocks.{k}.out", width, width),
            norm2=pair(f"blocks.{k}.norm2", None, width),
            up=pair(f"blocks.{k}.up", width, hidden),
            down=pair(f"blocks.{k}.down", hidden, width),
            near=_softplus(np.asarray(weights[f"blocks.{k}.near"], dtype=np.float32)),
        )
        for k in range(layers)
    )
    return Network(
        embed=pair("embed", INPUTS, width),
        embed2=pair("embed2", width, width),
        blocks=blocks,
        norm=pair("norm", None, width),
        head=pair("head", width, OUTPUTS),
    )


def _places(rows: Rows) -> Rows:
    """Where rows are in the unit cube, (n, SLOTS)."""
    return np.ascontiguousarray(rows[:, : SLOTS * SLOT].reshape(len(rows), SLOTS, SLOT)[:, :, 0]) / np.float32(2.0)


def _distances(places: Rows, runs: Rows, special: int) -> Rows:
    """Squared distances to the runs and their logarithms, nothing to those that have no place.  (2, m, n)."""
    away = np.zeros((len(places), len(runs)), dtype=np.float32)
    for j in range(SLOTS):
        away += np.square(places[:, j, None] - runs[:, j])
    near = np.stack([np.minimum(away, np.float32(FARTHEST)), np.log(away + np.float32(NEAREST))])
    near[:, :, :special] = 0.0
    return near


def _advanced(rows: Rows, block: Block, memory: tuple[Rows, Rows], near: Rows) -> Rows:
    """One layer for rows that look at the runs.  near: (2, m, n).  (m, W) -> (m, W)."""
    keys, values = memory
    query = _headed(_linear(_normed(rows, block.norm1), block.query))
    looks = query @ keys.transpose(0, 2, 1) * np.float32(_HEAD**-0.5)
    looks -= block.near[0, :, None, None] * near[0] + block.near[1, :, None, None] * near[1]
    seen = _softmax(looks) @ values
    rows = rows + _linear(seen.transpose(1, 0, 2).reshape(len(rows), -1), block.out)
    return rows + _linear(_gelu(_linear(_normed(rows, block.norm2), block.up)), block.down)


def _headed(rows: Rows) -> Rows:
    """(n, W) -> (heads, n, 32)."""
    return np.ascontiguousarray(rows.reshape(len(rows), -1, _HEAD).transpose(1, 0, 2))


def _linear(rows: Rows, layer: tuple[Rows, Rows]) -> Rows:
    return rows @ layer[0] + layer[1]


def _normed(rows: Rows, layer: tuple[Rows, Rows]) -> Rows:
    centred = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + np.float32(1e-5)) * layer[0] + layer[1])


def _softmax(logits: Rows) -> Rows:
    logits = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(logits / logits.sum(axis=-1, keepdims=True), dtype=np.float32)


def _softplus(x: Rows) -> Rows:
    return np.asarray(np.logaddexp(x, np.float32(0.0)), dtype=np.float32)


def _gelu(x: Rows) -> Rows:
    """The smooth rectifier, by its usual approximation."""
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return np.asarray(np.float32(0.5) * x * (np.float32(1.0) + np.tanh(inner)), dtype=np.float32)
