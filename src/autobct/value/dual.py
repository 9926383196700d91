"""The iterated clairvoyant: an upper bound on the value of every policy, from a search that closes what cannot matter.

W_0(x) = E[max_i (H_i - price of a run at i) | x] is the value of being told the truth for nothing and training once.
It is a martingale and T W_0 <= W_0, so V <= T^k W_0: "the truth is told after k paid runs".  Written as what is
lost against W_0,

    V(x) - W_0(x) = max( stop(x) - W_0(x),  max_j  E[(V - W_0)(x_1) | x, j] - price_j(x) ),

only prices and the regret at the stop are left to be computed.  Deeper levels replace the bound of one run

    E[(V - W_0)(x_1) | x, j] <= E[ (best of H_j and the models in hand - clairvoyant)^+ | x ]      (truth told after j)

where it is worth the effort.  Runs at cheap controls are answered with a parcel first (`parcels`): what they could show
at most, instead of the truth.  Why the result stays above V, in expectation over the draws:

- outcomes of runs and truths are drawn without bias (`outcomes`), and a maximum of unbiased averages errs upwards;
- a control, or a state, that is not looked into keeps its bound of one run or of a parcel, which is above its value;
- a control is closed only when its bound is below what another one is worth (branch and bound).  Only noise larger than
  the distance between a control's bound and its value could make that wrong;
- the truth's prices are rounded up, which lowers W_0 inside the search and nothing else.  (Single precision rounds to
  either side, by 1e-7 of the scores' spread.)

It holds for the candidates of the given state, with and without recall, for every cost model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Array32, Indices, transpose
from autobct.value.branches import (
    Branches,
    Ground,
    after_run,
    dear_prices,
    expected_prices,
    ground_of,
    hand_scores,
    planted,
)
from autobct.value.outcomes import DRAWS, Outcomes, draw_outcomes, spread_truths
from autobct.value.parcels import after_parcel, bought, ends_of, further_prices, parcels_of, tiers_of
from autobct.value.state import State, Terms, price_of, run_price

LEVELS = ((55, 32, 512), (8, 8, 256), (3, 4, 128), *[(3, 4, 64)] * 5)
"""Outcomes of a run and of a parcel that are followed, and truths drawn: the search is at most so many levels deep."""

_STAGES = (64.0, 8.0, 1.0)  # a control is looked into coarsely first, and finely only if it may still be the best
_PARCEL = -1  # the stage before: not looked into by runs of its own, but as one of its tier
_NUMBERS_AT_A_TIME = 1_000_000

OutOfTime = Callable[[], bool]
"""Whether to stop looking deeper, once true always true; what has been found before is a bound all the same."""


def clairvoyant_mean(state: State, terms: Terms, draws: int, *, rng: np.random.Generator) -> float:
    """W_0(x) of an unbatched state, without bias, from this many evenly spread truths."""
    scores, costs = spread_truths(state, draws, rng=rng)
    return float((scores - price_of(costs, state.cost_noise, terms)).max(axis=-1).mean())


def above_clairvoyant(
    state: State,
    terms: Terms,
    effort: float,
    *,
    rng: np.random.Generator,
    may_stop: bool = True,
    out_of_time: OutOfTime = lambda: False,
) -> float:
    """One draw of a number whose expectation is at least V(x) - W_0(x), for an unbatched state.

    effort:    what is too little to look for, in score units: the search leaves alone whatever could lower the bound
               by less.  Smaller is tighter and slower.
    may_stop:  False for the value of going on from x, over W_0
    """
    tree = planted(state)
    dim = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    ground, ends = ground_of(state, terms), ends_of(run_price(state, terms))
    search = _Search(ground, draw_outcomes(LEVELS, dim, rng=rng), ends, out_of_time)
    return float(search.values(tree, 1.0, 0, effort, may_stop=may_stop)[0])


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A first look at n states.  stop (n,), going (n, G): over W_0, -inf without a model, and the bound of one run.

    prices: (n, G) of a run;  further: the same, or of a further parcel;  clairvoyant: (n,) W_0
    """

    stop: Array
    going: Array
    prices: Array
    further: Array
    clairvoyant: Array


@dataclass(frozen=True, slots=True, eq=False)
class _Open:
    """What is being found out in n states.  going, stage: (n, G), changed as it is;  last: the stage that ends it."""

    states: Branches
    look: Look
    tiers: Array
    going: Array
    stage: Indices
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    ground: Ground
    levels: list[Outcomes]
    ends: Array
    out_of_time: OutOfTime

    def values(self, states: Branches, weight: float, level: int, effort: float, *, may_stop: bool = True) -> Array:
        """An upper bound of V - W_0 in every state.  weight: with what probability each of them is met.  (n,)."""
        at_a_time = max(4, _NUMBERS_AT_A_TIME // (states.score.shape[1] * self.levels[level].truths.shape[1]))
        if len(states) <= at_a_time:
            return self._values(states, weight, level, effort, may_stop)
        parts = [states.rows(slice(first, first + at_a_time)) for first in range(0, len(states), at_a_time)]
        return np.concatenate([self._values(part, weight, level, effort, may_stop) for part in parts])

    def _values(self, states: Branches, weight: float, level: int, effort: float, may_stop: bool) -> Array:
        look = self._look(states, self.levels[level])
        stop = look.stop if may_stop else np.full(len(states), -np.inf)
        last = len(_STAGES) if level + 1 < len(self.levels) else 0
        here = self._opened(states, look, last)
        every = np.arange(len(states))
        while True:
            best = here.going.argmax(axis=1)
            settled = np.maximum(stop, np.where(here.stage >= last, here.going, -np.inf).max(axis=1))
            to_gain = weight * (here.going[every, best] - settled)
            wanted = np.flatnonzero((here.stage[every, best] < last) & (to_gain > effort))
            if wanted.size == 0 or self.out_of_time():
                return np.asarray(np.maximum(stop, here.going.max(axis=1)))
            at = here.stage[wanted, best[wanted]]
            for now in np.unique(at):
                some = wanted[at == now]
                if now == _PARCEL:
                    self._ask(here, some, best[some], weight, level, effort)
                    continue
                here.stage[some, best[some]] += 1
                finer = effort * _STAGES[now]
                some = some[to_gain[some] > finer]
                if some.size:
                    self._follow(here, some, best[some], weight, level, finer)

    def _opened(self, states: Branches, look: Look, last: int) -> _Open:
        tiers = tiers_of(look.further, self.ground, self.ends)
        stage = np.where(states.owed > 0, last, 0)  # what a parcel told of is not run again, only asked again
        if last:
            stage[tiers < len(self.ends)] = _PARCEL
        return _Open(states, look, tiers, look.going.copy(), stage, last)

    def _ask(self, here: _Open, some: Indices, chosen: Indices, weight: float, level: int, effort: float) -> None:
        """A parcel for `chosen` in some of the states; it answers for all of its tier."""
        states, tiers = here.states.rows(some), here.tiers[some]
        parcels = parcels_of(states, tiers, tiers[np.arange(len(some)), chosen], here.look.further[some], self.ends)
        outcomes = self.levels[level].told[states.luck % DRAWS]
        met = after_parcel(states, self.ground, parcels, here.look.prices[some], outcomes)
        found = self._mean(met, outcomes.shape[1], weight, level, effort) - parcels.paid
        if self.out_of_time():  # half done is looser than what is there
            return
        here.going[some] = np.where(parcels.tier, found[:, None], here.going[some])
        done = np.where(states.owed > 0, here.last, here.last - 1)  # a coarse look at one run is looser than a parcel
        here.stage[some] = np.where(parcels.tier, done, here.stage[some])

    def _follow(self, here: _Open, some: Indices, chosen: Indices, weight: float, level: int, effort: float) -> None:
        """One run at `chosen` in some of the states."""
        deeper = self._deeper(here.states.rows(some), chosen, weight, level, effort)
        if not self.out_of_time():
            here.going[some, chosen] = deeper - here.look.prices[some, chosen]

    def _deeper(self, states: Branches, chosen: Indices, weight: float, level: int, effort: float) -> Array:
        """E[(V - W_0)(x_1)] of a run at `chosen` (n,), from the bounds of the states it leads to.  (n,)."""
        luck, outcomes = states.luck % DRAWS, self.levels[level]
        met = after_run(states, self.ground, chosen, outcomes.score[luck], outcomes.cost[luck])
        return self._mean(met, outcomes.score.shape[1], weight, level, effort)

    def _mean(self, met: Branches, count: int, weight: float, level: int, effort: float) -> Array:
        """Mean bound over the `count` outcomes that each state led to.  (n,)."""
        values = self.values(met, weight / count, level + 1, effort)
        return np.asarray(values.reshape(-1, count).mean(axis=1))

    def _look(self, states: Branches, outcomes: Outcomes) -> Look:
        return first_look(states, self.ground, outcomes.truths[states.luck % DRAWS])


def first_look(states: Branches, ground: Ground, normals: Array32) -> Look:
    """The bound of one run in every state.  normals: (n, S, r + q) standard normals that truths are drawn with.

    The S x G numbers of a state are in single precision, scores less the best believed one.
    """
    rank, level = states.score_root.shape[-1], states.score.max(axis=1)
    scores = _drawn(states.score - level[:, None], states.score_root, normals[:, :, :rank])  # (n, S, G)
    costs = _drawn(states.cost, states.cost_root, normals[:, :, rank:])
    clairvoyant = (scores - dear_prices(costs, ground)).max(axis=-1)
    prices = expected_prices(states, ground)
    stop, mean = _stop_over(states, scores, clairvoyant), clairvoyant.mean(axis=1, dtype=np.float64)
    further = prices
    if states.owed.any():
        further = further_prices(states, prices)
        stop = np.maximum(stop, bought(states, prices) - level - mean)
    if ground.terms.recall:
        np.maximum(scores, _best_true(states, scores)[:, :, None], out=scores)
    scores -= clairvoyant[:, :, None]
    gained = np.maximum(scores, np.float32(0.0), out=scores).mean(axis=1, dtype=np.float64)
    return Look(stop, gained - further, prices, further, level + mean)


def _drawn(mean: Array, root: Array, normals: Array32) -> Array32:
    """True values at the candidates.  (n, S, G)."""
    values = normals @ transpose(root.astype(np.float32))
    values += mean[:, None].astype(np.float32)
    return np.asarray(values)


def _stop_over(states: Branches, scores: Array32, clairvoyant: Array32) -> Array:
    """stop(x) - W_0(x): the mean of what the best model in hand has over the clairvoyant, on the same truths.  (n,)."""
    best = np.take_along_axis(states.hand, hand_scores(states).argmax(axis=1)[:, None], axis=1)[:, 0]
    true = scores[np.arange(len(best)), :, np.maximum(best, 0)]
    return np.where(best < 0, -np.inf, (true - clairvoyant).mean(axis=1, dtype=np.float64))


def _best_true(states: Branches, scores: Array32) -> Array32:
    """The best true score among the models in hand, -inf without one.  (n, S)."""
    found = np.full(scores.shape[:2], -np.inf, dtype=np.float32)
    every = np.arange(len(states))
    for column in range(states.hand.shape[1]):
        held = states.hand[:, column]
        true = scores[every, :, np.maximum(held, 0)]
        np.maximum(found, np.where(held[:, None] >= 0, true, np.float32(-np.inf)), out=found)
    return found
