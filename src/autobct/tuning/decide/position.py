"""One decision, to train or to stop: the position of a tuning, and pure functions of it.

| paper | here |
|---|---|
| x, with limits, excluded candidates and what other surrogates expect | `position_of` |
| Lambda(u; x) for every u | `assessed` |
| stop if the incumbent is worth as much | `decide` |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.decide.feasibility import (
    FIRST_OVER,
    LATER_OVER,
    Mask,
    budget_left,
    chances,
    costs_at,
    fits,
    is_last,
    tightest,
)
from autobct.tuning.decide.search import Candidates, state_of
from autobct.tuning.decide.under_way import SIDE_BY_SIDE, Waiting, with_covered
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.memory import Memory, place_of
from autobct.tuning.model.estimate import to_scores
from autobct.tuning.model.other_surrogates import OTHERS, REALISED
from autobct.tuning.units.limits import Left, Limits
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import Assess, Assessment, expected_improvement, expected_price, incumbent_score, pick
from autobct.value.state import RunExpectation, State

_DUST = 1e-12  # a gain below it, in score ranges, is rounding

RESOLUTION = 0.005
"""Expected gains below this share of what no surface explains are none.  docs/decisions/deciding-time.md."""

_FAILURES = 16  # among the last so many runs are of interest
_PATIENCE = 10  # so many failures in a row: the fault is in the training, not in the params


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """All that a decision depends on, besides the policy.

    state:     the belief at the candidates; those that may not be tried look like their nearest neighbours
    excluded:   (G,) candidates that may not be tried, as they failed or would exceed a limit
    last:      (G,) where a run would be the last, as nothing fits after it
    asked:     runs asked for so far, those under way included;  runs: those told
    stop_value: of stopping, in model units; before a run has finished the bottom of the score range, zero
    incumbent:   the estimated score of the model that would be returned now, in the user's units; None if none
    left:      what the next run may cost;  cheapest: what the cheapest would, if it is too much
    feasibility:  (G,) probability that a run finishes; None where that is no question
    to_scores:    from scores as they are learned to the user's units; None where these are model units
    least:        a gain below this, in model units, is none
    others:       what other surrogates expect at the candidates in a problem at another price
    counted:      share of what is counted on otherwise: less than one where runs are made side by side
    """

    problem: ScaledProblem
    state: State
    excluded: Mask
    last: Mask
    asked: int
    runs: int
    stop_value: float
    incumbent: float | None
    left: Left | None = None
    cheapest: float | None = None
    feasibility: Array | None = None
    to_scores: Callable[[Array], Array] | None = None
    least: float = 0.0
    others: Callable[[ScaledProblem], tuple[RunExpectation, ...]] | None = None
    counted: float = 1.0

    def raw_scores(self, learned: Array) -> Array:
        """Estimated scores in the user's units.  learned: of any shape, as `state.score` has them."""
        return np.asarray((self.to_scores or self.problem.score_scale.to_raw)(learned))

    @property
    def above(self) -> float:
        """By how much the model that would be returned is better than the surfaces have the best one; model units.

        What a run gains is weighed on the surfaces, where chance and misfit are left out of both sides.
        """
        if self.incumbent is None or self.problem.prior.ensemble is None:
            return 0.0
        return float(self.problem.score_scale.to_model(self.incumbent)) - self.stop_value


def position_of(
    memory: Memory,
    candidates: Candidates,
    max_cost: float | None,
    left: Left | None = None,
    waiting: Waiting | None = None,
    *,
    asks_others: bool = True,
) -> Position:
    """Where we stand, for a decision.

    left:     the most that the next run may cost, besides what max_cost leaves
    waiting:  what is running now, with several jobs
    asks_others:   whether other surrogates are asked as well, where the default surrogate is
    """
    left = left if max_cost is None else tightest(left, budget_left(memory, max_cost))
    state, problem = state_of(memory, candidates), candidates.problem
    size = len(problem.controls)
    excluded, last, cheapest = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), None
    excluded[candidates.excluded(memory)] = True
    running = candidates.under_way(memory)
    if running and not np.delete(excluded, running).all():  # the same once more only where there is nothing else to try
        excluded[running] = True
    if left is not None:
        over = LATER_OVER if memory.finished else FIRST_OVER
        allowed = fits(state, problem, left.amount, over) & ~excluded
        cheapest = float(costs_at(state, problem, over)[~excluded].min())
        excluded = ~allowed
        state = state_of(memory, candidates, np.flatnonzero(excluded))
        last = is_last(state, problem, left.amount, allowed)
    chance = None
    if memory.excluded and problem.prior.ensemble is not None:
        chance = chances(problem.space, problem.controls, memory.counted)
    learned, others = memory.known.evidence, partial(expectations_of, memory, candidates)
    asked = others(problem) if asks_others else ()
    counted = SIDE_BY_SIDE if _is_beside(memory, waiting) else 1.0
    realised = REALISED if asked or (_has_others(problem) and not asks_others) else 1.0
    state = replace(state, others=asked, realised=counted * realised)
    return Position(
        problem=problem if waiting is None else with_covered(problem, waiting),
        state=state,
        excluded=excluded,
        last=last,
        asked=memory.asked,
        runs=len(memory.runs),
        stop_value=float(incumbent_score(state)),
        incumbent=memory.incumbent_score,
        left=left,
        cheapest=cheapest,
        feasibility=chance,
        to_scores=partial(to_scores, memory.known),
        least=0.0 if learned is None else RESOLUTION * learned.misfit.total,
        others=others if asks_others else None,
        counted=counted,
    )


def expectations_of(memory: Memory, candidates: Candidates, problem: ScaledProblem) -> tuple[RunExpectation, ...]:
    """What other surrogates expect at the candidates; they see no use in making a run again.

    problem: that of the candidates, or the same at another price
    """
    if not _has_others(problem):
        return ()
    pending, runs = [train.control for train in memory.pending.values()], _telling(memory)
    asked = [surrogate.posterior(problem, runs, pending, candidates.problem.controls) for surrogate in OTHERS]
    made = np.zeros(len(candidates.problem.controls), dtype=bool)
    made[[candidates.places[place] for place in memory.finished]] = True
    made[[candidates.places[place_of(control)] for control in pending]] = True
    return tuple(replace(found, gain=np.where(made, 0.0, found.gain)) for found in asked if found is not None)


def _is_beside(memory: Memory, waiting: Waiting | None) -> bool:
    """Whether a decision is one of several that are made without each other's results.

    So is the last of several jobs' runs, which has nothing beside it: everybody waits for it.
    """
    return bool(memory.pending) or waiting is not None


def _telling(memory: Memory) -> list[Run]:
    """The runs that other surrogates are shown: those that may be returned, and the latest failures."""
    latest = range(max(0, len(memory.runs) - _FAILURES), len(memory.runs))
    failed = [number for number in latest if memory.runs[number].score is None and number not in memory.forgiven]
    return [memory.runs[number] for number in sorted({*memory.finished.values(), *failed})]


def _has_others(problem: ScaledProblem) -> bool:
    """Whether other surrogates have a say; they know improvements on the best model, not on the last."""
    return problem.stated.asks_others and problem.terms.recall


def reason_to_stop(memory: Memory, candidates: Candidates, limits: Limits) -> Stop | None:
    """Why no decision is needed; None if one is."""
    if limits.max_runs is not None and memory.asked >= limits.max_runs:
        return Stop("max_runs", memory.asked, memory.incumbent_score)
    if len(candidates.excluded(memory)) == len(candidates.problem.controls):
        return Stop("nothing left", len(memory.runs), memory.incumbent_score)
    if is_failing(memory):
        return Stop("failing", len(memory.runs), memory.incumbent_score)
    return None


def is_failing(memory: Memory) -> bool:
    """Whether so many runs in a row failed that the fault is in the training, not in the params."""
    last = memory.counted[-_PATIENCE:]
    return len(last) == _PATIENCE and all(run.error is not None for run in last)


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
    if position.asked > 0 and position.least > 0.0 and most_to_gain(position) < position.least:
        return Stop("nothing to gain", position.runs, train.stop_value, train), chosen
    return train, chosen


def assessed(position: Position, policy: Assess, problem: ScaledProblem | None = None) -> Assessment:
    """What the policy says of every candidate, in model units; -inf where there may be no run.  (G,) each.

    problem: the same at another price, if not the position's own
    """
    terms, last = (problem or position.problem).terms, position.last if position.last.any() else None
    given: dict[str, Any] = {"feasibility": position.feasibility, "last": last}
    if problem is not None and position.others is not None:  # a price is part of what they are shown
        others = position.others(problem)
        given |= {"others": others, "realised": position.counted * (REALISED if others else 1.0)}
    state = replace(position.state, **given)
    found = _checked(policy(state, terms, position.asked), state.size)
    return Assessment(*(np.where(position.excluded, -np.inf, part) for part in (found.value, found.priority)))


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


def most_to_gain(position: Position) -> float:
    """The most that one run is expected to add to the score, whatever it costs, in model units.

    Without recall the next model replaces the last one, and nothing says that going on can gain no more: inf.
    """
    if not position.problem.terms.recall or not position.state.kept.size:
        return float("inf")
    state = replace(position.state, feasibility=position.feasibility, realised=1.0)
    gains = expected_improvement(state, position.problem.terms)
    return float(gains[~position.excluded].max(initial=0.0))


def train_at(position: Position, chosen: int, value: float) -> Train:
    """The run at a candidate in the user's units.  value: V of it, in model units.

    The gain is what V exceeds stopping by, and the price: above the price exactly where V is above stopping.
    """
    problem, state = position.problem, position.state
    price = whole = float(expected_price(state, problem.terms)[chosen])
    if problem.terms.covered:
        whole = float(expected_price(state, replace(problem.terms, covered=0.0))[chosen])
    gain = price + (value - position.stop_value)
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
