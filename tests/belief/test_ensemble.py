"""The ensemble against a brute force: every member of every amplitude as a dense Gaussian of its own."""

from dataclasses import replace

import numpy as np
import pytest

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import predict, update
from autobct.belief.surrogate.ensemble import Ensemble
from autobct.tuning.model.estimate import compressed

J = 4
ENSEMBLE = Ensemble(
    variances=np.array([[9.0, 0.5, 0.3, 0.2], [9.0, 0.1, 0.1, 0.8], [9.0, 0.0, 0.9, 0.1]]),
    noises=np.array([0.01, 0.04, 0.09]),
    amplitudes=np.array([0.02, 0.1, 0.4]),
    log_prior=np.log([0.2, 0.5, 0.3]),
    bump=np.array([0.0, 0.0, -0.3, 0.1]),
    level=0.6,
    heights=np.array([1.0, 0.0, 0.5]),
)


def told(count: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    features = np.concatenate([np.ones((count, 1)), rng.standard_normal((count, J - 1))], axis=1)
    return features, 0.5 + 0.1 * rng.standard_normal(count)


def one_by_one(features: Array, scores: Array, *, room: bool = True) -> tuple[Array, list[list[Gaussian]]]:
    """Weights and beliefs of all members, each filtered alone, its likelihood the product of its predictions."""
    log_weights, beliefs = np.zeros((3, 3)), []
    for m in range(3):
        row = []
        for k, a in enumerate(ENSEMBLE.amplitudes):
            mean = a * ENSEMBLE.heights[k] * ENSEMBLE.bump + np.array([0.6, 0, 0, 0])
            belief = Gaussian(mean, a**2 * np.diag(ENSEMBLE.variances[m]))
            noise, total = a * np.sqrt(ENSEMBLE.noises[m]), ENSEMBLE.log_prior[k]
            for phi, y in zip(features, scores, strict=True):
                seen = predict(belief, phi, noise)
                total += -0.5 * np.log(2 * np.pi * seen.var) - 0.5 * (y - seen.mean) ** 2 / seen.var
                belief = update(belief, phi, noise, y)
            if room and len(scores):
                space = 0.6 * max(1 - np.median(scores), 0.02)
                total -= 0.5 * (max(np.log(a / space), 0.0) / 0.4) ** 2
            log_weights[m, k] = total
            row.append(belief)
        beliefs.append(row)
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum(), beliefs


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_weights_are_bayes_rule(count: int) -> None:
    features, scores = told(count)
    expected, _ = one_by_one(features, scores)
    np.testing.assert_allclose(ENSEMBLE.posterior(features, scores).weights, expected, rtol=1e-9)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_the_mixture_has_the_moments_of_its_members(count: int) -> None:
    features, scores = told(count, seed=3)
    weights, beliefs = one_by_one(features, scores)
    pairs = [(weights[m, k], beliefs[m][k]) for m in range(3) for k in range(3)]
    mean = sum(w * b.mean for w, b in pairs)
    cov = sum(w * (b.cov + np.outer(b.mean - mean, b.mean - mean)) for w, b in pairs)
    found = ENSEMBLE.posterior(features, scores).gaussian()
    np.testing.assert_allclose(found.mean, mean, atol=1e-10)
    np.testing.assert_allclose(found.cov, cov, atol=1e-10)


def test_the_order_of_runs_and_of_members_does_not_matter() -> None:
    features, scores = told(6)
    turned = replace(ENSEMBLE, variances=ENSEMBLE.variances[::-1], noises=ENSEMBLE.noises[::-1])
    one = ENSEMBLE.posterior(features, scores).gaussian()
    for other in (ENSEMBLE.posterior(features[::-1], scores[::-1]), turned.posterior(features, scores)):
        np.testing.assert_allclose(other.gaussian().mean, one.mean, atol=1e-10)
        np.testing.assert_allclose(other.gaussian().cov, one.cov, atol=1e-10)


def test_runs_tell_the_amplitude() -> None:
    rng = np.random.default_rng(1)
    features = np.concatenate([np.ones((12, 1)), rng.standard_normal((12, J - 1))], axis=1)
    shape = features @ np.array([0.0, 0.6, 0.5, 0.4])
    small, large = (ENSEMBLE.posterior(features, 0.3 + a * shape).amplitude for a in (0.02, 0.4))
    assert small == pytest.approx(0.02, rel=0.2)
    assert large == pytest.approx(0.4, rel=0.2)


def test_runs_tell_whether_there_is_a_hill() -> None:
    hill = replace(ENSEMBLE, heights=np.array([1.0, 0.0]), amplitudes=np.full(2, 0.1), log_prior=np.log([0.98, 0.02]))
    hill = replace(hill, bump=np.array([0.0, 3.0, -3.0, 3.0]))
    features, _ = told(8)
    up, down = (hill.posterior(features, 0.6 + s * 0.1 * features @ hill.bump).weights.sum(axis=0) for s in (1, -1))
    assert up[0] > 0.99
    assert down[1] > 0.99


def test_amplitudes_that_leave_the_range_are_implausible() -> None:
    features, _ = told(1)
    near, far = (ENSEMBLE.posterior(features, np.full(1, y)).weights.sum(axis=0) for y in (0.99, 0.5))
    assert near[2] < 1e-6 < far[2]


def test_compression_keeps_order_and_the_upper_half() -> None:
    scores = np.array([0.1, 0.9, 0.5, -50.0, 0.8, 0.7])
    found = compressed(scores)
    np.testing.assert_array_equal(np.argsort(found), np.argsort(scores))
    upper = scores >= np.median(scores)
    np.testing.assert_array_equal(found[upper], scores[upper])
    assert found.min() > -1.0
    np.testing.assert_allclose(found[2], 0.6 - 0.3 * np.log1p(0.1 / 0.3), atol=1e-12)


def test_one_or_two_scores_are_taken_as_they_are() -> None:
    np.testing.assert_array_equal(compressed(np.array([0.2, -9.0])), [0.2, -9.0])
