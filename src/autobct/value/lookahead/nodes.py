"""Nodes for the expectation over the outcome of a run: data, passed in, so that policies share the same random numbers.

A run at control g has two standard normal surprises, z in the score and w in the cost.  `Rule` is a rule for
one normal; `Nodes` pairs two of them, either as a product (deterministic) or as joint samples (the paper's
Monte Carlo).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array


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
