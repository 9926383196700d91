"""Weights recovered from function space: exactly, for one state, a batch, and the successors of a run."""

import numpy as np
import pytest
from tests.value.cases import FEW, PAPER, grid

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Model, additive_quartic, cubic
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import update
from autobct.build.forests.iteration import at_references, expansion, references_first, weight_features, weights_of
from autobct.value.lookahead.one_step import successors
from autobct.value.state import keep, view

SIDE = np.linspace(0, 1, 5)
SQUARE = np.stack(np.meshgrid(SIDE, SIDE, indexing="ij"), -1).reshape(-1, 2)
CASES = {"cubic": (cubic(), grid(6)), "additive-quartic": (additive_quartic(), SQUARE)}


def random_belief(size: int, count: int) -> Belief:
    rng = np.random.default_rng(size)

    def one() -> Gaussian:
        root = rng.standard_normal((count, size, size))
        return Gaussian(rng.standard_normal((count, size)), root @ np.swapaxes(root, -1, -2))

    return Belief(one(), one())


def numbers(belief: Belief) -> Array:
    lower = np.tril_indices(belief.score.size)
    parts = [belief.score.mean, belief.score.cov[:, *lower], belief.cost.mean, belief.cost.cov[:, *lower]]
    return np.concatenate(parts, axis=-1)


@pytest.fixture(params=CASES)
def case(request) -> tuple[Basis, Array]:
    return CASES[request.param]


def test_the_papers_numbers_are_recovered(case) -> None:
    basis, references = case
    belief = random_belief(basis.size, 20)
    controls = references_first(references, np.random.default_rng(1).random((7, basis.dim)))
    state = view(belief, Model(basis, basis, 0.1, 0.1), controls)
    found = weight_features(basis, basis, references)(state)
    assert found.shape == (20, {1: 28, 2: 130}[basis.dim])
    np.testing.assert_allclose(found, numbers(belief), rtol=0, atol=1e-10)


def test_successors_are_the_kalman_filter(case) -> None:
    """inner = the references keeps them first: the recovered weights are those of the filter in weight space."""
    basis, references = case
    belief = random_belief(basis.size, 3)
    state = view(belief, Model(basis, basis, 0.1, 0.2), references_first(references, np.full((1, basis.dim), 0.3)))
    after = successors(state, PAPER, FEW, inner=np.arange(len(references)))
    found = weight_features(basis, basis, references)(after)
    assert found.shape[:-1] == (3, len(references) + 1, 4, 3)
    features = basis(np.full(basis.dim, 0.3))
    mean = features @ belief.score.mean[1]
    sd = np.sqrt(features @ belief.score.cov[1] @ features + 0.1**2)
    one = Gaussian(belief.score.mean[1], belief.score.cov[1])
    expected = update(one, features, 0.1, mean + sd * FEW.score[0, 2, 0])
    np.testing.assert_allclose(found[1, -1, 2, 0, : basis.size], expected.mean, atol=1e-9)
    lower = np.tril_indices(basis.size)
    covariances = found[1, -1, 2, 0, basis.size :][: len(lower[0])]
    np.testing.assert_allclose(covariances, expected.cov[lower], atol=1e-9)


def test_different_bases_of_score_and_cost() -> None:
    constant = Basis.of([lambda u: np.ones(u.shape[:-1])], dim=1)
    belief = Belief(random_belief(4, 2).score, Gaussian(np.array([[1.0], [2.0]]), np.array([[[0.1]], [[0.0]]])))
    found = weights_of(cubic(), constant, grid(5))(view(belief, Model(cubic(), constant, 0.1, 0.1), grid(5)))
    np.testing.assert_allclose(found.cost.mean, belief.cost.mean, atol=1e-12)
    np.testing.assert_allclose(found.score.cov, belief.score.cov, atol=1e-10)


def test_expansion_is_the_view_at_more_controls(case) -> None:
    basis, references = case
    model = Model(basis, basis, lambda u: 0.1 + u[..., 0], 0.1)
    controls = references_first(references, np.random.default_rng(2).random((9, basis.dim)))
    belief = random_belief(basis.size, 4)
    found = expansion(model, references, controls)(view(belief, model, references))
    expected = view(belief, model, controls)
    for part in ("score", "cost"):
        np.testing.assert_allclose(getattr(found, part).mean, getattr(expected, part).mean, atol=1e-10)
        np.testing.assert_allclose(getattr(found, part).cov, getattr(expected, part).cov, atol=1e-10)
    np.testing.assert_array_equal(found.score_noise, expected.score_noise)


def test_references_come_first_and_once() -> None:
    found = references_first(grid(3), grid(5))
    np.testing.assert_array_equal(found[:, 0], [0, 0.5, 1, 0.25, 0.75])


def test_the_state_at_the_references_forgets_the_rest() -> None:
    model = Model(cubic(), cubic(), 0.1, lambda u: 0.1 + u[..., 0])
    state = keep(view(random_belief(4, 2), model, grid(9)), np.array([[8], [2]]))
    found = at_references(state, 5)
    expected = view(random_belief(4, 2), model, grid(9)[:5])
    np.testing.assert_allclose(found.cost.cov, expected.cost.cov, atol=1e-12)
    np.testing.assert_allclose(found.cost_noise, expected.cost_noise)
    assert found.kept.shape == (2, 0)


def test_too_few_references_are_refused() -> None:
    with pytest.raises(
        ValueError, match="references: basis 'cubic' has 4 weights, but these 3 controls identify only 3"
    ):
        weight_features(cubic(), cubic(), grid(3))
    square = np.stack(np.meshgrid(*[np.linspace(0, 1, 4)] * 2, indexing="ij"), -1).reshape(-1, 2)
    with pytest.raises(ValueError, match="add controls until phi"):
        weight_features(additive_quartic(), additive_quartic(), square)
