"""Possible outcomes of the runs under way, and the state after each of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autobct.belief.arrays import Array, Indices
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
