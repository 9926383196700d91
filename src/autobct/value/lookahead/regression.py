"""Regression of control values over the controls: line 7 of algorithm 2, against Monte Carlo noise.

Smoothing splines in one dimension (R's `smooth.spline`) and thin plates in two (R's `fields::Tps`), both with
the amount of smoothing chosen by generalised cross-validation.  Deterministic nodes need neither.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import xlogy

from autobct.belief.arrays import Array

Smoother = Callable[[Array], Array]
"""Values at fixed controls (..., G) -> smoothed values at the same controls (..., G)."""


def smoother(controls: Array) -> Smoother:
    """The paper's regression for controls (G, p): a smoothing spline for p = 1, a thin plate for p = 2."""
    if controls.shape[-1] == 1:
        return spline_smoother(controls[:, 0])
    if controls.shape[-1] == 2:
        return thin_plate_smoother(controls)
    raise ValueError(
        f"smoothing is defined for controls with one or two coordinates, got {controls.shape[-1]}; "
        f"use deterministic nodes, which need no smoothing"
    )


def spline_smoother(controls: Array) -> Smoother:
    """Cubic smoothing spline with GCV over increasing controls (G,)."""
    from scipy.interpolate import make_smoothing_spline

    if controls.size < 5 or np.any(np.diff(controls) <= 0):
        raise ValueError("controls: a smoothing spline needs at least 5, distinct and in increasing order")

    def smooth(values: Array) -> Array:
        rows = values.reshape(-1, controls.size)
        smoothed = np.stack([make_smoothing_spline(controls, row)(controls) for row in rows])
        return smoothed.reshape(values.shape)

    return smooth


def thin_plate_smoother(controls: Array) -> Smoother:
    """Thin-plate spline with GCV over controls (G, 2): one eigendecomposition for all values and penalties."""
    plane = np.column_stack([np.ones(len(controls)), controls])
    if len(controls) < 5 or np.linalg.matrix_rank(plane) < 3:
        raise ValueError("controls: a thin plate needs at least 5 that do not lie on one line")
    squared = np.square(controls[:, None, :] - controls[None, :, :]).sum(axis=-1)
    kernel = xlogy(squared, squared) / (16 * np.pi)  # r^2 log r / (8 pi)
    bending = np.linalg.qr(plane, mode="complete")[0][:, 3:]  # directions that no plane explains
    stiffness, vectors = np.linalg.eigh(bending.T @ kernel @ bending)
    directions = bending @ vectors
    penalties = np.geomspace(1e-10, 1e4, 141) * max(float(stiffness.max()), 1e-300)
    shares = penalties[:, None] / (np.maximum(stiffness, 0.0) + penalties[:, None])  # what each takes away

    def smooth(values: Array) -> Array:
        coefficients = values @ directions
        residual = np.einsum("ls,...s->...l", np.square(shares), np.square(coefficients))
        criterion = residual / np.square(shares.sum(axis=-1))  # GCV up to a factor
        chosen = shares[criterion.argmin(axis=-1)]
        return np.asarray(values - (chosen * coefficients) @ directions.T)

    return smooth
