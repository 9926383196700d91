"""OTF against enumeration by hand: plain loops, weights instead of values, a filter with inverses."""

import math

import numpy as np
import pytest
from tests.value.cases import (
    ALL_TERMS,
    FEW,
    PAPER,
    RECALL,
    TERMS_IDS,
    one_of,
    prior_state,
    random_state,
)

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Model
from autobct.belief.cost import LINEAR, LOG_LINEAR
from autobct.belief.gaussian import Belief, Gaussian
from autobct.value.lookahead.nodes import Rule, product, stratified
from autobct.value.lookahead.on_the_fly import Level, default_levels, on_the_fly, thinned
from autobct.value.lookahead.one_step import control_values, never, one_run_value, one_run_values, two_run_values
from autobct.value.state import State, Terms, keep, view

CONTROLS = (0.2, 0.9)
NOISE = (0.3, 0.2)
SCORE_NODES = ((-1.0, 0.5), (1.0, 0.5))
COST_NODES = ((-2.0, 0.2), (0.5, 0.8))
NODES = product(
    Rule(np.array([z for z, _ in SCORE_NODES]), np.array([p for _, p in SCORE_NODES])),
    Rule(np.array([w for w, _ in COST_NODES]), np.array([p for _, p in COST_NODES])),
)
TOY = Belief(
    Gaussian.of([0.3, 0.2], [[0.5, 0.1], [0.1, 0.8]]),
    Gaussian.of([0.4, 0.3], [[0.3, -0.1], [-0.1, 0.4]]),
)
TOY_BASIS = Basis.of([lambda u: np.ones(u.shape[:-1]), lambda u: u[..., 0] - 0.5], dim=1)


def phi(u: float) -> Array:
    return np.array([1.0, u - 0.5])


def posterior(mean: Array, cov: Array, u: float, noise: float, seen: float) -> tuple[Array, Array]:
    new_cov = np.linalg.inv(np.linalg.inv(cov) + np.outer(phi(u), phi(u)) / noise**2)  # eqs. (filter_a, filter_b)
    return mean + new_cov @ phi(u) * (seen - phi(u) @ mean) / noise**2, new_cov


def expected_cost(m: float, s: float, terms: Terms) -> float:
    if terms.cost_model is LOG_LINEAR:
        return math.exp(m + s * s / 2)
    return s / math.sqrt(2 * math.pi) * math.exp(-(m**2) / (2 * s * s)) + m * 0.5 * math.erfc(-m / s / math.sqrt(2))


def enumerate_values(
    score: tuple[Array, Array],
    cost: tuple[Array, Array],
    terms: Terms,
    depth: int,
    trained: list[float],
    end: float,
    damping: float = 0.0,
) -> list[float]:
    """The value of a run at each control with `depth` runs of foresight, every outcome by its probability."""
    values = []
    for u in CONTROLS:
        s_score = math.sqrt(phi(u) @ score[1] @ phi(u) + NOISE[0] ** 2)
        s_cost = math.sqrt(phi(u) @ cost[1] @ phi(u) + NOISE[1] ** 2)
        total = -terms.price * expected_cost(phi(u) @ cost[0], s_cost, terms) - terms.overhead
        for z, p in SCORE_NODES:
            for w, q in COST_NODES:
                new_score = posterior(*score, u, NOISE[0], phi(u) @ score[0] + s_score * z)
                new_cost = posterior(*cost, u, NOISE[1], phi(u) @ cost[0] + s_cost * w)
                kept = [*trained, u] if terms.recall else [u]
                stop = max(phi(v) @ new_score[0] for v in kept)
                later = end if depth == 1 else max(enumerate_values(new_score, new_cost, terms, depth - 1, kept, end))
                total += p * q * max(stop, (1 - damping) * later)
        values.append(total)
    return values


def toy_state(terms: Terms, kept: list[int]) -> State:
    model = Model(TOY_BASIS, TOY_BASIS, *NOISE, terms.cost_model)
    return keep(view(TOY, model, np.array(CONTROLS)[:, None]), np.array(kept, dtype=np.intp))


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("damping", [0.0, 0.2])
@pytest.mark.parametrize("kept", [[], [1]], ids=["no-model", "one-model"])
@pytest.mark.parametrize("recall", [False, True], ids=["last", "recall"])
@pytest.mark.parametrize("cost_model", [LINEAR, LOG_LINEAR], ids=["linear", "log-linear"])
@pytest.mark.parametrize("end", [-np.inf, 0.35], ids=["never", "constant"])
def test_two_control_toy_by_enumeration(
    cost_model, recall: bool, kept: list[int], damping: float, depth: int, end: float
) -> None:
    terms = Terms(0.5, cost_model, recall, overhead=0.01)
    state = toy_state(terms, kept)
    found = on_the_fly(
        state,
        terms,
        depth=depth,
        terminal=lambda state, terms: np.full(state.score.mean.shape[:-1], end),  # not `never`: nodes to the end
        levels=[Level(NODES)],
        damping=damping,
    )
    weights = [(g.mean, g.cov) for g in (TOY.score, TOY.cost)]
    expected = enumerate_values(*weights, terms, depth, [CONTROLS[i] for i in kept], end, damping)
    np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_without_recall_the_closed_last_step_changes_nothing(depth: int) -> None:
    """V_1 in closed form is what the nodes give, because the stop is linear in them."""
    terms = Terms(0.5)
    weights = [(g.mean, g.cov) for g in (TOY.score, TOY.cost)]
    expected = enumerate_values(*weights, terms, depth, [], -np.inf)
    found = on_the_fly(toy_state(terms, []), terms, depth=depth, levels=[Level(NODES)])
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_with_recall_the_last_step_is_exact() -> None:
    """Depth 2: two-point nodes outside, dense integration of R1 inside."""
    terms = Terms(0.5, recall=True)
    z = np.linspace(-9, 9, 36_001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    expected = []
    for u in CONTROLS:
        s_score = math.sqrt(phi(u) @ TOY.score.cov @ phi(u) + NOISE[0] ** 2)
        s_cost = math.sqrt(phi(u) @ TOY.cost.cov @ phi(u) + NOISE[1] ** 2)
        total = -terms.price * expected_cost(phi(u) @ TOY.cost.mean, s_cost, terms)
        for a, p in SCORE_NODES:
            for b, q in COST_NODES:
                mean, cov = posterior(TOY.score.mean, TOY.score.cov, u, NOISE[0], phi(u) @ TOY.score.mean + s_score * a)
                cost = posterior(TOY.cost.mean, TOY.cost.cov, u, NOISE[1], phi(u) @ TOY.cost.mean + s_cost * b)
                worth = [phi(u) @ mean]
                for v in CONTROLS:
                    sd = math.sqrt(phi(v) @ cov @ phi(v) + NOISE[0] ** 2)
                    move = cov @ phi(v) / sd
                    best = np.maximum(phi(u) @ mean + phi(u) @ move * z, phi(v) @ mean + phi(v) @ move * z)
                    price = terms.price * expected_cost(
                        phi(v) @ cost[0], math.sqrt(phi(v) @ cost[1] @ phi(v) + NOISE[1] ** 2), terms
                    )
                    worth.append(float(weight @ best) - price)
                total += p * q * max(worth)
        expected.append(total)
    found = on_the_fly(toy_state(terms, []), terms, depth=2, levels=[Level(NODES)])
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_on_the_fly_is_a_composition_of_the_pieces() -> None:
    state = random_state(1, 9)
    np.testing.assert_array_equal(on_the_fly(state, PAPER, depth=1), one_run_values(state, PAPER))
    rule, inner = stratified(3), np.array([0, 4, 8])
    two = on_the_fly(state, PAPER, depth=2, levels=[Level(rule, inner)], damping=0.1)
    np.testing.assert_array_equal(two, two_run_values(state, PAPER, rule, inner=inner, damping=0.1))
    three = on_the_fly(state, PAPER, depth=3, levels=[Level(FEW, inner), Level(rule)])
    later = lambda state, terms: two_run_values(state, terms, rule).max(axis=-1)  # noqa: E731
    np.testing.assert_allclose(three, control_values(state, PAPER, FEW, later, inner=inner), atol=1e-12)
    mapped = on_the_fly(state, PAPER, depth=1, terminal=one_run_value, levels=[Level(FEW)])
    np.testing.assert_allclose(mapped, control_values(state, PAPER, FEW, one_run_value), atol=1e-12)


def test_the_last_level_is_repeated() -> None:
    state = random_state(3, 4)
    once = on_the_fly(state, PAPER, depth=3, levels=[Level(FEW)])
    np.testing.assert_array_equal(once, on_the_fly(state, PAPER, depth=3, levels=[Level(FEW)] * 3))


def test_smoothing_is_applied_at_its_level() -> None:
    state = random_state(3, 6)
    doubled = Level(FEW, smooth=lambda values: 2 * values)
    plain = on_the_fly(state, PAPER, depth=2, levels=[Level(FEW)])
    np.testing.assert_array_equal(on_the_fly(state, PAPER, depth=2, levels=[doubled, Level(FEW)]), 2 * plain)
    inner = on_the_fly(state, PAPER, depth=3, levels=[Level(FEW), doubled])
    twice = lambda state, terms: 2 * control_values(state, terms, FEW, one_run_value).max(axis=-1)  # noqa: E731
    np.testing.assert_allclose(inner, control_values(state, PAPER, FEW, twice), atol=1e-12)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_default_levels_serve_every_depth(terms: Terms, depth: int) -> None:
    levels = default_levels(depth, 5, terms)
    assert 1 <= len(levels) <= depth
    state = random_state(6, 5, terms=terms)
    values = (
        on_the_fly(state, terms, depth=depth)
        if depth < 4
        else on_the_fly(state, terms, depth=4, levels=[*[Level(product(stratified(2), stratified(1)))] * 3])
    )
    assert values.shape == (5,)
    assert np.all(np.isfinite(values))


def test_default_levels_of_depth_four_run() -> None:
    values = on_the_fly(prior_state(count=3), PAPER, depth=4)
    assert values.max() >= on_the_fly(prior_state(count=3), PAPER, depth=1).max()


def test_default_levels_are_near_finer_ones() -> None:
    state = prior_state(count=51)
    fine = on_the_fly(state, PAPER, depth=2, levels=[Level(stratified(32))])
    np.testing.assert_allclose(on_the_fly(state, PAPER, depth=2), fine, atol=3e-3)
    kept = keep(state, np.array([30]))
    fine = on_the_fly(kept, RECALL, depth=2, levels=[Level(product(stratified(24), stratified(8)))])
    np.testing.assert_allclose(on_the_fly(kept, RECALL, depth=2), fine, atol=1e-2)


@pytest.mark.parametrize(("size", "count"), [(101, 26), (101, 17), (30, 21), (6, 5)])
def test_thinned_spreads_and_keeps_the_ends(size: int, count: int) -> None:
    found = thinned(size, count)
    assert found is not None
    assert (found[0], found[-1], found.size) == (0, size - 1, count)
    assert set(np.diff(found)) <= {(size - 1) // (count - 1), (size - 1) // (count - 1) + 1}


def test_thinned_of_few_is_all() -> None:
    assert thinned(5, 5) is None
    assert thinned(4, 9) is None


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_batch_of_one_a_batch_of_many_and_no_batch(terms: Terms, depth: int) -> None:
    states = random_state(9, 4, terms=terms, batch=(3,))
    many = on_the_fly(states, terms, depth=depth, damping=0.05)
    assert many.shape == (3, 4)
    for i in range(3):
        alone = one_of(states, i)
        single = State(
            Gaussian(alone.score.mean[None], alone.score.cov[None]),
            Gaussian(alone.cost.mean[None], alone.cost.cov[None]),
            alone.score_noise,
            alone.cost_noise,
            alone.kept[None],
        )
        expected = on_the_fly(alone, terms, depth=depth, damping=0.05)
        np.testing.assert_allclose(many[i], expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(on_the_fly(single, terms, depth=depth, damping=0.05)[0], expected, atol=1e-12)


def test_refusals() -> None:
    state = prior_state(count=4)
    with pytest.raises(ValueError, match="depth must be at least 1, got 0"):
        on_the_fly(state, PAPER, depth=0)
    with pytest.raises(ValueError, match="a rule for the cost alone is for the last step but one"):
        on_the_fly(state, PAPER, depth=3, levels=[Level(stratified(3))])
    with pytest.raises(ValueError, match="a rule for the cost alone"):
        on_the_fly(state, PAPER, depth=1, terminal=one_run_value, levels=[Level(stratified(3))])
    with pytest.raises(ValueError, match=r"terms\.recall=False"):
        on_the_fly(state, RECALL, depth=2, terminal=never, levels=[Level(stratified(3))])
