"""Laws of METHOD, section 2: order of depths, truths, shift, units, mirror."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.value.cases import ALL_TERMS, FEW, TERMS_IDS, grid, random_model, random_state, random_weights

from autobct.belief.arrays import Array
from autobct.belief.basis import Model, additive_quartic, cubic
from autobct.belief.cost import LINEAR, LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian, Truth
from autobct.belief.prior import paper_prior
from autobct.value.acquisition import gittins_index
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_values
from autobct.value.state import State, Terms, keep, view

SEEDS = st.integers(0, 10_000)
DEPTHS = (1, 2, 3)


def seen(belief: Belief, model: Model, terms: Terms, count: int = 5) -> State:
    state = view(belief, model, grid(count))
    return keep(state, np.array([1, 3])) if terms.recall else state


def nothing(state: State, terms: Terms) -> Array:
    return np.full(state.score.mean.shape[:-1], -np.inf)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@given(seed=SEEDS)
def test_more_foresight_is_worth_no_less(terms: Terms, seed: int) -> None:
    """V_1 <= V_2 <= V_3 exactly when every step takes the same nodes: T is monotone, the nodes have mean zero.

    The end is -inf but not `never`, so that with recall the last step, too, is averaged over the nodes.
    """
    state = random_state(seed, 4, terms=terms)
    values = [on_the_fly(state, terms, depth=depth, terminal=nothing, levels=[Level(FEW)]) for depth in DEPTHS]
    assert np.all(values[0] <= values[1] + 1e-12)
    assert np.all(values[1] <= values[2] + 1e-12)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@given(seed=SEEDS)
def test_at_a_truth_every_depth_is_the_best_one_run_value(terms: Terms, seed: int) -> None:
    weights = random_weights(seed)
    truth = Truth(weights.score.mean, weights.cost.mean).belief()
    state = view(truth, random_model(seed, terms.cost_model), grid(5))
    best = one_run_values(state, replace(terms, recall=False)).max()
    for depth in DEPTHS:
        assert on_the_fly(state, terms, depth=depth).max() == pytest.approx(best, abs=1e-12)
        assert on_the_fly(state, terms, depth=depth, levels=[Level(FEW)]).max() == pytest.approx(best, abs=1e-12)


@given(seed=SEEDS)
def test_at_a_truth_with_an_incumbent(seed: int) -> None:
    """Nothing is learned: a run is worth the better of the two scores, minus its price."""
    terms = Terms(0.2, recall=True)
    weights = random_weights(seed)
    state = view(Truth(weights.score.mean, weights.cost.mean).belief(), random_model(seed), grid(5))
    alone = one_run_values(state, terms)
    expected = alone - state.score.mean + np.maximum(state.score.mean, state.score.mean[2])
    for depth in DEPTHS:
        values = on_the_fly(keep(state, np.array([2])), terms, depth=depth, levels=[Level(FEW)])
        assert values.max() == pytest.approx(expected.max(), abs=1e-12)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@given(seed=SEEDS, shift=st.floats(-5, 5))
@pytest.mark.slow
def test_shift(terms: Terms, seed: int, shift: float) -> None:
    belief, model = random_weights(seed), random_model(seed, terms.cost_model)
    lifted = Belief(Gaussian(belief.score.mean + shift * np.eye(4)[0], belief.score.cov), belief.cost)
    for depth in DEPTHS:
        values = on_the_fly(seen(belief, model, terms, 4), terms, depth=depth)
        moved = on_the_fly(seen(lifted, model, terms, 4), terms, depth=depth)
        np.testing.assert_allclose(moved, values + shift, rtol=0, atol=1e-9)
    indices = gittins_index(seen(belief, model, terms), terms)
    np.testing.assert_allclose(gittins_index(seen(lifted, model, terms), terms), indices + shift, atol=1e-9)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@given(seed=SEEDS, a=st.floats(0.1, 10), b=st.floats(0.1, 10))
@pytest.mark.slow
def test_units(terms: Terms, seed: int, a: float, b: float) -> None:
    """Scores times a, costs times b, price times a/b: every value times a."""
    belief, model = random_weights(seed), random_model(seed, terms.cost_model)
    score_noise, cost_noise = model.score_noise, model.cost_noise
    assert callable(score_noise)
    assert callable(cost_noise)
    score = Gaussian(a * belief.score.mean, a**2 * belief.score.cov)
    if terms.cost_model is LINEAR:
        cost = Gaussian(b * belief.cost.mean, b**2 * belief.cost.cov)
        scaled = Model(cubic(), cubic(), lambda u: a * score_noise(u), lambda u: b * cost_noise(u), LINEAR)
    else:  # the logarithm of the cost is shifted by log b
        cost = Gaussian(belief.cost.mean + np.log(b) * np.eye(4)[0], belief.cost.cov)
        scaled = Model(cubic(), cubic(), lambda u: a * score_noise(u), cost_noise, LOG_LINEAR)
    new_terms = replace(terms, price=terms.price * a / b, overhead=terms.overhead * a)
    for depth in DEPTHS:
        values = on_the_fly(seen(belief, model, terms, 4), terms, depth=depth)
        found = on_the_fly(seen(Belief(score, cost), scaled, new_terms, 4), new_terms, depth=depth)
        np.testing.assert_allclose(found, a * values, rtol=1e-9, atol=1e-9)
    indices = gittins_index(seen(belief, model, terms), terms)
    found = gittins_index(seen(Belief(score, cost), scaled, new_terms), new_terms)
    np.testing.assert_allclose(found, a * indices, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@given(seed=SEEDS)
def test_mirror(terms: Terms, seed: int) -> None:
    """u -> 1 - u flips the odd coefficients."""
    flip = np.array([1, -1, 1, -1])
    belief = random_weights(seed)
    mirrored = Belief(
        *(Gaussian(g.mean * flip, g.cov * np.outer(flip, flip)) for g in (belief.score, belief.cost)),
    )
    model = Model(cubic(), cubic(), 0.2, 0.1, terms.cost_model)
    for depth in DEPTHS:
        values = on_the_fly(seen(belief, model, terms), terms, depth=depth)
        turned = on_the_fly(seen(mirrored, model, terms), terms, depth=depth)
        np.testing.assert_allclose(turned[::-1], values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("depth", DEPTHS)
def test_swapping_two_coordinates(depth: int) -> None:
    prior, terms = paper_prior("cnn-2d"), Terms(0.16)
    order = [0, 5, 6, 7, 8, 1, 2, 3, 4, 9]
    swapped = Belief(
        *(Gaussian(g.mean[order], g.cov[np.ix_(order, order)]) for g in (prior.belief.score, prior.belief.cost)),
    )
    controls = np.random.default_rng(1).random((6, 2))
    assert additive_quartic().size == 10
    values = on_the_fly(view(prior.belief, prior.model, controls), terms, depth=depth)
    found = on_the_fly(view(swapped, prior.model, controls[:, ::-1]), terms, depth=depth)
    np.testing.assert_allclose(found, values, rtol=0, atol=1e-9)


@given(seed=SEEDS, order=st.permutations(range(5)))
def test_the_order_of_the_candidates_does_not_matter(seed: int, order: list[int]) -> None:
    belief, model, terms = random_weights(seed), random_model(seed), Terms(0.16)
    for depth in (1, 2):
        values = on_the_fly(view(belief, model, grid(5)), terms, depth=depth)
        found = on_the_fly(view(belief, model, grid(5)[order]), terms, depth=depth)
        np.testing.assert_allclose(found, values[order], rtol=0, atol=1e-10)


@given(seed=SEEDS)
def test_more_candidates_are_worth_no_less(seed: int) -> None:
    belief, model, terms = random_weights(seed), random_model(seed), Terms(0.16)
    for depth in DEPTHS:
        few = on_the_fly(view(belief, model, grid(3)), terms, depth=depth, levels=[Level(FEW)]).max()
        more = on_the_fly(view(belief, model, grid(5)), terms, depth=depth, levels=[Level(FEW)]).max()
        assert few <= more + 1e-12


@given(seed=SEEDS, times=st.floats(1, 5))
def test_a_higher_price_is_worth_no_more(seed: int, times: float) -> None:
    state = random_state(seed, 4)
    for depth in DEPTHS:
        values = [on_the_fly(state, Terms(p), depth=depth, levels=[Level(FEW)]) for p in (0.1, 0.1 * times)]
        assert np.all(values[1] <= values[0] + 1e-12)
