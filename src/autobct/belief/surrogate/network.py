"""The network in NumPy: its inputs, and its predictions at any number of candidates, each independent of the others.

It reads every run, and every candidate, as a row of numbers without units.  Scores are counted in prices of a run:
kappa = price x geometric mean of the costs so far is what one more run costs, in score, and a score enters as
g((score - best) / kappa), g(z) = sign(z) log(1 + |z|).  Costs enter as the logarithm of their ratio to that mean.  So
nothing depends on the units of score and cost, and the price is a hint at the scale.

| numbers | of |
|---|---|
| PLACE | a place, of one coordinate of a row: 1, the place, its square, sine and cosine waves of it |
| FACTS | a coordinate: whole, category, log, log(high / low), increases cost |
| OUTCOME | a row: score, log cost, finished, failed, is a guess, is the context, observed score is asked for, step |
| CONTEXT | a tuning: number of runs, range of scores is known, log(range / kappa), g((top - best) / kappa), coordinates |

A run has a token for each coordinate, which sees the same coordinate of the other runs, and one for the run as a whole.
What the tokens of a coordinate say together makes functions of that coordinate (SHAPES of them in every layer), with
which the places of all rows are read, and says how much it counts for what is near: rows look at the runs, the more the
nearer they are.  The order of coordinates and of runs makes no difference, and there may be any number of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Linear = tuple[Rows, Rows]
"""A matrix (in, out) and what is added, (out,)."""

WAVES = tuple(np.pi / 2.0 * k for k in (1, 2, 4, 8))
PLACE, FACTS, SHAPES = 3 + 2 * len(WAVES), 5, 32
OUTCOME, CONTEXT = 8, 5
WHOLE = OUTCOME + CONTEXT

SCORE_EDGES = np.linspace(-10.0, 9.0, 191)
"""Ends of the bins of g((score - best) / kappa)."""
COST_EDGES = np.linspace(-6.0, 6.0, 97)
"""Ends of the bins of the log of cost over its geometric mean so far."""
SCORE_BINS, COST_BINS, BEFORE = len(SCORE_EDGES) - 1, len(COST_EDGES) - 1, 4
OUTPUTS = SCORE_BINS + COST_BINS + 1 + BEFORE

SCORE_UNIT, COST_UNIT, RATIO_UNIT = 4.0, 2.0, 6.0
NEAREST = 1e-3
"""Weighed squared distances below it make no difference."""
HEAD, NARROW_HEAD = 32, 16
"""Widths of attention heads, of rows and of coordinates."""


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

    @property
    def facts(self) -> Rows:
        """What the network reads of each coordinate, (p, FACTS)."""
        ratio = np.clip(self.ratio, 0.0, 14.0) / RATIO_UNIT
        return np.stack([self.whole, self.category, self.log, ratio, self.grows], axis=-1).astype(np.float32)

    def places(self, controls: NDArray[np.floating]) -> Rows:
        """Numbers as 2 u - 1, choices as 0 or 1.  controls: (n, p) -> (n, p)."""
        return np.where(self.category > 0, controls, 2.0 * controls - 1.0).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Weights of one layer.  near, sharp: (heads,);  think: of the coordinates of runs, None in the last layer."""

    norm1: Linear
    column_query: Linear
    column_key_value: Linear
    column_out: Linear
    norm2: Linear
    shapes: Linear
    read: Linear
    relevance: Linear
    near: Rows
    sharp: Rows
    norm3: Linear
    query: Linear
    key_value: Linear
    out: Linear
    norm4: Linear
    up: Linear
    down: Linear
    think: Think | None


@dataclass(frozen=True, slots=True, eq=False)
class Think:
    """Weights with which a run gathers what its coordinates know, and they what it knows."""

    gather: Linear
    norm5: Linear
    norm6: Linear
    column_up: Linear
    side: Linear
    column_down: Linear


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one layer makes of the runs.

    shapes: (p, PLACE, SHAPES) functions of every coordinate;  relevance: (p, heads) how much it counts for what is near
    keys, values: (heads, n, HEAD)
    """

    shapes: Rows
    relevance: Rows
    keys: Rows
    values: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the network makes of the runs.  places: (n, p), the first row is no run and has none."""

    places: Rows
    layers: tuple[Seen, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A prior-data-fitted network (Mueller et al. 2022): a transformer that was trained to predict."""

    place: Linear
    fact: Rows
    told: Rows
    embed: Linear
    whole: Linear
    whole2: Linear
    blocks: tuple[Block, ...]
    norm: Linear
    head: Linear

    def read(self, layout: Layout, places: Rows, wholes: Rows) -> Context:
        """The runs in every layer.  places: (n, p),  wholes: (n, WHOLE), first the row that is no run."""
        basis = _basis(places)
        basis[:, 0] = 0.0
        token = _linear(basis, self.place)
        token += (layout.facts @ self.fact)[:, None]
        token += wholes @ self.told
        column = _linear(np.maximum(token, 0.0), self.embed)
        row, layers = self._embedded(wholes), list[Seen]()
        for block in self.blocks:
            column = _columns(column, block)
            normed = _normed(column, block.norm2)
            typical = normed.mean(axis=1)
            shapes = _linear(typical, block.shapes).reshape(-1, PLACE, SHAPES)
            row += _read(shapes, basis, block)
            keys, values = np.split(_linear(_normed(row, block.norm3), block.key_value), 2, axis=-1)
            layers.append(
                Seen(
                    shapes=shapes,
                    relevance=_softplus(_linear(typical, block.relevance)),
                    keys=_directions(_headed(keys, HEAD)),
                    values=_headed(values, HEAD),
                )
            )
            near = _nearness(places, places, block, layers[-1])
            near[:, 0] = 0.0
            row = _looked(row, block, layers[-1], near)
            if block.think is not None:
                row, column = _thought(row, column, normed, block.think)
        return Context(places, tuple(layers))

    def predict(self, seen: Context, places: Rows, wholes: Rows) -> Rows:
        """Logits at candidates, (G, OUTPUTS).  places: (G, p),  wholes: (G, WHOLE)."""
        row, basis = self._embedded(wholes), _basis(places)
        for block, layer in zip(self.blocks, seen.layers, strict=True):
            row += _read(layer.shapes, basis, block)
            row = _looked(row, block, layer, _nearness(places, seen.places, block, layer))
        return _linear(_normed(row, self.norm), self.head)

    def _embedded(self, wholes: Rows) -> Rows:
        return _linear(_gelu(_linear(wholes, self.whole)), self.whole2)


def network_of(weights: Mapping[str, NDArray[np.floating]]) -> Network:
    """The network of a file's arrays; ValueError if one is missing or has another shape."""
    layers = 1 + max((int(name.split(".")[1]) for name in weights if name.startswith("blocks.")), default=-1)
    width, narrow = weights["whole.bias"].shape[0], weights["place.bias"].shape[0]
    heads = width // HEAD

    def array(name: str, *shape: int) -> Rows:
        found = np.asarray(weights[name], dtype=np.float32)
        if found.shape != shape:
            raise ValueError(f"{name} has shape {found.shape}, not {shape}")
        return found

    def linear(name: str, inputs: int, outputs: int) -> Linear:
        return np.ascontiguousarray(array(f"{name}.weight", outputs, inputs).T), array(f"{name}.bias", outputs)

    def norm(name: str, size: int) -> Linear:
        return array(f"{name}.weight", size), array(f"{name}.bias", size)

    def thinking(name: str) -> Think:
        return Think(
            gather=linear(f"{name}.gather", narrow, width),
            norm5=norm(f"{name}.norm5", narrow),
            norm6=norm(f"{name}.norm6", width),
            column_up=linear(f"{name}.column_up", narrow, 2 * narrow),
            side=linear(f"{name}.side", width, 2 * narrow),
            column_down=linear(f"{name}.column_down", 2 * narrow, narrow),
        )

    def block(name: str, *, last: bool) -> Block:
        return Block(
            norm1=norm(f"{name}.norm1", narrow),
            column_query=linear(f"{name}.column_query", narrow, narrow),
            column_key_value=linear(f"{name}.column_key_value", narrow, 2 * narrow),
            column_out=linear(f"{name}.column_out", narrow, narrow),
            norm2=norm(f"{name}.norm2", narrow),
            shapes=linear(f"{name}.shapes", narrow, PLACE * SHAPES),
            read=linear(f"{name}.read", SHAPES, width),
            relevance=linear(f"{name}.relevance", narrow, heads),
            near=_softplus(array(f"{name}.near", heads)),
            sharp=array(f"{name}.sharp", heads),
            norm3=norm(f"{name}.norm3", width),
            query=linear(f"{name}.query", width, width),
            key_value=linear(f"{name}.key_value", width, 2 * width),
            out=linear(f"{name}.out", width, width),
            norm4=norm(f"{name}.norm4", width),
            up=linear(f"{name}.up", width, 2 * width),
            down=linear(f"{name}.down", 2 * width, width),
            think=None if last else thinking(name),
        )

    return Network(
        place=linear("place", PLACE, narrow),
        fact=np.ascontiguousarray(array("fact.weight", narrow, FACTS).T),
        told=np.ascontiguousarray(array("told.weight", narrow, WHOLE).T),
        embed=linear("embed", narrow, narrow),
        whole=linear("whole", WHOLE, width),
        whole2=linear("whole2", width, width),
        blocks=tuple(block(f"blocks.{k}", last=k == layers - 1) for k in range(layers)),
        norm=norm("norm", width),
        head=linear("head", width, OUTPUTS),
    )


def _basis(places: Rows) -> Rows:
    """Places as they are read.  (n, p) -> (p, n, PLACE)."""
    turned = np.ascontiguousarray(places.T)
    angle = turned[..., None] * np.array(WAVES, dtype=np.float32)
    straight = np.stack([np.ones_like(turned), turned, np.square(turned)], axis=-1)
    return np.concatenate([straight, np.sin(angle), np.cos(angle)], axis=-1)


def _columns(column: Rows, block: Block) -> Rows:
    """Coordinates look at the same coordinate of the other runs.  (p, n, w)."""
    normed = _normed(column, block.norm1)
    keys, values = np.split(_linear(normed, block.column_key_value), 2, axis=-1)
    query = _headed(_linear(normed, block.column_query), NARROW_HEAD)
    shares = _softmax(query @ _headed(keys, NARROW_HEAD).swapaxes(-1, -2) * np.float32(NARROW_HEAD**-0.5))
    return column + _linear(_joined(shares @ _headed(values, NARROW_HEAD)), block.column_out)


def _read(shapes: Rows, basis: Rows, block: Block) -> Rows:
    """What rows read of their places.  shapes: (p, PLACE, SHAPES),  basis: (p, m, PLACE) -> (m, W)."""
    found = basis @ shapes
    np.maximum(found, 0.0, out=found)
    return _linear(found.sum(axis=0), block.read)


def _nearness(places: Rows, runs: Rows, block: Block, seen: Seen) -> Rows:
    """What attention loses with the distance; nothing to the row without a place.  (heads, m, n)."""
    weights = seen.relevance.T.astype(np.float64)
    here, there = places.astype(np.float64) / 2.0, runs.astype(np.float64) / 2.0
    squares = np.square(here) @ weights.T, np.square(there) @ weights.T  # (m, heads), (n, heads)
    products = here @ (there * weights[:, None]).swapaxes(-1, -2)
    away = squares[0].T[:, :, None] + squares[1].T[:, None] - 2.0 * products
    near = np.maximum(away, 0.0).astype(np.float32)
    near += block.near[:, None, None] * np.log(near + np.float32(NEAREST))
    near[:, :, 0] = 0.0
    return near


def _looked(row: Rows, block: Block, seen: Seen, near: Rows) -> Rows:
    """Rows look at the runs, and think.  (m, W)."""
    query = _directions(_headed(_linear(_normed(row, block.norm3), block.query), HEAD)) * block.sharp[:, None, None]
    looks = query @ seen.keys.swapaxes(-1, -2)
    looks -= near
    row = row + _linear(_joined(_softmax(looks) @ seen.values), block.out)
    row += _linear(_gelu(_linear(_normed(row, block.norm4), block.up)), block.down)
    return row


def _thought(row: Rows, column: Rows, normed: Rows, think: Think) -> tuple[Rows, Rows]:
    """Runs gather what their coordinates know, and these think about what their run knows."""
    row = row + _linear(normed.mean(axis=0), think.gather)
    inner = _linear(_normed(column, think.norm5), think.column_up)
    inner += _linear(_normed(row, think.norm6), think.side)
    return row, column + _linear(np.maximum(inner, 0.0), think.column_down)


def _directions(rows: Rows) -> Rows:
    """Vectors of length one."""
    return np.asarray(rows / np.maximum(np.sqrt(np.sum(np.square(rows), axis=-1, keepdims=True)), np.float32(1e-12)))


def _headed(rows: Rows, width: int) -> Rows:
    """(..., n, W) -> (..., heads, n, width)."""
    return np.ascontiguousarray(rows.reshape(*rows.shape[:-1], -1, width).swapaxes(-2, -3))


def _joined(heads: Rows) -> Rows:
    """(..., heads, n, width) -> (..., n, W)."""
    rows = heads.swapaxes(-2, -3)
    return rows.reshape(*rows.shape[:-2], -1)


def _linear(rows: Rows, layer: Linear) -> Rows:
    found = rows @ layer[0]
    found += layer[1]
    return found


def _normed(rows: Rows, layer: Linear) -> Rows:
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
