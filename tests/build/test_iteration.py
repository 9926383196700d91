"""Algorithm 3 against problems where the regression is exact, so that V~_N must be V_N."""

from __future__ import annotations

import numpy as np
import pytest
from tests.build.linear import linear_fit

from autobct.belief.basis import Basis, Model
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import paper_prior
from autobct.build.forests.iteration import bellman, expansion, references_first, value_iteration, weight_features
from autobct.value.lookahead.nodes import product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value
from autobct.value.state import State, Terms, view

TERMS = Terms(0.16)
NODES = product(stratified(6), stratified(3))
CONTROLS = np.linspace(0, 1, 11)[:, None]


def cloud_beliefs(name: str, states: int) -> Belief:
    prior = paper_prior(name)
    rng = np.random.default_rng(0)
    return Belief(
        Gaussian(
            prior.belief.score.mean + 0.3 * rng.standard_normal((states, 4)),
            np.tile(prior.belief.score.cov, (states, 1, 1)),
        ),
        Gaussian(
            prior.belief.cost.mean + 0.3 * rng.standard_normal((states, 4)),
            np.tile(prior.belief.cost.cov, (states, 1, 1)),
        ),
    )


def cloud_of(name: str, states: int) -> State:
    return view(cloud_beliefs(name, states), paper_prior(name).model, CONTROLS)


def test_with_a_perfect_regression_it_is_on_the_fly_lookahead() -> None:
    """fit returns the true V_N, so the targets of step N + 1 are V_{N+1}."""
    cloud = cloud_of("synthetic", 5)
    levels = [Level(NODES)]
    seen: list[np.ndarray] = []

    def perfect(states: State, values: np.ndarray) -> object:
        seen.append(values)
        depth = len(seen)
        return lambda state, terms: on_the_fly(state, terms, depth=depth, levels=levels).max(axis=-1)

    value_iteration(cloud, TERMS, runs=3, nodes=NODES, fit=perfect)
    for depth, targets in enumerate(seen, start=1):
        np.testing.assert_allclose(targets, on_the_fly(cloud, TERMS, depth=depth, levels=levels).max(-1), atol=1e-12)
    assert np.all(seen[1] >= seen[0])
    assert np.all(seen[2] >= seen[1])


def test_linear_fit_finds_the_value_of_a_problem_where_it_is_linear() -> None:
    """One constant control whose cost is known: V_1 = mu - price * cost is linear in mu, and V_2 = V_1."""
    constant = Basis.of([lambda u: np.ones(u.shape[:-1])], dim=1)
    means = np.linspace(-1, 1, 21)[:, None]
    cloud = view(
        Belief(Gaussian(means, np.zeros((21, 1, 1))), Gaussian(np.full((21, 1), 0.5), np.zeros((21, 1, 1)))),
        Model(constant, constant, 0.1, 0.01),
        np.array([[0.5]]),
    )
    fit = linear_fit(lambda state: np.stack([np.ones_like(state.score.mean[..., 0]), state.score.mean[..., 0]], -1))
    fitted = value_iteration(cloud, TERMS, runs=2, nodes=NODES, fit=fit)
    for value in fitted:
        np.testing.assert_allclose(value(cloud, TERMS), means[:, 0] - 0.16 * 0.5, atol=1e-6)


def test_bellman_of_never_is_v1() -> None:
    from autobct.value.lookahead.one_step import never

    cloud = cloud_of("higgs", 3)
    np.testing.assert_array_equal(bellman(cloud, TERMS, NODES, never), one_run_value(cloud, TERMS))


def test_runs_must_be_a_count() -> None:
    with pytest.raises(ValueError, match="runs must be a whole number"):
        value_iteration(cloud_of("synthetic", 2), TERMS, runs=0, nodes=NODES, fit=linear_fit(lambda s: s.score.mean))


def test_chunks_and_a_cloud_kept_at_few_controls_change_nothing() -> None:
    """The same V~_3 in one piece at eleven controls, and in chunks of a cloud kept at the first four."""
    model = paper_prior("synthetic").model
    references = CONTROLS[[0, 3, 7, 10]]
    controls = references_first(references, CONTROLS)
    fit = linear_fit(weight_features(model.score_basis, model.cost_basis, references), ridge=1e-3)
    settings = {"runs": 3, "nodes": NODES, "fit": fit, "inner": np.arange(4)}
    small, whole = (view(cloud_beliefs("synthetic", 40), model, at) for at in (references, controls))
    told: list[tuple[int, int]] = []
    expected = value_iteration(whole, TERMS, **settings)
    found = value_iteration(
        small,
        TERMS,
        chunk=17,
        expand=expansion(model, references, controls),
        progress=lambda run, done: told.append((run, done)),
        **settings,
    )
    np.testing.assert_allclose(found[2](small, TERMS), expected[2](whole, TERMS), atol=1e-7)
    assert told == [(run, done) for run in (1, 2, 3) for done in (17, 34, 40)]
    with pytest.raises(ValueError, match="chunk must be a whole number"):
        value_iteration(small, TERMS, chunk=0, **settings)
