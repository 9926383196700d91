"""The search for candidates, made anew for every decision: around the best models, then around what promises most."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.tuning.decide.position import Position, assessed
from autobct.tuning.decide.standing import Candidates, kept, view
from autobct.tuning.memory import Memory
from autobct.tuning.model.feasibility import chances
from autobct.tuning.space.candidates import PROMISING, THOROUGH, around, distinct
from autobct.value.assessment import by_ei_per_cost
from autobct.value.state import keep


def searched(
    memory: Memory, seed: int, before: Candidates | None = None, *, effort: tuple[int, int] = THOROUGH
) -> Candidates:
    """The candidates of the next decision, without those under way; a pure function of memory and seed.

    Where values are few they are those of the problem, and `before` serves again if it was for the same problem.
    Otherwise an even spread, the models that may be returned, and what a search around the best finds.
    effort: how many controls around the best, and how often the search is refined
    """
    problem = memory.problem
    if not problem.stated.spreads or not memory.runs:
        return before if before is not None and before.problem is problem else Candidates.of(problem)
    finished = [memory.control(place) for place in memory.finished]
    found = Candidates.of(replace(problem, controls=distinct([*problem.controls, *finished])))
    best = found.problem.controls[kept(memory, found, found.finished(memory))]
    if not len(best):
        return found
    rng = np.random.default_rng((seed, len(memory.runs)))
    size, refinements = effort
    found = _with_more(found, best, size, rng)
    for _ in range(refinements):
        found = _with_more(found, found.problem.controls[promising(memory, found, PROMISING)], size, rng)
    return found


def promising(memory: Memory, candidates: Candidates, count: int) -> Indices:
    """The candidates with the highest expected improvement per price, best first, whatever the policy."""
    problem, made = candidates.problem, len(memory.runs)
    everywhere = np.arange(len(problem.controls))
    incumbents = kept(memory, candidates, candidates.finished(memory))
    state = keep(view(memory, candidates, memory.known.belief, everywhere), incumbents)
    excluded = np.isin(everywhere, candidates.excluded(memory))
    chance = chances(problem.space, problem.controls, memory.counted)
    position = Position(
        problem=problem,
        state=state,
        excluded=excluded,
        last=np.zeros_like(excluded),
        asked=made,
        runs=made,
        incumbent=None,
        feasibility=chance,
    )
    return np.argsort(-assessed(position, by_ei_per_cost).priority, kind="stable")[:count]


def _with_more(found: Candidates, best: Array, size: int, rng: np.random.Generator) -> Candidates:
    """So many more candidates, around the best ones, (b, p)."""
    return found.with_those(list(around(found.problem.space, best, rng=rng, size=size)))
