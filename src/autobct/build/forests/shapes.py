"""What clouds are made of: random covariances, and realistic shapes of score and cost.

| paper | here |
|---|---|
| covariances from a Wishart or LKJ law (section 3.4) | `wishart_around`, `lkj_around` |
| realistic unimodal shapes (section 4) | `unimodal_shapes` |
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, transpose, whole_number
from autobct.belief.basis import Basis, probe_controls
from autobct.belief.cost import LINEAR, CostModel
from autobct.belief.gaussian import Truth

Covariances = Callable[[Array, int, np.random.Generator], Array]
"""Random covariances around one: (centre (J, J), how many, rng) -> (n, J, J)."""

Mask = NDArray[np.bool_]


def wishart_around(degrees: float | None = None) -> Covariances:
    """Wishart with mean `centre`.  degrees of freedom: J + 2 by default, broad but never singular."""

    def drawn(centre: Array, count: int, rng: np.random.Generator) -> Array:
        free = centre.shape[-1] + 2.0 if degrees is None else degrees
        return wishart(centre / free, free, count, rng=rng)

    return drawn


def lkj_around(shape: float = 1.0, *, spread: float = 0.5) -> Covariances:
    """LKJ correlations with the standard deviations of `centre`, each times exp(spread * normal)."""

    def drawn(centre: Array, count: int, rng: np.random.Generator) -> Array:
        size = centre.shape[-1]
        sd = np.sqrt(np.diag(centre)) * np.exp(spread * rng.standard_normal((count, size)))
        return np.asarray(lkj(size, shape, count, rng=rng) * sd[:, :, None] * sd[:, None, :])

    return drawn


def wishart(scale: Array, degrees: float, count: int, *, rng: np.random.Generator) -> Array:
    """Wishart matrices with mean degrees * scale, by Bartlett's decomposition; scale may be singular.  (n, J, J)."""
    size = scale.shape[-1]
    if degrees <= size - 1:
        raise ValueError(f"degrees must be more than {size - 1} for {size} x {size} matrices, got {degrees!r}")
    factor = np.tril(rng.standard_normal((count, size, size)), -1)
    diagonal = np.arange(size)
    factor[:, diagonal, diagonal] = np.sqrt(rng.chisquare(degrees - diagonal, (count, size)))
    values, vectors = np.linalg.eigh(scale)
    root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ factor
    return np.asarray(root @ transpose(root))


def lkj(size: int, shape: float, count: int, *, rng: np.random.Generator) -> Array:
    """Correlation matrices with density ~ det(R)^(shape - 1): the onion method (Lewandowski, Kurowicka, Joe 2009).

    Row k of the Cholesky factor is (w, sqrt(1 - |w|^2)) with |w|^2 a beta variable and w / |w| uniform on a sphere.
    Every entry is 2 Beta(b, b) - 1 with b = shape - 1 + size / 2.  (n, size, size).
    """
    if not shape > 0:
        raise ValueError(f"shape must be positive, got {shape!r}; 1 is uniform over all correlation matrices")
    factor = np.zeros((count, size, size))
    factor[:, 0, 0] = 1.0
    for k in range(1, size):
        squared = rng.beta(k / 2, shape + (size - 1 - k) / 2, count)
        direction = rng.standard_normal((count, k))
        direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
        factor[:, k, :k] = np.sqrt(squared)[:, None] * direction
        factor[:, k, k] = np.sqrt(1.0 - squared)
    return np.asarray(factor @ transpose(factor))


def unimodal_shapes(count: int, basis: Basis, *, rng: np.random.Generator, cost_model: CostModel = LINEAR) -> Truth:
    """Realistic truths: scores that rise to one peak and fall, costs that are positive and go one way.  (n, J) each.

    A score is a level plus, in each coordinate, a skewed bell or a saturating rise; a cost is a level plus, in each
    coordinate, a power or an exponential.  Both are projected on the basis, and a projection that is no longer
    unimodal (for the cost: positive and monotone) along axis-parallel lines through the cube is drawn again.
    """
    lines = _lines(basis.dim)
    return Truth(
        _accepted(count, basis, _score_values, _is_unimodal, lines, rng),
        _accepted(
            count,
            basis,
            lambda controls, rng: cost_model.to_observation(_cost_values(controls, rng)),
            lambda values: _is_monotone(values) & _is_positive(cost_model.from_observation(values)),
            lines,
            rng,
        ),
    )


def _lines(dim: int, *, points: int = 41) -> Array:
    """Axis-parallel lines through controls that spread over the cube.  (lines, points, dim)."""
    centres = probe_controls(dim, points=13) if dim > 1 else np.array([[0.5]])
    lines = np.broadcast_to(centres[:, None, None, :], (len(centres), dim, points, dim)).copy()
    for axis in range(dim):
        lines[:, axis, :, axis] = np.linspace(0.0, 1.0, points)
    return lines.reshape(-1, points, dim)


def _accepted(
    count: int,
    basis: Basis,
    values: Callable[[Array, np.random.Generator], Array],
    good: Callable[[Array], Mask],
    lines: Array,
    rng: np.random.Generator,
) -> Array:
    """Least-squares projections of drawn shapes, those that are still good.  (n, J)."""
    controls = probe_controls(basis.dim)
    project = np.linalg.pinv(basis(controls))
    along = basis(lines)
    found = np.empty((0, basis.size))
    for _ in range(1000):
        if len(found) >= whole_number(count, "count", example=100):
            return found[:count]
        drawn = np.stack([values(controls, rng) for _ in range(count)]) @ project.T
        found = np.concatenate([found, drawn[good(np.einsum("lpj,nj->nlp", along, drawn))]])
    raise ValueError(f"basis {basis.name!r} cannot hold unimodal scores and monotone costs: no shape fits on it")


def _score_values(controls: Array, rng: np.random.Generator) -> Array:
    """One score shape at the controls.  (n,)."""
    dim = controls.shape[-1]
    shares = rng.dirichlet(np.ones(dim))
    drops = [_drop(controls[:, i], rng) for i in range(dim)]
    best, height = rng.uniform(0.2, 1.1), rng.uniform(0.1, 1.2)
    return np.asarray(best - height * sum(share * drop for share, drop in zip(shares, drops, strict=True)))


def _drop(u: Array, rng: np.random.Generator) -> Array:
    """By how much one coordinate falls short of its best, in [0, 1]: a skewed bell, or saturation to one side."""
    if rng.random() < 0.3:
        along = u if rng.random() < 0.5 else 1 - u
        return np.exp(-rng.uniform(1.0, 6.0) * along)
    peak = rng.uniform(-0.1, 1.1)
    left, right = rng.uniform(0.3, 1.2, 2)
    distance = (u - peak) / np.where(u < peak, left, right)
    return np.asarray(1.0 - np.exp(-0.5 * distance * distance))


def _cost_values(controls: Array, rng: np.random.Generator) -> Array:
    """One cost shape at the controls, positive.  (n,)."""
    dim = controls.shape[-1]
    shares = rng.dirichlet(np.ones(dim))
    rises = [_rise(controls[:, i], rng) for i in range(dim)]
    level, height = rng.uniform(0.05, 1.0), rng.uniform(0.0, 2.0)
    return np.asarray(level + height * sum(share * rise for share, rise in zip(shares, rises, strict=True)))


def _rise(u: Array, rng: np.random.Generator) -> Array:
    """From 0 to 1, monotone and convex, up or down in the coordinate."""
    along = u if rng.random() < 0.5 else 1 - u
    if rng.random() < 0.5:
        return np.asarray(along ** rng.uniform(1.0, 3.0))
    rate = rng.uniform(0.5, 4.0)
    return np.asarray(np.expm1(rate * along) / np.expm1(rate))


def _is_unimodal(values: Array) -> Mask:
    """Never up again after going down, along every line.  (n, lines, points) -> (n,)."""
    falling = np.diff(values, axis=-1) < 0
    return np.asarray((falling[..., 1:] >= falling[..., :-1]).all(axis=(-2, -1)))


def _is_monotone(values: Array) -> Mask:
    """Only up, or only down, along every line.  (n, lines, points) -> (n,)."""
    steps = np.diff(values, axis=-1)
    return np.asarray(((steps > -1e-9).all(axis=-1) | (steps < 1e-9).all(axis=-1)).all(axis=-1))


def _is_positive(values: Array) -> Mask:
    return np.asarray((values > 0).all(axis=(-2, -1)))
