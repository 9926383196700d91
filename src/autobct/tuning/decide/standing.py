"""The position of a tuning: posterior, surrogates, limits and excluded candidates, as one decision needs them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from autobct.belief.arrays import Array, Indices, distinct
from autobct.belief.gaussian import Belief
from autobct.belief.model import anticipate, gains
from autobct.tuning.decide.decision import Stop, Train
from autobct.tuning.decide.excluded import (
    FIRST_OVER,
    LATER_OVER,
    certain_at,
    costs_at,
    fits,
    is_last,
    nearest_allowed,
    tightest,
)
from autobct.tuning.decide.position import Position, assessed, train_at
from autobct.tuning.decide.possible_outcomes import after_outcomes
from autobct.tuning.decide.search import Candidates, kept, view
from autobct.tuning.decide.waiting import Waiting, with_covered
from autobct.tuning.history import Run
from autobct.tuning.memory import Memory, place_of
from autobct.tuning.model.feasibility import chances
from autobct.tuning.model.other_surrogates import OTHERS, REALISED
from autobct.tuning.model.posterior import score_at, to_scores
from autobct.tuning.problem import ScaledProblem
from autobct.tuning.units.limits import Left, Limits
from autobct.value.assessment import by_ei_per_cost
from autobct.value.state import RunExpectation, State, keep

RESOLUTION = 0.005
"""Expected gains below this share of what no surface explains are none.  docs/decisions/deciding-time.md."""

_FAILURES = 16  # among the last so many runs are of interest
_PATIENCE = 10  # so many failures in a row: the fault is in the training, not in the params


def incumbent_score(memory: Memory) -> float | None:
    """The believed score of the model that would be returned now, in the user's units; None if there is none."""
    place = memory.returned
    if place is None:
        return None
    return float(memory.problem.score_scale.to_raw(float(score_at(memory.known, memory.control(place)[None])[0])))


def state_of(memory: Memory, candidates: Candidates, excluded: Indices | None = None) -> State:
    """The belief at the candidates; runs under way count as finished with their predicted outcome.

    excluded: candidates that may not be tried; those whose run failed if not given
    """
    belief, problem = _anticipated(memory, candidates), candidates.problem
    followed = kept(memory, candidates, [*candidates.finished(memory), *candidates.under_way(memory)])
    if excluded is None:
        excluded = candidates.excluded(memory)
    alike = nearest_allowed(problem.controls, excluded) if excluded.size else np.arange(len(problem.controls))
    alike[followed] = followed
    state = view(memory, candidates, belief, alike)
    known = [int(index) for index in followed if index in excluded]
    return keep(replace(state, score=certain_at(state.score, known)) if known else state, followed)


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
    waiting:  what is running now, where the price is one of waiting
    asks_others:   whether other surrogates are asked as well, where the default surrogate is
    """
    left = left if max_cost is None else tightest(left, _budget(memory, max_cost))
    state, problem = state_of(memory, candidates), candidates.problem
    size = len(problem.controls)
    excluded, last, cheapest = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), None
    excluded[candidates.excluded(memory)] = True
    running = candidates.under_way(memory)
    if not np.delete(excluded, running).all():  # the same once more only where there is nothing else to try
        excluded[running] = True
    if left is not None:
        over = LATER_OVER if memory.finished else FIRST_OVER
        allowed = fits(state, problem, left.amount, over) & ~excluded
        cheapest = float(costs_at(state, problem, over)[~excluded].min())
        excluded = ~allowed
        state = state_of(memory, candidates, np.flatnonzero(excluded))
        last = is_last(state, problem, left.amount, allowed)
    chance = None if problem.prior.ensemble is None else chances(problem.space, problem.controls, memory.counted)
    learned, others = memory.known.evidence, partial(expectations_of, memory, candidates)
    asked = others(problem) if asks_others else ()
    state = replace(state, others=asked, realised=1.0 if asks_others and not asked else _realised(problem))
    return Position(
        problem=problem if waiting is None else with_covered(problem, waiting),
        state=state,
        excluded=excluded,
        last=last,
        asked=memory.asked,
        runs=len(memory.runs),
        incumbent=incumbent_score(memory),
        left=left,
        cheapest=cheapest,
        feasibility=chance,
        to_scores=partial(to_scores, memory.known),
        least=0.0 if learned is None else RESOLUTION * learned.misfit.total,
        others=others if asks_others else None,
        fantasies=_fantasies(memory, candidates, state),
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


def _telling(memory: Memory) -> list[Run]:
    """The runs that other surrogates are shown: those that may be returned, and the latest failures."""
    latest = range(max(0, len(memory.runs) - _FAILURES), len(memory.runs))
    failed = [number for number in latest if memory.runs[number].score is None and number not in memory.forgiven]
    return [memory.runs[number] for number in sorted({*memory.finished.values(), *failed})]


def _has_others(problem: ScaledProblem) -> bool:
    """Whether other surrogates have a say; they know improvements on the best model, not on the last."""
    return problem.stated.asks_others and problem.terms.recall


def _realised(problem: ScaledProblem) -> float:
    """Share of expected improvements that is counted on: all of it without other surrogates."""
    return REALISED if _has_others(problem) else 1.0


def _fantasies(memory: Memory, candidates: Candidates, state: State) -> tuple[State, ...]:
    """The state after each of some possible outcomes of the runs under way; none where none counts on them."""
    problem, running = candidates.problem, candidates.under_way(memory)
    if not running or problem.prior.ensemble is None or not problem.terms.recall:
        return ()
    trained = np.array(list(dict.fromkeys([*candidates.finished(memory), *running])), dtype=np.intp)
    return after_outcomes(state, score_moves(memory, candidates) @ candidates.features[0].T, trained)


def run_at(memory: Memory, control: Array) -> Train:
    """What a run at any control (p,) is expected to gain and to cost, one run ahead, whoever chooses it."""
    finished = [memory.control(place) for place in memory.finished]
    candidates = Candidates.of(replace(memory.problem, controls=distinct([*finished, control])))
    position = position_of(memory, candidates, None)
    where = candidates.places[place_of(control)]
    return train_at(position, where, float(assessed(position, by_ei_per_cost).value[where]))


def reason_to_stop(memory: Memory, candidates: Candidates, limits: Limits) -> Stop | None:
    """Why no decision is needed; None if one is."""
    if limits.max_runs is not None and memory.asked >= limits.max_runs:
        return Stop("max_runs", memory.asked, incumbent_score(memory))
    if len(candidates.excluded(memory)) == len(candidates.problem.controls):
        return Stop("nothing left", len(memory.runs), incumbent_score(memory))
    if is_failing(memory):
        return Stop("failing", len(memory.runs), incumbent_score(memory))
    return None


def is_failing(memory: Memory) -> bool:
    """Whether so many runs in a row failed that the fault is in the training, not in the params."""
    last = memory.counted[-_PATIENCE:]
    return len(last) == _PATIENCE and all(run.error is not None for run in last)


def _budget(memory: Memory, max_cost: float) -> Left:
    """What max_cost leaves after all runs, those under way as expected."""
    under_way = math.fsum(train.expected_cost for train in memory.pending.values())
    return Left(max_cost - memory.total_cost - under_way, "max_cost")


def _anticipated(memory: Memory, candidates: Candidates) -> Belief:
    """The belief as if all runs under way had come out exactly as predicted."""
    belief, running = memory.known.belief, candidates.under_way(memory)
    cost_moves = gains(belief.cost, candidates.features[1][running], candidates.noise[1][running])
    score = anticipate(belief.score, score_moves(memory, candidates))
    return Belief(score, anticipate(belief.cost, cost_moves))


def score_moves(memory: Memory, candidates: Candidates) -> Array:
    """By how much the runs under way will move the weights of the score, per standard normal.  (n, J)."""
    learned, running = memory.known.evidence, candidates.under_way(memory)
    noise = candidates.noise[0][running] if learned is None else np.full(len(running), learned.misfit.total)
    return gains(memory.known.belief.score, candidates.features[0][running], noise)
