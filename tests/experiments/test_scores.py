import numpy as np
import pytest
from experiments.paper.scores import cross_entropy, f_beta


def test_cross_entropy_is_the_mean_negative_log_probability_of_the_true_class() -> None:
    probabilities = np.array([[0.5, 0.5], [0.25, 0.75]])
    assert cross_entropy(probabilities, np.array([0, 1])) == pytest.approx(-(np.log(0.5) + np.log(0.75)) / 2)


def test_cross_entropy_agrees_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(6), 50)
    labels = rng.integers(0, 6, 50)
    assert cross_entropy(probabilities, labels) == pytest.approx(
        metrics.log_loss(labels, probabilities, labels=range(6))
    )


def test_cross_entropy_of_a_certain_mistake_is_finite() -> None:
    assert np.isfinite(cross_entropy(np.array([[1.0, 0.0]]), np.array([1])))


def test_cross_entropy_refuses_mismatched_shapes() -> None:
    with pytest.raises(ValueError, match="probabilities must be"):
        cross_entropy(np.ones((3, 2)) / 2, np.array([0, 1]))


@pytest.mark.parametrize("beta", [0.5, 1.0, 6.0])
def test_f_beta_agrees_with_scikit_learn(beta: float) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    truth, told = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    precision, recall = metrics.precision_score(truth, told), metrics.recall_score(truth, told)
    assert f_beta(precision, recall, beta) == pytest.approx(metrics.fbeta_score(truth, told, beta=beta))


def test_f_beta_of_nothing_found_is_zero() -> None:
    assert f_beta(0.0, 0.0, 6.0) == 0.0
