"""The mirror law: a belief and its image under a symmetry of the unit cube have the same value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Basis, probe_controls
from autobct.belief.gaussian import Belief


def mirror(
    belief: Belief,
    basis: Basis,
    *,
    flip: Sequence[bool] | None = None,
    order: Sequence[int] | None = None,
    cost_basis: Basis | None = None,
) -> Belief:
    """The belief about u -> H(s(u)), T(s(u)) for a symmetry s of the cube; it has the same value (mirror law).

    flip:   coordinates i with u_i -> 1 - u_i; all if None, which flips the odd coefficients
    order:  coordinates permuted, e.g. (1, 0) to swap two; as they are if None
    """
    flips = np.ones(basis.dim, dtype=bool) if flip is None else np.asarray(flip, dtype=bool)
    places = np.arange(basis.dim) if order is None else np.asarray(order, dtype=np.intp)
    return Belief(
        belief.score.at(symmetry(basis, flips, places)),
        belief.cost.at(symmetry(cost_basis or basis, flips, places)),
    )


def images(belief: Belief, basis: Basis, *, cost_basis: Basis | None = None) -> Iterator[Belief]:
    """The belief and all its mirror images: 2 in 1-D, 8 in 2-D."""
    for order in permutations(range(basis.dim)):
        for flip in product((False, True), repeat=basis.dim):
            yield mirror(belief, basis, flip=flip, order=order, cost_basis=cost_basis)


def symmetry(basis: Basis, flips: NDArray[np.bool_], places: Indices) -> Array:
    """M with phi(u)'(M alpha) = phi(s(u))'alpha: weights of the mirrored function.  (J, J)."""
    controls = probe_controls(basis.dim)
    moved = np.where(flips, 1.0 - controls, controls)[:, places]
    matrix = np.linalg.lstsq(basis(controls), basis(moved), rcond=None)[0]
    if np.abs(basis(controls) @ matrix - basis(moved)).max() > 1e-9:
        raise ValueError(f"basis {basis.name!r} does not contain its own mirror image under this symmetry")
    whole = np.round(matrix)
    return np.where(np.abs(matrix - whole) < 1e-9, whole, matrix)
