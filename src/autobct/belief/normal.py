"""The normal distribution: Gaussian conditioning and expectations, each written once, for NumPy and torch, one or many.

| field's term | here |
|---|---|
| posterior of a Gaussian after one observation, the Kalman filter (section 2.3, eqs. filter_a, filter_b) | `update` |
| expected improvement over b of a score N(m, s^2) | `upsilon(m - b, s)`; in single precision and quick, `improvement` |
| expected maximum of lines in one normal, as in the knowledge gradient | `expected_maximum` |
| mean of a log-normal cost | `lognormal_mean` |

Conditioning needs no inverse.  It is exact for singular covariances: what is known for certain stays as it is (appendix
A).  The same lines serve weights (features phi(u)) and values at candidate controls (features e_g).

    s^2 = phi' Sigma phi + sigma^2,   k = Sigma phi / s,   mu + k z,   Sigma - k k'       z: surprise, in units of s

A lookahead needs only parts of this, at the controls it looks at: `observed_sd`, `remaining`, `remaining_variance`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian

_ROOT_2 = math.sqrt(2.0)
_ROOT_2PI = math.sqrt(2 * math.pi)
_HALF_ROOT_PI = math.sqrt(math.pi / 2)
_FAR = 40.0  # beyond it the normal density, exp(-800), is zero in double precision
_END = 9.0  # P(|Z| > 9) = 2e-19: a break beyond it changes no double-precision expectation
_OUT = {8: -1e200, 4: -1e9}  # stands for an intercept of -inf: finite, so that two of them differ by zero, not NaN
_PARALLEL = {8: 1e-300, 4: 1e-12}  # slopes closer than this never cross where it matters; both by bytes of a number


class Values(Protocol):
    """An array of NumPy's or a tensor of torch's: what the formulas that serve both ask of one."""

    def __add__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __getitem__(self, index: Any, /) -> Any: ...


V = TypeVar("V", bound=Values)
Number = TypeVar("Number", np.float64, np.intp)


def namespace(values: object) -> Any:
    """The module whose functions take these values: torch for a tensor, otherwise NumPy.

    Who has a tensor has imported torch; it is never imported here.
    """
    if isinstance(values, np.ndarray) or type(values).__module__.partition(".")[0] != "torch":
        return np
    return sys.modules["torch"]


def at_least(values: V, low: float) -> V:
    """max(values, low), element by element."""
    xp = namespace(values)
    found: V = xp.maximum(values, low) if xp is np else xp.clamp(values, min=low)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one run at a control will show.  mean: (...) m(u, x),  var: (...) s(u, x)^2, noise included,

    gain: (..., J) by how much the posterior mean moves per standard deviation of surprise.
    """

    mean: Array
    var: Array
    gain: Array


def observed_sd(var: V, noise: Any) -> V:
    """s: standard deviation of one observation.  var: of what is observed,  noise: sigma(u), a standard deviation."""
    found: V = namespace(var).sqrt(var + noise * noise)
    return found


def remaining(cov: V, gain: V, other: V) -> V:
    """Covariance of two values after a run that moves them by these gains: an entry of Sigma - k k'."""
    found: V = cov - gain * other
    return found


def remaining_variance(var: V, gain: V) -> V:
    """The same of a value with itself, never negative by rounding."""
    return at_least(remaining(var, gain, gain), 0.0)


def posterior(mean: V, cov: V, features: V, noise: Any, observed: Any) -> tuple[V, V]:
    """Mean (..., J) and covariance (..., J, J) after observing `observed` (...) at a control with features (..., J)."""
    predicted, var, gain = _predicted(mean, cov, features, noise)
    surprise = (observed - predicted) / namespace(mean).sqrt(var)
    moved: V = mean + gain * surprise[..., None]  # eq. (filter_a), without an inverse
    return moved, remaining(cov, gain[..., :, None], gain[..., None, :])  # symmetric to the last bit


def predict(weights: Gaussian, features: Array, noise: Array | float) -> Prediction:
    """Predictive distribution of one observation.

    features: (..., J),  noise: (...) sigma(u), a standard deviation
    """
    return Prediction(*_predicted(weights.mean, weights.cov, features, noise))


def update(weights: Gaussian, features: Array, noise: Array | float, observed: Array | float) -> Gaussian:
    """The `posterior` as a belief.  All arrays may be batched."""
    return Gaussian(*posterior(weights.mean, weights.cov, features, noise, observed))


def gains(weights: Gaussian, features: Array, noise: Array) -> Array:
    """By how much several runs, not yet observed, move the mean: by z @ gains, z standard normal.  (n, J).

    With S = Phi Sigma Phi' + noise^2 = L L', that is L^-1 Phi Sigma.  features: (n, J),  noise: (n,)
    """
    spread = features @ weights.cov  # Phi Sigma, (n, J)
    seen = spread @ features.T + np.diag(np.square(noise))
    least = 1e-12 * float(np.trace(seen)) + 1e-300  # the same control twice without noise is nothing new
    root = np.linalg.cholesky(seen + least * np.eye(len(seen)))
    return np.asarray(np.linalg.solve(root, spread))


def anticipate(weights: Gaussian, moves: Array) -> Gaussian:
    """The belief after runs that all come out exactly as predicted: less uncertain, no other mean.  moves: `gains`."""
    return Gaussian(weights.mean, weights.cov - moves.T @ moves) if len(moves) else weights


def _predicted(mean: V, cov: V, features: V, noise: Any) -> tuple[V, V, V]:
    """Mean and variance of one observation, and the gain."""
    xp = namespace(mean)
    spread = xp.einsum("...ij,...j->...i", cov, features)  # Sigma phi
    var = at_least(xp.einsum("...i,...i->...", features, spread), 0.0) + noise * noise
    return xp.einsum("...i,...i->...", mean, features), var, spread / xp.sqrt(var)[..., None]


def upsilon(mean: Array | float, sd: Array | float) -> Array:
    """E[Y^+] for Y ~ N(mean, sd^2): Upsilon of eq. (reform), accurate in relative terms in both tails.

    Also the expected improvement: E[(Y - b)^+] = upsilon(mean - b, sd).
    """
    m, s = np.asarray(mean, dtype=np.float64), np.asarray(sd, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = np.where(s > 0, np.abs(m) / s, np.inf)
    return np.asarray(np.maximum(m, 0.0) + s * left_loss(-x))  # E[Y^+] = E[(-Y)^+] + m serves m > 0


def left_loss(x: V) -> V:
    """phi(x) + x Phi(x) for x <= 0, without cancellation: phi(x) (1 + x Phi(x)/phi(x)) with a scaled erfc."""
    xp, x = namespace(x), at_least(x, -_FAR)
    scaled = (erfcx if xp is np else xp.special.erfcx)(x / -_ROOT_2)
    found: V = xp.exp(-0.5 * x * x) * (1.0 + x * (_HALF_ROOT_PI * scaled)) / _ROOT_2PI  # type: ignore[operator]
    return found


def loss(x: V) -> V:
    """phi(x) + x Phi(x) for any x: quicker, and off by rounding where it is next to zero.  For single precision."""
    xp = namespace(x)
    below = (ndtr if xp is np else xp.special.ndtr)(x)
    found: V = xp.exp(x * x * -0.5) * (1.0 / _ROOT_2PI) + x * below
    return found


def improvement(ahead: V, reach: V) -> V:
    """E[(ahead + reach Z)^+] in single precision: what a run is expected to add to the incumbent's score.

    ahead: by how much its estimated score is above the incumbent's;  reach: standard deviation of how far it moves away
    """
    xp = namespace(ahead)
    x = ahead / at_least(reach, 1e-6)
    x = np.minimum(np.maximum(x, -30.0), 30.0) if xp is np else xp.clip(x, -30.0, 30.0)  # `np.clip` takes longer
    found: V = xp.maximum(reach * loss(x), ahead)  # the latter where nothing is learned
    return found


def lognormal_mean(mean: Array | float, sd: Array | float) -> Array:
    """E[exp(Y)] for Y ~ N(mean, sd^2): the noise included, as a timing has it."""
    return np.exp(np.minimum(np.asarray(mean) + 0.5 * np.square(sd), 700.0))


def expected_maximum(intercepts: V, slopes: V) -> V:
    """E max over the last axis of intercepts + slopes * Z, exactly: (..., L) each, broadcast -> (...).

    An intercept of -inf takes its line out; if all are out the result is -inf.  Work on slopes alone is done at
    the slopes' own shape, so that many intercepts may share one set of slopes.
    """
    xp, a, b = namespace(intercepts), *_sorted(intercepts, slopes)
    total = _integrate(a, b, *_intervals(a, b))
    found: V = xp.where(total > _OUT[a.itemsize] / 2, total, -math.inf)
    return found


def _sorted(intercepts: Any, slopes: Any) -> tuple[Any, Any]:
    """Both by rising slope, the lines first: (L, ...)."""
    xp, ndim = namespace(intercepts), max(intercepts.ndim, slopes.ndim)
    slopes = slopes.reshape((1,) * (ndim - slopes.ndim) + tuple(slopes.shape))
    intercepts = intercepts.reshape((1,) * (ndim - intercepts.ndim) + tuple(intercepts.shape))
    order = xp.argsort(slopes, stable=True)
    if xp is np:
        a = _lines_first(intercepts, order)
        return np.maximum(a, _OUT[a.itemsize], out=a), _lines_first(slopes, order)
    a = xp.moveaxis(xp.take_along_dim(intercepts, order, -1), -1, 0).contiguous()
    return at_least(a, _OUT[a.itemsize]), xp.moveaxis(xp.take_along_dim(slopes, order, -1), -1, 0)


def _lines_first(values: NDArray[Any], order: Indices) -> NDArray[Any]:
    """Entries of the last axis in this order, (..., L) each, with that axis first: (L, ...), laid out in order."""
    starts = np.arange(0, values.size, values.shape[-1]).reshape(values.shape[:-1])
    return values.reshape(-1).take(starts + np.ascontiguousarray(np.moveaxis(order, -1, 0)))


def along_last(values: NDArray[Number], index: Indices) -> NDArray[Number]:
    """Entries of the last axis, (..., n) by (..., m); other axes broadcast.  As `np.take_along_axis`, and quicker."""
    starts = np.arange(0, values.size, values.shape[-1]).reshape(*values.shape[:-1], 1)
    return values.reshape(-1).take(starts + index)


def _intervals(a: Any, b: Any) -> tuple[Any, Any]:
    """Where each line is on top, for lines sorted by slope: (L, ...) each.  Empty where lower >= upper."""
    xp, parallel = namespace(a), _PARALLEL[a.itemsize]
    lower = xp.full_like(a, -math.inf)
    upper = -lower
    with np.errstate(over="ignore"):
        for i in range(len(a) - 1):
            crossing = a[i] - a[i + 1 :]
            crossing *= 1.0 / at_least(b[i + 1 :] - b[i], parallel)  # z beyond which line j beats line i
            xp.maximum(lower[i + 1 :], crossing, out=lower[i + 1 :])
            xp.minimum(upper[i], xp.amin(crossing, 0), out=upper[i, ...])
    return lower, upper


def _integrate(a: Any, b: Any, lower: Any, upper: Any) -> Any:
    """max a + sum over the breaks c of (slope after - slope before) psi(-|c|).  (...).

    psi(x) = phi(x) + x Phi(x) is `left_loss`.  Every term is positive: nothing cancels.
    """
    xp = namespace(a)
    gained = xp.zeros_like(a)  # at first by how much steeper each line is than the one before it
    before = xp.broadcast_to(b[0], a.shape[1:])
    for i in range(1, len(a)):
        on_top = lower[i] < upper[i]
        after = xp.where(on_top, b[i], before)
        xp.subtract(after, before, out=gained[i, ...])
        before = after
    away = abs(lower)
    breaks = (gained > 0) & (away < _END)
    found = gained[breaks] * left_loss(-away[breaks])
    gained[~breaks] = 0.0
    gained[breaks] = found
    return xp.amax(a, 0) + gained.sum(0)
