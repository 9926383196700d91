"""Probe points of a map file: a few random states, and the values of the map there when it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Gaussian
from autobct.maps.container import MapFileError
from autobct.value.maps.map_inputs import outlook
from autobct.value.maps.map_spec import BASES, MapSpec
from autobct.value.maps.value_map import ValueMap
from autobct.value.state import State, Terms

TOLERANCE = 1e-5
"""How far a value may be from the stored one, in score units: float32 sums differ in their order."""

_COUNT = 8
_MOST = 8  # in a file: all of them are computed, with every network
_PREFIX = "probe."


@dataclass(frozen=True, slots=True, eq=False)
class Probes:
    """P states at the references and their values.

    score_mean, cost_mean (P, R);  score_root, cost_root (P, R, J): covariances are root root'
    terms (P, 3): price, score noise, cost noise;  hand (P,): a reference whose model is trained, -1 for none
    values (K, P): V_2 .. V_{K+1} at each
    """

    score_mean: NDArray[Any]
    score_root: NDArray[Any]
    cost_mean: NDArray[Any]
    cost_root: NDArray[Any]
    terms: NDArray[Any]
    hand: NDArray[Any]
    values: NDArray[Any]

    def to_tensors(self) -> dict[str, NDArray[Any]]:
        """The arrays of a map file."""
        return {_PREFIX + name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]], spec: MapSpec) -> Probes:
        """The probes that `to_tensors` wrote; ValueError, in one sentence, if they are not whole."""
        names = {_PREFIX + name for name in cls.__slots__}
        if {name for name in tensors if name.startswith(_PREFIX)} != names:
            raise ValueError("its probe points are incomplete")
        probes = cls(*(tensors[_PREFIX + name] for name in cls.__slots__))
        shape = (len(probes.terms) if probes.terms.ndim else 0, len(spec.references))
        whole = (
            0 < shape[0] <= _MOST
            and probes.terms.shape == (shape[0], 3)
            and probes.score_mean.shape == probes.cost_mean.shape == shape
            and probes.score_root.shape[:-1] == probes.cost_root.shape[:-1] == shape
            and max(probes.score_root.shape[-1], probes.cost_root.shape[-1]) <= BASES[spec.basis].size
            and probes.hand.shape == shape[:1]
            and probes.hand.dtype.kind == "i"
            and probes.values.ndim == 2
            and probes.values.shape[1] == shape[0]
        )
        if not whole or np.any(probes.terms <= 0) or np.any((probes.hand < -1) | (probes.hand >= shape[1])):
            raise ValueError("its probe points do not belong together")
        return probes


def probes_of(value_map: ValueMap, *, seed: int = 0) -> Probes:
    """Random states, and what the map gives there now."""
    spec, rng = value_map.spec, np.random.default_rng(seed)
    features = BASES[spec.basis](spec.references)
    shape = (_COUNT, features.shape[1])

    def means(level: float) -> NDArray[Any]:
        weights = 0.4 * rng.standard_normal(shape) + level * (np.arange(shape[1]) == 0)
        return np.asarray(weights @ features.T, dtype=np.float32)

    def roots() -> NDArray[Any]:
        spread = rng.uniform(0.1, 1.0, (_COUNT, 1, 1)) * rng.standard_normal((*shape, shape[1])) / np.sqrt(shape[1])
        return np.asarray(features @ spread, dtype=np.float32)

    hand = rng.integers(-1, len(spec.references), _COUNT) if spec.recall else np.full(_COUNT, -1)
    terms = np.exp(rng.uniform(np.log([0.02, 0.03, 0.05]), np.log([0.5, 0.2, 0.2]), (_COUNT, 3)))
    asked = Probes(
        score_mean=means(0.5),
        score_root=roots(),
        cost_mean=means(0.0),
        cost_root=roots(),
        terms=terms,
        hand=hand.astype(np.int32),
        values=np.empty((0, _COUNT)),
    )
    return replace(asked, values=recomputed(value_map, asked))


def recomputed(value_map: ValueMap, probes: Probes) -> Array:
    """What the map gives at the probes.  (K, P)."""
    spec = value_map.spec
    with np.errstate(all="ignore"):  # a hostile file may hold any number; what comes of it is compared, no more
        views = [outlook(*one, len(spec.references), spec.neighbours) for one in _states(spec, probes)]
        values = [[float(value_map.evaluate(network, view)) for view in views] for network in value_map.networks]
    return np.array(values)


def check_probes(value_map: ValueMap, probes: Probes) -> float:
    """The largest difference to the stored values; MapFileError if it is beyond the tolerance."""
    found = recomputed(value_map, probes)
    error = float(np.abs(found - probes.values).max()) if found.shape == probes.values.shape else np.inf
    if not error <= TOLERANCE:
        raise MapFileError(f"the map does not give the values stored with it: off by {error:.2g}, not {TOLERANCE:g}")
    return error


def _states(spec: MapSpec, probes: Probes) -> Iterator[tuple[State, Terms]]:
    model = COST_MODELS[spec.cost_model]

    def belief(mean: NDArray[Any], root: NDArray[Any]) -> Gaussian:
        exact = root.astype(np.float64)
        return Gaussian(mean.astype(np.float64), exact @ exact.T)

    size = len(spec.references)
    for k, (price, score_noise, cost_noise) in enumerate(probes.terms.tolist()):
        state = State(
            score=belief(probes.score_mean[k], probes.score_root[k]),
            cost=belief(probes.cost_mean[k], probes.cost_root[k]),
            score_noise=np.full(size, score_noise),
            cost_noise=np.full(size, cost_noise),
            kept=np.array([probes.hand[k]], dtype=np.intp),
        )
        yield state, Terms(price, model, spec.recall, spec.overhead)
