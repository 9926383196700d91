"""A small multilayer perceptron, evaluated in NumPy: what a network map is at run time, wherever it was trained.

y = relu(... relu(x W_0 + b_0) W_1 + b_1 ...) W_L + b_L,      one number per row, in float32 inside
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autobct.belief.arrays import Array, Array32

_CELLS = 28_672  # of a layer's output at a time: it stays in the cache, and below what is asked of the system anew


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """Layers of a perceptron with relu between them and a linear output of one number.

    weights: (in, out) each, a layer's out being the next one's in, the last out 1;  biases: (out,) each
    """

    weights: tuple[Array32, ...]
    biases: tuple[Array32, ...]

    def __post_init__(self) -> None:
        """The layers fit together, and every number is finite."""
        if not self.weights or len(self.weights) != len(self.biases):
            raise ValueError(
                f"a network needs a bias for each layer's weights, got {len(self.weights)} weights and "
                f"{len(self.biases)} biases"
            )
        width = self.weights[0].shape[0] if self.weights[0].ndim == 2 else -1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if weight.ndim != 2 or weight.shape[0] != width or bias.shape != weight.shape[1:] or weight.size == 0:
                raise ValueError(
                    f"layer {layer} of a network does not fit the one before it: weights {weight.shape}, "
                    f"bias {bias.shape}"
                )
            if weight.dtype != np.float32 or bias.dtype != np.float32:
                raise ValueError(f"layer {layer} of a network must be float32, got {weight.dtype} and {bias.dtype}")
            if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
                raise ValueError(f"layer {layer} of a network must have finite weights and biases")
            width = weight.shape[1]
        if width != 1:
            raise ValueError(f"a network must end in one number, got {width}")

    @property
    def inputs(self) -> int:
        """F, the number of features."""
        return int(self.weights[0].shape[0])

    def __call__(self, features: ArrayLike) -> Array:
        """The network's value for features (..., F).  (...)."""
        array = np.asarray(features, dtype=np.float32)
        rows = _rows(array, self.inputs, "features")
        values = np.empty(len(rows))
        for part in self._parts(len(rows)):
            values[part] = self._after_first(rows[part] @ self.weights[0])
        return values.reshape(array.shape[:-1])

    def finish(self, pre_activation: Array32, *, overwrite: bool = False) -> Array:
        """The network's value for the sum of all parts of the first layer (..., H), bias not included.  (...).

        overwrite: whether `pre_activation` may be used as scratch space
        """
        array = np.asarray(pre_activation, dtype=np.float32)
        rows = _rows(array, self.weights[0].shape[1], "pre_activation")
        values = np.empty(len(rows))
        for part in self._parts(len(rows)):
            values[part] = self._after_first(rows[part] if overwrite else rows[part].copy())
        return values.reshape(array.shape[:-1])

    def _parts(self, count: int) -> list[slice]:
        """Rows to evaluate at a time."""
        step = max(_CELLS // max(weight.shape[1] for weight in self.weights), 1)
        return [slice(start, start + step) for start in range(0, count, step)]

    def _after_first(self, hidden: Array32) -> Array32:
        """The layers after the first product (n, H), which is overwritten.  (n,)."""
        hidden += self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = np.maximum(hidden, 0, out=hidden) @ weight
            hidden += bias
        return hidden[:, 0]

    def to_tensors(self, prefix: str) -> dict[str, NDArray[Any]]:
        """The arrays of a map file: `prefix.weights.0`, `prefix.biases.0`, and so on; float16 where that is exact."""
        weights = {f"{prefix}.weights.{layer}": _short(weight) for layer, weight in enumerate(self.weights)}
        return weights | {f"{prefix}.biases.{layer}": _short(bias) for layer, bias in enumerate(self.biases)}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]], prefix: str) -> Perceptron:
        """The network that `to_tensors` wrote; ValueError, in one sentence, if there is none or it is not whole."""
        found = {name for name in tensors if name.startswith(f"{prefix}.")}
        layers = range(len(found) // 2)
        weights = [f"{prefix}.weights.{layer}" for layer in layers]
        biases = [f"{prefix}.biases.{layer}" for layer in layers]
        if not found or found != {*weights, *biases}:
            raise ValueError(f"a network needs tensors {prefix}.weights.0, {prefix}.biases.0, ..., one pair per layer")

        def read(name: str) -> Array32:
            array = tensors[name]
            return array.astype(np.float32) if array.dtype == np.float16 else array

        return cls(tuple(read(name) for name in weights), tuple(read(name) for name in biases))


def _short(array: Array32) -> NDArray[Any]:
    with np.errstate(over="ignore"):
        half = array.astype(np.float16)
    return half if np.array_equal(half, array) else array


def _rows(array: Array32, width: int, name: str) -> Array32:
    """(..., width) as (n, width)."""
    if array.ndim == 0 or array.shape[-1] != width:
        raise ValueError(f"{name} must have {width} entries along the last axis, got shape {array.shape}")
    return array.reshape(-1, width)
