"""Nodes for the expectation over the outcome of a run: data, passed in, so that policies share the same random numbers.

A run at control g has two standard normal surprises, z in the score and w in the cost.  `Rule` is a rule for
one normal; `Nodes` pairs two of them, either as a product (deterministic) or as joint samples (the paper's
Monte Carlo).

Against Monte Carlo noise there is the regression of control values over the controls, line 7 of algorithm 2: smoothing
splines in one dimension (R's `smooth.spline`) and thin plates in two (R's `fields::Tps`), both with the amount of
smoothing chosen by generalised cross-validation.  Deterministic nodes need neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, xlogy

from autobct.belief.arrays import Array

Smoother = Callable[[Array], Array]
"""Values at fixed controls (..., G) -> smoothed values at the same controls (..., G)."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """E f(Z) ~ sum_k weights[k] f(points[k]) for Z ~ N(0, 1).  points, weights: (K,)."""

    points: Array
    weights: Array


def stratified(cells: int) -> Rule:
    """Equiprobable cells, each at its conditional mean: below the truth for convex f (Jensen)."""
    _check_count(cells)
    density = _normal_density(_cell_edges(cells))
    return Rule(cells * (density[:-1] - density[1:]), np.full(cells, 1 / cells))


def gauss_hermite(count: int) -> Rule:
    """Gauss-Hermite: exact for polynomials, poor at kinks; at most 100 nodes (then the weights overflow)."""
    _check_count(count)
    if count > 100:
        raise ValueError(f"gauss_hermite takes at most 100 nodes, got {count}; use stratified({count})")
    points, weights = np.polynomial.hermite_e.hermegauss(count)
    return Rule(points, weights / weights.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Joint nodes of (z, w).  score, cost: broadcast to (G or 1, A, B);  weights: (A, B), summing to one.

    A product has z along A and w along B; samples stand along A with B = 1.
    """

    score: Array
    cost: Array
    weights: Array


def product(score: Rule, cost: Rule) -> Nodes:
    """Every pair of a score node and a cost node."""
    return Nodes(
        score=score.points[None, :, None],
        cost=cost.points[None, None, :],
        weights=score.weights[:, None] * cost.weights[None, :],
    )


def monte_carlo(controls: int, samples: int, *, rng: np.random.Generator) -> Nodes:
    """N_s joint samples for each of G controls, independent between controls: algorithm 2, lines 2-3."""
    _check_count(samples)
    drawn = rng.standard_normal((2, controls, samples, 1))
    return Nodes(drawn[0], drawn[1], np.full((samples, 1), 1 / samples))


def _cell_edges(cells: int) -> Array:
    return np.asarray(ndtri(np.linspace(0.0, 1.0, cells + 1)))


def _normal_density(x: Array) -> Array:
    return np.asarray(np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"a rule needs at least one node, got {count}")


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
