"""The filter against two batch posteriors: information form (with inverses) and dense conditioning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autobct.belief.arrays import Array
from autobct.belief.basis import additive_quartic, cubic
from autobct.belief.gaussian import Gaussian, Truth
from autobct.belief.normal import anticipate, gains, predict, update
from autobct.belief.prior import PAPER_PRIORS

OBSERVATIONS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(-3, 3), st.floats(0.05, 1.0)),  # control, observed, noise
    min_size=1,
    max_size=8,
)
MEANS = st.lists(st.floats(-3, 3), min_size=4, max_size=4)
ROOTS = st.lists(st.floats(-1, 1), min_size=16, max_size=16)
SHUFFLES = st.randoms(use_true_random=False)

Seen = list[tuple[float, float, float]]


def filtered(belief: Gaussian, seen: Seen) -> Gaussian:
    for control, observed, noise in seen:
        belief = update(belief, cubic()(np.array([control])), noise, observed)
    return belief


def columns(seen: Seen) -> tuple[Array, Array, Array]:
    controls, observed, noise = (np.array(column) for column in zip(*seen, strict=True))
    return cubic()(controls[:, None]), observed, noise


def information_posterior(prior: Gaussian, seen: Seen) -> Gaussian:
    features, observed, noise = columns(seen)
    precision = np.linalg.inv(prior.cov)
    cov = np.linalg.inv(precision + (features.T / noise**2) @ features)
    return Gaussian(cov @ (precision @ prior.mean + features.T @ (observed / noise**2)), cov)


def conditioned(prior: Gaussian, seen: Seen) -> Gaussian:
    """Conditioning the joint normal of weights and observations: needs no inverse of the prior."""
    features, observed, noise = columns(seen)
    cross = prior.cov @ features.T
    gain = np.linalg.solve(features @ cross + np.diag(noise**2), cross.T).T
    return Gaussian(prior.mean + gain @ (observed - features @ prior.mean), prior.cov - gain @ cross.T)


def regular(mean: list[float], root: list[float]) -> Gaussian:
    factor = np.reshape(root, (4, 4))
    return Gaussian.of(mean, factor @ factor.T + 0.1 * np.eye(4))


@given(MEANS, ROOTS, OBSERVATIONS, SHUFFLES)
def test_filter_is_the_batch_posterior_in_any_order(mean, root, seen, shuffle) -> None:
    prior = regular(mean, root)
    expected = information_posterior(prior, seen)
    shuffled = list(seen)
    shuffle.shuffle(shuffled)
    for order in (seen, shuffled):
        found = filtered(prior, order)
        np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.cov, expected.cov, rtol=0, atol=1e-10)


@given(OBSERVATIONS)
def test_filter_is_penalised_least_squares(seen) -> None:
    """With the prior N(0, I) the mean solves  min |a|^2 + sum ((y - phi'a) / noise)^2."""
    features, observed, noise = columns(seen)
    rows = np.vstack([np.eye(4), features / noise[:, None]])
    solution = np.linalg.lstsq(rows, np.concatenate([np.zeros(4), observed / noise]), rcond=None)[0]
    found = filtered(Gaussian.of(np.zeros(4), np.ones(4)), seen)
    np.testing.assert_allclose(found.mean, solution, rtol=0, atol=1e-10)


@given(MEANS, ROOTS, st.integers(0, 3), OBSERVATIONS)
def test_singular_covariances(mean, root, rank, seen) -> None:
    factor = np.reshape(root, (4, 4))[:, :rank]
    prior = Gaussian.of(mean, factor @ factor.T)
    found, expected = filtered(prior, seen), conditioned(prior, seen)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.cov, expected.cov, rtol=0, atol=1e-10)


@given(MEANS, ROOTS, OBSERVATIONS)
def test_covariance_never_grows_and_stays_exactly_symmetric(mean, root, seen) -> None:
    belief = regular(mean, root)
    for step in seen:
        after = filtered(belief, [step])
        np.testing.assert_array_equal(after.cov, after.cov.T)
        assert np.all(np.diag(after.cov) <= np.diag(belief.cov))
        assert np.all(np.linalg.eigvalsh(after.cov) <= np.linalg.eigvalsh(belief.cov) + 1e-12)
        assert np.linalg.eigvalsh(belief.cov - after.cov).min() >= -1e-12  # in the Loewner order
        assert np.linalg.eigvalsh(after.cov).min() >= -1e-12
        belief = after


@given(MEANS, OBSERVATIONS)
def test_a_truth_stays_put(mean, seen) -> None:
    truth = Truth(np.array(mean), np.zeros(1)).belief().score
    found = filtered(truth, seen)
    np.testing.assert_array_equal(found.mean, truth.mean)
    np.testing.assert_array_equal(found.cov, 0.0)


@pytest.mark.parametrize("name", PAPER_PRIORS)
def test_the_papers_priors(name: str) -> None:
    """Two of them are nearly or fully singular; certain weights stay as they are to the last bit."""
    prior = PAPER_PRIORS[name]
    rng = np.random.default_rng(7)
    controls = rng.random((12, prior.dim))
    basis = cubic() if prior.dim == 1 else additive_quartic()
    features, observed = basis(controls), rng.standard_normal(12)
    for belief in (prior.belief.score, prior.belief.cost):
        found = belief
        for row, value in zip(features, observed, strict=True):
            found = update(found, row, 0.15, value)
        cross = belief.cov @ features.T
        gain = np.linalg.solve(features @ cross + 0.15**2 * np.eye(12), cross.T).T
        np.testing.assert_allclose(found.mean, belief.mean + gain @ (observed - features @ belief.mean), atol=1e-10)
        np.testing.assert_allclose(found.cov, belief.cov - gain @ cross.T, atol=1e-10)
        certain = np.diag(belief.cov) == 0
        assert certain.any() == (name == "cnn-r" and belief is prior.belief.cost)
        np.testing.assert_array_equal(found.mean[certain], belief.mean[certain])
        np.testing.assert_array_equal(found.cov[certain], 0.0)
        np.testing.assert_array_equal(found.cov[:, certain], 0.0)


def test_a_batch_is_a_loop() -> None:
    rng = np.random.default_rng(11)
    roots = rng.standard_normal((3, 5, 4, 4))
    batch = Gaussian(rng.standard_normal((3, 5, 4)), roots @ np.swapaxes(roots, -1, -2))
    features, noise = cubic()(rng.random((3, 5, 1))), rng.uniform(0.1, 1, (3, 5))
    observed = rng.standard_normal((3, 5))
    after = update(batch, features, noise, observed)
    for i in np.ndindex(3, 5):
        alone = update(Gaussian(batch.mean[i], batch.cov[i]), features[i], noise[i], observed[i])
        np.testing.assert_allclose(after.mean[i], alone.mean, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(after.cov[i], alone.cov, rtol=1e-12, atol=1e-12)


def test_one_belief_meets_many_observations() -> None:
    belief = Gaussian.of([0.4, 0.1, -0.2, 0.1], np.ones(4))
    features, observed = cubic()(np.linspace(0, 1, 6)[:, None]), np.linspace(-1, 1, 6)
    after = update(belief, features, 0.1, observed)
    assert after.mean.shape == (6, 4)
    for i in range(6):
        alone = update(belief, features[i], 0.1, observed[i])
        np.testing.assert_allclose(after.mean[i], alone.mean, rtol=1e-12)
        np.testing.assert_allclose(after.cov[i], alone.cov, rtol=1e-12, atol=1e-14)


def test_prediction_is_the_papers() -> None:
    """m = mu'phi, s^2 = phi'Sigma phi + sigma^2 (section 3.1), and the mean moves by Sigma phi / s per unit."""
    belief = Gaussian.of([1, 2], [[2, 0.5], [0.5, 1]])
    found = predict(belief, np.array([1.0, -1.0]), 0.5)
    assert found.mean == pytest.approx(-1)
    assert found.var == pytest.approx(2 - 1 + 1 + 0.25)
    np.testing.assert_allclose(found.gain, np.array([1.5, -0.5]) / 1.5)
    after = update(belief, np.array([1.0, -1.0]), 0.5, found.mean + 3 * np.sqrt(found.var))
    np.testing.assert_allclose(after.mean, belief.mean + 3 * found.gain)


def test_weights_and_values_at_controls_are_the_same_filter() -> None:
    """Seeing control g is an observation with features e_g in function space (METHOD, section 1)."""
    grid = cubic()(np.linspace(0, 1, 9)[:, None])
    weights = PAPER_PRIORS["synthetic"].belief.score
    by_weights = update(weights, grid[6], 0.05, 0.9).at(grid)
    by_values = update(weights.at(grid), np.eye(9)[6], 0.05, 0.9)
    np.testing.assert_allclose(by_values.mean, by_weights.mean, atol=1e-12)
    np.testing.assert_allclose(by_values.cov, by_weights.cov, atol=1e-12)


def test_runs_as_predicted_at_once_are_those_one_after_the_other() -> None:
    rng = np.random.default_rng(3)
    half = rng.standard_normal((5, 5))
    weights = Gaussian(rng.standard_normal(5), half @ half.T)
    features, noise = rng.standard_normal((4, 5)), np.array([0.1, 0.5, 0.2, 0.3])
    after = weights
    for row, sd in zip(features, noise, strict=True):
        after = update(after, row, sd, row @ after.mean)
    at_once = anticipate(weights, gains(weights, features, noise))
    np.testing.assert_allclose(at_once.cov, after.cov, atol=1e-9)
    np.testing.assert_array_equal(at_once.mean, weights.mean)
    twice = anticipate(weights, gains(weights, features[[0, 0]], np.zeros(2)))
    np.testing.assert_allclose(twice.cov, update(weights, features[0], 0.0, 0.0).cov, atol=1e-6)
    assert anticipate(weights, gains(weights, features[:0], noise[:0])) is weights


def test_runs_not_yet_observed_move_the_mean_as_their_outcomes_will() -> None:
    """Outcomes y = Phi m + L z: the posterior mean is m + z gains, as the filter has it run by run."""
    rng = np.random.default_rng(4)
    half = rng.standard_normal((5, 5))
    weights = Gaussian(rng.standard_normal(5), half @ half.T)
    features, noise, z = rng.standard_normal((3, 5)), np.array([0.1, 0.5, 0.2]), rng.standard_normal(3)
    root = np.linalg.cholesky(features @ weights.cov @ features.T + np.diag(noise**2))
    outcomes, after = features @ weights.mean + root @ z, weights
    for row, sd, outcome in zip(features, noise, outcomes, strict=True):
        after = update(after, row, sd, outcome)
    np.testing.assert_allclose(weights.mean + z @ gains(weights, features, noise), after.mean, atol=1e-9)
