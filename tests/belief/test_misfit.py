"""What no surface explains: how much of it is the score, against dense conditioning, and how the noise is learned."""

import numpy as np
import pytest

from autobct.tuning.model.estimate import SHARES, Misfit, learned_misfit, stated_misfit


@pytest.mark.parametrize("share", [1e-9, 0.2, 0.9])
@pytest.mark.parametrize("repeats", [1, 4])
def test_the_score_where_it_was_measured_is_that_of_weights_and_misfits_together(share: float, repeats: int) -> None:
    """Against conditioning weights and one misfit for each control on all runs, densely."""
    rng, misfit = np.random.default_rng(0), Misfit(0.4, share)
    features, scores = rng.standard_normal((3, 2)), rng.standard_normal(3)
    design = np.hstack([features, np.eye(3)])
    cov = np.diag([0.5, 0.3, *[misfit.own] * 3])
    noise = np.diag(np.full(3, misfit.noise**2 / repeats))
    together = design @ cov @ design.T @ np.linalg.solve(design @ cov @ design.T + noise, scores)
    weights = cov[:2, :2] @ features.T
    told = misfit.own * np.eye(3) + noise  # to the weights a misfit is noise that repeats do not lessen
    surface = features @ weights @ np.linalg.solve(features @ weights + told, scores)
    weight = misfit.weight(np.full(3, float(repeats)))
    np.testing.assert_allclose(surface + weight * (scores - surface), together, atol=1e-12)


def test_exact_scores_are_taken_at_their_word_and_noise_is_not() -> None:
    runs = np.array([0.0, 1.0, 5.0])
    np.testing.assert_array_equal(stated_misfit(0.3, 0.0).weight(runs), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(stated_misfit(0.3, 0.5).weight(runs), [0.0, 0.0, 0.0])
    assert stated_misfit(0.3, 0.5).total == 0.5
    assert stated_misfit(0.3, 0.1).noise == pytest.approx(0.1)


def usual() -> float:
    return sum(share * chance for share, chance in SHARES.items())


def test_runs_far_apart_tell_nothing_about_noise() -> None:
    controls = np.linspace(0, 1, 6)[:, None]
    found = learned_misfit(0.1, controls, np.array([0.1, -0.05, 0.2, -0.1, 0.0, 0.03]))
    assert found.share == pytest.approx(usual(), rel=1e-3)


@pytest.mark.parametrize("apart", [0.0, 0.003])
@pytest.mark.parametrize(("noise", "low", "high"), [(0.0, 0.0, 0.05), (0.09, 0.4, 1.0)], ids=["exact", "noisy"])
def test_repeats_and_near_duplicates_tell_about_noise(apart: float, noise: float, low: float, high: float) -> None:
    rng = np.random.default_rng(1)
    places = rng.random((6, 2))
    misfits = np.sqrt(0.1**2 - noise**2) * rng.standard_normal(6)
    controls = np.concatenate([places, places + apart])
    residuals = np.concatenate([misfits, misfits]) + noise * rng.standard_normal(12)
    assert low < learned_misfit(0.1, controls, residuals).share < high
