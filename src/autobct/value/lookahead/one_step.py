"""Lambda (algorithm 2): the value of every control, given the value of going on afterwards; V_1 in closed form.

    Lambda(u; x) = - gamma Upsilon(u, x) + E[ max( reward of stopping, continuation(x_1) ) | x, u ]   eq. (q1)

The reward of stopping is the posterior mean score of the model just trained (the paper) or of the best one so
far (`Terms.recall`).  A continuation is any function of a state: another lookahead, a value map, a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import expected_maximum, observed_sd, remaining, remaining_variance
from autobct.value.acquisition import (
    Assessment,
    expected_best,
    with_feasibility,
)
from autobct.value.lookahead.nodes import Nodes, Rule
from autobct.value.state import (
    State,
    Terms,
    cost_gains,
    gather,
    price_of,
    run_price,
    score_gains,
    stop_value,
    variance,
)

Continuation = Callable[[State, Terms], Array]
"""Value of going on from a state: (..., G) arrays in, (...) out."""


def never(state: State, terms: Terms) -> Array:
    """The continuation -inf: no further run is allowed (the paper's usual phi)."""
    return np.full(state.score.mean.shape[:-1], -np.inf)


def damped(continuation: Continuation, damping: float) -> Continuation:
    """(1 - epsilon) V: the error adjustment of eq. (Lambda), against learning sprees."""
    if damping == 0:
        return continuation
    return lambda state, terms: (1 - damping) * continuation(state, terms)


def control_values(
    state: State,
    terms: Terms,
    nodes: Nodes,
    continuation: Continuation,
    *,
    inner: Indices | None = None,
) -> Array:
    """Lambda(x, phi; G, N_s): the value of training at each candidate.  (..., G).

    inner: indices of the candidates the continuation may still choose from; all if None.
    """
    after = successors(state, terms, nodes, inner=inner)
    worth = np.maximum(stop_value(after), continuation(after, terms))
    return np.asarray((nodes.weights * worth).sum(axis=(-2, -1)) - run_price(state, terms))


def successors(state: State, terms: Terms, nodes: Nodes, *, inner: Indices | None = None) -> State:
    """The states one run may lead to: batch axes (..., G, A, B) for a run at each candidate and each node.

    Its candidates are `inner`, then the models trained so far, then the one just trained (the models that can be
    returned).  A covariance does not depend on the outcome: its node axes have length one.
    """
    columns, kept = _columns(state, terms, inner)
    score = _moved(state.score, score_gains(state), columns, nodes.score)
    cost = _moved(state.cost, cost_gains(state), columns, nodes.cost)
    return State(
        score,
        cost,
        score_noise=gather(state.score_noise[..., None, :], columns)[..., None, None, :],
        cost_noise=gather(state.cost_noise[..., None, :], columns)[..., None, None, :],
        kept=kept[..., None, None, :],
    )


def one_run_values(state: State, terms: Terms) -> Array:
    """Value of each control when one run is left: eq. (iter_scheme), first line, in closed form.  (..., G).

    With recall this is rule R1: E max over the models trained so far and the new one, minus the price of the run.
    """
    return np.asarray(expected_best(state, terms) - run_price(state, terms))


def one_run_value(state: State, terms: Terms) -> Array:
    """V_1(x).  (...)."""
    return np.asarray(one_run_values(state, terms).max(axis=-1))


def two_run_values(
    state: State,
    terms: Terms,
    cost_rule: Rule,
    *,
    inner: Indices | None = None,
    damping: float = 0.0,
) -> Array:
    """Lambda with continuation (1 - damping) V_1, exact in the score's surprise; the cost takes nodes.  (..., G).

    For a given cost surprise w, stopping and every last run are affine in z: their maximum integrates exactly.
    For the last-model reward; with recall V_1 itself is an expectation and needs `control_values`.
    """
    if terms.recall:
        raise ValueError("two_run_values is for terms.recall=False; use control_values with one_run_value")
    tries = np.arange(state.size) if inner is None else inner
    gains = score_gains(state)
    stop = np.diagonal(gains, axis1=-2, axis2=-1)
    last_prices = _prices_after(state, terms, tries, cost_rule)  # (..., G, B, tries)
    last_runs = (1 - damping) * (state.score.mean[..., None, None, tries] - last_prices)
    intercepts = np.empty((*last_runs.shape[:-1], tries.size + 1))
    intercepts[..., :-1] = last_runs
    intercepts[..., -1] = state.score.mean[..., :, None]
    slopes = np.concatenate([(1 - damping) * gains[..., tries], stop[..., None]], axis=-1)
    worth = expected_maximum(intercepts, slopes[..., None, :])
    return np.asarray(worth @ cost_rule.weights - run_price(state, terms))


def _prices_after(state: State, terms: Terms, tries: Indices, rule: Rule) -> Array:
    """Price of a last run at each of `tries` after a run at g and each cost surprise.  (..., G, B, tries)."""
    gains = cost_gains(state)[..., tries]
    mean = state.cost.mean[..., None, None, tries] + gains[..., None, :] * rule.points[:, None]
    var = remaining_variance(variance(state.cost)[..., None, tries], gains)
    sd = observed_sd(var, state.cost_noise[..., None, tries])
    return price_of(mean, sd[..., None, :], terms)


def _columns(state: State, terms: Terms, inner: Indices | None) -> tuple[Indices, Indices]:
    """Which candidates matter after a run at g: (..., G, C), and where among them the models trained so far are."""
    tries = np.arange(state.size) if inner is None else inner
    batch = state.kept.shape[:-1] if terms.recall else ()
    just_trained = np.broadcast_to(np.arange(state.size)[:, None], (*batch, state.size, 1))
    shown = np.broadcast_to(tries, (*batch, state.size, tries.size))
    if not terms.recall:
        last = np.full((state.size, 1), tries.size, dtype=np.intp)
        return np.concatenate([shown, just_trained], axis=-1), last
    kept = np.broadcast_to(state.kept[..., None, :], (*batch, state.size, state.kept.shape[-1]))
    columns = np.concatenate([shown, np.maximum(kept, 0), just_trained], axis=-1)
    present = np.concatenate([kept >= 0, np.ones_like(just_trained, dtype=bool)], axis=-1)
    return columns, np.where(present, np.arange(tries.size, columns.shape[-1]), -1)


def _moved(belief: Gaussian, gains: Array, columns: Indices, surprise: Array) -> Gaussian:
    """m + k z and C - k k' after a run at each candidate, on the chosen columns.  Batch (..., G, A, B)."""
    gain = gather(gains, columns)
    mean = gather(belief.mean[..., None, :], columns)
    cov = remaining(_block(belief.cov, columns), gain[..., :, None], gain[..., None, :])
    return Gaussian(
        mean[..., None, None, :] + gain[..., None, None, :] * surprise[..., None],
        cov[..., None, None, :, :],
    )


def _block(cov: Array, columns: Indices) -> Array:
    """Rows and columns of a covariance chosen for a run at each g.  (..., G, C, C)."""
    size, chosen = cov.shape[-1], columns.shape[-1]
    flat = columns[..., :, None] * size + columns[..., None, :]
    entries = gather(
        cov.reshape(*cov.shape[:-2], 1, size * size),
        flat.reshape(*columns.shape[:-1], chosen * chosen),
    )
    return entries.reshape(*entries.shape[:-1], chosen, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """Lookahead: values of finished runs, ranked by themselves.

    values: (state, terms, runs made) -> (..., G), as if every run finished and others could follow
    """

    values: Callable[[State, Terms, int], Array]

    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        """A run after which no other fits is worth V_1; one that may fail is worth less."""
        value = self.values(state, terms, runs)
        if state.last is not None:
            value = np.where(state.last & (value > -np.inf), one_run_values(state, terms), value)
        return Assessment.by_value(with_feasibility(value, state, terms))
