"""Function space: what a decision needs of a belief is score and cost *at the candidate controls*.

| paper | here |
|---|---|
| x | `State`, the belief seen at G candidates, with the models that may be returned |
| gamma | `Terms.price` |
| m^alpha(u, x), s^alpha(u, x) | `state.score.mean`, `score_sd(state)` |

One lookahead then serves a grid, a quasi-random set or the rows of a table, whatever the basis.  All arrays
may have leading batch axes, and these need only broadcast: successors of one control share a covariance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Model, noise_at
from autobct.belief.cost import LINEAR, CostModel, expected_beyond
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import Number, along_last, observed_sd


class Seen(Gaussian):
    """`weights.at(features)`, unbatched, whose whole covariance is computed only if somebody asks for it.

    A lookahead on a map asks for a few rows, and on many candidates the rest would take longer than the decision.
    """

    __slots__ = ("_features", "_own", "_root", "_whole")
    _features: Array
    _root: Array
    _own: Array | None
    _whole: Array | None

    def __init__(self, weights: Gaussian, features: Array) -> None:
        object.__setattr__(self, "mean", weights.mean @ features.T)
        object.__setattr__(self, "_features", features)
        object.__setattr__(self, "_root", features @ weights.cov)
        object.__setattr__(self, "_own", None)
        object.__setattr__(self, "_whole", None)

    @property
    def cov(self) -> Array:
        """(G, G), made at the first asking."""
        if self._whole is None:
            object.__setattr__(self, "_whole", self._root @ self._features.T)
        return np.asarray(self._whole)

    @property
    def variances(self) -> Array:
        """The diagonal of the covariance, (G,), made at the first asking."""
        if self._own is None:
            object.__setattr__(self, "_own", np.maximum(np.einsum("gj,gj->g", self._root, self._features), 0.0))
        return np.asarray(self._own)

    def rows(self, chosen: Indices) -> Array:
        """Some rows of the covariance.  (n, G)."""
        return np.asarray(self._root[chosen] @ self._features.T)

    def with_mean(self, mean: Array) -> Gaussian:
        """The same uncertainty around another mean, (G,)."""
        other = object.__new__(Seen)
        object.__setattr__(other, "mean", mean)
        for name in ("_features", "_root", "_own", "_whole"):
            object.__setattr__(other, name, getattr(self, name))
        return other


@dataclass(frozen=True, slots=True)
class Terms:
    """The rules of the game, the same in every state.

    price:     what one unit of cost is worth in score   (gamma)
    overhead:  a small fixed price of every run, in score units: deciding and launching are never free
    covered:   cost of the next run that is paid for anyway: where the price is one of waiting, the time others take
    least:     share of its whole cost that a run is charged at least, however much of it is covered
    recall:    whether any trained model may be returned at the stop, or only the last one (the paper)
    """

    price: float
    cost_model: CostModel = LINEAR
    recall: bool = False
    overhead: float = 0.0
    covered: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        """Prices are positive."""
        if not (np.isfinite(self.price) and self.price > 0):
            raise ValueError(
                f"price must be positive, got {self.price!r}; write it as score per unit of cost "
                "(if training were free, tuning would never stop)"
            )
        if not (np.isfinite(self.overhead) and self.overhead >= 0):
            raise ValueError(f"overhead must be zero or positive, got {self.overhead!r}; it is in score units")


class Predictive(Protocol):
    """What a surrogate expects of one run at each candidate, whatever it is inside; in model units."""

    def improvement(self, terms: Terms) -> Array:
        """By how much a run that finishes is expected to raise the score of the model returned.  (..., G)."""

    def price(self, terms: Terms) -> Array | None:
        """Expected price of one run, (..., G); None if it has no say about costs."""


@dataclass(frozen=True, slots=True, eq=False)
class RunExpectation:
    """A `Predictive` as plain numbers, (G,) each.

    gain: expected improvement;  cost: expected cost of a run as it is worth in score, without overhead, if it has a say
    """

    gain: Array
    cost: Array | None = None

    def improvement(self, terms: Terms) -> Array:
        """As it was found."""
        return self.gain

    def price(self, terms: Terms) -> Array | None:
        """With the overhead, and without what is paid for anyway."""
        if self.cost is None:
            return None
        if not terms.covered:
            return self.cost + terms.overhead
        beyond = np.maximum(self.cost - terms.price * terms.covered, terms.least * self.cost)
        return np.asarray(beyond + terms.overhead)


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """The belief at G candidate controls.

    score, cost:              mean (..., G), cov (..., G, G);  cost is in the space the cost model observes
    score_noise, cost_noise:  (..., G) standard deviations sigma_H(u), sigma_T(u)
    kept:                     (..., M) indices of the candidates whose trained model may be returned; -1: none
    feasibility:              (..., G) probability that a run finishes; None where that is no question
    last:                     (..., G) where a run would be the last, as no other fits a limit after it; None: nowhere
    others:                   what other surrogates expect of one run
    realised:                 share of an expected improvement that the best of many candidates turns out to bring
    """

    score: Gaussian
    cost: Gaussian
    score_noise: Array
    cost_noise: Array
    kept: Indices
    feasibility: Array | None = None
    last: NDArray[np.bool_] | None = None
    others: tuple[Predictive, ...] = ()
    realised: float = 1.0

    @property
    def size(self) -> int:
        """G, the number of candidates."""
        return int(self.score.mean.shape[-1])


def view(belief: Belief, model: Model, controls: Array) -> State:
    """The belief seen at candidate controls (G, p), before any run."""
    batch = belief.score.mean.shape[:-1]
    return State(
        score=belief.score.at(model.score_basis(controls)),
        cost=belief.cost.at(model.cost_basis(controls)),
        score_noise=noise_at(model.score_noise, controls, "score_noise"),
        cost_noise=noise_at(model.cost_noise, controls, "cost_noise"),
        kept=np.empty((*batch, 0), dtype=np.intp),
    )


def keep(state: State, indices: Indices) -> State:
    """The same belief, with these candidates' models trained.  indices: (..., M), -1 for none."""
    return replace(state, kept=indices)


def stop_value(state: State) -> Array:
    """The reward of stopping now: the best posterior mean of a model that may be returned; -inf if none.  (...)."""
    return np.asarray(kept_means(state).max(axis=-1, initial=-np.inf))


def kept_means(state: State) -> Array:
    """Posterior mean scores of the models that may be returned: (..., M), -inf where there is none."""
    means = gather(state.score.mean, np.maximum(state.kept, 0))
    return np.where(state.kept >= 0, means, -np.inf)


def gather(values: NDArray[Number], index: Indices) -> NDArray[Number]:
    """Entries of the last axis by index, after lining up the number of axes; all other axes broadcast."""
    ndim = max(values.ndim, index.ndim)
    return along_last(
        values.reshape((1,) * (ndim - values.ndim) + values.shape),
        index.reshape((1,) * (ndim - index.ndim) + index.shape),
    )


def variance(belief: Gaussian) -> Array:
    """Variances at the candidates, never negative by rounding.  (..., G)."""
    return belief.variances


def score_gains(state: State) -> Array:
    """Row g: by how much each posterior mean score moves per unit of surprise in a run at g.  (..., G, G)."""
    return _gains(state.score, state.score_noise)


def cost_gains(state: State) -> Array:
    """Row g: by how much each posterior mean cost moves per unit of surprise in a run at g.  (..., G, G)."""
    return _gains(state.cost, state.cost_noise)


def _gains(belief: Gaussian, noise: Array) -> Array:
    return np.asarray(belief.cov / observed_sd(variance(belief), noise)[..., :, None])


def run_price(state: State, terms: Terms) -> Array:
    """Expected price of one run at each candidate, in score units: gamma Upsilon(...) + overhead.  (..., G)."""
    return price_of(state.cost.mean, observed_sd(variance(state.cost), state.cost_noise), terms)


def price_of(mean: Array, sd: Array, terms: Terms) -> Array:
    """Price of a run whose cost is predicted as (mean, sd) in the space the cost model observes."""
    cost = terms.cost_model.expected(mean, sd)
    if terms.covered:
        cost = np.maximum(expected_beyond(terms.cost_model, mean, sd, terms.covered), terms.least * cost)
    return terms.price * cost + terms.overhead


def control_grid(side: int, dim: int) -> Array:
    """`side` values in each coordinate, both ends included.  (side^dim, dim)."""
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, side)] * dim, indexing="ij")
    return np.stack(axes, axis=-1).reshape(-1, dim)
