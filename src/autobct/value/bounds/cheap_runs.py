"""Parcels: an upper bound on what runs at cheap controls can reveal, bought at once for the price of one run.

"The truth is told after k runs" is a loose bound where k runs cost next to nothing.  Here a run at a control of a tier,
the controls C whose runs are expected to cost less than t, is answered instead with everything that a budget b spent on
C could have shown, and the truth stays untold.  Why no policy gains by being left with a run in place of a parcel:

- *Information.*  Let A be such that h h' / (s^2 p) <= A for every g in C: h its features, s its noise, p its expected
  price.  Runs n_g with sum n_g p_g <= b show sum n_g h h' / s^2 <= b A.  A Brownian motion with drift A^(1/2) weights,
  watched for a time b, tells precision b A, and any adaptive sequence of such runs can be made up from it: a run at g
  takes the next p_g of that time.  Who sees all of it knows more.  A is found by leverage: with M the mean over C of
  h h' / (s^2 p), h h' / (s^2 p) <= l M for l the largest leverage.  The same for the cost.
- *Prices.*  Of all runs of the parcel the cheapest possible one is paid beforehand, q = min p over the tier.  A model
  of C returned in the end has been trained at least once: it costs its price by then, less q (`credit`).
- *More than b.*  A run that does not fit into b any more comes after runs that cost b - t or more at the prices of
  then, all but the first (at most t) unpaid: those are paid first.  At what is known by then, that is at least
  (b - 2 t) times the least ratio, over C, of a price to what it was (`owed` is (b - 2 t) / p).

Of other controls the same on a small scale: a run at g tells what n runs at g would have, n p about what an expensive
run costs, and the next one at g pays for all of them (`ahead` is n - 1).  Who is told the n outcomes can make up the
runs one by one and pays no more for them.

Prices are expected ones given all that was told, which is more than the policy knew, and what it pays in expectation is
the same (the tower property), whatever made it choose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.value.bounds.branches import Branches, Ground, branched, turned

TIERS = (0.1, 0.3)
"""Tiers end at these shares of the median price of a run in the first state."""

_BUDGET = 6.0  # of a parcel, in ends of its tier
_MANY = 0.2  # of the end of a tier: of cheaper runs a parcel holds so many that one by itself tells nothing
_LITTLE = 0.03  # of the largest variance: what a run may leave uncertain, if it is to tell of further runs
_ADVANCE, _MOST_RUNS = 4.0, 64.0  # price of these runs, in ends of the last tier; and their number
_FREE = 1e-9  # of the end of the tier: what costs less, or is without noise, has no parcels
_RIDGE = 1e-9  # added to the information, for tiers with fewer controls than weights
_ROUNDING = 1.0 + 1e-6  # of a leverage at such a ridge


@dataclass(frozen=True, slots=True, eq=False)
class Parcels:
    """One for each of n states.  tier, told: (n, G) who is answered so, and about whom;  end, paid: (n,)."""

    tier: Array
    told: Array
    end: Array
    paid: Array


def ends_of(prices: Array) -> Array:
    """Where the tiers end, from the prices (G,) of runs in the first state."""
    return np.asarray(TIERS) * float(np.median(prices))


def tiers_of(prices: Array, ground: Ground, ends: Array) -> Array:
    """Which tier each control belongs to, len(ends) for none.  (n, G)."""
    noisy = (ground.score_noise > 0) & (ground.cost_noise > 0)
    return np.where((prices > _FREE * ends[-1]) & noisy, np.searchsorted(ends, prices, side="right"), len(ends))


def parcels_of(branches: Branches, tiers: Array, own: Array, prices: Array, ends: Array) -> Parcels:
    """A parcel of the tier `own` (n,) in every state; it tells of that tier and those below.

    prices: (n, G) of a run, or of a further parcel where there has been one
    """
    tier = tiers == own[:, None]
    again = (tier & (branches.owed > 0)).any(axis=1)
    below = (tiers < own[:, None]) & ((branches.owed == 0) | again[:, None])
    return Parcels(tier, tier | below, ends[own], np.where(tier, prices, np.inf).min(axis=1))


def after_parcel(branches: Branches, ground: Ground, parcels: Parcels, prices: Array, normals: Array) -> Branches:
    """The states that a parcel may lead to: n x Q of them.

    prices: (n, G) expected ones of a run;  normals: (n, Q, r + q) standard normals
    """
    count, outcomes, _ = normals.shape
    rank, told = branches.score_root.shape[-1], parcels.told
    budget, safe = _BUDGET * parcels.end, np.where(told, prices, 1.0)

    def weights(noise: Array) -> Array:
        return told * budget[:, None] / safe / np.where(told, noise**2, 1.0)  # who is not told of may have no noise

    score = _told(branches.score, branches.score_root, weights(ground.score_noise), normals[..., :rank])
    cost = _told(branches.cost, branches.cost_root, weights(ground.cost_noise), normals[..., rank:])
    kept = branches.kept if ground.terms.recall else np.full((count, 1), -1, dtype=np.intp)
    draw = turned(branches.draw, 7, 11 * np.arange(outcomes) + 2)
    owed = np.where(told, (budget - 2 * parcels.end)[:, None] / safe, branches.owed)
    credit = np.where(parcels.tier, np.maximum(branches.credit, parcels.paid[:, None]), branches.credit)
    return branched(score, cost, kept, draw, owed, credit, branches.ahead)


def many_in_a_parcel(prices: Array, parcels: Parcels) -> NDArray[np.bool_]:
    """Whether a run at a control is one of very many in its parcel.  (n, G)."""
    return np.asarray(prices < _MANY * parcels.end[:, None], dtype=np.bool_)


def runs_told(branches: Branches, ground: Ground, chosen: Indices, prices: Array, ends: Array) -> Array:
    """Of how many runs one at `chosen` (n,) that costs `prices` (n,) tells: more than one where that is little more.

    What one run leaves uncertain about its control has to be little beside what is uncertain elsewhere.  (n,)
    """

    def little(root: Array, noise: Array) -> NDArray[np.bool_]:
        variances = np.square(root).sum(axis=-1)
        own = variances[np.arange(len(chosen)), chosen]
        left = own / (1.0 + own / np.maximum(np.square(noise[chosen]), 1e-300))
        return np.asarray(left <= _LITTLE * variances.max(axis=1), dtype=np.bool_)

    few = little(branches.score_root, ground.score_noise) & little(branches.cost_root, ground.cost_noise)
    return np.where(few, np.clip(np.floor(_ADVANCE * ends[-1] / np.maximum(prices, 1e-300)), 1.0, _MOST_RUNS), 1.0)


def further_prices(branches: Branches, prices: Array) -> Array:
    """Prices of a run that tells more than was told in advance; of a further parcel, after what is owed.  (n, G)."""
    held = branches.owed > 0
    owed = np.where(held, branches.owed * prices, np.inf).min(axis=1)
    return np.where(held, owed[:, None] + prices, prices * (1.0 + branches.ahead))


def bought(branches: Branches, prices: Array) -> Array:
    """The best that is believed of a model that was told of, less what it costs to have it; -inf without any.  (n,)."""
    net = branches.score - np.maximum(prices - branches.credit, 0.0)
    return np.asarray(np.where(branches.owed + branches.ahead > 0, net, -np.inf).max(axis=1))


def _told(mean: Array, root: Array, weights: Array, normals: Array) -> tuple[Array, Array]:
    """Means (n, Q, G) and roots (n, G, r) after as much as `weights` (n, G), each by itself, can tell at most."""
    values, vectors = np.linalg.eigh(most_told(root * np.sqrt(weights)[:, :, None]))
    values = np.maximum(values, 0.0)
    turned = root @ vectors
    moved = (turned * np.sqrt(values / (1.0 + values))[:, None]) @ np.swapaxes(normals, -1, -2)
    return mean[:, None] + np.swapaxes(moved, -1, -2), turned / np.sqrt(1.0 + values)[:, None]


def most_told(vectors: Array) -> Array:
    """A matrix above v v' for every vector v (n, G, r): their sum times the largest leverage.  (n, r, r)."""
    total = np.swapaxes(vectors, -1, -2) @ vectors
    largest = np.trace(total, axis1=-2, axis2=-1)[:, None, None]
    total = total + (_RIDGE * largest + 1e-300) * np.eye(vectors.shape[-1])
    leverage = np.einsum("ngr,ngr->ng", vectors @ np.linalg.inv(total), vectors).max(axis=1)
    return np.asarray(_ROUNDING * leverage[:, None, None] * total)
