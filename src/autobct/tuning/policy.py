"""Policies of section 2.5: which foresight is used at each decision.

A policy is a function that is told the candidate controls and the seed and returns the value of training at each
candidate, given state, terms and the number of runs made.  The rest of algorithm 4 is the same for all of them:
train where the value is highest, stop when the models in hand are worth as much.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autobct.belief.arrays import Array, finite_number, whole_number
from autobct.value.gittins import gittins_indices
from autobct.value.lookahead import Continuation, never
from autobct.value.on_the_fly import Level, on_the_fly
from autobct.value.regression import smoother
from autobct.value.rules import monte_carlo
from autobct.value.simulate import ControlValues
from autobct.value.state import State, Terms

Policy = Callable[[Array, int], ControlValues]
"""(candidate controls (G, p), seed) -> control values."""

_DEEPEST_EXACT = 4


def relaxed(depth: int = 2, *, damping: float = 0.0, terminal: Continuation = never) -> Policy:
    """The relaxed method: the same foresight of `depth` runs at every decision, for ever.

    damping:   epsilon, 0 <= epsilon < 1: how much the value of going on is marked down
    terminal:  value of going on after the last foreseen run, e.g. a value map
    """
    whole_number(depth, "depth", example=2)
    _check_damping(damping)

    def build(controls: Array, seed: int) -> ControlValues:
        return lambda state, terms, runs: on_the_fly(state, terms, depth=depth, terminal=terminal, damping=damping)

    return build


def exact(horizon: int, *, damping: float = 0.0) -> Policy:
    """The exact method: at most `horizon` runs in all, each decision looking through to the last of them.

    With n runs made, N - n are left: V_{N-n-1} follows the next one (the paper's V_{N-n} is off by one against its
    theorem 2.2).  On the fly the work is exponential in the horizon, hence at most 4.
    """
    whole_number(horizon, "horizon", example=3)
    _check_damping(damping)
    if horizon > _DEEPEST_EXACT:
        raise ValueError(f"horizon must be at most {_DEEPEST_EXACT} on the fly, got {horizon}; use relaxed(depth=2)")

    def build(controls: Array, seed: int) -> ControlValues:
        def values(state: State, terms: Terms, runs: int) -> Array:
            if runs >= horizon:  # V_0 = -inf: at the horizon we always stop
                return np.full(state.score.mean.shape, -np.inf)
            return on_the_fly(state, terms, depth=horizon - runs, damping=damping)

        return values

    return build


def sampled(depth: int = 2, *, samples: int = 1000, damping: float = 0.0) -> Policy:
    """The paper's own computation: N_s Monte Carlo samples per control, smoothed over the controls.

    Each decision draws afresh from (seed, runs made), so that a resumed run decides as an uninterrupted one.
    """
    whole_number(depth, "depth", example=2)
    whole_number(samples, "samples", example=1000)
    _check_damping(damping)

    def build(controls: Array, seed: int) -> ControlValues:
        smooth = smoother(controls)

        def values(state: State, terms: Terms, runs: int) -> Array:
            rng = np.random.default_rng((seed, runs))
            levels = [
                Level(monte_carlo(len(controls), samples, rng=rng), smooth=smooth if k == 0 else None)
                for k in range(depth)
            ]
            return on_the_fly(state, terms, depth=depth, levels=levels, damping=damping)

        return values

    return build


def gittins() -> Policy:
    """The Gittins index (Pandora's box) on the same belief: cheap, and close to the optimum with recall."""
    return lambda controls, seed: lambda state, terms, runs: gittins_indices(state, terms)


def check_policy(policy: object) -> None:
    """A policy is what `relaxed()` returns, not `relaxed` itself."""
    if not callable(policy) or policy in (relaxed, exact, sampled, gittins):
        raise TypeError(f"policy must come from a call, got {policy!r}; write e.g. policy=relaxed(depth=2)")


def _check_damping(damping: float) -> None:
    if not 0 <= finite_number(damping, "damping") < 1:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping!r}; the paper uses 0 and 0.02")
