"""Policies of section 2.5: how far ahead each decision looks.

A policy is a function of the candidate controls and the seed; it returns the rule for these candidates, `Assess`, which
says of every candidate what training there is worth and with which priority.  The rest of algorithm 4 is the same for
all of them: train at the highest priority among the candidates worth more than stopping, stop when there are none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from autobct.belief.arrays import Array, finite_number, whole_number
from autobct.belief.prior import Prior
from autobct.value.acquisition import Assess, by_ei_per_cost, by_gittins_index
from autobct.value.lookahead.nodes import Smoother, monte_carlo, smoother
from autobct.value.lookahead.on_the_fly import Level, on_the_fly, promising
from autobct.value.lookahead.one_step import ByValue, Continuation, never
from autobct.value.maps.foresight import Foresight, foresight
from autobct.value.maps.value_map import MapMismatch, ValueMap, mismatches
from autobct.value.state import State, Terms

Policy = Callable[[Array, int], Assess]
"""(candidate controls (G, p), seed) -> the rule for these candidates."""

_DEEPEST_EXACT = 4


@dataclass(frozen=True, slots=True, eq=False)
class MapPolicy:
    """A policy that stands on a value map, and so is for the problems that the map is for."""

    value_map: ValueMap
    values: Callable[..., Array]  # (foresight, state, terms, runs made) -> (..., G)
    note: str = "A value map supplied by the caller."

    def __call__(self, controls: Array, seed: int) -> Assess:
        """As any policy; MapMismatch if the candidates do not show what the map must know."""
        return ByValue(partial(self.values, foresight(self.value_map, controls)))

    def check(self, prior: Prior, terms: Terms) -> None:
        """MapMismatch, with the lines that differ, if the map is for a different problem."""
        found = mismatches(self.value_map.spec, prior, terms)
        if found:
            learned = "the default surrogate learns its scale; to use this map, set prior='paper' or your own prior"
            hint = [learned] if prior.ensemble is not None else []
            raise MapMismatch("\n".join(["the map is for a different problem:", *found, *hint]))


def mapped(value_map: ValueMap, *, horizon: int | None = None) -> Policy:
    """One-run lookahead on a value map whose horizon shrinks by one with every run, down to V_1.

    After n runs the continuation is V_{horizon - 1 - n}; horizon: K + 2 by default, the deepest the map has.  A
    shrinking horizon keeps an error of the map from postponing the stop indefinitely.  Once V_1 is reached, decisions
    are those of `relaxed(2)`, which needs no map.  The first run is chosen by looking two runs ahead, because a map is
    least accurate where least is known.
    """
    return MapPolicy(value_map, partial(_shrinking, _horizon_of(value_map, horizon)))


def _shrinking(first: int, ahead: Foresight, state: State, terms: Terms, runs: int) -> Array:
    if runs == 0 and first > 2:
        return ahead.on_top(state, terms, first - 2, depth=2)
    if first - 1 - runs < 2:
        return on_the_fly(state, terms, depth=2)
    return ahead.control_values(state, terms, first - 1 - runs)


def relaxed(depth: int = 2, *, damping: float = 0.0, terminal: Continuation = never) -> Policy:
    """The relaxed method: every decision looks `depth` runs ahead, without a limit on the number of runs.

    damping:   epsilon, 0 <= epsilon < 1: how much the value of continuing is discounted
    terminal:  value of continuing after the last of these runs, e.g. a value map; the paper uses depth=1 on a map
    """
    whole_number(depth, "depth", example=2)
    _check_damping(damping)
    if isinstance(terminal, ValueMap):
        return MapPolicy(terminal, partial(_relaxed_on_map, depth, damping))
    return partial(_bound, partial(_relaxed, depth, terminal, damping))


def _bound(values: Callable[..., Array], controls: Array, seed: int) -> Assess:
    """Lookahead on the fly for some candidates.  values: (whether they lie on a grid, state, terms, runs made)."""
    return ByValue(partial(values, controls.shape[-1] <= 2))


def _relaxed(
    depth: int, terminal: Continuation, damping: float, grid: bool, state: State, terms: Terms, runs: int
) -> Array:
    return _looking(grid, state, terms, depth=depth, damping=damping, terminal=terminal)


def _looking(grid: bool, state: State, terms: Terms, *, depth: int, damping: float, terminal: Continuation) -> Array:
    """Beyond two coordinates candidates lie in no order: later runs choose among the promising ones."""
    inner = None if grid or state.score.mean.ndim > 1 else promising(state)
    return on_the_fly(state, terms, depth=depth, terminal=terminal, inner=inner, damping=damping)


def _relaxed_on_map(depth: int, damping: float, ahead: Foresight, state: State, terms: Terms, runs: int) -> Array:
    return ahead.on_top(state, terms, ahead.value_map.deepest, depth=depth, damping=damping)


def exact(horizon: int, *, damping: float = 0.0, value_map: ValueMap | None = None) -> Policy:
    """The exact method: at most `horizon` runs in total, and every decision looks ahead to the last of them.

    After n runs, N - n are left: V_{N-n-1} follows the next one (the paper's V_{N-n} is off by one against its
    theorem 2.2).  Without a map the work is exponential in the horizon, so it is at most 4; with one, at most K + 2.
    """
    whole_number(horizon, "horizon", example=3)
    _check_damping(damping)
    if value_map is not None:
        return MapPolicy(value_map, partial(_exact_on_map, _horizon_of(value_map, horizon), damping))
    if horizon > _DEEPEST_EXACT:
        raise ValueError(f"horizon must be at most {_DEEPEST_EXACT} on the fly, got {horizon}; use relaxed(depth=2)")
    return partial(_bound, partial(_exact, horizon, damping))


def _exact(horizon: int, damping: float, grid: bool, state: State, terms: Terms, runs: int) -> Array:
    if runs >= horizon:  # V_0 = -inf: at the horizon we always stop
        return np.full(state.score.mean.shape, -np.inf)
    return _looking(grid, state, terms, depth=horizon - runs, damping=damping, terminal=never)


def _exact_on_map(horizon: int, damping: float, ahead: Foresight, state: State, terms: Terms, runs: int) -> Array:
    left = horizon - 1 - runs  # after the next run
    if left < 0:
        return np.full(state.score.mean.shape, -np.inf)
    if left < 2:
        return on_the_fly(state, terms, depth=left + 1, damping=damping)
    return ahead.control_values(state, terms, left, damping=damping)


def sampled(depth: int = 2, *, samples: int = 1000, smooth: bool = True, damping: float = 0.0) -> Policy:
    """The paper's own method: N_s Monte Carlo samples per control, smoothed over the controls.

    smooth:  a spline (one coordinate) or thin plate (two) over the controls; False for none, with any candidates

    Each decision draws new samples from (seed, number of runs), so a resumed tuning makes the same decisions.
    """
    whole_number(depth, "depth", example=2)
    whole_number(samples, "samples", example=1000)
    _check_damping(damping)
    return partial(_sampling, depth, samples, smooth, damping)


def _sampling(depth: int, samples: int, smooth: bool, damping: float, controls: Array, seed: int) -> Assess:
    try:
        regression = smoother(controls) if smooth else None
    except ValueError as error:
        raise ValueError(f"policy: {error}; write sampled(smooth=False) for these candidates") from None
    return ByValue(partial(_sampled, depth, samples, regression, damping, seed))


def _sampled(
    depth: int,
    samples: int,
    regression: Smoother | None,
    damping: float,
    seed: int,
    state: State,
    terms: Terms,
    runs: int,
) -> Array:
    rng = np.random.default_rng((seed, runs))
    levels = [
        Level(monte_carlo(state.size, samples, rng=rng), smooth=regression if k == 0 else None) for k in range(depth)
    ]
    return on_the_fly(state, terms, depth=depth, levels=levels, damping=damping)


def gittins() -> Policy:
    """The Gittins index (Pandora's box) on the same posterior: fast, and close to the optimum with recall."""
    return partial(_anywhere, by_gittins_index)


def ei_per_cost() -> Policy:
    """Expected improvement per price: train the candidate with the highest, stop if no run is worth its price.

    It looks one run ahead.  On real problems, where no model is exact, this does better than looking further ahead.
    """
    return partial(_anywhere, by_ei_per_cost)


frugal = ei_per_cost
"""The former name of `ei_per_cost`."""


def _anywhere(rule: Assess, controls: Array, seed: int) -> Assess:
    """A rule that is the same for all candidates and seeds."""
    return rule


def check_policy(told: object) -> None:
    """A policy is what `relaxed()` returns, not `relaxed` itself, and not a value map."""
    if isinstance(told, ValueMap):
        raise TypeError("policy must come from a call, got a ValueMap; write policy=mapped(value_map)")
    if not callable(told) or told in (relaxed, exact, sampled, gittins, mapped, ei_per_cost):
        raise TypeError(f"policy must come from a call, got {told!r}; write e.g. policy=relaxed(depth=2)")


def _horizon_of(value_map: ValueMap, horizon: int | None) -> int:
    if not isinstance(value_map, ValueMap):
        raise TypeError(f"value_map must be a ValueMap, got {value_map!r}; write e.g. load_map('map.safetensors')")
    most = value_map.deepest + 1
    told = most if horizon is None else whole_number(horizon, "horizon", example=most)
    if told > most:
        raise ValueError(f"horizon must be at most {most} with this map, got {told}; the map has no deeper values")
    return told


def _check_damping(damping: float) -> None:
    if not 0 <= finite_number(damping, "damping") < 1:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping!r}; the paper uses 0 and 0.02")
