"""VI/Map (algorithm 3): V_1 .. V_N over a cloud of states, each step fitted by a regression.

The cloud is a state with one leading batch axis; the regression is a function of the user's choice, so that a
forest, a linear basis and a network are three arguments, not three algorithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from autobct.belief.arrays import Array, Indices, whole_number
from autobct.value.lookahead.nodes import Nodes
from autobct.value.lookahead.one_step import Continuation, control_values, never, one_run_value
from autobct.value.simulate import rows
from autobct.value.state import State, Terms

Fit = Callable[[State, Array], Continuation]
"""(cloud, values at its states (n,)) -> a function of states that approximates them: line 6 of algorithm 3."""

Cut = Callable[[Callable[[State], Array], Iterable[State]], Iterable[Array]]
"""(function of states, chunks of a cloud) -> its value at each chunk, in order."""

Progress = Callable[[int, int], None]
"""Told after every chunk: (which run, from 1; how many states of the cloud are done in it)."""


def value_iteration(
    cloud: State,
    terms: Terms,
    *,
    runs: int,
    nodes: Nodes,
    fit: Fit,
    start: Continuation = never,
    inner: Indices | None = None,
    chunk: int = 512,
    expand: Callable[[State], State] | None = None,
    progress: Progress | None = None,
    cut: Cut = map,
) -> list[Continuation]:
    """V~_1 .. V~_N: each is T applied to the one before it at every state of the cloud, then fitted.

    start:   V~_0, usually -inf (never), in which case V_1 is taken in closed form
    chunk:   how many states T is applied to at a time; bounds the memory, changes nothing else
    expand:  what a chunk is seen through before T is applied, e.g. at more candidates than the cloud is kept at
             (`features.expansion`); the regression is given the cloud as it is
    cut:     who applies T to the chunks: `map`, or a cluster (`build.on_ray`); the values are the same
    """
    value, fitted = start, []
    for run in range(1, whole_number(runs, "runs", example=4) + 1):
        targets = np.empty(len(cloud.score.mean))
        firsts = range(0, len(targets), whole_number(chunk, "chunk", example=512))
        step = partial(_seen_bellman, terms=terms, nodes=nodes, continuation=value, inner=inner, expand=expand)
        parts = (rows(cloud, slice(first, first + chunk)) for first in firsts)
        for first, values in zip(firsts, cut(step, parts), strict=True):
            targets[first : first + chunk] = values
            if progress is not None:
                progress(run, min(first + chunk, len(targets)))
        fitted.append(fit(cloud, targets))
        value = fitted[-1]
    return fitted


def _seen_bellman(
    part: State,
    *,
    terms: Terms,
    nodes: Nodes,
    continuation: Continuation,
    inner: Indices | None,
    expand: Callable[[State], State] | None,
) -> Array:
    seen = part if expand is None else expand(part)
    return bellman(seen, terms, nodes, continuation, inner=inner)


def bellman(
    state: State, terms: Terms, nodes: Nodes, continuation: Continuation, *, inner: Indices | None = None
) -> Array:
    """T phi(x) = max_u Lambda(u; x, phi): the operator of eqs. (tau_a) and (reform).  (...)."""
    if continuation is never:
        return one_run_value(state, terms)
    return np.asarray(control_values(state, terms, nodes, continuation, inner=inner).max(axis=-1))
