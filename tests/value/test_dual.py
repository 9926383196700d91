"""The upper bound: against problems solved exactly, against W_0 and lookahead, and its square-root filter."""

import numpy as np
import pytest
from tests.value.cases import ALL_TERMS, RECALL, TERMS_IDS, grid, prior_for, prior_state, random_state
from tests.value.exact_problems import Solved, few_controls, one_weight, pandora

from autobct.belief.arrays import Array
from autobct.belief.basis import Model, cubic
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Truth
from autobct.belief.normal import update
from autobct.value.bounds import dual
from autobct.value.bounds.branches import after_run, expected_prices, ground_of, planted, root_of, upper_prices
from autobct.value.bounds.certificate import upper_estimate
from autobct.value.bounds.dual import above_clairvoyant, clairvoyant_mean, first_look
from autobct.value.bounds.outcomes import Levels, Width, spread_truths
from autobct.value.bounds.simple_bounds import clairvoyant_value
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.state import Terms, price_of, run_price, view

PROBLEMS = {
    "two controls, last": lambda: few_controls(2, recall=False),
    "two controls, recall": lambda: few_controls(2, recall=True),
    "three controls, recall": lambda: few_controls(3, recall=True),
    "one weight": one_weight,
    "pandora": pandora,
}


@pytest.fixture(scope="module", params=PROBLEMS)
def solved(request) -> Solved:
    return PROBLEMS[request.param]()


@pytest.mark.slow
def test_the_bound_is_above_the_exact_value_and_near_it(solved: Solved) -> None:
    found = upper_estimate(solved.start, solved.terms, effort=1e-5, repetitions=4, seed=0)
    assert found.mean > solved.low - 3 * found.error
    assert found.mean < solved.high + 0.005 * abs(solved.high) + 3 * found.error
    assert found.error < 0.01


@pytest.mark.slow
def test_more_effort_gives_a_tighter_bound(solved: Solved) -> None:
    rough, fine = (upper_estimate(solved.start, solved.terms, effort=e, repetitions=6, seed=1) for e in (1.0, 1e-3))
    clairvoyant = clairvoyant_mean(solved.start, solved.terms, 4096, rng=np.random.default_rng(0))
    assert fine.mean < rough.mean - 3 * np.hypot(fine.error, rough.error)
    assert rough.mean < clairvoyant


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_the_bound_lies_between_lookahead_and_the_clairvoyant(terms: Terms) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(11))
    found = upper_estimate(state, terms, effort=3e-3, repetitions=4, seed=2)
    drawn = clairvoyant_value(state, terms, np.random.default_rng(1).standard_normal((2, 20_000, 11)))
    assert on_the_fly(state, terms, depth=2).max() < found.mean + 3 * found.error
    assert found.mean < drawn.mean()


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_w0_without_bias(terms: Terms) -> None:
    prior = prior_for(terms)
    state = view(prior.belief, prior.model, grid(11))
    drawn = clairvoyant_value(state, terms, np.random.default_rng(1).standard_normal((2, 40_000, 11)))
    spread = clairvoyant_mean(state, terms, 8192, rng=np.random.default_rng(0))
    assert abs(spread - drawn.mean()) < 4 * drawn.std() / np.sqrt(40_000)


def test_a_truth_is_bounded_by_its_best_run() -> None:
    truth = Truth(np.array([0.4, 0.5, -1.0, 0.2]), np.array([1.0, 0.3, 0.0, 0.0])).belief()
    state = view(truth, Model(cubic(), cubic(), 0.1, 0.1), grid(21))
    found = upper_estimate(state, RECALL, effort=1e-3, repetitions=3, seed=0)
    assert found.mean == pytest.approx(float(one_run_value(state, RECALL)), abs=1e-4)
    assert found.error == pytest.approx(0.0, abs=1e-12)


def test_the_same_seed_gives_the_same_bound() -> None:
    state = prior_state(count=9)
    one, two, other = above_clairvoyant(state, RECALL, 3e-3, rngs=[np.random.default_rng(s) for s in (1, 1, 2)])
    assert one == two
    assert one != other


def test_searches_side_by_side_are_those_one_by_one() -> None:
    state = prior_state(count=9)
    together = above_clairvoyant(state, RECALL, 1e-3, rngs=[np.random.default_rng(s) for s in range(3)])
    alone = [above_clairvoyant(state, RECALL, 1e-3, rngs=[np.random.default_rng(s)])[0] for s in range(3)]
    np.testing.assert_allclose(together, alone, atol=2e-4)  # the last bit may decide what is looked into
    assert together.std() > 1e-3


@pytest.mark.slow
def test_glances_take_chance_out_of_the_bound_and_leave_its_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    state = prior_state(count=9)

    def found(glances: int) -> Array:
        levels = (Width((8, glances), (8, 0), 64), Width((3, 0), (4, 0), 128), Width((3, 0), (4, 0), 64))
        monkeypatch.setattr(dual, "LEVELS", levels)
        return above_clairvoyant(state, RECALL, 2e-2, rngs=[np.random.default_rng(s) for s in range(40)])

    plain, with_glances = found(0), found(144)
    assert with_glances.std() < 0.7 * plain.std()
    assert abs(with_glances.mean() - plain.mean()) < 3 * np.hypot(plain.std(), with_glances.std()) / np.sqrt(40)


def test_a_search_out_of_time_is_still_a_bound() -> None:
    state = prior_state(count=9)
    rushed = above_clairvoyant(state, RECALL, 1e-3, rngs=[np.random.default_rng(1)], out_of_time=lambda: True)
    calm = above_clairvoyant(state, RECALL, 1e-3, rngs=[np.random.default_rng(1)])
    assert calm < rushed <= 0


@pytest.mark.parametrize("seed", [0, 1])
def test_the_square_root_filter_is_the_kalman_filter(seed: int) -> None:
    state = random_state(seed, 6, terms=RECALL)
    ground, tree = ground_of(state, RECALL), planted(state)
    z, w, g = 0.7, -1.3, 4
    after = after_run(tree, ground, np.array([g]), np.array([[z]]), np.array([[w]]))
    for belief, noise, mean, root, surprise in (
        (state.score, state.score_noise, after.score, after.score_root, z),
        (state.cost, state.cost_noise, after.cost, after.cost_root, w),
    ):
        sd = np.sqrt(belief.cov[g, g] + noise[g] ** 2)
        expected = update(belief, np.eye(6)[g], noise[g], np.asarray(belief.mean[g] + sd * surprise))
        np.testing.assert_allclose(mean[0], expected.mean, atol=1e-10)
        np.testing.assert_allclose(root[0] @ root[0].T, expected.cov, atol=1e-10)
    assert after.kept[0, -1] == g
    np.testing.assert_allclose(expected_prices(tree, ground)[0], run_price(state, RECALL), rtol=1e-9)


@pytest.mark.parametrize("terms", ALL_TERMS, ids=TERMS_IDS)
def test_prices_of_a_truth_are_not_rounded_down(terms: Terms) -> None:
    state = prior_state(count=5)
    costs, noise = np.linspace(-5, 5, 50_000).reshape(5, -1).astype(np.float32), state.cost_noise[:, None]
    exact = price_of(costs.astype(np.float64), noise, terms)
    upper = upper_prices(costs, ground_of(state, terms))
    assert np.all(upper >= exact - 5e-7 * (1 + np.abs(exact)))
    assert np.all(upper <= exact + 0.003 * terms.price * noise + 1e-6 * exact)


def test_a_run_that_costs_more_than_can_be_told_is_endlessly_expensive() -> None:
    state = prior_state(count=5)
    terms = next(terms for terms in ALL_TERMS if terms.cost_model is LOG_LINEAR)
    assert np.all(upper_prices(np.full((5, 1), 500.0, dtype=np.float32), ground_of(state, terms)) > 1e30)


def test_outcomes_are_standard_normal_point_by_point() -> None:
    """Whatever the other points: each single point, over many draws, has mean zero and variance one."""
    found = [Levels([Width((5, 4), (6, 3), 7)], 3, [np.random.default_rng(seed)])[0] for seed in range(60)]
    for points in ("score", "cost", "truths", "told"):
        drawn = np.concatenate([getattr(one, points) for one in found])
        assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(len(drawn))
        assert np.abs(np.square(drawn).mean(axis=0) - 1).max() < 5 * np.sqrt(2 / len(drawn))


def test_truths_have_the_beliefs_moments() -> None:
    state = prior_state(count=4)
    scores, costs = spread_truths(state, 20_000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(scores.mean(axis=0), state.score.mean, atol=5e-3)
    np.testing.assert_allclose(np.cov(scores.T), state.score.cov, atol=2e-2)
    np.testing.assert_allclose(np.cov(costs.T), state.cost.cov, atol=4e-2)
    assert root_of(state.score).shape == (4, 4)


def test_a_search_out_of_time_looks_at_nothing_more(monkeypatch) -> None:
    """Counted: looks at states below the first level, after the moment at which the time was over."""
    looks, asked = [], []

    def over() -> bool:
        asked.append(len(looks))
        return len(asked) > 3

    def counted(states, ground, normals):
        looks.append(len(states))
        return first_look(states, ground, normals)

    monkeypatch.setattr(dual, "first_look", counted)
    above_clairvoyant(prior_state(count=9), RECALL, 1e-5, rngs=[np.random.default_rng(1)], out_of_time=over)
    late = asked[3]
    assert len(looks) == late  # nothing after that


def test_levels_are_the_same_whether_drawn_at_once_or_when_reached() -> None:
    widths = [Width((5, 4), (6, 3), 7), Width((2, 1), (2, 1), 3)]
    one, two = (Levels(widths, 3, [np.random.default_rng(4)]) for _ in range(2))
    late = one[1]
    early = two[0], two[1]
    np.testing.assert_array_equal(late.score, early[1].score)
    np.testing.assert_array_equal(one[0].told, early[0].told)
