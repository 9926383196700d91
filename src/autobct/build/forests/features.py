"""From a state in function space back to the paper's numbers.

A convention of every map: the *first R candidates of any state handed to it* are fixed reference controls.  Score
and cost are linear in the weights, so where phi(references) has full column rank the state at the references is
the belief itself, in other coordinates:

    mu = P m,   Sigma = P C P',   P = pinv(phi(references))

`successors` lists its `inner` candidates first, so `inner = arange(R)` hands the convention on.

| paper | here |
|---|---|
| (mu^alpha, Sigma^alpha, mu^beta, Sigma^beta) as one vector | `weight_features(...)(state)`, (..., F) |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Model, noise_at
from autobct.belief.gaussian import Belief, Gaussian
from autobct.value.state import State

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
            f"references: basis {basis.name!r} has {basis.size} weights, but these {len(references)} controls tell "
            f"only {rank} of them apart; add controls until phi(references) has full column rank"
        )
    return np.asarray(np.linalg.pinv(features))
