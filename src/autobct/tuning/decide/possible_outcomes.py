"""Possible outcomes of the runs under way, and the state after each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.tuning.decide.search import Candidates, score_moves
from autobct.tuning.memory import Memory
from autobct.value.acquisition import Assessment
from autobct.value.simulate import KEPT
from autobct.value.state import State, keep

FANTASIES = 16
"""Possible outcomes of the runs under way that a decision averages over.  docs/decisions/pending.md."""


def outcome_draws(runs: int) -> Array:
    """Standard normal outcomes of runs under way, each with its mirror image: the same for every decision.  (K, n)."""
    half = np.random.default_rng(runs).standard_normal((FANTASIES // 2, runs))
    return np.concatenate([half, -half])


def after_outcomes(state: State, moves: Array, trained: Indices) -> tuple[State, ...]:
    """The state after each of the possible outcomes; what other surrogates expect is the same in all of them.

    moves:   by how much each run under way moves the score of each candidate, per standard normal, (n, G)
    trained: candidates with a model, those under way included
    """
    made = []
    for mean in state.score.mean + outcome_draws(len(moves)) @ moves:
        best = trained[np.argsort(-mean[trained], kind="stable")[:KEPT]]
        made.append(keep(replace(state, score=state.score.with_mean(mean)), best))
    return tuple(made)


DOUBTED = 0.25
"""Quantile of what a run is worth over the possible outcomes of those under way.  docs/decisions/pending.md."""


def over_outcomes(found: Sequence[Assessment], stops: Sequence[float]) -> tuple[Array, Array]:
    """Value and priority of every candidate over possible outcomes of the runs under way.

    A run that waits for them loses nothing but time, so it is worth what it is in `DOUBTED` of the outcomes, not in the
    mean, to which a few outcomes contribute most.  stops: value of stopping after each outcome
    """
    gains = np.array([one.value - stop for one, stop in zip(found, stops, strict=True)])
    barred = np.isneginf(gains).any(axis=0)  # by the policy, e.g. beyond its horizon
    more = np.where(barred, -np.inf, np.quantile(np.where(barred, 0.0, gains), DOUBTED, axis=0))
    return float(np.mean(stops)) + more, np.mean([one.priority for one in found], axis=0)


def fantasies_of(memory: Memory, candidates: Candidates, state: State) -> tuple[State, ...]:
    """The state after each of some possible outcomes of the runs under way; none where none counts on them."""
    problem = candidates.problem
    if problem.prior.ensemble is None or not problem.terms.recall:
        return ()
    trained = np.array(
        list(dict.fromkeys([*candidates.finished(memory), *candidates.under_way(memory)])), dtype=np.intp
    )
    return after_outcomes(state, score_moves(memory, candidates) @ candidates.features[0].T, trained)
