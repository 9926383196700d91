"""Coarse-to-fine search: the best of many candidates from a few evaluations.

Values of neighbouring controls are close.  A sieve evaluates a coarse grid of the candidates, then those of a finer
grid around the best few, and so on; every other candidate is given an average of evaluated neighbours, which is
never above their best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices

_SIDES = {1: (17,), 2: (6, 11)}  # points along an axis of the coarse grids, the coarsest first
_MOST = {1: 2, 2: 4}  # candidates of a grid that are looked around, at most


@dataclass(frozen=True, slots=True, eq=False)
class SieveStage:
    """From one grid to the next.

    coarse: (K,) the candidates of this grid;  around: (K, G) which of the next grid's lie around each of them;
    blend: (G, K) averages of this grid's values for all others;  beside: (K, K) average of each one's neighbours
    most: of this grid that are looked around
    """

    coarse: Indices
    around: NDArray[np.bool_]
    blend: Array
    beside: Array
    most: int

    def worth_a_look(self, values: Array) -> Indices:
        """The candidates of this grid (K,) around which there may be a higher value than any of these.

        A parabola rises above the best of three points by a quarter at most of what that one is above its neighbours'
        average; to be safe, four times as much is allowed for.
        """
        hoped = values + np.maximum(values - self.beside @ values, 0.0)
        ranked = np.argsort(-hoped)[: self.most]
        return np.asarray(ranked[hoped[ranked] >= values.max()])


@dataclass(frozen=True, slots=True)
class Sieve:
    """How the candidates are sifted.

    size: G, how many there are;  stages: the coarsest first; none: all at once;  controls: (G, p) the candidates
    """

    size: int
    stages: tuple[SieveStage, ...]
    controls: Array

    def apart(self, values: Array, most: int) -> Indices:
        """The best candidate, then the best that is not next to one before it, and so on: at most so many."""
        near = (0.5 / (len(self.stages[0].coarse) ** (1 / self.controls.shape[1]) - 1)) ** 2
        left = values.copy()
        found: list[int] = []
        while len(found) < most and np.isfinite(left.max()):
            found.append(int(left.argmax()))
            left[np.square(self.controls - self.controls[found[-1]]).sum(axis=-1) <= near] = -np.inf
        return np.array(found)

    def values(self, evaluate: Callable[[Indices], Array], also: int | None = None) -> Array:
        """Values of all candidates (G,); `evaluate` gives those of the ones it is told.  also: one never missed."""
        if not self.stages:
            return evaluate(np.arange(self.size))
        coarsest = self.stages[0].coarse
        first = evaluate(coarsest)
        values = np.asarray(self.stages[0].blend @ first)
        values[coarsest] = first
        for stage in self.stages:
            wanted: NDArray[np.bool_] = np.asarray(stage.around[stage.worth_a_look(values[stage.coarse])].any(axis=0))
            if also is not None and stage is self.stages[-1]:
                wanted[also] = True
            finer = np.flatnonzero(wanted)
            values[finer] = evaluate(finer)
        return values


def sieve(controls: Array) -> Sieve:
    """A sieve for candidate controls (G, p)."""
    count, dim = controls.shape
    sides = [side for side in _SIDES.get(dim, ()) if 2 * side**dim < count]
    grids = [_spread(controls, side) for side in sides]
    finer = [*grids[1:], np.arange(count)]
    stages = tuple(_stage(controls, *pair) for pair in zip(grids, finer, strict=True)) if grids else ()
    return Sieve(count, stages, controls)


def _stage(controls: Array, coarse: Indices, finer: Indices) -> SieveStage:
    count, dim = controls.shape
    distance = np.square(controls[:, None, :] - controls[coarse]).sum(axis=-1)  # (G, K)
    nearest = np.argsort(distance, axis=1, kind="stable")[:, : 2**dim]
    weights = 1.0 / np.maximum(np.take_along_axis(distance, nearest, axis=1), 1e-24)
    blend = np.zeros(distance.shape)
    np.put_along_axis(blend, nearest, weights / weights.sum(axis=1, keepdims=True), axis=1)
    fresh = np.isin(np.arange(count), np.setdiff1d(finer, coarse))
    beside = np.zeros((len(coarse), len(coarse)))
    np.put_along_axis(
        beside, np.argsort(distance[coarse], axis=1, kind="stable")[:, 1 : 1 + 2 * dim], 0.5 / dim, axis=1
    )
    return SieveStage(coarse=coarse, around=(blend > 0).T & fresh, blend=blend, beside=beside, most=_MOST[dim])


def _spread(controls: Array, side: int) -> Indices:
    """About side^p candidates: a coarser grid where they are a grid, else each the farthest from those before it."""
    count, dim = controls.shape
    on = np.ones(count, dtype=bool)
    for axis in range(dim):
        places, rank = np.unique(np.round(controls[:, axis], 9), return_inverse=True)
        picked = np.round(np.linspace(0, len(places) - 1, min(side, len(places)))).astype(np.intp)
        on &= np.isin(rank, picked)
    if on.sum() >= side**dim // 2:
        return np.flatnonzero(on)
    chosen = [int(np.square(controls).sum(axis=1).argmin())]
    distance = np.full(count, np.inf)
    while len(chosen) < side**dim:
        distance = np.minimum(distance, np.square(controls - controls[chosen[-1]]).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return np.unique(chosen)
