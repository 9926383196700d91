"""Drawn outcomes for a search: surprises of runs, and truths, unbiased and evenly spread.

Every point by itself has exactly the distribution it stands for, whatever its neighbours: an average over such points
errs in neither direction on average, and the maximum of such averages errs upwards (Jensen).  That is what makes an
upper bound computed with them an upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array, Array32, kronecker
from autobct.value.bounds.branches import DRAWS, root_of
from autobct.value.state import State

_EDGE = 1e-15
_SMALL = 4096  # points of a lattice that is worth keeping


class Width(NamedTuple):
    """How much is drawn in a level: outcomes of a run and of a parcel, (followed, glanced at), and truths."""

    runs: tuple[int, int]
    parcels: tuple[int, int]
    truths: int


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What may happen in one level of a search.

    score, cost: (D, Q) surprises of a run;  truths: (D, d, S) standard normals that a truth is drawn with
    told: (D, P, d) standard normals that a parcel is drawn with
    """

    width: Width
    score: Array
    cost: Array
    truths: Array32
    told: Array


class Levels:
    """Outcomes of every level, in `dim` coordinates, with DRAWS draws from each generator, drawn when one gets there.

    A level is reached from the one before, so that the generators are used in the same order however deep one gets.
    """

    def __init__(self, widths: Sequence[Width], dim: int, rngs: Sequence[np.random.Generator]) -> None:
        self._widths, self._dim, self._rngs = widths, dim, rngs
        self._drawn: list[Outcomes] = []

    def __len__(self) -> int:
        """How many levels there are."""
        return len(self._widths)

    def width(self, level: int) -> Width:
        """How much is drawn in a level."""
        return self._widths[level]

    def __getitem__(self, level: int) -> Outcomes:
        """Those of one level."""
        while len(self._drawn) <= level:
            self._drawn.append(_drawn(self._widths[len(self._drawn)], self._dim, self._rngs))
        return self._drawn[level]


def _drawn(width: Width, dim: int, rngs: Sequence[np.random.Generator]) -> Outcomes:
    def spread(counts: tuple[int, ...], rng: np.random.Generator) -> Array:
        return np.concatenate([spread_normals(count, dim, rng=rng) for count in counts])

    surprises, truths, told = [], [], []
    for rng in rngs:
        surprises.append(np.concatenate([folded_lattice(count, DRAWS, rng=rng) for count in width.runs], axis=1))
        truths += [spread((width.truths,), rng).T for _ in range(DRAWS)]
        told += [spread(width.parcels, rng) for _ in range(DRAWS)]
    pairs = to_normals(np.concatenate(surprises))
    return Outcomes(
        width=width,
        score=pairs[:, :, 0],
        cost=pairs[:, :, 1],
        truths=np.stack(truths).astype(np.float32),
        told=np.stack(told),
    )


def folded_lattice(count: int, draws: int, *, rng: np.random.Generator) -> Array:
    """(draws, count, 2) uniform points: lattices along the golden ratio, shifted at random, folded at the middle."""
    first = np.arange(count)
    lattice = np.stack([first / max(count, 1), (first * 0.6180339887498949) % 1.0], axis=-1)
    shifted = (lattice + rng.random((draws, 1, 2))) % 1.0
    return np.asarray(1.0 - np.abs(2.0 * shifted - 1.0))


def spread_normals(count: int, dim: int, *, rng: np.random.Generator) -> Array:
    """(count, dim) standard normals: a Kronecker sequence shifted at random."""
    if dim == 0:
        return np.zeros((count, 0))
    lattice = _small_lattice(count, dim) if count <= _SMALL else kronecker(count, dim)
    return to_normals((lattice + rng.random(dim)) % 1.0)


@lru_cache(maxsize=32)
def _small_lattice(count: int, dim: int) -> Array:
    """The same few points are shifted thousands of times."""
    lattice = kronecker(count, dim)
    lattice.setflags(write=False)
    return lattice


def spread_truths(state: State, count: int, *, rng: np.random.Generator) -> tuple[Array, Array]:
    """Evenly spread true scores and costs of an unbatched state, (count, G) each; costs as the cost model sees them."""
    score_root, cost_root = root_of(state.score), root_of(state.cost)
    normals = spread_normals(count, score_root.shape[1] + cost_root.shape[1], rng=rng)
    split = score_root.shape[1]
    return (
        np.asarray(state.score.mean + normals[:, :split] @ score_root.T),
        np.asarray(state.cost.mean + normals[:, split:] @ cost_root.T),
    )


def to_normals(uniform: Array) -> Array:
    """Standard normals from uniform numbers, of any shape."""
    return np.asarray(ndtri(np.clip(uniform, _EDGE, 1.0 - _EDGE)))
