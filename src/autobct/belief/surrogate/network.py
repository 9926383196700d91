"""The network in NumPy: its predictions at any number of candidates, each independent of the others.

A run has a token for each coordinate, which sees the same coordinate of the other runs, and one for the run as a whole.
What the tokens of a coordinate say together makes functions of that coordinate (SHAPES of them in every layer), with
which the places of all rows are read, and says how much it counts for what is near: rows look at the runs, the more the
nearer they are.  The order of coordinates and of runs makes no difference, and there may be any number of both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.surrogate.network_inputs import OUTPUTS, PLACE, SHAPES, WAVES, Rows

Linear = tuple[Rows, Rows]
"""A matrix (out, in) and what is added, (out, 1)."""

NEAREST = 1e-3
"""Weighed squared distances below it make no difference."""
HEAD, NARROW_HEAD = 32, 16
"""Widths of attention heads, of rows and of coordinates."""
_AT_ONCE = 192  # candidates: what is made of so many stays in the cache, and in memory that is used again


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
class LayerMemory:
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
    layers: tuple[LayerMemory, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A prior-data-fitted network (Mueller et al. 2022): a transformer that was trained to predict.

    Inside, features come first and rows last, (W, m): sums over features or runs then go through memory in order.
    """

    place: Linear
    fact: Rows
    shared: Rows
    embed: Linear
    whole: Linear
    whole2: Linear
    blocks: tuple[Block, ...]
    head: Linear

    def read(self, facts: Rows, places: Rows, wholes: Rows) -> Context:
        """The runs in every layer.  places: (n, p),  wholes: (n, WHOLE), first the row that is no run."""
        basis, squares = _basis(places), _squares(places[1:], places)
        basis[:, :, 0] = 0.0
        column = self._tokens(facts, basis, wholes)
        row, layers = self._embedded(wholes), list[LayerMemory]()
        for block in self.blocks:
            column = _columns(column, block)
            normed = _normed(column)
            typical = normed.mean(axis=2)
            shapes = _linear(typical, block.shapes).reshape(PLACE, SHAPES, -1)
            relevance = softplus(_linear(typical, block.relevance))
            shapes = np.ascontiguousarray(shapes.T)
            row = row + _read(shapes, basis, block)
            keys, values = np.split(_linear(_normed(row), block.key_value), 2)
            keys = _directions(_headed(keys, HEAD)) * block.sharp
            layers.append(LayerMemory(shapes, relevance, keys.swapaxes(-1, -2), _headed(values, HEAD)))
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

    def _tokens(self, facts: Rows, basis: Rows, wholes: Rows) -> Rows:
        """A token for each coordinate of each row.  basis: (PLACE, p, n),  wholes: (n, WHOLE) -> (w, p, n)."""
        token = _linear(basis, self.place)
        token += (self.fact @ facts.T)[:, :, None]
        token += (self.shared @ wholes.T)[:, None]
        return _linear(np.maximum(token, 0.0), self.embed)

    def _embedded(self, wholes: Rows) -> Rows:
        """(n, WHOLE) -> (W, n)."""
        return _linear(_gelu(_linear(wholes.T, self.whole)), self.whole2)


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


def _nearness(squares: Rows, block: Block, seen: LayerMemory) -> Rows:
    """What attention loses with the distance.  squares: (p, n, m) -> (heads, n, m)."""
    away = (seen.relevance @ squares.reshape(len(squares), -1)).reshape(len(block.near), *squares.shape[1:])
    near: Rows = np.log(away + np.float32(NEAREST))
    near *= block.near
    near += away
    return near


def _looked(row: Rows, block: Block, seen: LayerMemory, near: Rows) -> Rows:
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


def softplus(x: Rows) -> Rows:
    """log(1 + exp x)."""
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
