"""Simulated tunings: a tuner in the same state with few candidates, and truths drawn from the posterior.

Few candidates are what thousands of simulated decisions can afford.  Functions that are zero at all that is left, as
those of choices that are no longer candidates, are left out as well: a category with thousands of choices then costs no
more than one with a hundred, and decisions are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array, Indices, distinct
from autobct.belief.basis import Basis, noise_at
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import Prior
from autobct.belief.surrogate.ensemble import MOST
from autobct.tuning.memory import Memory
from autobct.tuning.model.estimate import Learned, score_bounds, score_noise_at, to_scores
from autobct.tuning.problem import at_price
from autobct.tuning.statement import Plan
from autobct.tuning.units.limits import Limits
from autobct.tuning.units.price import Price
from autobct.tuning.units.ranges import shown

MOST_CANDIDATES = 128
"""Candidates of a simulated tuning before it searches, besides those of runs that were made."""

SEARCHED = 50, 1
"""Controls around the best, and refinements of the search: a third of the tuner's.  docs/decisions/forecast.md."""

_FIRST = 4  # the centre and its cheap neighbours, which come first and are where tunings begin

_POOL = 16  # truths that are drawn for each that is kept


def few(controls: Array, own: Sequence[Array], most: int = MOST_CANDIDATES) -> Array:
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


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTruth:
    """What score and cost may really be.

    known:    when it was drawn: the scale of the weights
    score_weights, cost_weights:  (J,), (K,)
    noise:    standard deviation of what no surface explains in one score; None for the model's own
    """

    known: Learned
    score_weights: Array
    cost_weights: Array
    noise: float | None

    def score(self, control: Array) -> float:
        """The true score at a control (p,), in the user's units."""
        return self._score(control, 0.0)

    def run(self, control: Array, normals: Array) -> tuple[float, float]:
        """Score and cost that a run at this control shows, in the user's units.  normals: (2,) of its noise."""
        problem, model = self.known.problem, self.known.problem.prior.model
        noise = float(score_noise_at(self.known, control[None])[0]) if self.noise is None else self.noise
        cost = model.cost_basis(control) @ self.cost_weights + noise_at(model.cost_noise, control) * normals[1]
        charged = float(problem.cost_scale.to_raw(float(model.cost_model.charged(cost))))
        return self._score(control, noise * float(normals[0])), max(charged, 0.0)

    def _score(self, control: Array, off: float) -> float:
        features = self.known.problem.prior.model.score_basis(control)
        return float(to_scores(self.known, np.asarray(features @ self.score_weights + off)))


def drawn_truths(known: Learned, draws: int, *, rng: np.random.Generator) -> list[DrawnTruth]:
    """Truths from the posterior, given that no candidate scores better, and not most of them worse, than scores can.

    Of many truths the first that keep to the bounds are taken; if they are too few, those that leave them least.
    """
    worst, best = _bounds(known)
    bounded = np.isfinite(worst) or np.isfinite(best)
    weights, noises = _score_weights(known, draws * _POOL if bounded else draws, rng=rng)
    if bounded:
        features = known.problem.prior.model.score_basis(known.problem.controls)
        scores = known.compression.undone(weights @ features.T)
        outside = np.maximum(scores.max(axis=1) - best, 0.0) + np.maximum(worst - np.median(scores, axis=1), 0.0)
        kept = np.argsort(outside, kind="stable")[:draws]
        weights, noises = weights[kept], None if noises is None else noises[kept]
    costs = known.belief.cost.draw(rng.standard_normal((draws, known.belief.cost.size)))
    return [
        DrawnTruth(known, weights[k], costs[k], None if noises is None else float(noises[k]))
        for k in range(len(weights))
    ]


def _bounds(known: Learned) -> tuple[float, float]:
    """The worst and the best possible score in model units: 0 and 1, where there are any."""
    low, high = score_bounds(known.problem)
    worst, best = (high, low) if known.problem.direction == "minimize" else (low, high)
    return 0.0 if np.isfinite(worst) else -np.inf, 1.0 if np.isfinite(best) else np.inf


def _score_weights(known: Learned, draws: int, *, rng: np.random.Generator) -> tuple[Array, Array | None]:
    """Weights (n, J) of the score and, where members of an ensemble differ in it, their noise (n,)."""
    ensemble, seen, size = known.problem.prior.ensemble, known.evidence, known.belief.score.size
    normals = rng.standard_normal((draws, size))
    if ensemble is None or (seen is not None and len(seen.scores) >= MOST):
        return known.belief.score.draw(normals), None
    features, scores = (np.empty((0, size)), np.empty(0)) if seen is None else (seen.features, seen.scores)
    return ensemble.posterior(features, known.compression(scores)).draw(rng.random(draws), normals)


def twin_of(plan: Plan, memory: Memory, price: Price | None, *, fresh: bool, fixed: bool) -> tuple[Plan, Memory]:
    """Plan and memory of a twin; the arguments are those of `Tuner.twin`."""
    problem = memory.problem
    if fixed:
        problem = replace(problem, stated=replace(problem.stated, fixed=(True, True)))
    if price is not None:
        problem, plan = at_price(problem, price), replace(plan, limits=Limits())
    if fresh:
        return plan, Memory.of(problem if fixed else shown(problem, ()))
    if problem is not memory.problem:
        memory = replace(memory, known=replace(memory.known, problem=problem))
    return plan, memory


def simulation_of(plan: Plan, memory: Memory) -> tuple[Plan, Memory]:
    """Plan and memory of a tuner with few candidates, some around the best."""
    return replace(plan, search=SEARCHED, asks_others=False), with_few_candidates(memory)
