"""The network in NumPy: its inputs, and its predictions at any number of candidates, each independent of the others.

It reads every run, and every candidate, as one row of numbers without units.  Scores are counted in prices of a run:
kappa = price x geometric mean of the costs so far is what one more run costs, in score, and a score enters as
g((score - best) / kappa), g(z) = sign(z) log(1 + |z|).  Costs enter as the logarithm of their ratio to that mean.  So
nothing depends on the units of score and cost, and the price is a hint at the scale.

| columns | of a row |
|---|---|
| SLOTS x SLOT | one slot for every coordinate: place, exists, whole, category, log, log(high / low), increases cost |
| OUTCOME | score, log cost, finished, failed, is a guess, is the context, observed score is asked for, step |
| CONTEXT | number of runs, range of scores is known, log(range / kappa), g((top - best) / kappa), coordinates |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

SLOTS, SLOT, OUTCOME, CONTEXT = 24, 7, 8, 5
INPUTS = SLOTS * SLOT + OUTCOME + CONTEXT

SCORE_EDGES = np.linspace(-10.0, 9.0, 191)
"""Ends of the bins of g((score - best) / kappa)."""
COST_EDGES = np.linspace(-6.0, 6.0, 97)
"""Ends of the bins of the log of cost over its geometric mean so far."""

SCORE_UNIT, COST_UNIT, RATIO_UNIT = 4.0, 2.0, 6.0
FARTHEST, NEAREST = 4.0, 1e-3
"""Squared distances beyond the first, and below the second, make no difference."""


def squash(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """g(z) = sign(z) log(1 + |z|)."""
    return np.asarray(np.sign(z) * np.log1p(np.abs(z)))


def unsquash(g: NDArray[np.floating]) -> NDArray[np.floating]:
    """The z of a g(z)."""
    return np.asarray(np.sign(g) * np.expm1(np.abs(g)))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is known of every coordinate of a space.  All (p,).

    whole, category, log: what kind of parameter it belongs to
    ratio:  log(high / low) of a positive number, else 0
    grows:  1 where the cost is said to increase with it
    """

    whole: Rows
    category: Rows
    log: Rows
    ratio: Rows
    grows: Rows

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.whole)


def slots_of(layout: Layout, controls: Rows) -> Rows:
    """The columns of the slots.  controls: (n, p) -> (n, SLOTS x SLOT).

    Coordinates beyond the last slot share: each is added to a slot that another one has.
    """
    facts = np.stack(
        [
            np.ones(layout.dim),
            layout.whole,
            layout.category,
            layout.log,
            np.clip(layout.ratio, 0.0, 14.0) / RATIO_UNIT,
            layout.grows,
        ],
        axis=-1,
    )
    rows = np.zeros((len(controls), SLOTS, SLOT), dtype=np.float32)
    for j in range(layout.dim):
        slot = j % SLOTS
        if j < SLOTS:
            rows[:, slot, 1:] = facts[j]
        rows[:, slot, 0] += controls[:, j] if layout.category[j] else 2.0 * controls[:, j] - 1.0
    return rows.reshape(len(controls), SLOTS * SLOT)


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
    for j in np.flatnonzero(places.any(axis=0) | runs.any(axis=0)):  # most slots are empty
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
    rows += _linear(_gelu(_linear(_normed(rows, block.norm2), block.up)), block.down)
    return rows


def _headed(rows: Rows) -> Rows:
    """(n, W) -> (heads, n, 32)."""
    return np.ascontiguousarray(rows.reshape(len(rows), -1, _HEAD).transpose(1, 0, 2))


def _linear(rows: Rows, layer: tuple[Rows, Rows]) -> Rows:
    found = rows @ layer[0]
    found += layer[1]
    return found


def _normed(rows: Rows, layer: tuple[Rows, Rows]) -> Rows:
    centred: Rows = rows - rows.mean(axis=-1, keepdims=True)
    variance = np.mean(np.square(centred), axis=-1, keepdims=True)
    centred /= np.sqrt(variance + np.float32(1e-5))
    centred *= layer[0]
    centred += layer[1]
    return centred


def _softmax(logits: Rows) -> Rows:
    shares: Rows = logits - logits.max(axis=-1, keepdims=True)
    np.exp(shares, out=shares)
    shares /= shares.sum(axis=-1, keepdims=True)
    return shares


def _softplus(x: Rows) -> Rows:
    return np.asarray(np.logaddexp(x, np.float32(0.0)), dtype=np.float32)


def _gelu(x: Rows) -> Rows:
    """The smooth rectifier by its usual approximation, x / 2 (1 + tanh(0.798 (x + 0.0447 x^3)))."""
    inner = np.float32(0.044715) * x
    inner *= x
    inner *= x
    inner += x
    inner *= np.float32(0.7978845608)
    np.tanh(inner, out=inner)
    inner += np.float32(1.0)
    inner *= np.float32(0.5) * x
    return inner
