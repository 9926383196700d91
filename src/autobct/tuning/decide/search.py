"""The candidates of one decision, what it needs of them, and the search for them, made anew for every decision.

An even spread (`space.candidates`), then a search of the expected improvement per price: around the best models, and
around the candidates that promise most.  All are controls of values that exist: a whole number's coordinate is that of
the whole number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import noise_at
from autobct.belief.gaussian import Belief
from autobct.belief.normal import anticipate, gains
from autobct.tuning.decide.feasibility import (
    certain_at,
    chances,
    nearest_allowed,
)
from autobct.tuning.memory import Memory, controls_at, place_of, places_of
from autobct.tuning.space.parameter import Categorical, Float, Int, tuned
from autobct.tuning.space.space import Space
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import ei_per_cost
from autobct.value.simulate import KEPT
from autobct.value.state import Seen, State, keep

AROUND = 150
"""Controls around the best few models, and again around the most promising candidates."""

PROMISING = 5
"""Candidates that are looked at more closely."""

REFINEMENTS = 2
"""How often: the first time around the most promising of all, then around the most promising of what that found."""

THOROUGH = AROUND, REFINEMENTS
"""The effort of a tuner's own search."""
_STEPS = np.array([0.05, 0.15, 0.4])  # how far from a good control one looks
_TURNED = 0.35  # share of the parameters that are changed at once, at least about one and a half of them
_OTHER = 0.2  # share of looks at which a category is changed


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The candidates of one decision, and what it needs of them.

    problem:   with their controls, (G, p)
    features:  of score and cost, (G, J) each;  noise: of score and cost, (G,) each
    places:    place of a control -> its index
    """

    problem: ScaledProblem
    features: tuple[Array, Array]
    noise: tuple[Array, Array]
    places: Mapping[bytes, int]

    @classmethod
    def of(cls, problem: ScaledProblem) -> Candidates:
        """Those of a problem."""
        places: dict[bytes, int] = {}
        for index, place in enumerate(places_of(problem.controls)):
            places.setdefault(place, index)
        return cls._at(problem, places)

    @classmethod
    def _at(cls, problem: ScaledProblem, places: Mapping[bytes, int]) -> Candidates:
        model, controls = problem.prior.model, problem.controls
        return cls(
            problem,
            (model.score_basis(controls), model.cost_basis(controls)),
            (
                noise_at(model.score_noise, controls, "score_noise"),
                noise_at(model.cost_noise, controls, "cost_noise"),
            ),
            places,
        )

    def with_those(self, controls: Array) -> Candidates:
        """And these, (n, p), where they are not among them."""
        more = {place: index for index, place in enumerate(places_of(controls)) if place not in self.places}
        if not more:
            return self
        size, places = len(self.problem.controls), {place: index for index, place in enumerate(more)}
        new = Candidates._at(replace(self.problem, controls=controls[list(more.values())]), places)
        return Candidates(
            replace(self.problem, controls=np.concatenate([self.problem.controls, new.problem.controls])),
            (_stacked(self.features[0], new.features[0]), _stacked(self.features[1], new.features[1])),
            (_stacked(self.noise[0], new.noise[0]), _stacked(self.noise[1], new.noise[1])),
            {**self.places, **{place: size + index for place, index in new.places.items()}},
        )

    def excluded(self, memory: Memory) -> Indices:
        """Those whose run failed."""
        found = [index for place, index in self.places.items() if place in memory.excluded] if memory.excluded else []
        return np.array(sorted(found), dtype=np.intp)

    def under_way(self, memory: Memory) -> list[int]:
        """Those whose run has no outcome yet, in the order in which they were asked for."""
        return [self.places[place_of(train.control)] for train in memory.pending.values()]

    def finished(self, memory: Memory) -> list[int]:
        """Those with a model that may be returned, in order of training."""
        return [self.places[place] for place in memory.finished]


def _stacked(first: Array, second: Array) -> Array:
    return np.concatenate([first, second])


def kept(memory: Memory, candidates: Candidates, trained: Sequence[int]) -> Indices:
    """Which of the trained candidates a lookahead follows: the last, or with recall the best few by posterior mean."""
    if not memory.problem.terms.recall or len(trained) <= 1:
        return np.array(trained[-1:], dtype=np.intp)
    indices = np.array(list(dict.fromkeys(trained)), dtype=np.intp)
    means = candidates.features[0][indices] @ memory.known.belief.score.mean
    return indices[np.argsort(-means, kind="stable")[:KEPT]]


def view(memory: Memory, candidates: Candidates, belief: Belief, shown: Indices) -> State:
    """The belief at some of the candidates, with no model trained."""
    (score, cost), (score_noise, cost_noise) = candidates.features, candidates.noise
    none = np.empty(0, dtype=np.intp)
    learned = memory.known.evidence
    return State(
        score=Seen(belief.score, score[shown]),
        cost=Seen(belief.cost, cost[shown]),
        score_noise=score_noise[shown] if learned is None else np.full(len(shown), learned.misfit.total),
        cost_noise=cost_noise[shown],
        kept=none,
    )


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
    found = Candidates.of(problem)
    if memory.finished:
        found = found.with_those(controls_at(list(memory.finished)))
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
    problem = candidates.problem
    everywhere = np.arange(len(problem.controls))
    incumbents = kept(memory, candidates, candidates.finished(memory))
    state = keep(view(memory, candidates, memory.known.belief, everywhere), incumbents)
    chance = chances(problem.space, problem.controls, memory.counted) if memory.excluded else None
    priority = ei_per_cost(replace(state, feasibility=chance), problem.terms)
    priority[candidates.excluded(memory)] = -np.inf
    return np.argsort(-priority, kind="stable")[:count]


def _with_more(found: Candidates, best: Array, size: int, rng: np.random.Generator) -> Candidates:
    """So many more candidates, around the best ones, (b, p)."""
    return found.with_those(around(found.problem.space, best, rng=rng, size=size))


def around(space: Space, best: Array, *, rng: np.random.Generator, size: int = AROUND) -> Array:
    """Controls near each of some good ones.  best: (b, p) -> (size, p)."""
    varied = tuned(space.parameters)
    base = np.repeat(best, -(-size // len(best)), axis=0)[:size]
    turned = rng.random((size, len(varied))) < max(_TURNED, 1.5 / len(varied))
    moves = rng.choice(_STEPS, (size, 1)) * rng.standard_normal((size, len(varied)))
    others = rng.random((size, len(varied), 2))
    found, at = base.copy(), 0
    for j, parameter in enumerate(varied):
        if isinstance(parameter, Categorical):
            choices = slice(at, at + parameter.count)
            other = np.eye(parameter.count)[(others[:, j, 1] * parameter.count).astype(np.intp)]
            unset = base[:, choices].max(axis=1, keepdims=True) < 1.0  # it did not exist there
            found[:, choices] = np.where((others[:, j, :1] < _OTHER) | unset, other, base[:, choices])
        else:
            found[:, at] = snapped(parameter, np.clip(base[:, at] + turned[:, j] * moves[:, j], 0.0, 1.0))
        at += parameter.count if isinstance(parameter, Categorical) else 1
    return space.realized(found)


def snapped(parameter: Float | Int, coordinates: Array) -> Array:
    """Coordinates of the nearest values that exist.  (n,) -> (n,)."""
    if parameter.count is None:
        return np.asarray(np.round(coordinates, 12))
    if isinstance(parameter, Int) and parameter.log:
        values = np.rint(parameter.low * np.exp(np.log(parameter.high / parameter.low) * coordinates))
        return np.array([parameter.to_unit(int(v)) for v in np.clip(values, parameter.low, parameter.high)])
    return np.asarray(np.rint(coordinates * (parameter.count - 1)) / (parameter.count - 1))


def state_of(memory: Memory, candidates: Candidates, excluded: Indices | None = None) -> State:
    """The belief at the candidates; runs under way count as finished with their predicted outcome.

    excluded: candidates that may not be tried; those whose run failed if not given
    """
    running, problem = candidates.under_way(memory), candidates.problem
    belief = _anticipated(memory, candidates, running) if running else memory.known.belief
    followed = kept(memory, candidates, [*candidates.finished(memory), *running])
    if excluded is None:
        excluded = candidates.excluded(memory)
    alike = nearest_allowed(problem.controls, excluded) if excluded.size else np.arange(len(problem.controls))
    alike[followed] = followed
    state = view(memory, candidates, belief, alike)
    known = [int(index) for index in followed if index in excluded]
    return keep(replace(state, score=certain_at(state.score, known)) if known else state, followed)


def _anticipated(memory: Memory, candidates: Candidates, running: list[int]) -> Belief:
    """The belief as if all runs under way had come out exactly as predicted."""
    belief, learned = memory.known.belief, memory.known.evidence
    noise = candidates.noise[0][running] if learned is None else np.full(len(running), learned.misfit.total)
    moves = gains(belief.score, candidates.features[0][running], noise)
    cost_moves = gains(belief.cost, candidates.features[1][running], candidates.noise[1][running])
    return Belief(anticipate(belief.score, moves), anticipate(belief.cost, cost_moves))
