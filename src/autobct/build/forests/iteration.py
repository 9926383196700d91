"""VI/Map (algorithm 3): V_1 .. V_N over a cloud of states, each step fitted by a regression.

The cloud is a state with one leading batch axis; the regression is a function of the user's choice, so that a
forest, a linear basis and a network are three arguments, not three algorithms.  The paper's (line 6) is a forest:

    value_iteration(cloud, terms, runs=4, nodes=nodes, inner=inner, fit=forest_fit(features))
    value_iteration(cloud, terms, ..., fit=above(lower, terms, forest_fit(features)))

`above` turns it into a regression of the *residual* over a lower bound.  A tree cannot follow the slope of a
value that simply shifts with the mean score; what lookahead adds to V_1 is small, bounded and local, and it can.

Features lead from a state in function space back to the paper's numbers.  A convention of every map: the *first R
candidates of any state handed to it* are fixed reference controls.  Score and cost are linear in the weights, so where
phi(references) has full column rank the state at the references is the belief itself, in other coordinates:

    mu = P m,   Sigma = P C P',   P = pinv(phi(references))

`successors` lists its `inner` candidates first, so `inner = arange(R)` hands the convention on.

| paper | here |
|---|---|
| (mu^alpha, Sigma^alpha, mu^beta, Sigma^beta) as one vector | `weight_features(...)(state)`, (..., F) |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from autobct.belief.arrays import Array, Indices, whole_number
from autobct.belief.basis import Basis, Model, noise_at
from autobct.belief.gaussian import Belief, Gaussian
from autobct.value.lookahead.nodes import Nodes
from autobct.value.lookahead.one_step import Continuation, control_values, never, one_run_value
from autobct.value.simulate import rows
from autobct.value.state import State, Terms

Features = Callable[[State], Array]
"""Numbers a regression is fed with: a state (...) -> (..., F)."""


def references_first(references: Array, controls: Array) -> Array:
    """The references, then those of the controls (G, p) that are not among them."""
    known = (np.abs(controls[:, None, :] - references[None, :, :]).max(axis=-1) < 1e-12).any(axis=-1)
    return np.concatenate([references, controls[~known]])


def at_references(state: State, count: int) -> State:
    """The state at its first R candidates alone, with no model trained: a function of the belief and nothing else."""

    def part(belief: Gaussian) -> Gaussian:
        return Gaussian(belief.mean[..., :count], belief.cov[..., :count, :count])

    return State(
        score=part(state.score),
        cost=part(state.cost),
        score_noise=state.score_noise[..., :count],
        cost_noise=state.cost_noise[..., :count],
        kept=np.empty((*state.kept.shape[:-1], 0), dtype=np.intp),
    )


def weights_of(score_basis: Basis, cost_basis: Basis, references: Array) -> Callable[[State], Belief]:
    """The belief about the weights behind a state whose first candidates are the references (R, p)."""
    to_score, to_cost = _inverse(score_basis, references), _inverse(cost_basis, references)
    count = len(references)

    def recovered(state: State) -> Belief:
        seen = at_references(state, count)
        return Belief(seen.score.at(to_score), seen.cost.at(to_cost))

    return recovered


def weight_features(score_basis: Basis, cost_basis: Basis, references: Array) -> Features:
    """mu_alpha, lower triangle of Sigma_alpha, mu_beta, lower triangle of Sigma_beta: the paper's raw numbers.

    28 of them for its 1-D bases, 130 for its 2-D ones.
    """
    recovered = weights_of(score_basis, cost_basis, references)

    def features(state: State) -> Array:
        belief = recovered(state)
        parts = [*_numbers(belief.score), *_numbers(belief.cost)]
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts))  # successors share covariances
        return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], axis=-1)

    return features


def expansion(model: Model, references: Array, controls: Array) -> Callable[[State], State]:
    """A state at the references, seen at more candidates: exact, because both are linear in the same weights.

    So a cloud needs to be kept in memory at the references only.  controls: (G, p), the references first.
    """
    recovered = weights_of(model.score_basis, model.cost_basis, references)
    score_features, cost_features = model.score_basis(controls), model.cost_basis(controls)
    score_noise = noise_at(model.score_noise, controls, "score_noise")
    cost_noise = noise_at(model.cost_noise, controls, "cost_noise")

    def expanded(state: State) -> State:
        belief = recovered(state)
        score, cost = belief.score.at(score_features), belief.cost.at(cost_features)
        return State(score=score, cost=cost, score_noise=score_noise, cost_noise=cost_noise, kept=state.kept)

    return expanded


def _numbers(belief: Gaussian) -> tuple[Array, Array]:
    rows, columns = np.tril_indices(belief.size)
    return belief.mean, belief.cov[..., rows, columns]


def _inverse(basis: Basis, references: Array) -> Array:
    """pinv(phi(references)), (J, R), if the references tell all weights apart."""
    features = basis(references)
    rank = int(np.linalg.matrix_rank(features))
    if rank < basis.size:
        raise ValueError(
            f"references: basis {basis.name!r} has {basis.size} weights, but these {len(references)} controls identify "
            f"only {rank} of them; add controls until phi(references) has full column rank"
        )
    return np.asarray(np.linalg.pinv(features))


Fit = Callable[[State, Array], Continuation]
"""(cloud, values at its states (n,)) -> a function of states that approximates them: line 6 of algorithm 3."""

Cut = Callable[[Callable[[State], Array], Iterable[State]], Iterable[Array]]
"""(function of states, chunks of a cloud) -> its value at each chunk, in order."""

Progress = Callable[[int, int], None]
"""Told after every chunk: (which run, from 1; how many states of the cloud are done in it)."""

_ROWS = 1 << 17  # rows predicted at a time: a quadratic basis of 28 numbers is 3.5 KB each


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


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A continuation read off an estimator with a `predict` method."""

    features: Features
    estimator: Any

    def __call__(self, state: State, terms: Terms) -> Array:
        """Predicted values, in the batch shape of the state.  (...)."""
        numbers = self.features(state)
        flat = numbers.reshape(-1, numbers.shape[-1])
        found = np.empty(len(flat))
        for first in range(0, len(flat), _ROWS):
            found[first : first + _ROWS] = self.estimator.predict(flat[first : first + _ROWS])
        return found.reshape(numbers.shape[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """lower + max(excess, 0): a value that is never below its lower bound."""

    lower: Continuation
    excess: Continuation

    def __call__(self, state: State, terms: Terms) -> Array:
        """The value at the states.  (...)."""
        return np.asarray(self.lower(state, terms) + np.maximum(self.excess(state, terms), 0.0))


def above(lower: Continuation, terms: Terms, fit: Fit) -> Fit:
    """Regress what a value is above `lower`, e.g. V_1, instead of the value."""
    return lambda cloud, values: Above(lower, fit(cloud, values - lower(cloud, terms)))


def forest_fit(features: Features, *, trees: int = 100, leaf: int = 1, seed: int = 0, jobs: int | None = None) -> Fit:
    """Random forest, the paper's choice with its 100 trees.

    leaf: least number of states in a leaf.   jobs: threads, as scikit-learn counts them (-1: all)
    """

    def estimator() -> Any:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(trees, min_samples_leaf=leaf, random_state=seed, n_jobs=jobs)

    return _fit(features, estimator)


def _fit(features: Features, estimator: Callable[[], Any]) -> Fit:
    def fit(cloud: State, values: Array) -> Continuation:
        try:
            unfitted = estimator()
        except ImportError:
            raise ImportError("the paper's regressions need scikit-learn: pip install 'autobct[build]'") from None
        return Fitted(features, unfitted.fit(features(cloud), values))

    return fit
