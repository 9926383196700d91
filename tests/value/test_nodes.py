"""Rules for a normal: moments, and the order stratified <= exact <= chord for convex functions."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.value.chords import chord

from autobct.belief.normal import expected_maximum
from autobct.value.lookahead.nodes import Rule, gauss_hermite, monte_carlo, product, stratified

LINES = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=1, max_size=6)


@pytest.mark.parametrize("rule", [stratified, chord, gauss_hermite])
@pytest.mark.parametrize("count", [1, 2, 3, 8, 64, 100])
def test_weights_sum_to_one_and_the_mean_is_zero(rule, count: int) -> None:
    found: Rule = rule(count)
    assert np.all(np.isfinite(found.points))
    assert np.all(found.weights >= 0)
    assert found.weights.sum() == pytest.approx(1, abs=1e-14)
    assert found.weights @ found.points == pytest.approx(0, abs=1e-14)
    np.testing.assert_allclose(found.points, -found.points[::-1], atol=1e-9)  # symmetric
    np.testing.assert_allclose(found.weights, found.weights[::-1], atol=1e-12)


@pytest.mark.parametrize("cells", [2, 5])
def test_strata_are_conditional_means(cells: int) -> None:
    edges = norm.ppf(np.linspace(0, 1, cells + 1))
    expected = [quad(lambda z: z * norm.pdf(z), low, high)[0] * cells for low, high in itertools.pairwise(edges)]
    np.testing.assert_allclose(stratified(cells).points, expected, atol=1e-9)
    np.testing.assert_allclose(chord(cells).points[1:-1], edges[1:-1], atol=1e-12)


@given(LINES, st.integers(1, 24))
def test_strata_below_and_chords_above_a_convex_function(lines, cells: int) -> None:
    a, b = np.array(lines).T
    exact = float(expected_maximum(a, b))
    values = {}
    for rule in (stratified(cells), chord(cells)):
        values[rule.points.size - cells] = rule.weights @ (a + b * rule.points[:, None]).max(axis=-1)
    assert values[0] <= exact + 1e-12
    assert values[1] >= exact - 1e-9  # the mass beyond the 1e-10 quantiles


def test_both_converge_to_the_truth() -> None:
    a, b = np.array([0.0, 0.3, -0.5]), np.array([-1.0, 0.1, 1.5])
    exact = float(expected_maximum(a, b))
    for make in (stratified, chord):
        errors = []
        for cells in (8, 16, 32, 64):
            rule = make(cells)
            errors.append(abs(rule.weights @ (a + b * rule.points[:, None]).max(axis=-1) - exact))
        assert errors[-1] < 1e-3 * (1 if make is stratified else 20)
        assert errors[-1] < errors[0] / 6


def test_gauss_hermite_is_exact_for_polynomials() -> None:
    rule = gauss_hermite(5)
    moments = [rule.weights @ rule.points**k for k in range(10)]
    np.testing.assert_allclose(moments, [1, 0, 1, 0, 3, 0, 15, 0, 105, 0], atol=1e-10)


def test_product_pairs_every_node_with_every_other() -> None:
    nodes = product(stratified(3), chord(2))
    assert nodes.weights.shape == (3, 3)
    assert nodes.weights.sum() == pytest.approx(1)
    score, cost, _ = np.broadcast_arrays(nodes.score, nodes.cost, np.zeros((1, 3, 3)))
    assert (nodes.weights * score[0] * cost[0]).sum() == pytest.approx(0, abs=1e-15)
    assert (nodes.weights * np.square(cost[0])).sum() == pytest.approx(chord(2).weights @ chord(2).points ** 2)


def test_monte_carlo_is_data_and_independent_between_controls() -> None:
    nodes = monte_carlo(5, 4000, rng=np.random.default_rng(1))
    again = monte_carlo(5, 4000, rng=np.random.default_rng(1))
    np.testing.assert_array_equal(nodes.score, again.score)
    assert nodes.score.shape == nodes.cost.shape == (5, 4000, 1)
    assert nodes.weights.sum() == pytest.approx(1)
    drawn = np.concatenate([nodes.score, nodes.cost])[..., 0]
    np.testing.assert_allclose(np.cov(drawn), np.eye(10), atol=5 * np.sqrt(2 / 4000))


@pytest.mark.parametrize("rule", [stratified, chord, gauss_hermite])
def test_no_nodes_are_refused(rule) -> None:
    with pytest.raises(ValueError, match="a rule needs at least one node, got 0"):
        rule(0)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"gauss_hermite takes at most 100 nodes, got 101; use stratified\(101\)"):
        gauss_hermite(101)
    with pytest.raises(ValueError, match="at least one node"):
        monte_carlo(5, 0, rng=np.random.default_rng(1))
