"""Smoothing of control values: what it leaves alone, what it takes away."""

import numpy as np
import pytest
from tests.value.cases import PAPER, grid, prior_state

from autobct.value.lookahead.nodes import (
    Smoother,
    monte_carlo,
    smoother,
    spline_smoother,
    stratified,
    thin_plate_smoother,
)
from autobct.value.lookahead.one_step import control_values, one_run_value, two_run_values


def square(count: int) -> np.ndarray:
    axis = np.linspace(0, 1, count)
    return np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)


CASES = {"spline": grid(41), "thin-plate": square(7)}


@pytest.fixture(params=CASES)
def controls(request) -> np.ndarray:
    return CASES[request.param]


@pytest.fixture
def smooth(controls) -> Smoother:
    return smoother(controls)


def test_a_plane_stays_a_plane(controls, smooth) -> None:
    for slope in (0.0, 3.0, -100.0):
        plane = 0.7 + controls @ np.full(controls.shape[-1], slope)
        np.testing.assert_allclose(smooth(plane), plane, atol=1e-8 * (1 + abs(slope)))


def test_a_smooth_noiseless_function_is_left_alone(controls, smooth) -> None:
    values = np.sin(2 * controls).sum(axis=-1)
    np.testing.assert_allclose(smooth(values), values, atol=2e-3)


def test_noise_is_reduced(controls, smooth) -> None:
    rng = np.random.default_rng(1)
    truth = np.square(controls - 0.4).sum(axis=-1)
    noisy = truth + 0.2 * rng.standard_normal((20, len(controls)))
    before, after = noisy - truth, smooth(noisy) - truth
    assert after.std() < 0.65 * before.std()
    assert abs(after.mean()) < 0.05  # and no bias to speak of


def test_the_mean_is_kept(controls, smooth) -> None:
    """Constants are never penalised, so residuals sum to zero."""
    values = np.random.default_rng(2).standard_normal(len(controls))
    assert smooth(values).mean() == pytest.approx(values.mean(), abs=1e-7)


def test_units_do_not_matter(controls, smooth) -> None:
    values = np.random.default_rng(3).standard_normal(len(controls)) + 5 * controls.sum(axis=-1)
    np.testing.assert_allclose(smooth(100 + 7 * values), 100 + 7 * smooth(values), atol=1e-3)


def test_any_batch_shape(controls, smooth) -> None:
    values = np.random.default_rng(4).standard_normal((2, 3, len(controls)))
    found = smooth(values)
    assert found.shape == values.shape
    np.testing.assert_allclose(found[1, 2], smooth(values[1, 2]), atol=1e-10)


def test_thin_plate_is_the_minimiser() -> None:
    """No small change of the fit lowers |y - f|^2 + penalty * bending, for the penalty that explains the fit."""
    controls = square(5)
    values = np.random.default_rng(5).standard_normal(25) + 4 * controls[:, 0] ** 2
    fitted = thin_plate_smoother(controls)(values)
    residual = values - fitted
    plane = np.column_stack([np.ones(25), controls])
    np.testing.assert_allclose(plane.T @ residual, 0, atol=1e-10)  # Wahba: T'c = 0 and y - f = penalty c
    r = np.linalg.norm(controls[:, None] - controls[None], axis=-1)
    kernel = np.where(r > 0, r**2 * np.log(np.where(r > 0, r, 1)), 0) / (8 * np.pi)
    # f = K c + T d with c = residual / penalty: fitted must lie in the span of K residual and T
    basis = np.column_stack([plane, kernel @ residual])
    coefficients, *_ = np.linalg.lstsq(basis, fitted, rcond=None)
    np.testing.assert_allclose(basis @ coefficients, fitted, atol=1e-8)
    assert coefficients[-1] > 0


def test_monte_carlo_lambda_with_a_spline_is_near_the_exact_one() -> None:
    """The paper's way to Lambda, and what it costs: METHOD, section 1."""
    state, smooth = prior_state(count=51), spline_smoother(np.linspace(0, 1, 51))
    exact = two_run_values(state, PAPER, stratified(16))
    rng = np.random.default_rng(6)
    raw, smoothed = [], []
    for _ in range(20):
        values = control_values(state, PAPER, monte_carlo(51, 100, rng=rng), one_run_value)
        raw.append(values)
        smoothed.append(smooth(values))
    before, after = np.array(raw) - exact, np.array(smoothed) - exact
    assert np.sqrt(np.square(after).mean()) < 0.5 * np.sqrt(np.square(before).mean())
    assert np.sqrt(np.square(after).mean()) < 0.06
    best = np.max(raw, axis=-1).mean() - exact.max(), np.max(smoothed, axis=-1).mean() - exact.max()
    assert best[0] > 0.1  # a raw maximum is biased upwards
    assert abs(best[1]) < best[0] / 3


@pytest.mark.parametrize("points", [[0.0, 0.5, 1.0], [0, 0.2, 0.2, 0.5, 1.0], [1, 0.8, 0.6, 0.4, 0.2]])
def test_a_spline_needs_increasing_controls(points: list[float]) -> None:
    with pytest.raises(
        ValueError, match="controls: a smoothing spline needs at least 5, distinct and in increasing order"
    ):
        spline_smoother(np.array(points))


@pytest.mark.parametrize("points", [square(2), np.linspace(0, 1, 8)[:, None] * [1.0, 2.0]])
def test_a_thin_plate_needs_a_plane_of_controls(points) -> None:
    with pytest.raises(ValueError, match="controls: a thin plate needs at least 5 that do not lie on one line"):
        thin_plate_smoother(points)


def test_more_than_two_coordinates_are_refused() -> None:
    with pytest.raises(ValueError, match="controls with one or two coordinates, got 3; use deterministic nodes"):
        smoother(np.zeros((9, 3)))
