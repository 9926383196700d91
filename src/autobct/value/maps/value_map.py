"""ValueMap: V_2 .. V_{K+1} as small networks over V_1, evaluated in NumPy (the paper's V-tilde).

    V = V_1 + lambda max(network - caution, 0),      lambda^2 = max variance + (sigma_H / 10)^2

Scores enter as differences to the best of them and everything is divided by lambda, so that one map serves every
price and noise.  `autobct.build.networks.network_value` defines the inputs and trains the same networks in torch.

| inputs, in this order | number |
|---|---|
| with recall: how far a run at a reference may move its score away from the incumbent's | R |
| mean at the references, less the best of them | R |
| log price of a run at the references | R |
| outcome-free: sd, neighbours' covariances, log sd of the cost, log sigma_H, log sigma_T | 2 R + E + 2 |
| joint: incumbent over V_1, best score over V_1, V_1 with optimism | 4 |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autobct.belief.arrays import Array, Array32
from autobct.belief.normal import improvement
from autobct.value.lookahead.one_step import Continuation, never, one_run_value
from autobct.value.maps.map_inputs import MapInputs, outlook
from autobct.value.maps.map_spec import BASES as BASES
from autobct.value.maps.map_spec import JOINT, MapSpec
from autobct.value.maps.map_spec import MapMismatch as MapMismatch
from autobct.value.maps.map_spec import mismatches as mismatches
from autobct.value.state import State, Terms

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


OPTIMISM = np.array([0.0, 0.6, 1.2], dtype=np.float32)
"""Standard deviations added before maximising; the first is V_1 itself."""

CAUTION = 0.005
"""Share of lambda that a network's addition is marked down by: half its error, so that noise alone buys no run."""

_FLOOR = np.float32(1e-3)  # added before a logarithm
_NOTHING = np.float32(-1e6)  # worth of stopping with no model


@dataclass(frozen=True, slots=True, eq=False)
class ValueMap:
    """V_2 .. V_{K+1} for one game.  As a function of a state it is the deepest of them, for relaxed use.

    It sees a state whose *first candidates are the references*: `successors` with `inner` the references has that
    layout, and `features.references_first` brings any candidates to it.
    """

    spec: MapSpec
    networks: tuple[Perceptron, ...]

    def __post_init__(self) -> None:
        """Every network takes the inputs of this game."""
        if not self.networks:
            raise ValueError("a map needs at least one network, that of V_2")
        for network in self.networks:
            if network.inputs != self.spec.inputs:
                raise ValueError(f"a network of this map must take {self.spec.inputs} inputs, got {network.inputs}")

    @property
    def deepest(self) -> int:
        """K + 1, the number of runs that the last network foresees."""
        return len(self.networks) + 1

    def network(self, runs_left: int) -> Perceptron:
        """The network of V_n, 2 <= n; the deepest if there is none for so many."""
        return self.networks[min(runs_left, self.deepest) - 2]

    def continuation(self, runs_left: int) -> Continuation:
        """V_n for n runs left: -inf for none, V_1 in closed form, else a network; the deepest if n is beyond it."""
        if runs_left < 2:
            return never if runs_left < 1 else one_run_value
        network = self.network(runs_left)

        def value(state: State, terms: Terms) -> Array:
            return self.evaluate(network, outlook(state, terms, len(self.spec.references), self.spec.neighbours))

        return value

    def __call__(self, state: State, terms: Terms) -> Array:
        """V_{K+1}(x), for relaxed use.  (...)."""
        return self.continuation(self.deepest)(state, terms)

    def evaluate(self, network: Perceptron, view: MapInputs) -> Array:
        """V = V_1 + lambda max(network - caution, 0) at the states of an outlook.  (..., A, B)."""
        last, joint, top = _joint(view, recall=self.spec.recall)
        added = self._addition(network, view, joint, top)
        added -= CAUTION
        np.clip(added, 0.0, 4.0, out=added)
        if view.truth.any():
            added = np.where(view.truth, 0.0, added)
        return np.asarray(view.level + view.scale * (last + added))

    def one_more_run(self, view: MapInputs) -> Array:
        """V_1 over the references, with recall beside the incumbent: what every V_n starts from."""
        return np.asarray(view.level + view.scale * _joint(view, recall=self.spec.recall)[0])

    def _addition(self, network: Perceptron, view: MapInputs, joint: Array32, top: Array32) -> Array:
        """The network's output.  Parts of the first layer that vary less are multiplied once."""
        count, weights = len(view.mean), network.weights[0]
        hidden = _part(joint, weights[-JOINT:])
        if self.spec.recall:
            hidden += _part(view.reach, weights[:count])
            weights = weights[count:]
        hidden += _part(view.mean - top, weights[:count]) + _part(view.fixed, weights[2 * count : -JOINT])
        hidden += _part(np.log(view.price + _FLOOR), weights[count : 2 * count])
        return network.finish(hidden, overwrite=True)


def network_of(parts: Mapping[str, NDArray[Any]]) -> Perceptron:
    """A network from the arrays that training wrote: `NetworkValue.state_dict()` as NumPy."""
    first = np.concatenate([parts[name] for name in ("reach", "mean", "price", "fixed", "joint")])
    weights = (first, parts["second.weight"].T, parts["out.weight"].T)
    biases = (parts["bias"], parts["second.bias"], parts["out.bias"])

    def plain(arrays: tuple[NDArray[Any], ...]) -> tuple[Array32, ...]:
        return tuple(np.ascontiguousarray(array, dtype=np.float32) for array in arrays)

    return Perceptron(plain(weights), plain(biases))


def _joint(view: MapInputs, *, recall: bool) -> tuple[Array32, Array32, Array32]:
    """V_1, the inputs that depend on both outcomes (4, ..., A, B), the best mean (..., A, 1); all over lambda."""
    hopes = view.mean + OPTIMISM.reshape(-1, *(1,) * view.mean.ndim) * view.sd
    best = _best(hopes, view.price, axis=1)  # V_1, and with optimism
    last, top = best[0], view.mean.max(axis=0)
    joint = np.empty((JOINT, *last.shape), dtype=np.float32)
    if recall:
        last = np.maximum(last, _improvement(view))
        np.minimum(np.maximum(view.stop - last, -4.0), 4.0, out=joint[0, ...])
    else:
        joint[0] = 0.0
    np.log1p(np.maximum(top - last, 0.0), out=joint[1, ...])
    np.subtract(best[1:], last, out=joint[2:])
    return last, joint, top


def _improvement(view: MapInputs) -> Array32:
    """One more run beside the incumbent: its score, plus the best expected improvement less its price."""
    have = np.maximum(view.stop, _NOTHING)
    gain = improvement(view.mean - have, view.reach)
    return np.asarray(np.where(view.stop > _NOTHING, have + _best(gain, view.price, axis=0), np.float32(-np.inf)))


def _best(gross: Array32, price: Array32, *, axis: int) -> Array32:
    """max over the references of gross - price; laid out in order, without which NumPy takes twenty times as long."""
    return np.asarray(np.subtract(gross, price, order="C").max(axis=axis))


def _part(inputs: Array32, weights: Array32) -> Array32:
    """What some inputs (f, ...) add to the first layer: (..., H)."""
    return (inputs.reshape(len(inputs), -1).T @ weights).reshape(*inputs.shape[1:], weights.shape[1])
