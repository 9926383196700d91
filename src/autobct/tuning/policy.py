"""Policies of section 2.5: which foresight is used at each decision.

A policy is a function that is told the candidate controls and the seed and returns the value of training at each
candidate, given state, terms and the number of runs made.  The rest of algorithm 4 is the same for all of them:
train where the value is highest, stop when the models in hand are worth as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices, finite_number, whole_number
from autobct.value.foresight import foresight
from autobct.value.gittins import gittins_indices
from autobct.value.lookahead import Continuation, never, one_run_values
from autobct.value.map import ValueMap
from autobct.value.on_the_fly import Level, on_the_fly, promising
from autobct.value.regression import smoother
from autobct.value.rules import monte_carlo
from autobct.value.simulate import ControlValues
from autobct.value.state import State, Terms, run_price, stop_value

Policy = Callable[[Array, int], ControlValues]
"""(candidate controls (G, p), seed) -> control values."""

_DEEPEST_EXACT = 4


@dataclass(frozen=True, slots=True, eq=False)
class MapPolicy:
    """A policy that stands on a value map, and so is for the problems that the map is for."""

    value_map: ValueMap
    build: Policy

    def __call__(self, controls: Array, seed: int) -> ControlValues:
        """As any policy; MapMismatch if the candidates do not tell what the map must know."""
        return self.build(controls, seed)


def mapped(value_map: ValueMap, *, horizon: int | None = None) -> Policy:
    """One lookahead on a value map whose foresight shrinks by one run with every run made, to V_1.

    With n runs made the continuation is V_{horizon - 1 - n}; horizon: K + 2 if not given, all that the map knows.
    Foresight that shrinks cannot run away on an error that says "there is more to learn", and from where V_1 is left
    decisions are those of `relaxed(2)`, which needs no map.  The first run is chosen by two lookaheads: where least is
    known a map errs most, and after two runs more is known.
    """
    first = _horizon_of(value_map, horizon)

    def build(controls: Array, seed: int) -> ControlValues:
        ahead = foresight(value_map, controls)

        def values(state: State, terms: Terms, runs: int) -> Array:
            if runs == 0 and first > 2:
                return ahead.on_top(state, terms, first - 2, depth=2)
            if first - 1 - runs < 2:
                return on_the_fly(state, terms, depth=2)
            return ahead.control_values(state, terms, first - 1 - runs)

        return values

    return MapPolicy(value_map, build)


def relaxed(depth: int = 2, *, damping: float = 0.0, terminal: Continuation = never) -> Policy:
    """The relaxed method: the same foresight of `depth` runs at every decision, for ever.

    damping:   epsilon, 0 <= epsilon < 1: how much the value of going on is marked down
    terminal:  value of going on after the last foreseen run, e.g. a value map; depth=1 on a map is the paper's use
    """
    whole_number(depth, "depth", example=2)
    _check_damping(damping)
    if isinstance(terminal, ValueMap):
        return MapPolicy(terminal, _relaxed_on_map(terminal, depth, damping))

    def build(controls: Array, seed: int) -> ControlValues:
        def values(state: State, terms: Terms, runs: int) -> Array:
            inner = _inner(state, controls)
            return on_the_fly(state, terms, depth=depth, terminal=terminal, inner=inner, damping=damping)

        return values

    return build


def _inner(state: State, controls: Array) -> Indices | None:
    """Beyond two coordinates candidates lie in no order: later runs choose among the promising ones."""
    return promising(state) if controls.shape[-1] > 2 and state.score.mean.ndim == 1 else None


def _relaxed_on_map(value_map: ValueMap, depth: int, damping: float) -> Policy:
    def build(controls: Array, seed: int) -> ControlValues:
        ahead, left = foresight(value_map, controls), value_map.deepest
        return lambda state, terms, runs: ahead.on_top(state, terms, left, depth=depth, damping=damping)

    return build


def exact(horizon: int, *, damping: float = 0.0, value_map: ValueMap | None = None) -> Policy:
    """The exact method: at most `horizon` runs in all, each decision looking through to the last of them.

    With n runs made, N - n are left: V_{N-n-1} follows the next one (the paper's V_{N-n} is off by one against its
    theorem 2.2).  On the fly the work is exponential in the horizon, hence at most 4; with a value map at most K + 2.
    """
    whole_number(horizon, "horizon", example=3)
    _check_damping(damping)
    if value_map is not None:
        return MapPolicy(value_map, _exact_on_map(value_map, _horizon_of(value_map, horizon), damping))
    if horizon > _DEEPEST_EXACT:
        raise ValueError(f"horizon must be at most {_DEEPEST_EXACT} on the fly, got {horizon}; use relaxed(depth=2)")

    def build(controls: Array, seed: int) -> ControlValues:
        def values(state: State, terms: Terms, runs: int) -> Array:
            if runs >= horizon:  # V_0 = -inf: at the horizon we always stop
                return np.full(state.score.mean.shape, -np.inf)
            return on_the_fly(state, terms, depth=horizon - runs, inner=_inner(state, controls), damping=damping)

        return values

    return build


def _exact_on_map(value_map: ValueMap, horizon: int, damping: float) -> Policy:
    def build(controls: Array, seed: int) -> ControlValues:
        ahead = foresight(value_map, controls)

        def values(state: State, terms: Terms, runs: int) -> Array:
            left = horizon - 1 - runs  # after the next run
            if left < 0:
                return np.full(state.score.mean.shape, -np.inf)
            if left < 2:
                return on_the_fly(state, terms, depth=left + 1, damping=damping)
            return ahead.control_values(state, terms, left, damping=damping)

        return values

    return build


def sampled(depth: int = 2, *, samples: int = 1000, smooth: bool = True, damping: float = 0.0) -> Policy:
    """The paper's own computation: N_s Monte Carlo samples per control, smoothed over the controls.

    smooth:  a spline (one coordinate) or thin plate (two) over the controls; False for none, with any candidates

    Each decision draws afresh from (seed, runs made), so that a resumed run decides as an uninterrupted one.
    """
    whole_number(depth, "depth", example=2)
    whole_number(samples, "samples", example=1000)
    _check_damping(damping)

    def build(controls: Array, seed: int) -> ControlValues:
        try:
            regression = smoother(controls) if smooth else None
        except ValueError as error:
            raise ValueError(f"policy: {error}; write sampled(smooth=False) for these candidates") from None

        def values(state: State, terms: Terms, runs: int) -> Array:
            rng = np.random.default_rng((seed, runs))
            levels = [
                Level(monte_carlo(len(controls), samples, rng=rng), smooth=regression if k == 0 else None)
                for k in range(depth)
            ]
            return on_the_fly(state, terms, depth=depth, levels=levels, damping=damping)

        return values

    return build


def gittins() -> Policy:
    """The Gittins index (Pandora's box) on the same belief: cheap, and close to the optimum with recall."""
    return lambda controls, seed: lambda state, terms, runs: gittins_indices(state, terms)


@dataclass(frozen=True, slots=True)
class Frugal:
    """Values of the policy `frugal`: (best reward of stopping) + rate at which a run pays x price of the cheapest."""

    def __call__(self, state: State, terms: Terms, runs: int) -> Array:
        """In score units, above the reward of stopping exactly where a run is worth its price.  (..., G)."""
        if not state.kept.shape[-1]:
            return self.net(state, terms)
        prices, stop = run_price(state, terms), stop_value(state)[..., None]
        return np.asarray(stop + (self.net(state, terms) - stop) * (prices.min(axis=-1, keepdims=True) / prices))

    def net(self, state: State, terms: Terms) -> Array:
        """What a run at each candidate and the better of stopping before and after it are worth.  (..., G)."""
        return one_run_values(state, terms)


def frugal() -> Policy:
    """The run with the highest expected improvement per price; stop when none is worth its own.

    One run of foresight: on real surfaces, which no belief knows, it decides better than deeper foresight does.
    """
    return lambda controls, seed: Frugal()


def check_policy(policy: object) -> None:
    """A policy is what `relaxed()` returns, not `relaxed` itself."""
    if isinstance(policy, ValueMap):
        raise TypeError("policy must come from a call, got a ValueMap; write policy=mapped(value_map)")
    if not callable(policy) or policy in (relaxed, exact, sampled, gittins, mapped, frugal):
        raise TypeError(f"policy must come from a call, got {policy!r}; write e.g. policy=relaxed(depth=2)")


def _horizon_of(value_map: ValueMap, horizon: int | None) -> int:
    if not isinstance(value_map, ValueMap):
        raise TypeError(f"value_map must be a ValueMap, got {value_map!r}; write e.g. load_map('map.safetensors')")
    most = value_map.deepest + 1
    told = most if horizon is None else whole_number(horizon, "horizon", example=most)
    if told > most:
        raise ValueError(f"horizon must be at most {most} with this map, got {told}; it foresees no more runs")
    return told


def _check_damping(damping: float) -> None:
    if not 0 <= finite_number(damping, "damping") < 1:
        raise ValueError(f"damping must be at least 0 and below 1, got {damping!r}; the paper uses 0 and 0.02")
