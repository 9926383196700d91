"""What is shown of scores: estimates on the user's scale, with bands that the runs keep to."""

import math

import numpy as np
import pytest

import autobct
from autobct.report.draw_map import LEVELS, run_score
from autobct.report.story import story_of
from autobct.tuning.model.estimate import (
    PLAIN,
    Compression,
    compressed,
    compression_of,
    estimated_score,
    score_bounds,
    score_quantiles,
)
from autobct.tuning.model.posterior import learned

F = autobct.Float


def plateau(params):
    """Nearly all alike on most of the space, and a cliff."""
    x, y = params["x"], params["y"]
    return 0.93 + 0.01 * math.cos(3 * x) - (0.6 * (x - 0.7) if x > 0.7 else 0.0) - (0.5 if y < 0.1 else 0.0)


def ridge(params):
    return 0.9 - 0.3 * (params["x"] - 0.6) ** 2 - 0.5 * (params["x"] - params["y"]) ** 2


def steep(params):
    """Scores over a thousandth of their range near the best and over half of it elsewhere."""
    return 0.95 - 0.6 * abs(params["x"] - 0.4) ** 3 - 0.02 * params["y"] - 0.4 * (params["z"] > 0.8)


def rugged(params):
    return 0.7 + 0.05 * math.sin(17 * params["x"]) + 0.05 * math.cos(23 * params["y"]) - 0.1 * params["z"]


TWO, THREE = {"x": F(0, 1), "y": F(0, 1)}, {"x": F(0, 1), "y": F(0, 1), "z": F(0, 1)}
CHOICE = {**TWO, "c": autobct.Categorical(["a", "b"])}
SURFACES = [(plateau, TWO), (plateau, CHOICE), (ridge, TWO), (steep, THREE), (rugged, THREE)]


def tuned(train, space, seed, direction="maximize", **options):
    """A seeded tuning with a little noise in its scores."""
    rng = np.random.default_rng(seed)
    sign = 1 if direction == "maximize" else -1
    noise = (0.0, 0.003, 0.01)[seed % 3]

    def run(params):
        return sign * (train(params) + noise * rng.standard_normal() - (0.5 if sign < 0 else 0.0)), 1.0

    options = {"price": 1e-4, "max_runs": 14, "seed": seed, **options}
    return autobct.tune(run, space, direction=direction, **options)


def within(result):
    """Of every run whether its score lies in the 95 % band at its own params."""
    known = learned(result.problem, result.history)
    band = run_score(known, np.stack([run.control for run in result.history]))
    scores = np.array([run.score for run in result.history])
    return (scores >= band.min(axis=0) - 1e-12) & (scores <= band.max(axis=0) + 1e-12)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_runs_lie_in_their_95_percent_bands(direction):
    found = [within(tuned(train, space, seed, direction)) for train, space in SURFACES for seed in range(3)]
    assert all(len(one) >= 3 for one in found)
    coverage = np.concatenate(found).mean()
    assert 0.90 <= coverage <= 1.0


def test_the_surface_of_a_page_reaches_down_to_the_runs_on_it():
    result = tuned(plateau, TWO, 0, max_runs=20)
    story = story_of(result)
    scores = np.array([run.score for run in result.history])
    middle = run_score(story.posterior, np.stack([run.control for run in result.history]))[2]
    worst, scale = scores.argmin(), np.ptp(scores)
    assert scores[worst] < np.median(scores) - 0.2  # far below the others
    assert abs(middle[worst] - scores[worst]) < 0.35 * scale
    assert result.history[worst].estimated_score < np.median(scores)


def test_decompression_is_the_inverse_of_compression():
    rng = np.random.default_rng(1)
    for _ in range(20):
        scores = 0.9 - 0.3 * rng.exponential(size=rng.integers(3, 30))
        inverse = compression_of(scores).undone(compressed(scores))
        np.testing.assert_allclose(inverse, scores, rtol=1e-12, atol=1e-12)
    far = Compression(0.5, 0.01).undone(np.array([-1e9, 0.6]))
    assert np.isfinite(far).all()
    assert far[1] == 0.6
    np.testing.assert_array_equal(PLAIN.undone(np.array([-3.0, 2.0])), [-3.0, 2.0])


def test_quantiles_are_those_of_draws_from_the_posterior():
    """Against brute force: weights drawn, noise added, decompressed, put into the user's units, clipped."""
    result = tuned(steep, THREE, 4)
    known, controls = learned(result.problem, result.history), result.problem.controls[:7]
    rng = np.random.default_rng(0)
    weights = known.belief.score.draw(rng.standard_normal((40_000, known.belief.score.size)))
    values = weights @ known.problem.prior.model.score_basis(controls).T
    values = values + known.evidence.misfit.total * rng.standard_normal(values.shape)
    low, high = score_bounds(known.problem)
    drawn = np.clip(known.problem.score_scale.to_raw(known.compression.undone(values)), low, high)
    learned_units = known.compression(known.problem.score_scale.to_model(np.quantile(drawn, LEVELS, axis=0)))
    shown = known.compression(known.problem.score_scale.to_model(score_quantiles(known, controls, LEVELS, noise=True)))
    spread = float(np.std(values, axis=0).max())
    np.testing.assert_allclose(shown, learned_units, atol=0.05 * spread)


def test_no_estimate_leaves_a_range_that_no_run_has_left():
    result = tuned(plateau, CHOICE, 2)
    assert score_bounds(result.problem) == (0.0, 1.0)
    band = run_score(learned(result.problem, result.history), result.problem.controls)
    assert band.min() >= 0.0
    assert band.max() <= 1.0


def test_an_end_of_the_range_that_a_run_has_left_bounds_nothing():
    tuner = autobct.Tuner(TWO, price=0.01, score_range=(0.5, 1.0))
    for score in (0.7, 0.3, 0.8):
        tuner.tell(tuner.ask(), score=score, cost=1.0)
    low, high = score_bounds(tuner.problem)
    assert low == -math.inf
    assert high == 1.0


def test_units_of_the_users_own_have_no_bounds():
    tuner = autobct.Tuner(
        {"x": F(0, 1)}, price=0.1, prior=autobct.paper_prior("synthetic"), score_range=(0, 1), cost_range=(0, 1)
    )
    assert score_bounds(tuner.problem) == (-math.inf, math.inf)


def test_what_is_said_of_a_run_is_what_is_drawn():
    """Table, decision and chart show one number for one thing: the posterior median, and what was measured there."""
    result = tuned(steep, THREE, 1)
    tuner, last = result.tuner, result.history[-1]
    known = learned(result.problem, result.history)
    assert last.estimated_score == pytest.approx(estimated_score(known, last.control), rel=1e-12)
    surface = run_score(known, last.control[None])[2, 0]
    assert min(surface, last.score) - 1e-12 <= last.estimated_score <= max(surface, last.score) + 1e-12
    explanation = tuner.explain()
    np.testing.assert_allclose(explanation.expected_scores, run_score(known, explanation.controls)[2], rtol=1e-9)


def test_an_estimate_is_not_cut_off_above_a_run_that_was_far_worse():
    tuner = autobct.Tuner(THREE, price=1e-3, score_range=(0.9, 1.0))
    for score in (0.95, 0.627, 0.96):
        tuner.tell(tuner.ask(), score=score, cost=1.0)
    bad = tuner.history[1]
    assert tuner.estimated_score(bad.control) < 0.9
