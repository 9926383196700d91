"""A map of either kind, loaded to be shown, verified, compared with depth-2 lookahead, or certified."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autobct.belief.prior import Prior
from autobct.build.forests.forest_map import KIND as FOREST
from autobct.build.forests.forest_map import NOTES, ForestMap, probe_error, read_forest
from autobct.build.forests.iteration import references_first
from autobct.build.layout import PAPER_NAMES, priors_of, read_prior, training_controls
from autobct.build.map_worth import Duel, DuelRow, numpy_duel, row_of
from autobct.maps.container import Tensors, read_file, read_shipped, shipped, unpack
from autobct.maps.library import read_map
from autobct.maps.library import verify as verify_network
from autobct.tuning.decide.policy import mapped, relaxed
from autobct.value.bounds.certificate import Certificate, Progress, certify
from autobct.value.maps.map_spec import MapMismatch
from autobct.value.maps.value_map import ValueMap, mismatches
from autobct.value.state import Terms, control_grid, view

Play = Callable[[Prior, Callable[[int], None]], Duel]
"""(first belief, told of draws done) -> the duel."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A map against depth 2 on some priors.  note: a sentence to begin with;  library: what plays."""

    names: tuple[str, ...]
    price: float
    note: str
    library: str
    priors: tuple[Prior, ...]
    play: Play

    def rows(self, progress: Callable[[int], None]) -> Iterator[DuelRow]:
        """One prior after the other; progress is told the number of draws done in all."""
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done)

        for name, prior in zip(self.names, self.priors, strict=True):
            yield row_of(name, self.price, self.play(prior, advance))


@dataclass(frozen=True, slots=True, eq=False)
class OpenedMap:
    """A map and the notes in its file.  size: of the file, in bytes."""

    value_map: ValueMap | ForestMap
    about: Mapping[str, str]
    size: int
    check: Callable[[], float]

    @property
    def kind(self) -> str:
        """Network or forest."""
        return "network" if isinstance(self.value_map, ValueMap) else "forest"

    @property
    def dim(self) -> int:
        """p."""
        return self.value_map.spec.dim if isinstance(self.value_map, ValueMap) else self.value_map.controls.shape[1]

    @property
    def cost(self) -> str:
        """Name of the cost model."""
        found = self.value_map
        return found.spec.cost_model if isinstance(found, ValueMap) else found.model.cost_model.name

    @property
    def game(self) -> str:
        """What it is for, in a line."""
        found = self.value_map
        if isinstance(found, ForestMap):
            noise = f"score noise {found.model.score_noise:g}, cost noise {found.model.cost_noise:g}"
            return (
                f"{self.dim}-D {found.model.score_basis.name}, {self.cost} cost, last model, "
                f"V_1 to V_{len(found.values)}, price {found.terms.price:g}, {noise}"
            )
        spec = found.spec
        return (
            f"{spec.dim}-D {spec.basis}, {spec.cost_model} cost, {'best' if spec.recall else 'last'} model, "
            f"V_2 to V_{found.deepest}, price of a run {_range(spec.prices)} and score noise {_range(spec.noises)} "
            "of the score's spread"
        )

    @property
    def rows(self) -> list[DuelRow]:
        """The duels that the builder noted."""
        try:
            return [DuelRow(**row) for row in json.loads(self.about.get("policy", "[]"))]
        except (TypeError, ValueError):
            return []

    def trial(self, prior: str | None, price: float, draws: int, seed: int, device: str) -> Trial:
        """The map on one of the paper's priors, or on all of its dimension."""
        names = PAPER_NAMES[self.dim] if prior is None else (prior,)
        if prior is not None and prior not in PAPER_NAMES[self.dim]:
            raise ValueError(f"prior must be one of {', '.join(PAPER_NAMES[self.dim])}, got {prior!r}")
        priors = tuple(priors_of(names, self.dim, self.cost))
        if isinstance(self.value_map, ForestMap):
            return _forest_trial(self.value_map, names, priors, price, draws, seed)
        return _network_trial(self.value_map, names, priors, price, draws, seed, device)


def exists(name: str) -> bool:
    """Whether there is such a file, or such a map in the package."""
    return Path(name).exists() or name in shipped()


def open_map(name: str) -> OpenedMap:
    """A file, or else a map in the package; MapFileError if it is not a whole map."""
    data = read_file(name) if Path(name).exists() else read_shipped(name)
    tensors, notes = unpack(data)
    if notes.get("kind") == FOREST:
        return _open_forest(tensors, notes, len(data))
    found = read_map(data)
    return OpenedMap(found.value_map, found.about, len(data), lambda: verify_network(data))


def _open_forest(tensors: Tensors, notes: Mapping[str, str], size: int) -> OpenedMap:
    about = {name: text for name, text in notes.items() if name not in NOTES}
    return OpenedMap(read_forest(tensors, notes), about, size, lambda: probe_error(tensors))


def _network_trial(
    value_map: ValueMap,
    names: tuple[str, ...],
    priors: tuple[Prior, ...],
    price: float,
    draws: int,
    seed: int,
    device: str,
) -> Trial:
    spec = value_map.spec
    terms = Terms(price, priors[0].model.cost_model, spec.recall, spec.overhead)
    for name, prior in zip(names, priors, strict=True):
        different = mismatches(spec, prior, terms)
        if different:
            raise MapMismatch("\n".join([f"the map is not for prior {name} at price {price:g}", *different]))
    try:
        from autobct.build.networks import judged
    except ImportError:
        return _slow_trial(value_map, names, priors, terms, draws, seed)
    judged.check_device(device)
    values = judged.values_of(value_map, device)

    def play(prior: Prior, advance: Callable[[int], None]) -> Duel:
        return judged.torch_duel(spec, values, prior, price, draws=draws, seed=seed, device=device, advance=advance)

    return Trial(
        names=names,
        price=price,
        note=f"The map's policy against depth 2, on {device}.",
        library=f"torch on {device}",
        priors=priors,
        play=play,
    )


def _slow_trial(
    value_map: ValueMap, names: tuple[str, ...], priors: tuple[Prior, ...], terms: Terms, draws: int, seed: int
) -> Trial:
    """Without torch."""
    spec = value_map.spec
    controls = references_first(spec.references, training_controls(spec.dim))
    policy = mapped(value_map)(controls, seed)

    def play(prior: Prior, advance: Callable[[int], None]) -> Duel:
        rng = np.random.default_rng(seed)
        return numpy_duel(policy, prior, terms, controls, draws=draws, rng=rng, advance=advance)

    note = "The map's policy against depth 2, in NumPy: slow; it is quicker with torch, pip install 'autobct[build]'."
    return Trial(names=names, price=terms.price, note=note, library="NumPy", priors=priors, play=play)


def _forest_trial(
    forest_map: ForestMap, names: tuple[str, ...], priors: tuple[Prior, ...], price: float, draws: int, seed: int
) -> Trial:
    terms, model = forest_map.terms, forest_map.model
    if not np.isclose(price, terms.price):
        raise MapMismatch(f"the map is for another price\nmap: price {terms.price:g}\nasked: price {price:g}")
    own = tuple(Prior(model, prior.belief) for prior in priors)
    policy = forest_map.relaxed()

    def play(prior: Prior, advance: Callable[[int], None]) -> Duel:
        rng = np.random.default_rng(seed)
        return numpy_duel(policy, prior, terms, forest_map.controls, draws=draws, rng=rng, advance=advance)

    note = f"The forest map's relaxed policy against depth 2, in NumPy (slow), with score noise {model.score_noise:g}."
    return Trial(names=names, price=price, note=note, library="NumPy", priors=own, play=play)


def _range(ends: tuple[float, float]) -> str:
    return f"{ends[0]:.3g} to {ends[1]:.3g}"


def is_prior_file(prior: str) -> bool:
    """Whether a --prior is a file and not one of the paper's names."""
    return Path(prior).suffix in (".toml", ".json")


def prior_for(opened: OpenedMap, prior: str) -> Prior:
    """A prior by name, under the map's cost model, or from a file."""
    return read_prior(prior) if is_prior_file(prior) else priors_of([prior], opened.dim, opened.cost)[0]


def bounds_of(
    opened: OpenedMap, prior: Prior, price: float, *, seconds: float, seed: int, progress: Progress
) -> Certificate:
    """What the map's policy, or depth 2 where that is better, is worth at least, and no policy more than."""
    found = opened.value_map
    if isinstance(found, ForestMap):
        start = found.view(prior.belief)
        return certify(
            start, found.terms, {"forest map": found.relaxed()}, seconds=seconds, seed=seed, progress=progress
        )
    spec = found.spec
    terms = Terms(price, prior.model.cost_model, spec.recall, spec.overhead)
    different = mismatches(spec, prior, terms)
    if different:
        raise MapMismatch("\n".join([f"the map is not for this prior at price {price:g}", *different]))
    controls = control_grid(41 if spec.dim == 1 else 9, spec.dim)
    start = view(prior.belief, prior.model, controls)
    policies = {"map": mapped(found)(controls, seed), "depth 2": relaxed(depth=2)(controls, seed)}
    return certify(start, terms, policies, seconds=seconds, seed=seed, progress=progress)
