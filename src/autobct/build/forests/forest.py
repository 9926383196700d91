"""A regression forest as flat arrays, evaluated in NumPy: what a forest map is at run time.

All trees stand one after the other in the same arrays, one entry per node, children counted from the start of
the arrays.  Per tree this is the layout of scikit-learn's `tree_`:

| here | scikit-learn's `tree_` | at a leaf |
|---|---|---|
| `feature` int32 | `feature` | -1 (scikit-learn: -2) |
| `threshold` float32 | `threshold`, float64: x <= threshold goes left | 0 |
| `left`, `right` int32 | `children_left`, `children_right`, plus the tree's root | -1 |
| `value` float32 | `value[:, 0, 0]` | the prediction |
| `roots` int32 | 0, plus the number of nodes before the tree | |

Features are float32, as they are in scikit-learn.  A float64 threshold rounded *down* to float32 then sends
every feature the same way, so nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autobct.belief.arrays import Array, Array32, Indices

Int32 = NDArray[np.int32]

MAX_DEPTH = 1024
"""No tree may be deeper: a fully grown one on a million states has some hundred levels."""

_PAIRS = 1 << 18  # (row, tree) pairs walked at a time
_LEVELS = 4  # steps between two looks for pairs that have arrived
_DTYPES: dict[str, type[np.generic]] = {
    "feature": np.int32,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "value": np.float32,
    "roots": np.int32,
}


class Tree(Protocol):
    """One tree in scikit-learn's layout, e.g. `estimator.tree_`.  All (nodes,), value (nodes, 1, 1)."""

    @property
    def children_left(self) -> NDArray[Any]: ...  # noqa: D102
    @property
    def children_right(self) -> NDArray[Any]: ...  # noqa: D102
    @property
    def feature(self) -> NDArray[Any]: ...  # noqa: D102
    @property
    def threshold(self) -> NDArray[Any]: ...  # noqa: D102
    @property
    def value(self) -> NDArray[Any]: ...  # noqa: D102


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """The mean of regression trees over `inputs` features (F).  Layout: see the module.

    feature, threshold, left, right, value: (nodes,);  roots: (trees,)
    """

    feature: Int32
    threshold: Array32
    left: Int32
    right: Int32
    value: Array32
    roots: Int32
    inputs: int
    _column: Indices = field(init=False, repr=False)  # feature to compare, 0 at a leaf: any will do
    _next: Indices = field(init=False, repr=False)  # (2 nodes,): left and right child; a leaf is its own child

    def __post_init__(self) -> None:
        """The arrays are trees: every walk from a root ends at a leaf."""
        _check(self)
        leaf, own = self.feature < 0, np.arange(self.feature.size)
        children = np.stack([self.left, self.right], axis=-1)
        object.__setattr__(self, "_column", np.maximum(self.feature, 0).astype(np.intp))
        object.__setattr__(self, "_next", np.where(leaf[:, None], own[:, None], children).astype(np.intp).ravel())

    @classmethod
    def of(cls, trees: Iterable[Tree], *, inputs: int) -> Forest:
        """The forest of trees in scikit-learn's layout: `of([e.tree_ for e in forest.estimators_], inputs=F)`."""
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _DTYPES}
        nodes = 0
        for tree in trees:
            leaf = tree.children_left < 0
            parts["feature"].append(np.where(leaf, -1, tree.feature))
            parts["threshold"].append(np.where(leaf, 0.0, _rounded_down(tree.threshold)))
            parts["left"].append(np.where(leaf, -1, tree.children_left + nodes))
            parts["right"].append(np.where(leaf, -1, tree.children_right + nodes))
            parts["value"].append(tree.value.reshape(-1))
            parts["roots"].append(np.array([nodes]))
            nodes += leaf.size
        if nodes == 0:
            raise ValueError("a forest needs at least one tree")
        arrays: dict[str, NDArray[Any]] = {n: np.concatenate(parts[n]).astype(kind) for n, kind in _DTYPES.items()}
        return cls(**arrays, inputs=inputs)

    def __call__(self, features: ArrayLike) -> Array:
        """The mean prediction of the trees for features (..., F).  (...)."""
        array = np.asarray(features, dtype=np.float32)
        if array.ndim == 0 or array.shape[-1] != self.inputs:
            raise ValueError(f"features must have {self.inputs} entries along the last axis, got shape {array.shape}")
        rows = np.ascontiguousarray(array.reshape(-1, self.inputs))
        values = np.empty(len(rows))
        step = max(1, _PAIRS // self.roots.size)
        for start in range(0, len(rows), step):
            leaves = self._leaves(rows[start : start + step])
            values[start : start + step] = self.value.take(leaves).mean(axis=0, dtype=np.float64)
        return values.reshape(array.shape[:-1])

    def _leaves(self, rows: Array32) -> Indices:
        """The leaf each row (n, F) reaches in each tree.  (trees, n)."""
        flat, count = rows.ravel(), len(rows)
        arrived = np.repeat(self.roots.astype(np.intp), count)
        pair, node = np.arange(arrived.size), arrived
        offset = np.tile(np.arange(count) * self.inputs, self.roots.size)  # where the pair's features start
        while pair.size:
            for _ in range(_LEVELS):  # one too many is harmless: a leaf is its own child
                goes_right = flat.take(offset + self._column.take(node)) > self.threshold.take(node)
                node = self._next.take(2 * node + goes_right)
            arrived[pair] = node
            walking = np.flatnonzero(self.feature.take(node) >= 0)
            pair, node, offset = pair.take(walking), node.take(walking), offset.take(walking)
        return arrived.reshape(-1, count)

    def to_tensors(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays of a map file, named `prefix.feature` and so on; `prefix.inputs` is F."""
        arrays: dict[str, NDArray[Any]] = {f"{prefix}.{name}": getattr(self, name) for name in _DTYPES}
        return arrays | {f"{prefix}.inputs": np.array(self.inputs, dtype=np.int32)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]], prefix: str) -> Forest:
        """The forest that `to_tensors` wrote; ValueError, in one sentence, if there is none or it is malformed."""
        found = {name for name in tensors if name.startswith(f"{prefix}.")}
        if found != {f"{prefix}.{name}" for name in (*_DTYPES, "inputs")}:
            raise ValueError(f"a forest needs tensors {prefix}.[{' | '.join(_DTYPES)} | inputs] and no others")
        inputs = tensors[f"{prefix}.inputs"]
        if inputs.shape != () or inputs.dtype != np.int32:
            raise ValueError(f"{prefix}.inputs must be one int32 number, got {inputs.dtype} of shape {inputs.shape}")
        return cls(**{name: tensors[f"{prefix}.{name}"] for name in _DTYPES}, inputs=int(inputs))


def _rounded_down(values: NDArray[Any]) -> Array32:
    """The largest float32 not above each value."""
    near = values.astype(np.float32)
    return np.where(near > values, np.nextafter(near, np.float32(-np.inf)), near)


def _check(forest: Forest) -> None:
    """Raise unless the arrays are whole trees."""
    nodes = forest.feature.size
    for name, dtype in _DTYPES.items():
        array = getattr(forest, name)
        if array.dtype != dtype or array.ndim != 1 or array.size == 0 or (name != "roots" and array.size != nodes):
            raise ValueError(
                f"{name} of a forest must be {np.dtype(dtype)}, one per {'tree' if name == 'roots' else 'node'}, "
                f"got {array.dtype} of shape {array.shape} for {nodes} nodes"
            )
    if not (np.isfinite(forest.threshold).all() and np.isfinite(forest.value).all()):
        raise ValueError("threshold and value of a forest must be finite")
    if forest.feature.min() < -1 or forest.feature.max() >= forest.inputs or forest.inputs < 1:
        raise ValueError(f"feature of a forest must be -1 at a leaf, else 0 to {forest.inputs - 1}")
    _check_children(forest)
    if _depth_exceeds(forest, MAX_DEPTH):
        raise ValueError(f"a tree of the forest is more than {MAX_DEPTH} levels deep")


def _check_children(forest: Forest) -> None:
    """Children stand after their parent, so that no walk can loop, and every node but a root has one parent."""
    nodes, split = forest.feature.size, np.flatnonzero(forest.feature >= 0)
    leaf = np.flatnonzero(forest.feature < 0)
    if np.any(forest.left[leaf] != -1) or np.any(forest.right[leaf] != -1):
        raise ValueError("a leaf of the forest must have -1 for its left and right child")
    for children in (forest.left[split], forest.right[split]):
        if np.any(children <= split) or np.any(children >= nodes):
            raise ValueError(f"a child in the forest must come after its parent and before {nodes}")
    if forest.roots.min() < 0 or forest.roots.max() >= nodes:
        raise ValueError(f"roots of a forest must be 0 to {nodes - 1}")
    entered = np.concatenate([forest.roots, forest.left[split], forest.right[split]])
    if np.any(np.bincount(entered, minlength=nodes) != 1):
        raise ValueError("every node of a forest must be a root or the child of one parent, and only one of these")


def _depth_exceeds(forest: Forest, limit: int) -> bool:
    level = forest.roots
    for _ in range(limit + 1):
        level = level[forest.feature[level] >= 0]
        if level.size == 0:
            return False
        level = np.concatenate([forest.left[level], forest.right[level]])
    return True
