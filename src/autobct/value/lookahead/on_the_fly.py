"""OTF (algorithm 5): lookahead of lookahead, for any depth and any terminal value.

    OTF(x, 1) = Lambda(x, terminal),      OTF(x, N) = Lambda(x, max_u OTF(., N - 1))              eq. (dp)

With the terminal value -inf, max_u OTF(x, N) is V_N.  The innermost step is exact in the score's surprise
wherever the integrand is a maximum of affine functions: V_1 always, and V_2 without recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.value.lookahead.nodes import Nodes, Rule, Smoother, product, stratified
from autobct.value.lookahead.one_step import (
    Continuation,
    control_values,
    damped,
    never,
    one_run_values,
    two_run_values,
)
from autobct.value.state import State, Terms, variance


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """How one step of the lookahead is computed.

    nodes:   outcomes of a run: joint nodes, or a rule for the cost alone where the score can be integrated
             exactly (the last step but one, without recall)
    inner:   candidates the *next* step may choose from (a coarser set than this step's); all if None
    smooth:  regression of this step's control values over its controls; none if None
    """

    nodes: Nodes | Rule
    inner: Indices | None = None
    smooth: Smoother | None = None


def default_levels(depth: int, size: int, terms: Terms) -> list[Level]:
    """Deterministic nodes for each step, coarser inside; docs/decisions/nodes.md has the measured errors.

    What is averaged over may be coarser than what is decided on: the paper, too, takes a larger grid and N_s in
    the first execution than in the nested ones.
    """
    if depth <= 1:
        return [Level(product(stratified(8), stratified(3)))]
    last_but_one = (
        Level(product(stratified(8), stratified(3)), thinned(size, 21))
        if terms.recall
        else Level(stratified(4), thinned(size, 26))
    )
    if depth == 2:
        return [last_but_one]
    first = Level(product(stratified(6), stratified(3)), thinned(size, 11 if terms.recall else 17))
    middle = [Level(product(stratified(4), stratified(2))) for _ in range(depth - 3)]
    return [first, *middle, Level(product(stratified(4), stratified(2)) if terms.recall else stratified(3))]


def thinned(size: int, count: int) -> Indices | None:
    """`count` indices spread evenly over 0..size-1, both ends included; None if that is all of them."""
    if size <= count:
        return None
    return np.unique(np.round(np.linspace(0, size - 1, count)).astype(np.intp))


def promising(state: State, count: int = 24) -> Indices:
    """A third spread evenly, a third best by mean, a third by mean plus one deviation; and the trained ones.

    For candidates that lie in no order, where an even selection may miss every good one.  For one belief, not a batch.
    """
    spread = thinned(state.size, count // 3)
    if spread is None or state.size <= count:
        return np.arange(state.size)
    mean = state.score.mean
    best = np.argsort(-mean, kind="stable")[: count // 3]
    hopeful = np.argsort(-(mean + np.sqrt(variance(state.score))), kind="stable")[: count // 3]
    return np.unique(np.concatenate([spread, best, hopeful, state.kept[state.kept >= 0]]))


def on_the_fly(
    state: State,
    terms: Terms,
    *,
    depth: int,
    terminal: Continuation = never,
    levels: Sequence[Level] | None = None,
    inner: Indices | None = None,
    damping: float = 0.0,
) -> Array:
    """OTF(x, N; phi): the value of training at each candidate with `depth` runs of foresight.  (..., G).

    terminal:  value of going on after the last foreseen run; -inf (never) as in the paper, or a value map
    levels:    one per step, the first run first; the last is repeated.  The last run needs none if terminal is
               never
    inner:     with the default levels: candidates that later runs may choose from, instead of an even selection
    damping:   epsilon, on the value of going on after the first run (eq. Lambda)
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}; 1 looks one run ahead")
    if depth == 1 and terminal is never:
        return one_run_values(state, terms)
    steps = list(levels) if levels is not None else default_levels(depth, state.size, terms)
    if levels is None and inner is not None:
        steps[0] = replace(steps[0], inner=inner)
    values = _step_values(state, terms, depth, terminal, steps, damping)
    if levels is None and terms.recall:  # strata err below the truth; the exact R1 is a lower bound of every Lambda
        values = np.maximum(values, one_run_values(state, terms))
    return values if steps[0].smooth is None else steps[0].smooth(values)


def _step_values(
    state: State, terms: Terms, depth: int, terminal: Continuation, steps: list[Level], damping: float
) -> Array:
    step = steps[0]
    if isinstance(step.nodes, Rule):
        if not (depth == 2 and terminal is never):
            raise ValueError("a rule for the cost alone is for the last step but one; give joint nodes, product(...)")
        return two_run_values(state, terms, step.nodes, inner=step.inner, damping=damping)
    later = terminal if depth == 1 else _best_later(depth - 1, terminal, steps[1:] or steps)
    return control_values(state, terms, step.nodes, damped(later, damping), inner=step.inner)


def _best_later(depth: int, terminal: Continuation, steps: list[Level]) -> Continuation:
    """x -> max_u OTF(x, depth)(u), the continuation of the step before."""

    def best(state: State, terms: Terms) -> Array:
        return np.asarray(on_the_fly(state, terms, depth=depth, terminal=terminal, levels=steps).max(axis=-1))

    return best
