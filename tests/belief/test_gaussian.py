"""Gaussian beliefs: the checks at the door, the view at controls, exact draws."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from autobct.belief.gaussian import Gaussian, Truth
from autobct.value.state import Seen


def test_of_takes_a_matrix_or_a_diagonal() -> None:
    full = Gaussian.of([1, 2], [[2, 1], [1, 3]])
    assert full.mean.dtype == full.cov.dtype == np.float64
    np.testing.assert_array_equal(full.cov, [[2, 1], [1, 3]])
    np.testing.assert_array_equal(Gaussian.of([1, 2], [4, 0]).cov, [[4, 0], [0, 0]])
    np.testing.assert_array_equal(Gaussian.of(3.0, [[2.0]]).mean, [3.0])
    assert Gaussian.of([1, 2, 3], np.zeros((3, 3))).size == 3


def test_of_takes_batches() -> None:
    batch = Gaussian.of(np.zeros((5, 2)), np.broadcast_to(np.eye(2), (5, 2, 2)))
    assert (batch.mean.shape, batch.cov.shape, batch.size) == ((5, 2), (5, 2, 2), 2)


def test_of_removes_rounding_asymmetry() -> None:
    found = Gaussian.of([0, 0], [[1, 0.5 + 1e-13], [0.5, 1]])
    np.testing.assert_array_equal(found.cov, found.cov.T)


REFUSED: list[tuple[ArrayLike, ArrayLike, type[Exception], str]] = [
    ([0, 0], np.eye(3), ValueError, r"my prior: covariance must be 2 x 2 .* got shape \(3, 3\)"),
    ([0, 0], [1, 1, 1], ValueError, r"my prior: covariance must be 2 x 2 .* got shape \(3,\)"),
    ([0, 0, 0], np.ones((3, 2)), ValueError, r"my prior: covariance must be 3 x 3"),
    (0.0, 1.0, ValueError, r"my prior: covariance must be 1 x 1 .* got shape \(\)"),
    ([0, np.nan], np.eye(2), ValueError, "my prior: mean must be finite numbers"),
    ([0, 0], [1, np.inf], ValueError, "my prior: covariance must be finite numbers"),
    ([0, 0], [[1, np.nan], [np.nan, 1]], ValueError, "my prior: covariance must be finite numbers"),
    ([0, 0], [[1, 0.5], [0.4, 1]], ValueError, r"my prior: covariance must be symmetric; write \(C \+ C\.T\) / 2"),
    ([0, 0], [[1, 2], [2, 1]], ValueError, r"my prior: covariance is indefinite \(smallest eigenvalue -1\)"),
    ([0, 0], [1, -0.1], ValueError, "my prior: covariance is indefinite .*; variances may be zero, not negative"),
    (["a", 0], np.eye(2), TypeError, "my prior: mean must be numbers"),
    ([0, 0], None, ValueError, "my prior: covariance must be"),
    ([[0, 0], [0]], np.eye(2), TypeError, "my prior: mean must be numbers"),
]


@pytest.mark.parametrize(("mean", "cov", "error", "sentence"), REFUSED)
def test_of_refuses_with_one_sentence_that_names_the_argument(
    mean: ArrayLike, cov: ArrayLike, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        Gaussian.of(mean, cov, name="my prior")


def test_at_is_the_image_of_the_weights() -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((3, 3))
    weights = Gaussian(rng.standard_normal(3), root @ root.T)
    features = rng.standard_normal((7, 3))
    seen = weights.at(features)
    for i in range(7):
        assert seen.mean[i] == pytest.approx(sum(features[i, j] * weights.mean[j] for j in range(3)))
        for j in range(7):
            expected = sum(features[i, k] * weights.cov[k, m] * features[j, m] for k in range(3) for m in range(3))
            assert seen.cov[i, j] == pytest.approx(expected, abs=1e-12)


def test_draws_have_the_mean_and_covariance() -> None:
    rng = np.random.default_rng(5)
    belief = Gaussian.of([1, -2, 0.5], [[2, 0.6, 0], [0.6, 1, 0], [0, 0, 0]])  # singular
    drawn = belief.draw(rng.standard_normal((40_000, 3)))
    np.testing.assert_allclose(drawn.mean(axis=0), belief.mean, atol=5 * np.sqrt(2 / 40_000))
    np.testing.assert_allclose(np.cov(drawn.T), belief.cov, atol=5 * 2 * np.sqrt(2 / 40_000))
    np.testing.assert_array_equal(drawn[:, 2], 0.5)  # what is known for certain is drawn exactly


def test_the_covariance_of_a_draw_is_exact() -> None:
    """The map from normals to draws is a square root of the covariance, whatever the draws."""
    root = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    belief = Gaussian(np.zeros(3), root @ root.T)
    factor = belief.draw(np.eye(3))
    np.testing.assert_allclose(factor.T @ factor, belief.cov, atol=1e-12)


def test_a_truth_is_a_belief_without_doubt() -> None:
    truth = Truth(np.arange(8.0).reshape(2, 4), np.ones((2, 3))).belief()
    assert truth.score.cov.shape == (2, 4, 4)
    assert truth.cost.cov.shape == (2, 3, 3)
    assert not truth.score.cov.any()
    assert not truth.cost.cov.any()
    np.testing.assert_array_equal(truth.score.mean, np.arange(8.0).reshape(2, 4))


def test_a_belief_seen_through_features_is_the_same_made_later() -> None:
    rng = np.random.default_rng(5)
    root = rng.standard_normal((4, 4))
    weights, features = Gaussian(rng.standard_normal(4), root @ root.T), rng.standard_normal((9, 4))
    seen, whole = Seen(weights, features), weights.at(features)
    chosen = np.array([2, 0, 8])
    np.testing.assert_array_equal(seen.mean, whole.mean)
    np.testing.assert_allclose(seen.variances, whole.variances, rtol=1e-12)
    np.testing.assert_allclose(seen.rows(chosen), whole.rows(chosen), rtol=1e-12)
    np.testing.assert_array_equal(seen.cov, whole.cov)
    assert seen.cov is seen.cov
    assert seen.size == 9
