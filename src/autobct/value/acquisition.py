"""Acquisition functions, each under the name that the field gives it, and the contract of every policy.

| field's term | here |
|---|---|
| expected improvement (EI), correlated and noisy, over all trained models | `expected_improvement` |
| EI per unit of cost | `ei_per_cost` |
| constrained EI: weighted by the probability of feasibility | `with_feasibility`, and all of the above |
| Gittins index, Pandora's box, Weitzman's rule | `gittins_index` |

These take the position as `State` and `Terms` and return one number for each candidate, (..., G).

A policy gives every candidate a value and a priority (`Assessment`).  The value V says whether to continue, and is what
users see; the priority says only where.  Here are the pure rules; `tuning.decide.policy` makes policies of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from autobct.belief.arrays import Array, Indices
from autobct.belief.normal import expected_maximum, observed_sd, upsilon
from autobct.value.state import (
    Predictive,
    State,
    Terms,
    gather,
    kept_means,
    run_price,
    score_gains,
    stop_value,
    variance,
)

CHEAP = 0.001
"""Score that counts besides the price of a run in `ei_per_cost`, in score ranges.  docs/decisions/deciding-time.md."""

TRAINED = 0.8
"""Of two expected improvements, the weight of the one that is not the belief's.  docs/decisions/surrogate.md."""

_LEAST_MOVE = 1e-12  # below it a run says nothing


def expected_best(state: State, terms: Terms) -> Array:
    """Expected score of the model that one would return after one finished run at each candidate.  (..., G).

    With recall: E max over the models that may be returned and the new one, in closed form; otherwise the new one's.
    """
    if not terms.recall:
        return state.score.mean
    return expected_maximum(*_stop_lines(state))


def incumbent_score(state: State) -> Array:
    """Score of the model that would be returned now; the bottom of the score range, zero, if there is none.  (...)."""
    score = stop_value(state)
    return np.where(score > -np.inf, score, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class BeliefPredictive:
    """The belief as one surrogate among others."""

    state: State

    def improvement(self, terms: Terms) -> Array:
        """Of dependent candidates on the incumbent."""
        return np.asarray(expected_best(self.state, terms) - incumbent_score(self.state)[..., None])

    def price(self, terms: Terms) -> Array:
        """As `run_price`."""
        return run_price(self.state, terms)


def surrogates_of(state: State) -> tuple[Predictive, ...]:
    """All that have a say about one run: the belief first."""
    return BeliefPredictive(state), *state.others


def expected_improvement(state: State, terms: Terms) -> Array:
    """By how much one run is expected to raise the score of the model returned, chance of finishing included.

    What is expected of the best of many candidates is too much, as it is the best partly by error: only the share
    `state.realised` of it is counted on.
    """
    improvement = _agreed([surrogate.improvement(terms) for surrogate in surrogates_of(state)])
    if state.kept.shape[-1]:
        improvement = state.realised * improvement
    return improvement if state.feasibility is None else np.asarray(state.feasibility * improvement)


def _agreed(improvements: Sequence[Array]) -> Array:
    """The median over surrogates, the belief's first; of two a mean in which the trained one weighs more."""
    if len(improvements) == 2:
        return np.asarray((1.0 - TRAINED) * improvements[0] + TRAINED * improvements[1])
    return improvements[0] if len(improvements) == 1 else np.asarray(np.median(improvements, axis=0))


def expected_price(state: State, terms: Terms) -> Array:
    """Expected price of one run: the geometric mean over all surrogates that have a say about costs."""
    found = [price for surrogate in surrogates_of(state) if (price := surrogate.price(terms)) is not None]
    return found[0] if len(found) == 1 else np.asarray(math.prod(found[1:], start=found[0]) ** (1.0 / len(found)))


def ei_per_cost(state: State, terms: Terms) -> Array:
    """Expected improvement per price of the run; with nothing to improve on, the expected score less that price.

    A little is added to every price: otherwise runs that cost next to nothing come first, however little they gain.
    It ranks only, and is not part of what a run has to be worth.
    """
    return _per_cost(state, expected_improvement(state, terms), expected_price(state, terms))


def _per_cost(state: State, improvement: Array, price: Array) -> Array:
    if not state.kept.shape[-1]:
        return np.asarray(improvement - price)
    return np.asarray(improvement / (price + CHEAP))


def gittins_index(state: State, terms: Terms) -> Array:
    """The index g of every candidate: p E[(m + s Z - g)^+] = price of the run, p the chance that it finishes.

    s is by how much one noisy run moves the estimated score.  Train where the index is highest, stop when the
    incumbent reaches it: optimal for independent candidates with recall, close to it for dependent ones.
    """
    moves = own_moves(state)
    price = np.broadcast_to(run_price(state, terms), moves.shape)
    price = price if state.feasibility is None else price / state.feasibility
    return np.asarray(state.score.mean - moves * inverse_loss(price / moves))


def box_value(state: State, terms: Terms) -> Array:
    """Value of opening one box of `gittins_index` and then stopping: above the incumbent where the index is."""
    stop = incumbent_score(state)[..., None]
    best = stop + upsilon(state.score.mean - stop, own_moves(state)) if state.kept.shape[-1] else state.score.mean
    return with_feasibility(np.asarray(best - run_price(state, terms)), state, terms)


def own_moves(state: State) -> Array:
    """Standard deviation of what a run at each candidate does to the estimated score there."""
    var = variance(state.score)
    return np.maximum(var / observed_sd(var, state.score_noise), _LEAST_MOVE)


def with_feasibility(value: Array, state: State, terms: Terms) -> Array:
    """V where a run may fail: the incumbent stays, and the price is spent all the same.  value: if it finishes."""
    if state.feasibility is None:
        return value
    stop, chance = incumbent_score(state)[..., None], state.feasibility
    return np.asarray(stop + chance * (value - stop) - (1.0 - chance) * run_price(state, terms))


def inverse_loss(loss: Array) -> Array:
    """y with phi(y) + y Phi(y) = loss, for loss > 0.

    Newton's method on the logarithm, which is concave: from the left it rises to the root, never past it.
    """
    target = np.maximum(loss, 1e-300)
    y = np.where(target > 0.4, 0.0, -np.sqrt(np.maximum(-2.0 * np.log(target), 0.0)) - 1.0)
    for _ in range(60):
        value = np.maximum(upsilon(y, 1.0), 1e-320)
        step = value * np.log(target / value) / np.maximum(ndtr(y), 1e-320)
        y = y + step
        if np.all(np.abs(step) <= 1e-13 * (1 + np.abs(y))):
            break
    return np.asarray(y)


def _stop_lines(state: State) -> tuple[Array, Array]:
    """Each returnable model's estimated score, a line in the surprise of a run at g.  (..., G, M + 1) each."""
    own, slopes = _stop_slopes(state)
    fresh = state.score.mean[..., None]
    kept = kept_means(state)[..., None, :]
    shape = np.broadcast_shapes(fresh.shape[:-1], kept.shape[:-1])
    intercepts = np.empty((*shape, kept.shape[-1] + 1))
    intercepts[..., :-1], intercepts[..., -1:] = kept, fresh
    return intercepts, np.concatenate([slopes, np.broadcast_to(own, (*slopes.shape[:-1], 1))], axis=-1)


def _stop_slopes(state: State) -> tuple[Array, Array]:
    """By how much a run at g moves its own score, (..., G, 1), and those of returnable models, (..., G, M)."""
    kept = np.maximum(state.kept, 0)
    if state.score.mean.ndim > 1 or kept.ndim > 1:
        gains = score_gains(state)
        return np.diagonal(gains, axis1=-2, axis2=-1)[..., None], gather(gains, kept[..., None, :])
    var = variance(state.score)  # one belief: a few rows of its covariance will do
    sd = observed_sd(var, state.score_noise)[:, None]
    return var[:, None] / sd, state.score.rows(kept).T / sd


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """A policy's assessment of every candidate.  (..., G) each, in model units.

    value:     V: expected final score minus the price of all further runs when training there, weighted with its
               feasibility; -inf where no run is allowed.  It is compared with stopping, and shown to users
    priority:  the acquisition function that ranks candidates, in any unit; equal to value for a lookahead
    """

    value: Array
    priority: Array

    @classmethod
    def by_value(cls, value: Array) -> Assessment:
        """Candidates ranked by their value."""
        return cls(value, value)


Assess = Callable[[State, Terms, int], Assessment]
"""A policy for given candidates: (state, terms, runs made) -> assessment of every candidate, (..., G)."""


def pick(assessment: Assessment, stop: Array | float) -> tuple[Indices, NDArray[np.bool_]]:
    """Which candidate a decision is about, (...), and whether to train there or to stop, (...).

    Train at the highest priority among the candidates worth more than stopping.  If there are none, stop: the best
    alternative is then the one with the highest priority of all.  By value it would mostly be the cheapest run, of
    which nobody expects anything.  stop: value of stopping, (...)
    """
    worth = assessment.value > np.asarray(stop)[..., None]
    first = np.where(worth, assessment.priority, -np.inf).argmax(axis=-1)
    goes_on = np.asarray(worth.any(axis=-1))
    return np.where(goes_on, first, assessment.priority.argmax(axis=-1)), goes_on


def by_ei_per_cost(state: State, terms: Terms, runs: int) -> Assessment:
    """One run ahead: ranked by expected improvement per price, worth the improvement less the price."""
    improvement, price = expected_improvement(state, terms), expected_price(state, terms)
    priority = _per_cost(state, improvement, price)
    if not state.kept.shape[-1]:
        return Assessment.by_value(priority)
    return Assessment(np.asarray(incumbent_score(state)[..., None] + (improvement - price)), priority)


def by_gittins_index(state: State, terms: Terms, runs: int) -> Assessment:
    """Ranked by the Gittins index, worth one box opened: the two exceed the incumbent together."""
    return Assessment(box_value(state, terms), gittins_index(state, terms))
