"""The paper's forest maps as files: the layout of `autobct.maps.container`, kind "forest"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.belief.basis import Model
from autobct.belief.cost import COST_MODELS
from autobct.build.forests.features import Features, references_first, weight_features
from autobct.build.forests.forest import Forest
from autobct.build.forests.forest_map import ForestMap
from autobct.maps.container import MapFileError, Tensors, pack
from autobct.maps.store import write_file
from autobct.value.maps.map_spec import BASES
from autobct.value.state import State, Terms

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
        raise MapFileError(f"the forest map is not whole: {error}") from None
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
        raise MapFileError(f"the forest map is not whole: {error}") from None
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
        raise MapFileError("the forest map is for a basis or a cost model that is not known here")
    try:
        price, score_noise, cost_noise = (float(notes[name]) for name in _NUMBERS)
        states = int(notes["states"])
    except (KeyError, ValueError):
        raise MapFileError(f"the forest map does not say its {', '.join(_NUMBERS)} and states") from None
    if not all(np.isfinite(value) and value > 0 for value in (price, score_noise, cost_noise)):
        raise MapFileError("price and noises of the forest map must be positive")
    return replace(Model(basis, basis, score_noise, cost_noise), cost_model=cost_model), price, states


def _forests(tensors: Tensors) -> list[Forest]:
    runs = len({name.split(".")[1] for name in tensors if name.startswith("forest.")})
    if not 0 < runs <= _MOST_FORESTS:
        raise ValueError(f"it must have 1 to {_MOST_FORESTS} forests, got {runs}")
    return [Forest.from_tensors(tensors, f"forest.{run}") for run in range(1, runs + 1)]
