"""A problem with few candidates: what thousands of simulated decisions can afford.

Functions that are zero at all that is left, as those of choices that are no longer candidates, are left out as well: a
category with thousands of choices then costs no more than one with a hundred, and decisions are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array, Indices, distinct
from autobct.belief.basis import Basis
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.tuning.memory import Memory
from autobct.tuning.model.posterior import Learned

__all__ = ["MOST", "SEARCHED", "few", "thinned", "with_few_candidates"]

MOST = 128
"""Candidates of a simulated tuning before it searches, besides those of runs that were made."""

SEARCHED = 50, 1
"""Controls around the best, and refinements of the search: a third of the tuner's.  docs/decisions/forecast.md."""

_FIRST = 4  # the centre and its cheap neighbours, which come first and are where tunings begin


def few(controls: Array, own: Sequence[Array], most: int = MOST) -> Array:
    """At most so many of the candidates, evenly over their list, the first few and one's own among them.

    controls: (G, p);  own: those of runs, each (p,)
    """
    if len(controls) <= most:
        return controls
    spread = np.linspace(_FIRST, len(controls) - 1, most - _FIRST).round().astype(np.intp)
    return distinct([*controls[:_FIRST], *controls[spread], *own])


def thinned(known: Learned, controls: Array) -> Learned:
    """The same knowledge at some of the candidates, with the functions that are not zero there.  controls: (G, p)."""
    problem, belief, seen = known.problem, known.belief, known.evidence
    model, ensemble = problem.prior.model, problem.prior.ensemble
    of_score, of_cost = _used(model.score_basis, controls), _used(model.cost_basis, controls)
    if seen is not None:
        of_score = np.union1d(of_score, np.flatnonzero(seen.features.any(axis=0)))
        seen = replace(seen, features=seen.features[:, of_score])
    score_basis, cost_basis = _part(model.score_basis, of_score), _part(model.cost_basis, of_cost)
    first = problem.prior.belief
    prior = Prior(
        replace(model, score_basis=score_basis, cost_basis=cost_basis),
        Belief(_some(first.score, of_score), _some(first.cost, of_cost)),
        None if ensemble is None else ensemble.only(of_score),
    )
    now = Belief(_some(belief.score, of_score), _some(belief.cost, of_cost))
    return replace(known, problem=replace(problem, prior=prior, controls=controls), belief=now, evidence=seen)


def with_few_candidates(memory: Memory) -> Memory:
    """The same memory with few candidates; without a search where functions were left out, which know no others."""
    problem = memory.problem
    own = [*(memory.control(place) for place in memory.finished), *(t.control for t in memory.pending.values())]
    searches = problem.stated.spreads
    known = thinned(memory.known, few(problem.controls, () if searches else own))
    if searches and known.problem.prior.model.score_basis is not problem.prior.model.score_basis:
        known = thinned(memory.known, few(problem.controls, own))
        known = replace(known, problem=replace(known.problem, stated=replace(problem.stated, spreads=False)))
    return replace(memory, known=known)


def _used(basis: Basis, controls: Array) -> Indices:
    return np.flatnonzero(basis(controls).any(axis=0))


def _some(belief: Gaussian, chosen: Indices) -> Gaussian:
    if len(chosen) == belief.size:
        return belief
    return Gaussian(belief.mean[chosen], belief.cov[np.ix_(chosen, chosen)])


def _part(basis: Basis, chosen: Indices) -> Basis:
    if len(chosen) == basis.size:
        return basis
    degrees = tuple(basis.degrees[k] for k in chosen) if basis.degrees else ()
    return Basis(
        name=f"{basis.name}-part", dim=basis.dim, size=len(chosen), function=_Part(basis, chosen), degrees=degrees
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some functions of a basis."""

    whole: Basis
    chosen: Indices

    def __call__(self, controls: Array) -> Array:
        return self.whole(controls)[..., self.chosen]
