"""One decision, to train or to stop: pure functions of a position, for the tuner and for whoever asks "what if".

| paper | here |
|---|---|
| Lambda(u; x) for every u | `assessed` |
| stop if the incumbent is worth as much | `decide` |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.decide.decision import Decision, Stop, Train
from autobct.tuning.decide.excluded import Mask
from autobct.tuning.model.other_surrogates import REALISED
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.limits import Left
from autobct.value.acquisition import expected_improvement, expected_price, incumbent_score
from autobct.value.assessment import Assess, Assessment, pick
from autobct.value.state import RunExpectation, State

DOUBTED = 0.25
"""Quantile of what a run is worth over the possible outcomes of those under way.  docs/decisions/pending.md."""

_DUST = 1e-12  # a gain below it, in score ranges, is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """All that a decision depends on, besides the policy.

    state:     the belief at the candidates; those that may not be tried look like their nearest neighbours
    excluded:   (G,) candidates that may not be tried, as they failed or would exceed a limit
    last:      (G,) where a run would be the last, as nothing fits after it
    asked:     runs asked for so far, those under way included;  runs: those told
    incumbent:   the believed score of the model that would be returned now, in the user's units; None if none
    left:      what the next run may cost;  cheapest: what the cheapest would, if it is too much
    feasibility:  (G,) probability that a run finishes; None where that is no question
    to_scores:    from scores as they are learned to the user's units; None where these are model units
    least:        a gain below this, in model units, is none
    others:       what other surrogates expect at the candidates in a problem at another price
    fantasies:    the state after some possible outcomes of the runs under way, over which a decision averages; empty
                  where there are none, or where these count as finished with their predicted outcome
    """

    problem: ScaledProblem
    state: State
    excluded: Mask
    last: Mask
    asked: int
    runs: int
    incumbent: float | None
    left: Left | None = None
    cheapest: float | None = None
    feasibility: Array | None = None
    to_scores: Callable[[Array], Array] | None = None
    least: float = 0.0
    others: Callable[[ScaledProblem], tuple[RunExpectation, ...]] | None = None
    fantasies: tuple[State, ...] = ()

    @property
    def states(self) -> tuple[State, ...]:
        """What a decision averages over, all equally likely."""
        return self.fantasies or (self.state,)

    def raw_scores(self, learned: Array) -> Array:
        """Estimated scores in the user's units.  learned: of any shape, as `state.score` has them."""
        return np.asarray((self.to_scores or self.problem.score_scale.to_raw)(learned))

    @property
    def stop_value(self) -> float:
        """Model units.  Before a run has finished stopping is worth the bottom of the score range: zero."""
        return float(np.mean([incumbent_score(state) for state in self.states]))

    @property
    def above(self) -> float:
        """By how much the model that would be returned is better than the surfaces have the best one; model units.

        What a run gains is weighed on the surfaces, where chance and misfit are left out of both sides.
        """
        if self.incumbent is None or self.problem.prior.ensemble is None:
            return 0.0
        return float(self.problem.score_scale.to_model(self.incumbent)) - float(incumbent_score(self.state))


def assessed(position: Position, policy: Assess, problem: ScaledProblem | None = None) -> Assessment:
    """What the policy says of every candidate, in model units; -inf where there may be no run.  (G,) each.

    problem: the same at another price, if not the position's own
    """
    terms, last = (problem or position.problem).terms, position.last if position.last.any() else None
    given: dict[str, Any] = {"feasibility": position.feasibility, "last": last}
    if problem is not None and position.others is not None:  # a price is part of what they are shown
        others = position.others(problem)
        given |= {"others": others, "realised": REALISED if others else 1.0}
    states = [replace(state, **given) for state in position.states]
    found = [_checked(policy(state, terms, position.asked), state.size) for state in states]
    if len(found) == 1:
        value, priority = found[0].value, found[0].priority
    else:
        value, priority = _over_outcomes(found, [float(incumbent_score(state)) for state in states])
    return Assessment(*(np.where(position.excluded, -np.inf, part) for part in (value, priority)))


def _over_outcomes(found: Sequence[Assessment], stops: Sequence[float]) -> tuple[Array, Array]:
    """Value and priority of every candidate over possible outcomes of the runs under way.

    A run that waits for them loses nothing but time, so it is worth what it is in `DOUBTED` of the outcomes, not in the
    mean, to which a few outcomes contribute most.  stops: value of stopping after each outcome
    """
    gains = np.array([one.value - stop for one, stop in zip(found, stops, strict=True)])
    barred = np.isneginf(gains).any(axis=0)  # by the policy, e.g. beyond its horizon
    more = np.where(barred, -np.inf, np.quantile(np.where(barred, 0.0, gains), DOUBTED, axis=0))
    return float(np.mean(stops)) + more, np.mean([one.priority for one in found], axis=0)


def _checked(found: object, size: int) -> Assessment:
    if not isinstance(found, Assessment):
        raise TypeError(
            f"policy must return an Assessment, got {type(found).__name__}; write e.g. Assessment.by_value(values)"
        )
    for name, part in (("value", found.value), ("priority", found.priority)):
        if part.shape != (size,):
            raise ValueError(f"policy must return a {name} for each of {size} candidates, got shape {part.shape}")
    return found


def picked(position: Position, found: Assessment) -> tuple[int, bool]:
    """Which candidate the decision is about, and whether to train there or to stop; the first run is always made."""
    chosen, goes_on = pick(found, position.stop_value if position.asked > 0 else -np.inf)
    return int(chosen), bool(goes_on)


def decide(position: Position, policy: Assess) -> tuple[Decision, int]:
    """Train at the highest priority among the candidates worth more than stopping, or stop; and which candidate."""
    if position.excluded.all() and position.left is not None:
        left, needed = position.left, position.cheapest
        return Stop(left.reason, position.runs, position.incumbent, left=left.amount, cheapest=needed), -1
    found = assessed(position, policy)
    chosen, goes_on = picked(position, found)
    if found.value[chosen] == -np.inf:
        return Stop("horizon", position.runs, position.incumbent), chosen
    train = train_at(position, chosen, float(found.value[chosen]))
    if not goes_on:
        return Stop("not worth it", position.runs, train.stop_value, train), chosen
    if position.asked > 0 and most_to_gain(position) < position.least:
        return Stop("nothing to gain", position.runs, train.stop_value, train), chosen
    return train, chosen


def most_to_gain(position: Position) -> float:
    """The most that one run is expected to add to the score, whatever it costs, in model units.

    Without recall the next model replaces the last one, and nothing says that going on can gain no more: inf.
    """
    if not position.problem.terms.recall or not position.state.kept.size:
        return float("inf")
    states = [replace(state, feasibility=position.feasibility, realised=1.0) for state in position.states]
    gains = np.mean([expected_improvement(state, position.problem.terms) for state in states], axis=0)
    return float(gains[~position.excluded].max(initial=0.0))


def train_at(position: Position, chosen: int, value: float) -> Train:
    """The run at a candidate in the user's units.  value: V of it, in model units.

    The gain is what V exceeds stopping by, and the price: above the price exactly where V is above stopping.
    """
    problem, state = position.problem, position.state
    price = float(expected_price(state, problem.terms)[chosen])
    gain = price + (value - position.stop_value)
    whole = float(expected_price(state, replace(problem.terms, covered=0.0))[chosen])
    cost = (whole - problem.terms.overhead) / problem.terms.price
    return Train(
        trial=position.asked,
        params=problem.space.params(problem.controls[chosen]),
        control=problem.controls[chosen].copy(),  # a view would keep all candidates alive with every run
        expected_gain=problem.raw_gain(0.0 if abs(gain) < _DUST and gain <= price else gain),
        expected_cost=float(problem.cost_scale.to_raw(cost)),
        price_of_run=problem.raw_gain(price),
        overhead=problem.raw_gain(problem.terms.overhead),
        expected_score=float(position.raw_scores(state.score.mean[chosen])),
        value=float(problem.score_scale.to_raw(value + position.above)),
        stop_value=position.incumbent,
    )
