"""Response surfaces: Legendre polynomials of every number, products of two and three, and one function per choice.

The polynomials are orthonormal on [0, 1], so that the variance of a weight is by how much its function makes scores
differ over the whole cube: priors for them can be read off real surfaces, and more functions make no wilder prior.

| symbol | here |
|---|---|
| P_k(2u - 1) sqrt(2k + 1) | `legendre`, k = 0..K |
| J | `Surface.basis.size` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis, Factor, SurfaceFeatures

SIZE = 220
"""Functions of a surface: main effects always, then products, the smoothest first, while there is room."""

_DEGREE = {1: 10, 2: 8, 3: 7}  # of main effects, by the number of numbers; 5 beyond
_ALONE = 3  # of one number and nothing else: decisions/one-two-numbers.md
_HIGHEST = 3  # degree of a factor in a product
_TOTAL = 5  # degree of a product


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """A basis and what its functions are made of.

    parameters: (P,) number of choices of each parameter, 0 for a number, in the order of the coordinates
    terms:      the factors of every function; none for the constant, which is the first
    """

    basis: Basis
    parameters: tuple[int, ...]
    terms: tuple[tuple[Factor, ...], ...]

    def variances(self, relevance: Array, decay: float, interaction: float) -> Array:
        """Prior variances of the weights, (J,), which sum to one; that of the constant is zero.

        relevance:   (P,) share of each parameter
        decay:       of the variance from one degree to the next
        interaction: share of all products together
        """
        shares = np.array([self._share(term, relevance, decay) for term in self.terms])
        product = np.array([len(term) > 1 for term in self.terms])
        part = np.where(product, interaction if product.any() else 0.0, 1.0 - interaction * product.any())
        for chosen in (product, ~product):
            shares[chosen] /= max(float(shares[chosen].sum()), 1e-300)
        return np.asarray(shares * part)

    def _share(self, term: tuple[Factor, ...], relevance: Array, decay: float) -> float:
        if not term:
            return 0.0
        shares = [
            relevance[which] * (1.0 / self.parameters[which] if self.parameters[which] else decay ** (degree - 1))
            for which, degree in term
        ]
        return float(np.prod(shares))

    def hill(self, tops: Mapping[int, tuple[float, float]]) -> Array:
        """Weights, (J,), of a hill: for some parameters the place of its top and its height.

        For a number -(u - top)^2 with `height` as the weight of its curvature; for a category the choice on top.
        """
        weights = np.zeros(self.basis.size)
        for row, term in enumerate(self.terms):
            if len(term) == 1 and term[0][0] in tops:
                (which, degree), (top, height) = term[0], tops[term[0][0]]
                if self.parameters[which]:
                    weights[row] = height / np.sqrt(self.parameters[which]) * (degree - 1 == top)
                elif degree <= 2:
                    weights[row] = -height if degree == 2 else -height * np.sqrt(15.0) * (1.0 - 2.0 * top)
        return weights


def surface(parameters: Sequence[int], *, degree: int | None = None, size: int = SIZE) -> Surface:
    """The surface of some parameters.

    parameters: number of choices of each, 0 for a number;  degree: of main effects;  size: functions, at least these
    """
    told = tuple(parameters)
    highest = degree or (_ALONE if told == (0,) else _DEGREE.get(sum(choices == 0 for choices in told), 5))
    mains: list[tuple[Factor, ...]] = [(), *_mains(told, highest)]
    terms = (*mains, *islice(_products(told, min(highest, _HIGHEST)), max(size - len(mains), 0)))
    dim = sum(max(choices, 1) for choices in told)
    degrees = tuple(sum(1 if told[which] else k for which, k in term) for term in terms)
    basis = Basis(
        name=f"surface-{highest}-{len(terms)}",
        dim=dim,
        size=len(terms),
        function=SurfaceFeatures(told, highest, terms),
        degrees=degrees,
    )
    return Surface(basis, told, terms)


def _mains(parameters: tuple[int, ...], degree: int) -> Iterator[tuple[Factor, ...]]:
    for which, choices in enumerate(parameters):
        for k in range(1, (choices or degree) + 1):
            yield ((which, k),)


def _products(parameters: tuple[int, ...], highest: int) -> Iterator[tuple[Factor, ...]]:
    """Products of two numbers by total degree, of a choice and a number, of three numbers: the smoothest first.

    highest: degree of a factor
    """
    numbers = [which for which, choices in enumerate(parameters) if choices == 0]
    choosing = [which for which, choices in enumerate(parameters) if choices]
    for total in range(2, _TOTAL + 1):
        for one, two in combinations(numbers, 2):
            for degree in range(max(1, total - highest), min(highest, total - 1) + 1):
                yield ((one, degree), (two, total - degree))
        if total == 2:
            for which in choosing:
                yield from (((which, k), (number, 1)) for k in range(1, parameters[which] + 1) for number in numbers)
        if total == 3:
            yield from (((a, 1), (b, 1), (c, 1)) for a, b, c in combinations(numbers, 3))
