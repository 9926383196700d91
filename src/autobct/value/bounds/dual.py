"""The iterated clairvoyant: an upper bound on the value of every policy, from a search that closes what cannot matter.

W_0(x) = E[max_i (H_i - price of a run at i) | x] is the value of being told the truth for nothing and training once.
It is a martingale and T W_0 <= W_0, so V <= T^k W_0: "the truth is told after k paid runs".  Written as what is
lost against W_0,

    V(x) - W_0(x) = max( stop(x) - W_0(x),  max_j  E[(V - W_0)(x_1) | x, j] - price_j(x) ),

only prices and the regret at the stop are left to be computed.  Deeper levels replace the bound of one run

    E[(V - W_0)(x_1) | x, j] <= E[ (best of H_j and the models so far - clairvoyant)^+ | x ]      (truth told after j)

where it is worth the effort.  Runs at cheap controls are answered with a parcel first (`cheap_runs`): what they could
show at most, instead of the truth; and an inexpensive run tells of further ones in advance.  Why the result stays
above V, in expectation over the draws:

- outcomes of runs and truths are drawn without bias (`outcomes`), and a maximum of unbiased averages errs upwards.
  Few outcomes are followed; others are only glanced at, which takes chance out of the average and leaves its mean;
- a control, or a state, that is not looked into keeps its bound of one run or of a parcel, which is above its value;
- a control is excluded only when its bound is below what another one is worth (branch and bound).  Only noise larger
  than the distance between a control's bound and its value could make that wrong;
- the truth's prices are rounded up, which lowers W_0 inside the search and nothing else.  (Single precision rounds to
  either side, by 1e-7 of the scores' spread.)

It holds for the candidates of the given state, with and without recall, for every cost model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Array32, Indices
from autobct.value.bounds.branches import (
    Branches,
    Ground,
    after_run,
    expected_prices,
    ground_of,
    kept_scores,
    planted,
    upper_prices,
)
from autobct.value.bounds.cheap_runs import (
    after_parcel,
    bought,
    ends_of,
    further_prices,
    many_in_a_parcel,
    parcels_of,
    runs_told,
    tiers_of,
)
from autobct.value.bounds.outcomes import Levels, Outcomes, Width, spread_truths
from autobct.value.state import State, Terms, price_of, run_price

LEVELS = (
    Width(runs=(21, 233), parcels=(16, 64), truths=256),
    Width(runs=(5, 34), parcels=(5, 32), truths=128),
    *[Width(runs=(3, 0), parcels=(4, 0), truths=64)] * 6,
)
"""What is drawn in each level of the search, which is at most so many levels deep."""

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
    rngs: Sequence[np.random.Generator],
    may_stop: bool = True,
    out_of_time: OutOfTime = lambda: False,
) -> Array:
    """For each generator an independent number whose expectation is at least V(x) - W_0(x), for an unbatched state.

    effort:    what is too little to look for, in score units: the search leaves alone whatever could lower the bound
               by less.  Smaller is tighter and slower.
    may_stop:  False for the value of going on from x, over W_0
    """
    tree = planted(state, len(rngs))
    dim = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    ground, ends = ground_of(state, terms), ends_of(run_price(state, terms))
    search = _Search(ground, Levels(LEVELS, dim, rngs), ends, out_of_time)
    return search.values(tree, 1.0, 0, effort, may_stop=may_stop)


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
    levels: Levels
    ends: Array
    out_of_time: OutOfTime

    def values(self, states: Branches, weight: float, level: int, effort: float, *, may_stop: bool = True) -> Array:
        """An upper bound of V - W_0 in every state.  weight: with what probability each of them is met.  (n,)."""
        return self._of_parts(states, level, lambda part: self._values(part, weight, level, effort, may_stop))

    def glances(self, states: Branches, level: int) -> Array:
        """The same at a first look: the bound of one run.  (n,)."""

        def glance(part: Branches) -> Array:
            look = self._look(part, self.levels[level])
            return np.asarray(np.maximum(look.stop, look.going.max(axis=1)))

        return self._of_parts(states, level, glance)

    def _of_parts(self, states: Branches, level: int, value: Callable[[Branches], Array]) -> Array:
        """A value of every state, part by part; nothing, once out of time, where whoever asked will not use it.  (n,).

        Below the first level `_ask` and `_follow` asked, and they leave alone what came too late.
        """
        return np.concatenate(
            [
                np.full(len(part), np.nan) if level > 0 and self.out_of_time() else value(part)
                for part in self._parts(states, level)
            ]
        )

    def _parts(self, states: Branches, level: int) -> Iterator[Branches]:
        at_a_time = max(4, _NUMBERS_AT_A_TIME // (states.score.shape[1] * self.levels.width(level).truths))
        for first in range(0, len(states), at_a_time):
            yield states.rows(slice(first, first + at_a_time))

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
        return _Open(states=states, look=look, tiers=tiers, going=look.going.copy(), stage=stage, last=last)

    def _ask(self, here: _Open, some: Indices, chosen: Indices, weight: float, level: int, effort: float) -> None:
        """A parcel for `chosen` in some of the states; it answers for all of its tier."""
        states, tiers = here.states.rows(some), here.tiers[some]
        parcels = parcels_of(states, tiers, tiers[np.arange(len(some)), chosen], here.look.further[some], self.ends)
        outcomes = self.levels[level].told[states.draw]
        met = after_parcel(states, self.ground, parcels, here.look.prices[some], outcomes)
        found = self._mean(met, self.levels[level].width.parcels, weight, level, effort) - parcels.paid
        if self.out_of_time():  # half done is looser than what is there
            return
        here.going[some] = np.where(parcels.tier, found[:, None], here.going[some])
        # a coarse look at one run is looser than a parcel, and so is any look at one of very many
        settled = (states.owed > 0) | many_in_a_parcel(here.look.prices[some], parcels)
        done = np.where(settled, here.last, here.last - 1)
        here.stage[some] = np.where(parcels.tier, done, here.stage[some])

    def _follow(self, here: _Open, some: Indices, chosen: Indices, weight: float, level: int, effort: float) -> None:
        """One run at `chosen` in some of the states."""
        states, outcomes = here.states.rows(some), self.levels[level]
        score_surprises, cost_surprises = outcomes.score[states.draw], outcomes.cost[states.draw]
        runs = runs_told(states, self.ground, chosen, here.look.prices[some, chosen], self.ends)
        met = after_run(states, self.ground, chosen, score_surprises, cost_surprises, runs)
        found = self._mean(met, outcomes.width.runs, weight, level, effort) - here.look.further[some, chosen]
        if not self.out_of_time():
            here.going[some, chosen] = found

    def _mean(self, met: Branches, outcomes: tuple[int, int], weight: float, level: int, effort: float) -> Array:
        """Mean bound over the outcomes that each state led to.  (n,).

        A few are followed and many glanced at: the mean of the glances, and of what following changes.
        """
        few, many = outcomes
        first = (np.arange(len(met)) % (few + many) < few).nonzero()[0]
        followed = self.values(met.rows(first), weight / few, level + 1, effort).reshape(-1, few).mean(axis=1)
        if not many:
            return np.asarray(followed)
        glances = self.glances(met, level + 1).reshape(-1, few + many)
        return np.asarray(followed + glances[:, few:].mean(axis=1) - glances[:, :few].mean(axis=1))

    def _look(self, states: Branches, outcomes: Outcomes) -> Look:
        return first_look(states, self.ground, outcomes.truths[states.draw])


def first_look(states: Branches, ground: Ground, normals: Array32) -> Look:
    """The bound of one run in every state.  normals: (n, r + q, S) standard normals that truths are drawn with.

    The G x S numbers of a state are in single precision, scores less the best posterior mean.
    """
    rank, level = states.score_root.shape[-1], states.score.max(axis=1)
    scores = _drawn(states.score - level[:, None], states.score_root, normals[:, :rank])  # (n, G, S)
    costs = _drawn(states.cost, states.cost_root, normals[:, rank:])
    net = upper_prices(costs, ground)
    clairvoyant = np.subtract(scores, net, out=net).max(axis=1)
    prices = expected_prices(states, ground)
    stop, mean = _stop_over(states, scores, clairvoyant), clairvoyant.mean(axis=1)
    further = prices
    if (states.owed + states.ahead).any():
        further = further_prices(states, prices)
        stop = np.maximum(stop, bought(states, prices) - level - mean)
    if ground.terms.recall:
        np.maximum(scores, _best_true(states, scores)[:, None], out=scores)
    scores -= clairvoyant[:, None]
    gained = np.maximum(scores, np.float32(0.0), out=scores).mean(axis=2)
    return Look(stop=stop, going=gained - further, prices=prices, further=further, clairvoyant=level + mean)


def _drawn(mean: Array, root: Array, normals: Array32) -> Array32:
    """True values at the candidates.  (n, G, S)."""
    values = root.astype(np.float32) @ normals
    values += mean[:, :, None].astype(np.float32)
    return np.asarray(values)


def _stop_over(states: Branches, scores: Array32, clairvoyant: Array32) -> Array:
    """stop(x) - W_0(x): the mean of what the incumbent has over the clairvoyant, on the same truths.  (n,)."""
    best = np.take_along_axis(states.kept, kept_scores(states).argmax(axis=1)[:, None], axis=1)[:, 0]
    true = scores[np.arange(len(best)), np.maximum(best, 0)]
    return np.where(best < 0, -np.inf, (true - clairvoyant).mean(axis=1, dtype=np.float64))


def _best_true(states: Branches, scores: Array32) -> Array32:
    """The best true score among the models that may be returned, -inf without one.  (n, S)."""
    found = np.full((len(scores), scores.shape[2]), -np.inf, dtype=np.float32)
    every = np.arange(len(states))
    for column in range(states.kept.shape[1]):
        held = states.kept[:, column]
        true = scores[every, np.maximum(held, 0)]
        np.maximum(found, np.where(held[:, None] >= 0, true, np.float32(-np.inf)), out=found)
    return found
