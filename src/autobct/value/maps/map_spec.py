"""Which problem a value map is for, and how another one differs from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Basis, additive_quartic, cubic
from autobct.belief.cost import COST_MODELS
from autobct.belief.prior import Prior
from autobct.value.state import State, Terms, run_price, variance, view

JOINT = 4
"""How many inputs of a map depend on both outcomes of a run."""

BASES: dict[str, Basis] = {basis.name: basis for basis in (cubic(), additive_quartic())}
"""The bases a map may be for: those that a name is enough to rebuild."""

_SLACK = 1e-9  # rounding at the ends of a range


class MapMismatch(ValueError):  # noqa: N818
    """A map that is for a different problem.  The message has two lines for every difference."""


@dataclass(frozen=True, slots=True, eq=False)
class MapSpec:
    """The problem a map was learned for.

    basis:       name of the basis of score and cost;  dim: p, the number of coordinates of a control
    cost_model:  name of the cost model;  recall, overhead: as in `Terms`
    references:  (R, p) controls at which a map looks at a belief;  neighbours: (2, E) pairs of them
    prices:      lowest and highest typical price of a run at the first belief it was learned for, over lambda
    noises:      lowest and highest score noise, over lambda;  see `in_units_of_lambda`
    """

    basis: str
    dim: int
    cost_model: str
    recall: bool
    overhead: float
    references: Array
    neighbours: Indices
    prices: tuple[float, float]
    noises: tuple[float, float]

    def __post_init__(self) -> None:
        """Everything belongs together."""
        references, pairs = self.references, self.neighbours
        if self.basis not in BASES or BASES[self.basis].dim != self.dim:
            raise ValueError(f"a map cannot be for basis {self.basis!r} in {self.dim} dimensions")
        if self.cost_model not in COST_MODELS:
            raise ValueError(f"a map cannot be for cost model {self.cost_model!r}; known are {', '.join(COST_MODELS)}")
        if references.ndim != 2 or references.shape[1] != self.dim or len(references) == 0:
            raise ValueError(f"references of a map must be (R, {self.dim}), got {references.shape}")
        if not np.all((references >= 0) & (references <= 1)):
            raise ValueError("references of a map must lie in the unit cube")
        if pairs.ndim != 2 or len(pairs) != 2 or np.any((pairs < 0) | (pairs >= len(references))):
            raise ValueError("neighbours of a map must be pairs of references, (2, E)")
        if not (np.isfinite(self.overhead) and self.overhead >= 0):
            raise ValueError(f"overhead of a map must be zero or positive, got {self.overhead!r}")
        for name, (low, high) in (("prices", self.prices), ("noises", self.noises)):
            if not (np.isfinite([low, high]).all() and 0 <= low <= high):
                raise ValueError(f"{name} of a map must be a range from low to high, got {(low, high)!r}")

    @property
    def inputs(self) -> int:
        """F, the number of inputs of the networks."""
        return (5 if self.recall else 4) * len(self.references) + int(self.neighbours.shape[1]) + 2 + JOINT


def in_units_of_lambda(spec: MapSpec, prior: Prior, terms: Terms) -> tuple[float, float]:
    """(typical price of a run, score noise) at a first belief, over lambda: what tells one problem from another.

    The price is the geometric mean over the references;  lambda^2 = max variance + (sigma_H / 10)^2 over them.
    """
    return units_of_lambda(view(prior.belief, prior.model, spec.references), terms)


def units_of_lambda(state: State, terms: Terms) -> tuple[float, float]:
    """(typical price of a run, score noise) in a state, over lambda; the price is a mean over its candidates."""
    noise = float(state.score_noise.max())
    scale = float(np.sqrt(variance(state.score).max() + (0.1 * noise) ** 2))
    price = float(np.exp(np.log(np.maximum(run_price(state, terms), 1e-300)).mean()))
    return price / scale, noise / scale


def mismatches(spec: MapSpec, prior: Prior, terms: Terms) -> list[str]:
    """How a problem differs from that of a map: two lines, "map: ..." and "problem: ...", for each difference."""
    return [f"map: {ours}\nproblem: {theirs}" for ours, theirs in _differences(spec, prior, terms)]


def _differences(spec: MapSpec, prior: Prior, terms: Terms) -> Iterator[tuple[str, str]]:
    model, known = prior.model, True
    for name, basis in (("score", model.score_basis), ("cost", model.cost_basis)):
        if (basis.name, basis.dim) != (spec.basis, spec.dim):
            known = False
            yield f"basis {spec.basis} in {spec.dim}-D", f"{name} basis {basis.name} in {basis.dim}-D"
        elif not np.allclose(basis(spec.references), BASES[spec.basis](spec.references)):
            known = False
            yield f"basis {spec.basis}", f"another {name} basis of that name"
    if terms.cost_model.name != spec.cost_model:
        yield f"{spec.cost_model} cost", f"{terms.cost_model.name} cost"
    if terms.recall != spec.recall:
        yield f"recall={spec.recall}", f"recall={terms.recall}"
    if not np.isclose(terms.overhead, spec.overhead, rtol=1e-6, atol=0.0):
        yield f"overhead {spec.overhead:g} a run", f"overhead {terms.overhead:g} a run"
    for name, noise in (("score", model.score_noise), ("cost", model.cost_noise)):
        if callable(noise):
            known = False
            yield f"constant {name} noise", f"{name} noise that depends on the control"
    if known:
        found = in_units_of_lambda(spec, prior, terms)
        for name, value, (low, high) in zip(("price of a run", "score noise"), found, _ranges(spec), strict=True):
            if not low * (1 - _SLACK) <= value <= high * (1 + _SLACK):
                yield f"{name} {low:.3g} to {high:.3g} of the score's spread", f"{name} {value:.3g} of it"


def _ranges(spec: MapSpec) -> tuple[tuple[float, float], tuple[float, float]]:
    return spec.prices, spec.noises
