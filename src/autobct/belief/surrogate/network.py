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
| CONTEXT | a tuning: number of runs, range of scores known, log(range / kappa), g((top - best) / kappa), coordinates |

A run has a token for each coordinate, which sees the same coordinate of the other runs, and one for the run as a whole.
What the tokens of a coordinate say together makes functions of that coordinate (SHAPES of them in every layer), with
which the places of all rows are read, and says how much it counts for what is near: rows look at the runs, the more the
nearer they are.  The order of coordinates and of runs makes no difference, and there may be any number of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Linear = tuple[Rows, Rows]
"""A matrix (out, in) and what is added, (out, 1)."""

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
_FOLLOW = {
    "norm1": ("column_query", "column_key_value"),
    "norm2": ("shapes", "relevance", "gather"),
    "norm3": ("query", "key_value"),
    "norm4": ("up",),
    "norm5": ("column_up",),
    "norm6": ("side",),
}
_NORM = {name: norm for norm, names in _FOLLOW.items() for name in names}  # which one a matrix follows
_AT_ONCE = 192  # candidates: what is made of so many stays in the cache, and in memory that is used again


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
    """Weights of one layer.  near, sharp: (heads, 1, 1);  think: of the coordinates of runs, None in the last layer.

    What a norm multiplies with and adds is part of the matrices that follow it.
    """

    column_query: Linear
    column_key_value: Linear
    column_out: Linear
    shapes: Linear
    read: Linear
    relevance: Linear
    near: Rows
    sharp: Rows
    query: Linear
    key_value: Linear
    out: Linear
    up: Linear
    down: Linear
    think: Think | None


@dataclass(frozen=True, slots=True, eq=False)
class Think:
    """Weights with which a run gathers what its coordinates know, and they what it knows."""

    gather: Linear
    column_up: Linear
    side: Linear
    column_down: Linear


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one layer makes of the runs.

    shapes: (p, SHAPES, PLACE) functions of every coordinate;  relevance: (heads, p) how much it counts for what is near
    keys: (heads, n, HEAD),  values: (heads, HEAD, n)
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
    """A prior-data-fitted network (Mueller et al. 2022): a transformer that was trained to predict.

    Inside, features come first and rows last, (W, m): sums over features or runs then go through memory in order.
    """

    place: Linear
    fact: Rows
    told: Rows
    embed: Linear
    whole: Linear
    whole2: Linear
    blocks: tuple[Block, ...]
    head: Linear

    def read(self, layout: Layout, places: Rows, wholes: Rows) -> Context:
        """The runs in every layer.  places: (n, p),  wholes: (n, WHOLE), first the row that is no run."""
        basis, squares = _basis(places), _squares(places[1:], places)
        basis[:, :, 0] = 0.0
        column = self._tokens(layout, basis, wholes)
        row, layers = self._embedded(wholes), list[Seen]()
        for block in self.blocks:
            column = _columns(column, block)
            normed = _normed(column)
            typical = normed.mean(axis=2)
            shapes = _linear(typical, block.shapes).reshape(PLACE, SHAPES, -1)
            relevance = _softplus(_linear(typical, block.relevance))
            shapes = np.ascontiguousarray(shapes.T)
            row = row + _read(shapes, basis, block)
            keys, values = np.split(_linear(_normed(row), block.key_value), 2)
            keys = _directions(_headed(keys, HEAD)) * block.sharp
            layers.append(Seen(shapes, relevance, keys.swapaxes(-1, -2), _headed(values, HEAD)))
            near = _nearness(squares, block, layers[-1])
            near[:, :, 0] = 0.0
            row = _looked(row, block, layers[-1], near)
            if block.think is not None:
                row, column = _thought(row, column, normed, block.think)
        return Context(places, tuple(layers))

    def predict(self, seen: Context, places: Rows, wholes: Rows) -> Rows:
        """Logits at candidates, (G, OUTPUTS).  places: (G, p),  wholes: (G, WHOLE), or (1, WHOLE) if all are alike."""
        found = np.empty((len(places), OUTPUTS), dtype=np.float32)
        rows = np.broadcast_to(self._embedded(wholes), (len(self.whole[1]), len(places)))
        for start in range(0, len(places), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            found[some] = self._predicted(seen, places[some], rows[:, some]).T
        return found

    def _predicted(self, seen: Context, places: Rows, row: Rows) -> Rows:
        """Logits at some candidates.  places: (m, p),  row: (W, m) -> (OUTPUTS, m)."""
        basis, squares = _basis(places), _squares(seen.places[1:], places)
        for block, layer in zip(self.blocks, seen.layers, strict=True):
            row = row + _read(layer.shapes, basis, block)
            row = _looked(row, block, layer, _nearness(squares, block, layer))
        return _linear(_normed(row), self.head)

    def _tokens(self, layout: Layout, basis: Rows, wholes: Rows) -> Rows:
        """A token for each coordinate of each row.  basis: (PLACE, p, n),  wholes: (n, WHOLE) -> (w, p, n)."""
        token = _linear(basis, self.place)
        token += (self.fact @ layout.facts.T)[:, :, None]
        token += (self.told @ wholes.T)[:, None]
        return _linear(np.maximum(token, 0.0), self.embed)

    def _embedded(self, wholes: Rows) -> Rows:
        """(n, WHOLE) -> (W, n)."""
        return _linear(_gelu(_linear(wholes.T, self.whole)), self.whole2)


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
    shapes: dict[str, tuple[int, ...]] = {"fact.weight": (narrow, FACTS), "told.weight": (narrow, WHOLE)}
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
            near=_softplus(array(f"{name}.near"))[:, None, None],
            sharp=array(f"{name}.sharp")[:, None, None],
            think=None if last else Think(**linears(Think, name)),
        )

    return Network(
        place=linear("place"),
        fact=array("fact.weight"),
        told=array("told.weight"),
        embed=linear("embed"),
        whole=linear("whole"),
        whole2=linear("whole2"),
        blocks=tuple(block(f"blocks.{k}", last=k == layers - 1) for k in range(layers)),
        head=linear("head", "norm"),
    )


def _basis(places: Rows) -> Rows:
    """Places as they are read.  (n, p) -> (PLACE, p, n)."""
    turned = np.ascontiguousarray(places.T)
    basis = np.empty((PLACE, *turned.shape), dtype=np.float32)
    basis[0], basis[1] = 1.0, turned
    np.square(turned, out=basis[2])
    for k, wave in enumerate(WAVES):
        angle = np.float32(wave) * turned
        np.sin(angle, out=basis[3 + k])
        np.cos(angle, out=basis[3 + len(WAVES) + k])
    return basis


def _squares(runs: Rows, places: Rows) -> Rows:
    """Squared distances in the unit cube, along every coordinate.  (n, p), (m, p) -> (p, n, m)."""
    here, there = (np.ascontiguousarray(rows.T) / np.float32(2.0) for rows in (places, runs))
    away = there[:, :, None] - here[:, None]  # not from products: rounding would move what is near
    return np.square(away, out=away)


def _columns(column: Rows, block: Block) -> Rows:
    """Coordinates look at the same coordinate of the other runs.  (w, p, n)."""
    normed = _normed(column)
    keys, values = np.split(_linear(normed, block.column_key_value), 2)
    query, keys, values = (
        _headed(part, NARROW_HEAD).swapaxes(1, 2) for part in (_linear(normed, block.column_query), keys, values)
    )  # (heads, p, NARROW_HEAD, n)
    looks = keys.swapaxes(-1, -2) @ query
    looks *= np.float32(NARROW_HEAD**-0.5)
    seen = (values @ _softmax(looks)).swapaxes(1, 2)
    return column + _linear(seen.reshape(column.shape), block.column_out)


def _read(shapes: Rows, basis: Rows, block: Block) -> Rows:
    """What rows read of their places.  shapes: (p, SHAPES, PLACE),  basis: (PLACE, p, m) -> (W, m)."""
    found = shapes @ basis.swapaxes(0, 1)
    np.maximum(found, 0.0, out=found)
    return _linear(found.sum(axis=0), block.read)


def _nearness(squares: Rows, block: Block, seen: Seen) -> Rows:
    """What attention loses with the distance.  squares: (p, n, m) -> (heads, n, m)."""
    away = (seen.relevance @ squares.reshape(len(squares), -1)).reshape(len(block.near), *squares.shape[1:])
    near: Rows = np.log(away + np.float32(NEAREST))
    near *= block.near
    near += away
    return near


def _looked(row: Rows, block: Block, seen: Seen, near: Rows) -> Rows:
    """Rows look at the runs, and think; changed in place.  row: (W, m),  near: (heads, n - 1, m), none of the first."""
    query = _directions(_headed(_linear(_normed(row), block.query), HEAD))
    looks = seen.keys @ query
    looks[:, 1:] -= near
    row += _linear((seen.values @ _softmax(looks)).reshape(row.shape), block.out)
    row += _linear(_gelu(_linear(_normed(row), block.up)), block.down)
    return row


def _thought(row: Rows, column: Rows, normed: Rows, think: Think) -> tuple[Rows, Rows]:
    """Runs gather what their coordinates know, and these think about what their run knows.  (W, n), (w, p, n)."""
    row = row + _linear(normed.mean(axis=1), think.gather)
    inner = _linear(_normed(column), think.column_up)
    inner += _linear(_normed(row), think.side)[:, None]
    return row, column + _linear(np.maximum(inner, 0.0, out=inner), think.column_down)


def _directions(rows: Rows) -> Rows:
    """Vectors of length one.  (heads, HEAD, m)."""
    length = np.sqrt(np.sum(np.square(rows), axis=1, keepdims=True))
    return np.asarray(rows / np.maximum(length, np.float32(1e-12)))


def _headed(rows: Rows, width: int) -> Rows:
    """(W, ...) -> (heads, width, ...)."""
    return rows.reshape(-1, width, *rows.shape[1:])


def _linear(rows: Rows, layer: Linear) -> Rows:
    """(in, ...) -> (out, ...)."""
    found = layer[0] @ rows.reshape(len(rows), -1)
    found += layer[1]
    return found.reshape(-1, *rows.shape[1:])


def _normed(rows: Rows) -> Rows:
    """Features of mean zero and variance one.  (W, ...)."""
    flat = rows.reshape(len(rows), -1)
    share = np.float32(1.0 / len(rows))
    centred: Rows = flat - flat.sum(axis=0) * share
    variance = np.einsum("ij,ij->j", centred, centred) * share
    centred *= 1.0 / np.sqrt(variance + np.float32(1e-5))
    return centred.reshape(rows.shape)


def _softmax(looks: Rows) -> Rows:
    """Shares of the runs, in place of their logits.  (..., n, m)."""
    looks -= looks.max(axis=-2, keepdims=True)
    np.exp(looks, out=looks)
    looks /= looks.sum(axis=-2, keepdims=True)
    return looks


def _softplus(x: Rows) -> Rows:
    return np.asarray(np.logaddexp(x, np.float32(0.0)), dtype=np.float32)


def _gelu(x: Rows) -> Rows:
    """The smooth rectifier by its usual approximation, x / 2 (1 + tanh(0.798 (x + 0.0447 x^3)))."""
    inner = x * x
    inner *= np.float32(0.7978845608 * 0.044715)
    inner += np.float32(0.7978845608)
    inner *= x
    np.tanh(inner, out=inner)
    inner += np.float32(1.0)
    inner *= x
    inner *= np.float32(0.5)
    return inner
