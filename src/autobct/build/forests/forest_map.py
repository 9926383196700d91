"""The paper's map and its file: value iteration with forests over a cloud, for one price and noise (algorithm 3)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.belief.basis import Model
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Belief
from autobct.belief.prior import Prior, paper_prior
from autobct.build.forests.cloud import concatenate, paper_cloud
from autobct.build.forests.forest import Forest
from autobct.build.forests.iteration import (
    Cut,
    Features,
    Fit,
    Progress,
    above,
    at_references,
    expansion,
    forest_fit,
    references_first,
    value_iteration,
    weight_features,
)
from autobct.maps.container import MapFileError, Tensors, pack, write_file
from autobct.value.acquisition import Assess
from autobct.value.lookahead.nodes import Nodes, product, stratified
from autobct.value.lookahead.one_step import ByValue, Continuation, control_values, damped, never, one_run_value
from autobct.value.maps.map_spec import BASES
from autobct.value.state import State, Terms, control_grid, view


@dataclass(frozen=True, slots=True, eq=False)
class ForestMap:
    """V~_1 .. V~_N and how they came about.

    values:      one continuation per number of runs left, V~_1 first
    references:  (R, p) the first candidates of any state the values are asked for
    controls:    (G, p) candidates T was taken over, the references first
    seconds:     (N,) time of each run of value iteration, its regression included
    """

    values: list[Continuation]
    terms: Terms
    model: Model
    references: Array
    controls: Array
    states: int
    seconds: list[float]

    def view(self, belief: Belief) -> State:
        """A belief as the values want to see it."""
        return view(belief, self.model, self.controls)

    def relaxed(self, *, nodes: Nodes | None = None, damping: float = 0.0) -> Assess:
        """The relaxed method: V~_N at every decision, under one step of lookahead (algorithm 4).  damping: epsilon."""
        return self._policy(lambda made: self.values[-1], nodes, damping)

    def exact(self, *, nodes: Nodes | None = None, damping: float = 0.0) -> Assess:
        """The exact method: N + 1 runs at most, with V~_{N - n} as the value of going on when n are made."""

        def going_on(made: int) -> Continuation | None:
            left = [never, *self.values]  # by runs left after the next one
            return left[len(self.values) - made] if made <= len(self.values) else None

        return self._policy(going_on, nodes, damping)

    def _policy(self, going_on: Callable[[int], Continuation | None], nodes: Nodes | None, damping: float) -> Assess:
        outcomes = nodes or product(stratified(8), stratified(3))
        inner = np.arange(len(self.references))

        def policy(state: State, terms: Terms, made: int) -> Array:
            value = going_on(made)
            if value is None:
                return np.full(state.score.mean.shape, -np.inf)
            return control_values(state, terms, outcomes, damped(value, damping), inner=inner)

        return ByValue(policy)


def build_forest_map(
    priors: str | Sequence[str | Prior],
    price: float = 0.16,
    *,
    runs: int,
    noise: tuple[float, float] | None = None,
    cloud: Belief | None = None,
    residual: bool = False,
    regression: Callable[[Features], Fit] | None = None,
    references: Array | None = None,
    controls: Array | None = None,
    nodes: Nodes | None = None,
    chunk: int = 256,
    found: Sequence[Continuation] = (),
    progress: Progress | None = None,
    rng: np.random.Generator | None = None,
    cut: Cut = map,
) -> ForestMap:
    """Value iteration over a cloud, each V~_n a forest on the paper's raw numbers.

    priors:      the paper's by name, or any that share a model; they say which bases, and the cloud if there is none
    noise:       (score_noise, cost_noise) of the map; those of the first prior if None
    cloud:       states to learn on, one leading axis; `paper_cloud` around the priors if None (drawn with rng)
    residual:    regress V - V_1 instead of V
    regression:  another `Fit` than the forest of 100 trees
    found:       V~_1, V~_2, .. of an earlier build with the same arguments, which goes on after them
    cut:         who applies T to the chunks of the cloud: `map`, or a cluster
    """
    known = [
        paper_prior(one) if isinstance(one, str) else one for one in ([priors] if isinstance(priors, str) else priors)
    ]
    model = known[0].model
    if noise is not None:
        model = replace(model, score_noise=noise[0], cost_noise=noise[1])
    first, shown = _candidates(known[0].dim, references, controls)
    if cloud is None:
        generator = rng or np.random.default_rng(0)
        cloud = concatenate(
            paper_cloud(known[0].dim, rng=generator, priors=[Prior(model, one.belief) for one in known])
        )
    terms = Terms(price, cost_model=model.cost_model)
    features = weight_features(model.score_basis, model.cost_basis, first)
    fit = (regression or (lambda numbers: forest_fit(numbers, jobs=-1)))(features)
    ended = [time.perf_counter()]
    values = [*found]
    if len(values) < runs:
        values += value_iteration(
            view(cloud, model, first),
            terms,
            runs=runs - len(values),
            nodes=nodes or product(stratified(6), stratified(2)),
            fit=_timed(above(value_at(len(first)), terms, fit) if residual else fit, ended),
            start=values[-1] if values else never,
            inner=np.arange(len(first)),
            chunk=chunk,
            expand=expansion(model, first, shown),
            progress=progress,
            cut=cut,
        )
    return ForestMap(
        values=values,
        terms=terms,
        model=model,
        references=first,
        controls=shown,
        states=len(cloud.score.mean),
        seconds=np.diff(ended).tolist(),
    )


def value_at(references: int) -> Continuation:
    """V_1 with a choice among the references only: a lower bound that is a function of the belief alone."""
    return lambda state, terms: one_run_value(at_references(state, references), terms)


def _candidates(dim: int, references: Array | None, controls: Array | None) -> tuple[Array, Array]:
    """References and controls; by default 26 of both in 1-D, 5 x 5 among 9 x 9 in 2-D."""
    shown = control_grid(26 if dim == 1 else 9, dim) if controls is None else controls
    first = control_grid(26 if dim == 1 else 5, dim) if references is None else references
    return first, references_first(first, shown)


def _timed(fit: Fit, ended: list[float]) -> Fit:
    def timed(cloud: State, values: Array) -> Continuation:
        fitted = fit(cloud, values)
        ended.append(time.perf_counter())
        return fitted

    return timed


KIND = "forest"
PROBES = 64
"""States of the cloud whose values are kept in the file, to be found again by whoever opens it."""

NOTES = ("kind", "basis", "cost_model", "price", "score_noise", "cost_noise", "states")
"""What the file itself tells of the map; the other notes are the builder's."""

_NUMBERS = ("price", "score_noise", "cost_noise")
_TOLERANCE = 1e-6
_MOST_FORESTS, _MOST_REFERENCES, _MOST_CONTROLS = 64, 64, 1024


@dataclass(frozen=True, slots=True, eq=False)
class ForestValue:
    """A continuation read off a forest, the same bits wherever it is evaluated."""

    features: Features
    forest: Forest

    def __call__(self, state: State, terms: Terms) -> Array:
        """The forest's value of the states.  (...)."""
        return self.forest(self.features(state))


def save_forest(path: Path, forest_map: ForestMap, probes: Array, about: Mapping[str, str]) -> None:
    """Write a map whose values are all `ForestValue`s.  probes: (n, F) features of some states."""
    forests = [value.forest for value in forest_map.values if isinstance(value, ForestValue)]
    shown = probes.astype(np.float32)
    tensors: dict[str, NDArray[Any]] = {
        "references": forest_map.references,
        "controls": forest_map.controls,
        "probe.features": shown,
        "probe.values": np.stack([forest(shown) for forest in forests]),
    }
    for run, forest in enumerate(forests, start=1):
        tensors |= forest.to_tensors(f"forest.{run}")
    model = forest_map.model
    notes = {
        "kind": KIND,
        "basis": model.score_basis.name,
        "cost_model": model.cost_model.name,
        "price": repr(forest_map.terms.price),
        "score_noise": repr(model.score_noise),
        "cost_noise": repr(model.cost_noise),
        "states": str(forest_map.states),
    }
    write_file(path, pack(tensors, {**about, **notes}))


def read_forest(tensors: Tensors, notes: Mapping[str, str]) -> ForestMap:
    """The map in an unpacked file; MapFileError, in one sentence, if it is not whole."""
    model, price, states = _model(notes)
    try:
        forests = _forests(tensors)
        references = _controls(tensors, "references", model, _MOST_REFERENCES)
        controls = _controls(tensors, "controls", model, _MOST_CONTROLS)
        features = weight_features(model.score_basis, model.cost_basis, references)
        references_first(references, controls)
    except (KeyError, ValueError, IndexError) as error:
        raise MapFileError(f"the forest map is incomplete or inconsistent: {error}") from None
    terms = Terms(price, cost_model=model.cost_model)
    values = [ForestValue(features, forest) for forest in forests]
    return ForestMap(
        values=list(values),
        terms=terms,
        model=model,
        references=references,
        controls=controls,
        states=states,
        seconds=[],
    )


def probe_error(tensors: Tensors) -> float:
    """The largest difference to the values stored in an unpacked file; MapFileError if it is too large."""
    try:
        shown, expected = tensors["probe.features"], tensors["probe.values"]
        if shown.ndim != 2 or len(shown) > PROBES or expected.ndim != 2:
            raise ValueError(f"its probe points are not at most {PROBES} rows")
        found = np.stack([forest(shown) for forest in _forests(tensors)])
    except (KeyError, ValueError) as error:
        raise MapFileError(f"the forest map is incomplete or inconsistent: {error}") from None
    largest = float(np.abs(found - expected).max(initial=0.0)) if found.shape == expected.shape else np.inf
    if not largest <= _TOLERANCE:
        raise MapFileError(f"the forest map does not give the values stored with it: off by {largest:.2g}")
    return largest


def _controls(tensors: Tensors, name: str, model: Model, most: int) -> Array:
    """Some controls of the file: rows of the unit cube, not too many."""
    found = tensors[name]
    if found.dtype != np.float64 or found.ndim != 2 or found.shape[1] != model.score_basis.dim or len(found) > most:
        raise ValueError(f"its {name} must be at most {most} controls of {model.score_basis.dim} numbers")
    if not np.all((found >= 0) & (found <= 1)):
        raise ValueError(f"its {name} must lie in the unit cube")
    return found


def _model(notes: Mapping[str, str]) -> tuple[Model, float, int]:
    """Bases, noise and cost model; the price; the number of states."""
    basis, cost_model = BASES.get(notes.get("basis", "")), COST_MODELS.get(notes.get("cost_model", ""))
    if basis is None or cost_model is None:
        raise MapFileError("the forest map is for a basis or a cost model that this version does not know")
    try:
        price, score_noise, cost_noise = (float(notes[name]) for name in _NUMBERS)
        states = int(notes["states"])
    except (KeyError, ValueError):
        raise MapFileError(f"the forest map does not state its {', '.join(_NUMBERS)} and states") from None
    if not all(np.isfinite(value) and value > 0 for value in (price, score_noise, cost_noise)):
        raise MapFileError("price and noises of the forest map must be positive")
    return replace(Model(basis, basis, score_noise, cost_noise), cost_model=cost_model), price, states


def _forests(tensors: Tensors) -> list[Forest]:
    runs = len({name.split(".")[1] for name in tensors if name.startswith("forest.")})
    if not 0 < runs <= _MOST_FORESTS:
        raise ValueError(f"it must have 1 to {_MOST_FORESTS} forests, got {runs}")
    return [Forest.from_tensors(tensors, f"forest.{run}") for run in range(1, runs + 1)]
