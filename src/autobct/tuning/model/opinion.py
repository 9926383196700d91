"""The second opinion: what the learned surrogate expects of a run at each candidate, beside the ensemble."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.surrogate.encoding import Layout
from autobct.belief.surrogate.predictive import NetworkPosterior, Shown
from autobct.maps.surrogates import shipped_surrogate
from autobct.tuning.history import Run
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.space.parameter import Categorical, Int
from autobct.tuning.space.space import Space
from autobct.tuning.units.farfetched import plausible_costs
from autobct.value.state import Opinion

REALISED = 0.4
"""Share of the expected improvement that the best-looking of many candidates brings.  docs/decisions/surrogate.md."""

_BEST, _LATEST = 16, 44  # of very many runs the network is shown so many
_LOWEST = 1e-4  # price of a typical run, in what scores differ by, below which the network is not asked
_CHEAPEST = 1e-6  # of the most expensive run: a cost that is as good as none


def second_opinion(
    problem: ScaledProblem, runs: Sequence[Run], pending: Iterable[Array], controls: Array
) -> Opinion | None:
    """What the network expects at controls (G, p), in model units.

    None before a run has finished, and where runs are so cheap that the network has never learned from such prices.

    pending: controls of the runs under way, which count as finished with the outcome that is expected of them; of very
             many the latest
    """
    shown = _shown(problem, runs)
    if shown is None or shown.unit < _LOWEST * shown.width:
        return None
    network, layout = shipped_surrogate(), layout_of(problem.space, problem.stated.hints.growing)
    posterior = NetworkPosterior.after(network, layout, shown)
    under_way = list(pending)[-_LATEST:]
    if under_way:
        posterior = NetworkPosterior.after(network, layout, _anticipated(posterior, np.stack(under_way)))
    improvement, cost = posterior.improvement_and_cost(controls)
    return Opinion(improvement, cost * shown.price + problem.terms.overhead)


def layout_of(space: Space, growing: Sequence[int] = ()) -> Layout:
    """What is known of every coordinate.  growing: parameters that are said to increase cost, among those tuned."""
    facts: list[tuple[float, ...]] = []
    for position, parameter in enumerate(p for p in space.parameters if p.count != 1):
        if isinstance(parameter, Categorical):
            facts += [(0.0, 1.0, 0.0, 0.0, 0.0)] * parameter.count
            continue
        ratio = math.log(parameter.high / parameter.low) if parameter.low > 0 else 0.0
        facts.append((isinstance(parameter, Int), 0.0, parameter.log, ratio, position in growing))
    return Layout(*np.array(facts, dtype=np.float32).reshape(-1, 5).T)


def _shown(problem: ScaledProblem, runs: Sequence[Run]) -> Shown | None:
    """The runs, in model units of score; None where there is nothing to go by."""
    scores = np.array([np.nan if run.score is None else problem.score_observed(run.score) for run in runs])
    if not np.isfinite(scores).any():
        return None
    costs = plausible_costs(runs)
    costs = np.maximum(costs, max(_CHEAPEST * float(costs.max()), 1e-12))
    chosen = _few(scores)
    price = problem.price.per_cost / problem.score_scale.unit
    return Shown(
        controls=np.stack([runs[index].control for index in chosen]),
        scores=scores[chosen],
        costs=costs[chosen],
        price=price,
        ends=_ends(problem),
        guess=_guess(problem),
        widest=1.0,  # the range of scores, stated or as the runs have shown it
    )


def _few(scores: Array) -> Indices:
    """Which runs are shown: all, or the best and the latest of very many, in their order."""
    if len(scores) <= _BEST + _LATEST:
        return np.arange(len(scores))
    best = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:_BEST]
    return np.union1d(best, np.arange(len(scores) - _LATEST, len(scores)))


def _ends(problem: ScaledProblem) -> tuple[float, float] | None:
    """The stated range of scores in today's model units, the worse end first."""
    said = problem.stated.scores
    if said is None:
        return None
    low, high = sorted(float(problem.score_scale.to_model(end)) for end in said)
    return low, high


def _guess(problem: ScaledProblem) -> Array | None:
    """The control of a guess, or of what is usual; other parameters are at the centre."""
    places, coordinates = problem.stated.hints.places, list[float]()
    if not places:
        return None
    for position, parameter in enumerate(p for p in problem.space.parameters if p.count != 1):
        place = places.get(position)
        if isinstance(parameter, Categorical):
            share = 1.0 / parameter.count
            coordinates += [share if place is None else float(k == place) for k in range(parameter.count)]
        else:
            coordinates.append(0.5 if place is None else place)
    return np.array(coordinates)


def _anticipated(posterior: NetworkPosterior, under_way: Array) -> Shown:
    """The runs, and those under way as they are expected to end."""
    shown = posterior.shown
    scores, costs = posterior.expected(under_way)
    return replace(
        shown,
        controls=np.concatenate([shown.controls, under_way]),
        scores=np.append(shown.scores, scores),
        costs=np.append(shown.costs, costs),
    )
