"""Parcels of cheap runs: what they tell, what they cost, and that the bound with them stays one."""

import numpy as np
import pytest
from tests.value.cases import RECALL, random_state
from tests.value.exact_problems import few_controls, nearly_free

from autobct.value.bounds import cheap_runs
from autobct.value.bounds.branches import Branches, Ground, after_run, expected_prices, ground_of, planted
from autobct.value.bounds.certificate import upper_estimate
from autobct.value.bounds.cheap_runs import (
    after_parcel,
    bought,
    further_prices,
    most_told,
    parcels_of,
    runs_told,
    tiers_of,
)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_what_is_told_is_more_than_any_one_of_them_tells(count: int) -> None:
    vectors = np.random.default_rng(count).standard_normal((5, count, 3)) * np.array([1.0, 0.1, 3.0])
    most = most_told(vectors)
    for v in np.moveaxis(vectors, 1, 0):
        least = np.linalg.eigvalsh(most - v[:, :, None] * v[:, None, :])[:, 0]
        assert np.all(least > -1e-8 * np.trace(most, axis1=1, axis2=2))


def test_a_parcel_of_one_control_is_as_many_runs_as_its_budget_buys() -> None:
    """Six ends of a tier at a third of its end each: eighteen runs."""
    tree, ground = _planted(seed=1)
    prices = expected_prices(tree, ground)
    end = 3 * prices[:, 0]
    alone = np.arange(prices.shape[1]) == 0
    parcel = cheap_runs.Parcels(alone[None], alone[None], end, prices[:, 0])
    rank = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    told = after_parcel(tree, ground, parcel, prices, np.zeros((1, 1, rank)))
    ran = tree
    for _ in range(18):
        ran = after_run(ran, ground, np.zeros(1, dtype=np.intp), np.zeros((1, 1)), np.zeros((1, 1)))
    for root in ("score_root", "cost_root"):
        ours, theirs = getattr(told, root)[0], getattr(ran, root)[0]
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-5 * np.abs(theirs @ theirs.T).max())


def test_beliefs_after_a_parcel_are_on_average_what_they_were() -> None:
    """Mean and variance by the law of total variance, over many draws of what is told."""
    tree, ground = _planted(seed=2)
    prices = expected_prices(tree, ground)
    cheap = (prices <= np.median(prices)) & (prices > 0)
    parcel = cheap_runs.Parcels(cheap, cheap, prices.max(axis=1), prices.min(axis=1))
    rank = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    normals = np.random.default_rng(0).standard_normal((1, 40_000, rank))
    met = after_parcel(tree, ground, parcel, prices, normals)
    root, before = met.score_root[0], tree.score_root[0]
    scale = np.sqrt(np.square(before).sum(axis=1).max())
    np.testing.assert_allclose(met.score.mean(axis=0), tree.score[0], atol=0.03 * scale)
    np.testing.assert_allclose(np.cov(met.score.T) + root @ root.T, before @ before.T, atol=0.04 * scale**2)
    assert np.square(root).sum() < 0.9 * np.square(before).sum()


def test_prices_of_what_a_parcel_told_of() -> None:
    """Five controls at 1, 2, 3, 40, 50 and tiers that end at 2.5 and 10, counted by hand."""
    prices, ends = np.array([[1.0, 2.0, 3.0, 40.0, 50.0]]), np.array([2.5, 10.0])
    tree, ground = _planted(seed=3, size=5)
    tiers = tiers_of(prices, ground, ends)
    assert tiers.tolist() == [[0, 0, 1, 2, 2]]
    second = parcels_of(tree, tiers, np.array([1]), prices, ends)
    assert second.tier.tolist() == [[False, False, True, False, False]]
    assert second.told.tolist() == [[True, True, True, False, False]]
    assert (second.paid, second.end) == (3.0, 10.0)
    rank = tree.score_root.shape[-1] + tree.cost_root.shape[-1]
    met = after_parcel(tree, ground, second, prices, np.zeros((1, 1, rank)))
    assert met.owed.tolist() == [[40.0, 20.0, 40.0 / 3, 0.0, 0.0]]
    assert met.credit.tolist() == [[0.0, 0.0, 3.0, 0.0, 0.0]]
    assert further_prices(met, np.array([[1.0, 2.0, 1.5, 40.0, 50.0]])).tolist() == [[21.0, 22.0, 21.5, 40.0, 50.0]]
    best = max(met.score[0, 0] - 1.0, met.score[0, 1] - 2.0, met.score[0, 2] - 3.0 + 3.0)
    assert bought(met, prices) == pytest.approx(best)
    assert bought(tree, prices) == -np.inf


def test_a_run_that_tells_of_others_is_as_many_runs_and_the_next_one_pays_for_them() -> None:
    tree, ground = _planted(seed=6, size=4)
    at, still = np.array([2]), np.zeros((1, 1))
    told, ran = after_run(tree, ground, at, still, still, np.array([5.0])), tree
    for _ in range(5):
        ran = after_run(ran, ground, at, still, still)
    for root in ("score_root", "cost_root"):
        ours, theirs = getattr(told, root)[0], getattr(ran, root)[0]
        np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-10)
    assert told.ahead.tolist() == [[0.0, 0.0, 4.0, 0.0]]
    prices = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert further_prices(told, prices).tolist() == [[1.0, 2.0, 15.0, 4.0]]
    assert bought(told, prices) == pytest.approx(told.score[0, 2] - 3.0)  # without recall it has to be trained again
    assert not ran.ahead.any()


def test_runs_are_told_of_in_advance_where_that_tells_little_more() -> None:
    tree, ground = _planted(seed=7, size=4)
    at, ends, price = np.array([1]), np.array([1.0]), np.array([0.5])
    quiet = Ground(ground.terms, np.full(4, 1e-3), np.full(4, 1e-3))
    loud = Ground(ground.terms, np.full(4, 1e-3), np.full(4, 10.0))
    assert runs_told(tree, quiet, at, price, ends) == 8
    assert runs_told(tree, quiet, at, np.array([100.0]), ends) == 1
    assert runs_told(tree, loud, at, price, ends) == 1


def test_what_is_free_or_without_noise_has_no_parcels() -> None:
    _, ground = _planted(seed=4, size=3)
    ground = Ground(ground.terms, np.array([0.1, 0.0, 0.1]), ground.cost_noise)
    assert tiers_of(np.array([[0.0, 1.0, 1.0]]), ground, np.array([2.0])).tolist() == [[1, 1, 0]]


def test_a_control_without_noise_leaves_the_parcels_of_others_alone() -> None:
    tree, ground = _planted(seed=5, size=4)
    silent = Ground(ground.terms, ground.score_noise * np.array([1.0, 1.0, 1.0, 0.0]), ground.cost_noise)
    prices = np.array([[1.0, 2.0, 3.0, 40.0]])
    told = np.array([[True, True, True, False]])
    parcel = cheap_runs.Parcels(told, told, np.array([4.0]), np.array([1.0]))
    normals = np.ones((1, 2, tree.score_root.shape[-1] + tree.cost_root.shape[-1]))
    with_noise, without = (after_parcel(tree, g, parcel, prices, normals) for g in (ground, silent))
    np.testing.assert_array_equal(without.score, with_noise.score)
    assert np.isfinite(without.score_root).all()


@pytest.mark.parametrize("effort", [1e-2, 2e-3])
def test_a_nearly_free_control_is_bounded_from_above_at_every_effort(effort: float) -> None:
    solved = nearly_free()
    found = upper_estimate(solved.start, solved.terms, effort=effort, repetitions=8, seed=3)
    assert found.mean > solved.low - 3 * found.error


@pytest.mark.parametrize("recall", [False, True])
def test_the_bound_is_above_brute_force_where_runs_tell_of_others(
    recall: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cheap_runs, "_LITTLE", 10.0)
    monkeypatch.setattr(cheap_runs, "TIERS", (1e-6, 1.0))
    solved = few_controls(2, recall=recall)
    found = upper_estimate(solved.start, solved.terms, effort=1e-3, repetitions=8, seed=6)
    assert found.mean > solved.low - 3 * found.error
    monkeypatch.setattr(cheap_runs, "_LITTLE", 0.0)
    one_by_one = upper_estimate(solved.start, solved.terms, effort=1e-3, repetitions=8, seed=6)
    assert found.mean != one_by_one.mean


@pytest.mark.parametrize("effort", [1e-2, 1e-3])
@pytest.mark.slow
def test_with_recall_the_bound_is_above_brute_force_where_one_control_is_cheap(effort: float) -> None:
    solved = few_controls(2, recall=True, cheapest=0.05)
    found = upper_estimate(solved.start, solved.terms, effort=effort, repetitions=8, seed=4)
    assert found.mean > solved.low - 3 * found.error


@pytest.mark.slow
def test_parcels_make_the_bound_tighter_where_a_control_is_nearly_free(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = nearly_free()
    with_parcels = upper_estimate(solved.start, solved.terms, effort=2e-3, repetitions=6, seed=5)
    monkeypatch.setattr(cheap_runs, "TIERS", (1e-6,))
    without = upper_estimate(solved.start, solved.terms, effort=2e-3, repetitions=6, seed=5)
    assert with_parcels.mean < without.mean - 3 * np.hypot(with_parcels.error, without.error)


def _planted(seed: int, size: int = 6) -> tuple[Branches, Ground]:
    state = random_state(seed, size, terms=RECALL)
    return planted(state), ground_of(state, RECALL)
