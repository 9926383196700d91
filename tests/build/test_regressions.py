"""The paper's regressions: each a `Fit`, better than a constant; the residual is what makes a forest usable."""

import builtins
import sys
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("sklearn")

from tests.build.linear import linear_fit

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.prior import paper_prior
from autobct.build.forests.cloud import concatenate, propagated_cloud, sampled_cloud, unimodal_shapes
from autobct.build.forests.forest_map import build_forest_map, value_at
from autobct.build.forests.iteration import Fit, above, forest_fit, value_iteration, weight_features
from autobct.value.acquisition import Assessment
from autobct.value.lookahead.nodes import product, stratified
from autobct.value.lookahead.on_the_fly import Level, on_the_fly
from autobct.value.lookahead.one_step import one_run_value, successors, two_run_values
from autobct.value.simulate import common_random_numbers, simulate
from autobct.value.state import State, Terms, control_grid, view

TERMS, PRIOR = Terms(0.16), paper_prior("synthetic")
GRID = control_grid(11, 1)
FEATURES = weight_features(PRIOR.model.score_basis, PRIOR.model.cost_basis, GRID)
NODES = product(stratified(4), stratified(2))


def two_ahead(state: State, terms: Terms, made: int) -> Assessment:
    return Assessment.by_value(on_the_fly(state, terms, depth=2, levels=[Level(stratified(3))]))


def beliefs(seed: int) -> Belief:
    """Where some runs lead, and sampled states with their truths."""
    rng = np.random.default_rng(seed)
    shapes = unimodal_shapes(150, PRIOR.model.score_basis, rng=rng)
    reached = propagated_cloud(shapes, [PRIOR], GRID, 4, rng=rng, width=1)
    return concatenate([*reached, *sampled_cloud([PRIOR.belief], 50, 3, rng=rng)])


@pytest.fixture(scope="module")
def cloud() -> Belief:
    return beliefs(1)


@pytest.fixture(scope="module")
def learned(cloud) -> tuple[State, Array]:
    state = view(cloud, PRIOR.model, GRID)
    return state, two_run_values(state, TERMS, stratified(3)).max(axis=-1)


@pytest.fixture(scope="module")
def others() -> tuple[State, Array]:
    state = view(beliefs(2), PRIOR.model, GRID)
    return state, two_run_values(state, TERMS, stratified(3)).max(axis=-1)


@pytest.fixture
def fit() -> Fit:
    return forest_fit(FEATURES, trees=30)


def rms(errors: Array) -> float:
    return float(np.sqrt(np.square(errors).mean()))


def test_values_are_learned(fit, learned, others) -> None:
    (cloud, values), (unseen, truth) = learned, others
    found = fit(cloud, values)(unseen, TERMS)
    assert found.shape == truth.shape
    assert rms(found - truth) < 0.5 * truth.std()


def test_the_residual_is_learned_better_and_never_below_v1(fit, learned, others) -> None:
    (cloud, values), (unseen, truth) = learned, others
    lower = value_at(len(GRID))
    plain, residual = fit(cloud, values), above(lower, TERMS, fit)(cloud, values)
    found = residual(unseen, TERMS)
    assert np.all(found >= one_run_value(unseen, TERMS) - 1e-12)
    assert rms(found - truth) < 0.5 * rms(plain(unseen, TERMS) - truth)
    assert rms(found - truth) < 0.8 * rms(one_run_value(unseen, TERMS) - truth)


def test_any_batch_shape(fit, learned) -> None:
    """Successors have batch axes (n, G, A, B) and covariances shared between nodes."""
    cloud, values = learned
    value = fit(cloud, values)
    start = view(Belief(_batch(PRIOR.belief.score), _batch(PRIOR.belief.cost)), PRIOR.model, GRID)
    after = successors(start, TERMS, NODES, inner=np.arange(len(GRID)))
    found = value(after, TERMS)
    assert found.shape == (2, len(GRID), 4, 2)
    np.testing.assert_array_equal(found[0], found[1])
    assert value(view(PRIOR.belief, PRIOR.model, GRID), TERMS).shape == ()


def _batch(part: Gaussian) -> Gaussian:
    return Gaussian(np.tile(part.mean, (2, 1)), np.tile(part.cov, (2, 1, 1)))


def test_the_same_seed_gives_the_same_forest(learned, others) -> None:
    (cloud, values), (unseen, _) = learned, others
    one, two, other = (forest_fit(FEATURES, trees=3, seed=s)(cloud, values)(unseen, TERMS) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_without_scikit_learn_the_install_line_is_given(fit, learned, monkeypatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: object, **kwargs: object) -> object:
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.startswith("sklearn")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'autobct\[build\]'"):
        fit(*learned)


# --- the map ---


def small_map(cloud: Belief, regression=lambda f: forest_fit(f, trees=10), **settings):
    chosen = {"runs": 2, "residual": True, "references": GRID, "controls": control_grid(21, 1), "nodes": NODES}
    return build_forest_map("synthetic", cloud=cloud, regression=regression, **chosen | settings)


def test_a_map_is_timed_reports_progress_and_is_value_iteration(cloud) -> None:
    told: list[tuple[int, int]] = []
    found = small_map(cloud, linear_fit, progress=lambda run, done: told.append((run, done)), chunk=300)
    count = len(cloud.score.mean)
    per_run = [*range(300, count, 300), count]
    assert told == [(run, done) for run in (1, 2) for done in per_run]
    assert found.states == count
    assert len(found.seconds) == len(found.values) == 2
    assert min(found.seconds) > 0
    # by hand: the cloud seen at all controls, in one piece
    lower = value_at(len(GRID))
    fit = above(lower, TERMS, linear_fit(FEATURES))
    whole = value_iteration(
        view(cloud, PRIOR.model, found.controls),
        TERMS,
        runs=2,
        nodes=NODES,
        fit=fit,
        inner=np.arange(len(GRID)),
        chunk=count,
    )
    state = found.view(PRIOR.belief)
    assert float(found.values[1](state, TERMS)) == pytest.approx(float(whole[1](state, TERMS)), abs=1e-6)


def test_the_map_is_near_the_exact_value_and_keeps_the_order(cloud, others) -> None:
    found = small_map(cloud)
    state, truth = others
    first, second = (value(state, TERMS) for value in found.values)
    np.testing.assert_allclose(
        first, one_run_value(state, TERMS), atol=0.03
    )  # the references are fewer than the controls
    assert rms(second - truth) < 0.04
    assert np.mean(second >= first - 0.02) > 0.95


def test_its_policies_stop_and_beat_one_run(cloud) -> None:
    found = small_map(cloud)
    start = found.view(PRIOR.belief)
    common = common_random_numbers(start, 800, 8, rng=np.random.default_rng(3))
    exact = simulate(found.exact(nodes=NODES), start, TERMS, common)
    assert exact.runs.max() == 3  # two values: three runs
    single = simulate(replace(found, values=[]).exact(), start, TERMS, common)
    assert np.all(single.runs == 1)
    gain = exact.net(TERMS) - single.net(TERMS)
    assert gain.mean() > 2 * gain.std() / np.sqrt(800)


def test_the_relaxed_policy_learns_less_when_damped(cloud) -> None:
    found = small_map(cloud)
    start = found.view(PRIOR.belief)
    common = common_random_numbers(start, 100, 8, rng=np.random.default_rng(4))
    free, damped = (simulate(found.relaxed(nodes=NODES, damping=d), start, TERMS, common) for d in (0.0, 0.2))
    assert damped.runs.mean() < free.runs.mean() < 8


def test_noise_and_priors_choose_the_model() -> None:
    few = concatenate(sampled_cloud([PRIOR.belief], 5, 2, rng=np.random.default_rng(1)))
    found = small_map(few, noise=(0.15, 0.1), runs=1)
    assert found.model.score_noise == 0.15
    assert len(found.view(PRIOR.belief).score_noise) == 21
    again = build_forest_map([PRIOR], runs=1, cloud=few)
    assert again.references.shape == again.controls.shape == (26, 1)
    with pytest.raises(ValueError, match="prior must be one of"):
        build_forest_map("nobody", runs=1, cloud=few)
