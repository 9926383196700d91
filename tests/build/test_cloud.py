"""Clouds: the laws they are drawn from, their sizes, and what stands in them."""

from itertools import islice

import numpy as np
import pytest
from scipy import stats
from tests.value.cases import PAPER, grid, random_weights

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Model, additive, additive_quartic, cubic
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian, Truth
from autobct.belief.prior import Prior, paper_prior
from autobct.build.forests.cloud import (
    concatenate,
    images,
    lkj,
    lkj_around,
    mirror,
    paper_cloud,
    propagated_cloud,
    sampled_cloud,
    tree_size,
    unimodal_shapes,
    wishart,
    wishart_around,
)
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.state import control_grid, view


def size(belief: Belief) -> int:
    return len(belief.score.mean)


def is_truth(belief: Belief) -> Array:
    largest = np.abs(belief.score.cov).max(axis=(-2, -1)) + np.abs(belief.cost.cov).max(axis=(-2, -1))
    return largest == 0


# --- laws ---


def test_wishart_mean_and_variance() -> None:
    scale = np.array([[0.5, 0.2, 0.0], [0.2, 0.4, -0.1], [0.0, -0.1, 0.3]])
    found = wishart(scale, 5.5, 40_000, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(found, np.swapaxes(found, -1, -2))
    spread = np.sqrt(5.5 * (scale**2 + np.outer(np.diag(scale), np.diag(scale))))  # sd of each entry
    np.testing.assert_allclose(found.mean(axis=0), 5.5 * scale, atol=5 * spread.max() / 200)
    np.testing.assert_allclose(found.std(axis=0), spread, rtol=0.05)
    assert np.linalg.eigvalsh(found).min() > 0


def test_a_wishart_diagonal_is_chi_square() -> None:
    found = wishart(np.diag([2.0, 0.5]), 3.7, 5_000, rng=np.random.default_rng(2))
    for i, scale in enumerate((2.0, 0.5)):
        assert stats.kstest(found[:, i, i] / scale, stats.chi2(3.7).cdf).pvalue > 1e-3


def test_a_singular_scale_stays_singular() -> None:
    found = wishart(np.diag([0.64, 0.0, 0.0]), 5.0, 100, rng=np.random.default_rng(3))
    assert np.all(found[:, 0, 0] > 0)
    assert np.abs(found[:, 1:, :]).max() == 0


@pytest.mark.parametrize(("dim", "shape"), [(2, 1.0), (4, 1.0), (4, 3.0), (10, 0.7)])
def test_lkj_entries_have_their_beta_law(dim: int, shape: float) -> None:
    found = lkj(dim, shape, 4_000, rng=np.random.default_rng(dim))
    np.testing.assert_allclose(np.diagonal(found, axis1=-2, axis2=-1), 1.0, atol=1e-12)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    law = stats.beta(shape - 1 + dim / 2, shape - 1 + dim / 2, loc=-1, scale=2)
    for i, j in {(1, 0), (dim - 1, 0), (dim - 1, dim // 2)} - {(1, 1)}:
        assert stats.kstest(found[:, i, j], law.cdf).pvalue > 1e-3


def test_lkj_determinants_have_their_law() -> None:
    """For shape 1 in three dimensions the density is uniform over correlation matrices: E det R by rejection."""
    rng = np.random.default_rng(4)
    entries = rng.uniform(-1, 1, (200_000, 3))
    a, b, c = entries.T
    det = 1 + 2 * a * b * c - a * a - b * b - c * c
    expected = det[det > 0]
    found = np.linalg.det(lkj(3, 1.0, 20_000, rng=rng))
    assert abs(found.mean() - expected.mean()) < 5 * found.std() / np.sqrt(20_000)


def test_samplers_are_centred_on_the_prior() -> None:
    centre = np.diag([0.64, 4.0, 4.0, 1.0])
    rng = np.random.default_rng(5)
    np.testing.assert_allclose(wishart_around()(centre, 40_000, rng).mean(axis=0), centre, atol=0.08)
    drawn = lkj_around(2.0, spread=0.0)(centre, 40_000, rng)
    np.testing.assert_allclose(np.diagonal(drawn, axis1=-2, axis2=-1), np.tile(np.diag(centre), (40_000, 1)))
    np.testing.assert_allclose(drawn.mean(axis=0), centre, atol=0.08)


def test_impossible_laws_are_refused() -> None:
    with pytest.raises(ValueError, match="degrees must be more than 2 for 3 x 3"):
        wishart(np.eye(3), 2.0, 1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="shape must be positive"):
        lkj(3, 0.0, 1, rng=np.random.default_rng(0))


# --- sampled states ---


@pytest.mark.parametrize("covariances", [wishart_around(), lkj_around()])
def test_every_sampled_belief_shrinks_to_a_truth(covariances) -> None:
    priors = [paper_prior(name).belief for name in ("synthetic", "higgs", "cnn-r")]
    batches = list(sampled_cloud(priors, 25, 4, rng=np.random.default_rng(1), covariances=covariances, batch=10))
    assert [size(batch) for batch in batches] == [50, 50, 25]
    cloud = concatenate(batches)
    assert is_truth(cloud).sum() == 25
    means = cloud.score.mean.reshape(25, 5, 4)
    np.testing.assert_array_equal(means, np.repeat(means[:, :1], 5, axis=1))
    for part in (cloud.score, cloud.cost):
        cov = part.cov.reshape(25, 5, 4, 4)
        np.testing.assert_allclose(cov, cov[:, -1:] * np.linspace(0, 1, 5)[:, None, None], atol=1e-12)
        assert np.linalg.eigvalsh(cov).min() > -1e-9


def test_means_are_normal_around_the_prior() -> None:
    prior = paper_prior("synthetic").belief
    cloud = concatenate(sampled_cloud([prior], 20_000, 1, rng=np.random.default_rng(2), spread=0.5))
    means = cloud.cost.mean[::2]
    np.testing.assert_allclose(means.mean(axis=0), prior.cost.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(means.T), 0.25 * prior.cost.cov, atol=0.05)


def test_the_same_seed_gives_the_same_cloud() -> None:
    one, two, other = (concatenate(islice(paper_cloud(1, rng=np.random.default_rng(seed)), 3)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.score.cov, two.score.cov)
    np.testing.assert_array_equal(one.cost.mean, two.cost.mean)
    assert not np.array_equal(one.cost.mean, other.cost.mean)


# --- shapes ---


def brute_force_peaks(values: Array) -> int:
    padded = np.pad(values, 1, constant_values=-np.inf)
    around = [np.roll(padded, shift, axis) for axis in range(values.ndim) for shift in (1, -1)]
    return int((padded > np.maximum.reduce(around)).sum())


@pytest.mark.parametrize("cost_model", [PAPER.cost_model, LOG_LINEAR])
def test_one_dimensional_shapes_have_one_peak_and_monotone_positive_costs(cost_model) -> None:
    basis = cubic()
    shapes = unimodal_shapes(200, basis, rng=np.random.default_rng(1), cost_model=cost_model)
    features = basis(grid(41))
    scores, costs = shapes.score_weights @ features.T, shapes.cost_weights @ features.T
    assert all(brute_force_peaks(curve) == 1 for curve in scores)
    steps = np.diff(costs, axis=-1)
    assert np.all((steps > -1e-9).all(axis=-1) | (steps < 1e-9).all(axis=-1))
    assert cost_model.from_observation(costs).min() > 0
    peaks = scores.argmax(axis=-1)
    assert (peaks == 0).any()
    assert (peaks == 40).any()
    assert ((peaks > 0) & (peaks < 40)).mean() > 0.3
    assert -1 < scores.min() < scores.max() < 1.5


@pytest.mark.parametrize("basis", [additive_quartic(), additive(3, degree=2)])
def test_shapes_in_more_dimensions(basis: Basis) -> None:
    shapes = unimodal_shapes(20, basis, rng=np.random.default_rng(2))
    cube = basis(control_grid(11, basis.dim))
    scores = (shapes.score_weights @ cube.T).reshape(20, *[11] * basis.dim)
    assert np.mean([brute_force_peaks(one) == 1 for one in scores]) > 0.9
    assert (shapes.cost_weights @ cube.T).min() > -0.05


def test_a_basis_without_shapes_says_so() -> None:
    wave = Basis.of([lambda u: np.sin(20 * u[..., 0])], dim=1, name="wave")
    with pytest.raises(ValueError, match="basis 'wave' cannot hold unimodal scores"):
        unimodal_shapes(1, wave, rng=np.random.default_rng(0))


# --- propagation ---


def test_propagated_states_are_posteriors_of_the_shape() -> None:
    """Along the only control, with hardly any noise: the belief there is the shape, by dense conditioning."""
    basis, control = cubic(), np.array([[0.3]])
    belief = paper_prior("synthetic").belief
    prior = Prior(Model(basis, basis, 1e-6, 1e-6), belief)
    shapes = unimodal_shapes(7, basis, rng=np.random.default_rng(3))
    layers = list(propagated_cloud(shapes, [prior], control, 3, rng=np.random.default_rng(4)))
    assert [size(layer) for layer in layers] == [7, 7, 7]
    features = basis(control)[0]
    for layer in layers:
        np.testing.assert_allclose(layer.score.mean @ features, shapes.score_weights @ features, atol=1e-5)
        np.testing.assert_allclose(layer.cost.mean @ features, shapes.cost_weights @ features, atol=1e-5)
        expected = belief.score.cov - np.outer(belief.score.cov @ features, belief.score.cov @ features) / (
            features @ belief.score.cov @ features
        )
        np.testing.assert_allclose(layer.score.cov, np.tile(expected, (7, 1, 1)), atol=1e-5)


def test_all_sequences_are_followed_once() -> None:
    prior = paper_prior("synthetic")
    shapes = Truth(np.zeros((2, 4)), np.ones((2, 4)))
    cloud = concatenate(propagated_cloud(shapes, [prior], grid(3), 2, rng=np.random.default_rng(5)))
    assert size(cloud) == 2 * tree_size(3, 2) == 2 * (3 + 9)
    precision = np.linalg.inv(cloud.score.cov) - np.linalg.inv(prior.belief.score.cov)
    features = cubic()(grid(3)) / 0.05
    grams = np.einsum("gi,gj->gij", features, features)
    expected = [g for _ in range(2) for g in grams] + [g + h for _ in range(2) for g in grams for h in grams]
    np.testing.assert_allclose(precision, expected, atol=1e-6)


def test_a_layer_is_no_wider_than_told() -> None:
    prior = paper_prior("synthetic")
    shapes = unimodal_shapes(6, cubic(), rng=np.random.default_rng(6))
    layers = list(propagated_cloud(shapes, [prior], grid(4), 4, rng=np.random.default_rng(7), width=10, batch=20))
    assert [size(layer) for layer in layers] == 3 * [8, 20, 20, 20]
    assert tree_size(4, 4, 10) == 4 + 10 + 10 + 10
    for layer in layers[1::4]:  # of 16 sequences of two, ten different ones for each shape
        assert all(len({tuple(np.round(row, 12)) for row in rows}) == 10 for rows in layer.score.mean.reshape(2, 10, 4))


# --- the paper's clouds ---


def test_the_papers_one_dimensional_cloud() -> None:
    counted = truths = 0
    for batch in paper_cloud(1, rng=np.random.default_rng(1)):
        counted += size(batch)
        truths += int(is_truth(batch).sum())
        assert np.isfinite(batch.score.mean).all()
        assert np.isfinite(batch.cost.cov).all()
    assert (counted, truths) == (156_000, 1000)


def test_the_papers_two_dimensional_cloud() -> None:
    counts = 1000 * 64 + 2 * 100 * tree_size(16, 10, 402)
    assert counts == 761_600
    sampled = 0
    for batch in paper_cloud(2, rng=np.random.default_rng(1)):
        if not is_truth(batch).any():  # the first of the propagated ones
            assert size(batch) % 16 == 0
            break
        sampled += size(batch)
    assert sampled == 64_000


@pytest.mark.slow
def test_the_papers_two_dimensional_cloud_to_the_end() -> None:
    assert sum(size(batch) for batch in paper_cloud(2, rng=np.random.default_rng(1))) == 761_600


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="dim must be 1 or 2, got 3"):
        next(paper_cloud(3, rng=np.random.default_rng(1)))


# --- mirrors ---


def test_the_mirror_flips_the_odd_coefficients() -> None:
    belief = random_weights(1, (5,))
    found = mirror(belief, cubic())
    signs = np.array([1, -1, 1, -1])
    np.testing.assert_array_equal(found.score.mean, belief.score.mean * signs)
    np.testing.assert_allclose(found.cost.cov, belief.cost.cov * np.outer(signs, signs), atol=1e-14)
    twice = mirror(found, cubic())
    np.testing.assert_array_equal(twice.score.mean, belief.score.mean)


def test_images_are_the_function_at_moved_controls() -> None:
    basis = additive_quartic()
    rng = np.random.default_rng(2)
    belief = Belief(
        Gaussian(rng.standard_normal((3, 10)), np.tile(np.eye(10), (3, 1, 1))),
        Gaussian(rng.standard_normal((3, 10)), np.tile(np.diag(np.arange(10.0)), (3, 1, 1))),
    )
    u = rng.random((20, 2))
    moves = [u, u * [1, -1] + [0, 1], u * [-1, 1] + [1, 0], 1 - u]
    moves += [move[:, ::-1] for move in moves]
    found = list(images(belief, basis))
    assert len(found) == 8
    for image, moved in zip(found, moves, strict=True):
        np.testing.assert_allclose(image.score.at(basis(u)).mean, belief.score.at(basis(moved)).mean, atol=1e-10)
        np.testing.assert_allclose(image.cost.at(basis(u)).cov, belief.cost.at(basis(moved)).cov, atol=1e-9)
    swapped = mirror(belief, basis, flip=(False, False), order=(1, 0))
    np.testing.assert_array_equal(swapped.score.mean, belief.score.mean[:, [0, 5, 6, 7, 8, 1, 2, 3, 4, 9]])


def test_images_have_the_same_value() -> None:
    model, belief = Model(cubic(), cubic(), 0.1, 0.1), random_weights(3, (4,))
    one, other = (on_the_fly(view(b, model, grid(9)), PAPER, depth=2) for b in images(belief, cubic()))
    np.testing.assert_allclose(one, other[:, ::-1], atol=1e-10)


def test_a_lopsided_basis_has_no_mirror() -> None:
    lopsided = Basis.of([lambda u: np.exp(u[..., 0])], dim=1, name="lopsided")
    belief = Belief(Gaussian(np.ones((1, 1)), np.ones((1, 1, 1))), Gaussian(np.ones((1, 1)), np.ones((1, 1, 1))))
    with pytest.raises(ValueError, match="basis 'lopsided' does not contain its own mirror image"):
        mirror(belief, lopsided)
