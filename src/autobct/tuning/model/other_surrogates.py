"""Surrogates besides the Gaussian posterior, and what they predict for a run at each candidate.

The belief, an ensemble of surfaces or a Kalman filter, is kept in memory and looked ahead with; it joins them as
`value.acquisition.BeliefPredictive`.  What counts is the median of the expected improvements, of two a mean in which
the network weighs four times as much as the belief, and the geometric mean of the expected costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.surrogate.gaussian_process import GaussianProcess, conditioned, fit_quickly
from autobct.belief.surrogate.predictive import Layout, NetworkPosterior, Shown
from autobct.maps.library import shipped_surrogate
from autobct.tuning.history import Run
from autobct.tuning.space.parameter import Categorical, Int, tuned
from autobct.tuning.space.space import Space
from autobct.tuning.units.ranges import DIVERGED, FAR_COST
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.state import RunExpectation

REALISED = 0.4
"""Share of the expected improvement that the best-looking of many candidates brings.  docs/decisions/surrogate.md."""

_BEST, _LATEST = 16, 44  # of very many runs the network is shown so many
_LOWEST = 1e-4  # price of a typical run, in what scores differ by, below which no other surrogate is asked
_FEW = 5  # finished runs, from which on the network sees the scale of scores of no natural range
_ENOUGH = 8  # finished runs, from which on the process has a say
_OPEN = 2  # runs, up to which nothing says whether a guess is good; after that the network sees for itself
_CHEAPEST = 1e-6  # of the most expensive run: a cost that is as good as none


class Surrogate(Protocol):
    """A model of score and cost that learns from runs.

    It is asked with the default prior, from two tuned parameters on, where any trained model may be returned.
    """

    def posterior(
        self, problem: ScaledProblem, runs: Sequence[Run], pending: Sequence[Array], controls: Array
    ) -> RunExpectation | None:
        """What it expects of one run at controls (G, p) after some runs; None where it has nothing to go by.

        runs have scores and costs in the user's units; what it returns is in model units of score, as
        `problem.score_observed` and `problem.per_cost` give them.  pending: controls of the runs under way
        """


class NetworkSurrogate:
    """The trained network of the package.

    It has no say before a run has finished.  Runs under way count as finished with the outcome that it expects of them;
    of very many the latest.  Up to two runs, whether a guess is good is an even bet: it is asked with the guess and
    without.
    """

    def posterior(
        self, problem: ScaledProblem, runs: Sequence[Run], pending: Sequence[Array], controls: Array
    ) -> RunExpectation | None:
        """As every surrogate."""
        shown = _shown(problem, runs)
        if shown is None:
            return None
        layout, under_way = layout_of(problem.space, problem.stated.hints.growing), pending[-_LATEST:]
        guess = _guess(problem)
        trusting = shown if guess is None else replace(shown, guess=guess)
        gain, cost = _gain_and_cost(layout, trusting, under_way, controls)
        if guess is not None and len(runs) <= _OPEN:
            other = _gain_and_cost(layout, shown, under_way, controls)
            gain, cost = (gain + other[0]) / 2.0, np.sqrt(cost * other[1])
        return RunExpectation(gain, cost)


def _gain_and_cost(layout: Layout, shown: Shown, under_way: Sequence[Array], controls: Array) -> tuple[Array, Array]:
    """Expected improvement and price of a run at controls (G, p), as the network has them."""
    posterior = NetworkPosterior.after(shipped_surrogate(), layout, shown)
    if under_way:
        posterior = NetworkPosterior.after(posterior.network, layout, _anticipated(posterior, np.stack(under_way)))
    improvement, cost = posterior.improvement_and_cost(controls)
    return improvement, cost * shown.price


class GaussianProcessSurrogate:
    """A Gaussian process of the score, which was trained on nothing: after some runs it sees when others hope in vain.

    It has no say about costs.  Where all scores are alike it expects nothing.
    """

    def posterior(
        self, problem: ScaledProblem, runs: Sequence[Run], pending: Sequence[Array], controls: Array
    ) -> RunExpectation | None:
        """As every surrogate."""
        shown = _shown(problem, runs)
        if shown is None or np.count_nonzero(shown.finished) < _ENOUGH:
            return None
        if not shown.width:
            return RunExpectation(np.zeros(len(controls)))
        process, unit = process_of(shown)
        if pending:
            process = process.believing(np.stack(pending[-_LATEST:]))
        return RunExpectation(unit * process.improvement(controls))


def process_of(shown: Shown) -> tuple[GaussianProcess, float]:
    """The process of scores, not all alike, as -log(1 + how far behind the best in units), and the unit.

    Drawn together like that, plateaus and divergence do not set the scale of what is left to gain.
    """
    scores = shown.scores[shown.finished]
    behind = scores.max() - scores
    unit = float(np.median(behind[behind > 0]))
    places, values = shown.controls[shown.finished], -np.log1p(behind / unit)
    return conditioned(places, values, fit_quickly(places, values)), unit


OTHERS: tuple[Surrogate, ...] = (NetworkSurrogate(), GaussianProcessSurrogate())
"""The surrogates that are asked besides the belief."""


def layout_of(space: Space, growing: Sequence[int] = ()) -> Layout:
    """What is known of every coordinate.  growing: parameters that are said to increase cost, among those tuned."""
    facts: list[tuple[float, ...]] = []
    for position, parameter in enumerate(tuned(space.parameters)):
        if isinstance(parameter, Categorical):
            facts += [(0.0, 1.0, 0.0, 0.0, 0.0)] * parameter.count
            continue
        ratio = math.log(parameter.high / parameter.low) if parameter.low > 0 else 0.0
        facts.append((isinstance(parameter, Int), 0.0, parameter.log, ratio, position in growing))
    return Layout(*np.array(facts, dtype=np.float32).reshape(-1, 5).T)


def _shown(problem: ScaledProblem, runs: Sequence[Run]) -> Shown | None:
    """The runs, in model units of score; None before one has finished, and where runs are next to free.

    At such prices nothing was measured, and the network has learned from none of them.
    """
    scores = np.array([np.nan if run.score is None else problem.score_observed(run.score) for run in runs])
    if not np.isfinite(scores).any():
        return None
    scores = np.maximum(scores, np.nanmax(scores) - DIVERGED)  # as the belief learns them
    costs = plausible_costs(runs)
    costs = np.maximum(costs, max(_CHEAPEST * float(costs.max()), 1e-12))
    chosen = _few(scores)
    shown = Shown(
        controls=np.stack([runs[index].control for index in chosen]),
        scores=scores[chosen],
        costs=costs[chosen],
        price=problem.per_cost,
        ends=_ends(problem, scores[np.isfinite(scores)]),
        widest=1.0,  # the range of scores, stated or as the runs have shown it
    )
    return None if shown.unit < _LOWEST * shown.width else shown


def _few(scores: Array) -> Indices:
    """Which runs are shown: all, or the best and the latest of very many, in their order."""
    if len(scores) <= _BEST + _LATEST:
        return np.arange(len(scores))
    best = np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")[:_BEST]
    return np.union1d(best, np.arange(len(scores) - _LATEST, len(scores)))


def _ends(problem: ScaledProblem, scores: Array) -> tuple[float, float] | None:
    """The range of scores in today's model units, the worse end first.  scores: of finished runs, (n,), in these units.

    As stated, or as fractions and percentages have it by their nature.  Of other scores the range that is assumed so
    far, while few runs have finished: after one run alone the network would expect gains of any size.  Later the runs
    themselves show by how much scores differ.  A score far beyond a stated range says that it was in other units.
    """
    if (ends := problem.score_ends) is not None:
        low, high = sorted(float(problem.score_scale.to_model(end)) for end in ends)
        if scores.max() <= 2.0 * high - low:
            return low, high
    return (0.0, 1.0) if len(scores) < _FEW else None


def _guess(problem: ScaledProblem) -> Array | None:
    """The control of a guess, or of what is usual; other parameters are at the centre."""
    hints = problem.stated.hints
    places, coordinates = dict((*hints.guess, *hints.by_name)), list[float]()
    if not places:
        return None
    for position, parameter in enumerate(tuned(problem.space.parameters)):
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


def plausible_costs(history: Sequence[Run]) -> Array:
    """The costs of runs (n,), some of which finished; a farfetched one counts as the largest that is not."""
    costs = np.array([run.cost for run in history])
    largest = max(run.cost for run in history if run.score is not None)
    return np.where(costs > FAR_COST * max(largest, 1e-300), largest, costs)
