"""Basis functions phi (of the score) and psi (of the cost), and the linear model of score and cost that they make.

What is assumed (paper eqs. h_t_n and HT) is a `Model`.  A basis maps controls in the unit cube to features:
`(..., p) -> (..., J)`.  The paper's own two are `cubic` (its 1-D examples) and `additive_quartic` (its 2-D examples);
`additive` is their common pattern in any dimension, and `Basis.of` takes functions of the user's.

To add a kernel, write its features: with weights N(mu, Sigma) a basis has the kernel k(u, v) = phi(u)' Sigma phi(v).
The default surrogate's are products of Legendre polynomials (`SurfaceFeatures`); which products, and the prior of their
weights, is in `belief.surrogate`.

| symbol | here |
|---|---|
| p | `dim`, number of coordinates of a control |
| J, K | `size`, number of basis functions |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from autobct.belief.arrays import Array, Indices, kronecker, whole_number
from autobct.belief.cost import LINEAR, CostModel
from autobct.belief.gaussian import Belief
from autobct.belief.normal import update

_LARGE = 1e6  # a feature beyond this on the unit cube is taken for unbounded: assumption (A) of the paper


@dataclass(frozen=True, slots=True)
class Basis:
    """Functions phi_1..phi_J on the unit cube.

    function:  controls (..., p) -> features (..., J)
    degrees:   how wiggly each function is, the constant 0; all others count as 1 if not given
    """

    name: str
    dim: int
    size: int
    function: Callable[[Array], Array]
    degrees: tuple[int, ...] = ()

    def __call__(self, controls: Array) -> Array:
        """Features of the controls: (..., p) -> (..., J)."""
        return self.function(controls)

    @staticmethod
    def of(functions: Sequence[Callable[[Array], Array]], *, dim: int, name: str = "custom") -> Basis:
        """A basis of your own functions, each taking controls (..., p) and returning values (...).

        Each must be bounded and finite on [0, 1]^p, assumption (A) of the paper; this is checked at probe controls and,
        zooming in on the largest values, along the axes through the centre.
        """
        whole_number(dim, "dim", example=1)
        given: object = functions
        if not (isinstance(given, list | tuple) and given and all(callable(f) for f in given)):
            raise TypeError("functions must be a list of functions, e.g. [lambda u: np.ones(u.shape[:-1])]")
        return check_basis(Basis(name, dim, len(functions), _Stacked(name, tuple(functions))))


@dataclass(frozen=True, slots=True)
class _Stacked:
    """Functions of the user's as one.  It pickles where they do."""

    name: str
    functions: tuple[Callable[[Array], Array], ...]

    def __call__(self, controls: Array) -> Array:
        label = f"every function of basis {self.name!r}"
        return np.stack([broadcast_values(f(controls), controls, label) for f in self.functions], axis=-1)


@dataclass(frozen=True, slots=True)
class _Additive:
    """The features of `additive`."""

    degree: int
    numeric: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    indicators: tuple[int, ...]

    def __call__(self, controls: Array) -> Array:
        centred = controls - 0.5
        columns = [np.ones(controls.shape[:-1])]
        columns += [centred[..., i] ** k for i in self.numeric for k in range(1, self.degree + 1)]
        columns += [centred[..., i] * centred[..., j] for i, j in self.pairs]
        columns += [controls[..., i] for i in self.indicators]
        return np.stack(columns, axis=-1)


def additive(
    dim: int,
    *,
    degree: int,
    indicators: Sequence[int] = (),
    name: str | None = None,
) -> Basis:
    """1, the powers (u_i - 1/2)^k for k = 1..degree of every coordinate, then the products of each two.

    indicators: coordinates that are 0 or 1 (one-hot categories); they enter once and take part in no product.
    """
    numeric = [i for i in range(dim) if i not in set(indicators)]
    pairs = list(combinations(numeric, 2))
    size = 1 + degree * len(numeric) + len(pairs) + len(indicators)
    features = _Additive(degree, tuple(numeric), tuple(pairs), tuple(indicators))
    powers = [k for _ in numeric for k in range(1, degree + 1)]
    degrees = (0, *powers, *(2 for _ in pairs), *(1 for _ in indicators))
    return Basis(name=name or f"additive-{degree}-in-{dim}", dim=dim, size=size, function=features, degrees=degrees)


def cubic() -> Basis:
    """The paper's 1-D basis {1, u - 0.5, (u - 0.5)^2, (u - 0.5)^3}."""
    return additive(1, degree=3, name="cubic")


def additive_quartic() -> Basis:
    """The paper's 2-D basis: powers up to four of each coordinate and one interaction, J = 10."""
    return additive(2, degree=4, name="additive-quartic")


def probe_controls(dim: int, *, points: int = 256) -> Array:
    """Controls that spread over the cube: both corners, the centre, and a Kronecker sequence.  (points + 3, dim)."""
    ends = np.repeat([[0.0], [1.0], [0.5]], dim, axis=1)
    return np.concatenate([ends, kronecker(points, dim)])


def largest_features(basis: Basis) -> Array:
    """How large each |phi_j| gets on the cube, over probe controls.  (J,)."""
    largest: Array = np.abs(basis(probe_controls(basis.dim))).max(axis=0)
    return largest


def check_basis(basis: Basis) -> Basis:
    """The basis itself if it is finite and bounded on the cube; otherwise one sentence why not."""
    found = _features(basis, probe_controls(basis.dim))
    if found.shape[-1] != basis.size:
        raise ValueError(f"basis {basis.name!r} must return {basis.size} features, got {found.shape[-1]}")
    for axis in range(basis.dim):
        for feature in range(basis.size):
            _check_along(basis, axis, feature)
    return basis


def _features(basis: Basis, controls: Array) -> Array:
    with np.errstate(all="ignore"):
        found = np.asarray(basis(controls), dtype=np.float64)
    bad = ~np.isfinite(found).all(axis=-1)
    if bad.any() or np.abs(found).max() > _LARGE:
        where = controls[bad][0] if bad.any() else controls[np.abs(found).max(axis=-1).argmax()]
        raise ValueError(
            f"basis {basis.name!r} is not finite and bounded on the unit cube: see the control "
            f"{np.round(where, 6).tolist()}; use functions such as powers of (u - 0.5)"
        )
    return found


def _check_along(basis: Basis, axis: int, feature: int) -> None:
    """Zoom in on a feature's largest value along one axis: a pole grows without end, a bounded one does not."""
    centre, width = 0.5, 0.5
    for _ in range(6):
        line = np.full((101, basis.dim), 0.5)
        line[:, axis] = np.clip(np.linspace(centre - width, centre + width, 101), 0.0, 1.0)
        found = np.abs(_features(basis, line)[:, feature])
        centre, width = float(line[found.argmax(), axis]), width / 20


Factor = tuple[int, int]
"""(parameter, degree); the k-th choice of a category counts as degree k + 1."""


def legendre(values: Array, degree: int) -> Array:
    """Orthonormal polynomials on [0, 1] of degree 0..K, by their recursion: (...) -> (..., K + 1)."""
    x = 2.0 * values - 1.0
    found = [np.ones_like(x), x]
    for k in range(1, degree):
        found.append(((2 * k + 1) * x * found[k] - k * found[k - 1]) / (k + 1))
    return np.stack([np.sqrt(2 * k + 1) * found[k] for k in range(degree + 1)], axis=-1)


class SurfaceFeatures:
    """Controls (..., p) -> features (..., J): each a product of at most three entries of one pool."""

    def __init__(self, parameters: tuple[int, ...], degree: int, terms: Sequence[tuple[Factor, ...]]) -> None:
        self._parameters, self._degree = parameters, degree
        starts, at = [], 1
        for choices in parameters:
            starts.append(at)
            at += choices or degree
        factors: Indices = np.zeros((len(terms), 3), dtype=np.intp)  # 0: the constant
        for row, term in enumerate(terms):
            factors[row, : len(term)] = [starts[which] + k - 1 for which, k in term]
        self._factors = factors.T
        columns = np.cumsum([0, *(max(choices, 1) for choices in parameters)])
        self._numbers = np.array(
            [at for at, choices in zip(columns, parameters, strict=False) if not choices], dtype=np.intp
        )

    def __call__(self, controls: Array) -> Array:
        """As any features of a `Basis`."""
        pool, at = [np.ones((*controls.shape[:-1], 1))], 0
        powers = iter(np.moveaxis(legendre(controls[..., self._numbers], self._degree)[..., 1:], -2, 0))
        for choices in self._parameters:
            pool.append(np.sqrt(choices) * controls[..., at : at + choices] if choices else next(powers))
            at += max(choices, 1)
        entries = np.concatenate(pool, axis=-1)
        one, two, three = self._factors
        return np.asarray(entries[..., one] * entries[..., two] * entries[..., three])


Noise = float | Callable[[Array], Array]
"""Standard deviation of one observation: a constant, or a function of the controls (..., p) -> (...)."""


@dataclass(frozen=True, slots=True)
class Model:
    """Score and cost as linear models in their bases, observed with noise.

    score_noise: standard deviation of one observed score, in score units   (sigma_H)
    cost_noise:  standard deviation of one observed cost, in units of what the cost model observes   (sigma_T)
    """

    score_basis: Basis
    cost_basis: Basis
    score_noise: Noise
    cost_noise: Noise
    cost_model: CostModel = LINEAR

    def observe(self, belief: Belief, control: Array, *, score: float | None, cost: float) -> Belief:
        """Kalman(x, u, h, t): the belief after one run.  control: (p,);  score and cost in model units.

        score=None: the run failed, only its cost was seen.
        """
        new_cost = update(
            belief.cost,
            self.cost_basis(control),
            noise_at(self.cost_noise, control, "cost_noise"),
            self.cost_model.to_observation(np.asarray(cost, dtype=np.float64)),
        )
        if score is None:
            return Belief(belief.score, new_cost)
        score_noise = noise_at(self.score_noise, control, "score_noise")
        return Belief(update(belief.score, self.score_basis(control), score_noise, score), new_cost)


def noise_at(noise: Noise, controls: Array, name: str = "noise") -> Array:
    """sigma(u) at the controls: (..., p) -> (...); positive and finite, assumption (S) of the paper."""
    try:
        values = np.asarray(noise(controls) if callable(noise) else noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or a function of controls, got {noise!r}; write e.g. 0.05") from None
    if not (np.all(np.isfinite(values)) and np.all(values > 0)):
        raise ValueError(f"{name} must be positive and finite at every control; write a standard deviation, e.g. 0.05")
    return broadcast_values(values, controls, name)


def broadcast_values(values: ArrayLike, controls: Array, name: str) -> Array:
    """One value per control, (...) for controls (..., p), or one sentence that names the function."""
    try:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), controls.shape[:-1])
    except ValueError:
        raise ValueError(
            f"{name} must return one value per control: shape {controls.shape[:-1]} for controls of shape "
            f"{controls.shape}, got {np.shape(values)}; take a coordinate, e.g. u[..., 0]"
        ) from None
