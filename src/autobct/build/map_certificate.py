"""The certificate of a map's policy on one prior: simulated from below, bounded from above."""

from __future__ import annotations

from pathlib import Path

from autobct.belief.prior import Prior
from autobct.build.forests.forest_map import ForestMap
from autobct.build.layout import priors_of
from autobct.build.opened import OpenedMap
from autobct.build.prior_file import read_prior
from autobct.tuning.decide.policy import mapped, relaxed
from autobct.value.bounds.certificate import Certificate, Progress, certify
from autobct.value.maps.map_spec import MapMismatch, mismatches
from autobct.value.state import Terms, control_grid, view


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
