"""Batches of states for a search: the same belief as a `State`, kept as roots so that one run is one rank-one step.

    score = mean + root a,   a ~ N(0, I)                    (the same for the cost)
    after a run at g with surprise z:  mean + root u z / s,   root (I - beta u u'),   u = root[g],
    s^2 = |u|^2 + sigma^2,   beta = 1 / (s^2 + s sigma)

which is the Kalman filter (Potter's square-root form): nothing is ever subtracted from a variance.

| here | meaning |
|---|---|
| G | candidates;  r: rank of the score's covariance, q: of the cost's |
| draw | which of the drawn outcomes a state will meet: the same for all controls, so that they are compared fairly |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Array32, Indices, transpose
from autobct.belief.cost import LINEAR, LOG_LINEAR
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import observed_sd
from autobct.value.state import State, Terms, price_of

DRAWS = 64
"""How many independent draws of each level of a search there are; the states of a tree take turns among them."""

_RANK = 1e-13  # eigenvalues below this share of the largest are rounding
_ENDLESS = np.float32(80.0)  # log cost of a run that no one pays for; its exponential is finite in single precision
_PEAK, _STEEP, _BENT = (np.float32(x) for x in (1 / np.sqrt(2 * np.pi), np.sqrt(np.pi / 2), np.pi / 4 - 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What is the same in every state: the rules, and the noise at the candidates (G,)."""

    terms: Terms
    score_noise: Array
    cost_noise: Array


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """n states.  score, cost: (n, G) means;  score_root: (n, G, r);  cost_root: (n, G, q).

    kept: (n, M) models that may be returned, -1 for none;  draw: (n,)
    owed, credit: (n, G), what a parcel left behind (`cheap_runs`), zero where there was none
    ahead: (n, G), runs that were told of beyond those paid for
    """

    score: Array
    score_root: Array
    cost: Array
    cost_root: Array
    kept: Indices
    draw: Indices
    owed: Array
    credit: Array
    ahead: Array

    def __len__(self) -> int:
        """n."""
        return len(self.score)

    def rows(self, chosen: Indices | slice) -> Branches:
        """Some of the states."""
        return Branches(
            score=self.score[chosen],
            score_root=self.score_root[chosen],
            cost=self.cost[chosen],
            cost_root=self.cost_root[chosen],
            kept=self.kept[chosen],
            draw=self.draw[chosen],
            owed=self.owed[chosen],
            credit=self.credit[chosen],
            ahead=self.ahead[chosen],
        )


def ground_of(state: State, terms: Terms) -> Ground:
    """What stays the same, from an unbatched state."""
    return Ground(terms, state.score_noise, state.cost_noise)


def planted(state: State, trees: int = 1) -> Branches:
    """One state (unbatched) as the root of a tree, or of several with draws of their own."""
    kept = state.kept if state.kept.size else np.array([-1], dtype=np.intp)
    nothing = np.zeros((trees, state.size))
    return Branches(
        score=np.tile(state.score.mean, (trees, 1)),
        score_root=np.tile(root_of(state.score), (trees, 1, 1)),
        cost=np.tile(state.cost.mean, (trees, 1)),
        cost_root=np.tile(root_of(state.cost), (trees, 1, 1)),
        kept=np.tile(kept, (trees, 1)),
        draw=DRAWS * np.arange(trees, dtype=np.intp),
        owed=nothing,
        credit=nothing,
        ahead=nothing,
    )


def seen(branches: Branches, ground: Ground) -> State:
    """The same states in function space, with one leading axis."""

    def belief(mean: Array, root: Array) -> Gaussian:
        return Gaussian(mean, root @ transpose(root))

    return State(
        score=belief(branches.score, branches.score_root),
        cost=belief(branches.cost, branches.cost_root),
        score_noise=ground.score_noise,
        cost_noise=ground.cost_noise,
        kept=branches.kept,
    )


def root_of(belief: Gaussian) -> Array:
    """A root of an unbatched covariance with as many columns as its rank.  (G, r)."""
    values, vectors = np.linalg.eigh(belief.cov)
    kept = values > _RANK * max(float(values[-1]), 1e-300)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def after_run(
    branches: Branches,
    ground: Ground,
    chosen: Indices,
    score_surprises: Array,
    cost_surprises: Array,
    runs: Array | float = 1.0,
) -> Branches:
    """The states that a run at `chosen` (n,) may lead to, outcome by outcome: n x Q of them.

    score_surprises, cost_surprises: (n, Q), in standard deviations of the prediction;  runs: (n,) of how many it tells.
    """
    every, fewer = np.arange(len(chosen)), 1.0 / np.sqrt(runs)  # n runs at a control tell what one with noise / n^(1/2)
    score_noise, cost_noise = fewer * ground.score_noise[chosen], fewer * ground.cost_noise[chosen]
    score = _observed(branches.score, branches.score_root, chosen, score_noise, score_surprises)
    cost = _observed(branches.cost, branches.cost_root, chosen, cost_noise, cost_surprises)
    last = chosen[:, None]
    kept = np.concatenate([branches.kept, last], axis=1) if ground.terms.recall else last
    draw = turned(branches.draw, 5, 3 * np.arange(score_surprises.shape[1]) + 1)
    ahead = branches.ahead.copy()
    ahead[every, chosen] = np.asarray(runs) - 1.0
    return branched(score, cost, kept, draw, branches.owed, branches.credit, ahead)


def turned(draw: Indices, factor: int, steps: Indices) -> Indices:
    """Which draws come next, within the same tree.  (n, Q)."""
    place = draw % DRAWS
    return np.asarray((draw - place)[:, None] + (factor * place[:, None] + steps) % DRAWS)


def branched(
    score: tuple[Array, Array],
    cost: tuple[Array, Array],
    kept: Indices,
    draw: Indices,
    owed: Array,
    credit: Array,
    ahead: Array,
) -> Branches:
    """n x Q states: means (n, Q, G) and draw (n, Q) differ by outcome, roots (n, G, r) and all else (n, ...) do not."""
    count, outcomes = draw.shape

    def spread(values: Array) -> Array:
        return np.repeat(values, outcomes, axis=0)

    return Branches(
        score=score[0].reshape(count * outcomes, -1),
        score_root=spread(score[1]),
        cost=cost[0].reshape(count * outcomes, -1),
        cost_root=spread(cost[1]),
        kept=np.repeat(kept, outcomes, axis=0),
        draw=draw.reshape(-1),
        owed=spread(owed),
        credit=spread(credit),
        ahead=spread(ahead),
    )


def _observed(mean: Array, root: Array, chosen: Indices, noise: Array, surprise: Array) -> tuple[Array, Array]:
    """Means (n, Q, G) and roots (n, G, r) after a run at `chosen`."""
    direction = root[np.arange(len(chosen)), chosen]  # u, (n, r)
    var = np.einsum("nr,nr->n", direction, direction) + np.square(noise)
    along = np.einsum("ngr,nr->ng", root, direction)
    shrink = 1.0 / (var + np.sqrt(var) * noise)  # beta = (1 - sqrt(1 - |u|^2 / s^2)) / |u|^2
    gain = along / np.sqrt(var)[:, None]
    moved = mean[:, None] + gain[:, None] * surprise[:, :, None]
    return moved, root - (shrink[:, None] * along)[:, :, None] * direction[:, None, :]


def expected_prices(branches: Branches, ground: Ground) -> Array:
    """Expected price of a run at each candidate, as `run_price`.  (n, G)."""
    sd = observed_sd(np.square(branches.cost_root).sum(axis=-1), ground.cost_noise)
    return price_of(branches.cost, sd, ground.terms)


def kept_scores(branches: Branches) -> Array:
    """Posterior mean scores of the models that may be returned, -inf where there is none.  (n, M)."""
    means = np.take_along_axis(branches.score, np.maximum(branches.kept, 0), axis=1)
    return np.where(branches.kept >= 0, means, -np.inf)


def upper_prices(costs: Array32, ground: Ground) -> Array32:
    """Price of a run at each candidate given the truth (costs: (..., G, S)), never below it but for single precision.

    Upsilon(t, s) <= t^+ + s phi(0) exp(-a (sqrt(pi / 2) + (pi / 4 - 1 / 2) a)),  a = |t| / s: the tangent parabola of a
    concave logarithm at zero, at most 0.003 s too high and many times quicker.
    """
    terms, noise = ground.terms, ground.cost_noise.astype(np.float32)[:, None]
    price, overhead = np.float32(terms.price), np.float32(terms.overhead)
    if terms.cost_model is not LINEAR:
        logs = np.minimum(costs, _ENDLESS, out=costs) if terms.cost_model is LOG_LINEAR else costs
        exact = np.asarray(terms.cost_model.expected(logs, noise), dtype=np.float32)  # type: ignore[arg-type]
        exact *= price
        exact += overhead
        return exact
    tail = np.abs(costs)
    tail /= noise
    steep = tail * _BENT
    steep += _STEEP
    tail *= steep
    np.exp(np.negative(tail, out=tail), out=tail)
    tail *= noise * _PEAK
    tail += np.maximum(costs, np.float32(0.0), out=costs)
    tail *= price
    tail += overhead
    return tail
