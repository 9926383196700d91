"""E max_i (a_i + b_i Z) for a standard normal Z, exactly: the upper envelope of lines."""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.cost import left_loss

_OUT = -1e200  # stands for an intercept of -inf: finite, so that differences of two of them are zero, not NaN
_END = 9.0  # P(|Z| > 9) = 2e-19: a break beyond it changes no double-precision expectation
_PARALLEL = 1e-300  # slopes closer than this never cross where it matters


def expected_maximum(intercepts: Array, slopes: Array) -> Array:
    """E max over the last axis of intercepts + slopes * Z.  intercepts, slopes: (..., L), broadcast -> (...).

    An intercept of -inf takes its line out; if all are out the result is -inf.  Work on slopes alone is done at
    the slopes' own shape, so that many intercepts may share one set of slopes.
    """
    ndim = max(intercepts.ndim, slopes.ndim)
    slopes = slopes.reshape((1,) * (ndim - slopes.ndim) + slopes.shape)
    intercepts = intercepts.reshape((1,) * (ndim - intercepts.ndim) + intercepts.shape)
    order = np.argsort(slopes, axis=-1, kind="stable")
    b = np.moveaxis(np.take_along_axis(slopes, order, axis=-1), -1, 0)
    a = np.ascontiguousarray(np.moveaxis(np.take_along_axis(intercepts, order, axis=-1), -1, 0))
    np.maximum(a, _OUT, out=a)
    total = _integrate(a, b, *_intervals(a, b))
    return np.where(total > _OUT / 2, total, -np.inf)


def _intervals(a: Array, b: Array) -> tuple[Array, Array]:
    """Where each line is on top, for lines sorted by slope: (L, ...) each.  Empty where lower >= upper."""
    lower = np.full(a.shape, -np.inf)
    upper = np.full(a.shape, np.inf)
    with np.errstate(over="ignore"):
        for i in range(a.shape[0] - 1):
            crossing = a[i] - a[i + 1 :]
            crossing *= 1.0 / np.maximum(b[i + 1 :] - b[i], _PARALLEL)  # z beyond which line j beats line i
            np.maximum(lower[i + 1 :], crossing, out=lower[i + 1 :])
            np.minimum(upper[i], crossing.min(axis=0), out=upper[i, ...])
    return lower, upper


def _integrate(a: Array, b: Array, lower: Array, upper: Array) -> Array:
    """max a + sum over the breaks c of (slope after - slope before) psi(-|c|).  (...).

    psi(x) = phi(x) + x Phi(x) is `left_loss`.  Every term is positive: nothing cancels.
    """
    steeper = np.zeros(a.shape)
    before = np.broadcast_to(b[0], a.shape[1:])
    for i in range(1, a.shape[0]):
        on_top = lower[i] < upper[i]
        after = np.where(on_top, b[i], before)
        np.subtract(after, before, out=steeper[i, ...])
        before = after
    breaks = (steeper > 0) & (np.abs(lower) < _END)
    gained = np.zeros(a.shape)
    gained[breaks] = steeper[breaks] * left_loss(-np.abs(lower[breaks]))
    return np.asarray(a.max(axis=0) + gained.sum(axis=0))
