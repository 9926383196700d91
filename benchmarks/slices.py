"""Tuning tasks of one and two numbers: slices of the published tasks, all other parameters held at their centre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from cube import Array, points_of
from surfaces import Surface, Table
from tasks import Task

from autobct import Categorical

TOLD_APART = 10.0
"""A slice whose scores differ by less than so many times the noise has nothing to be tuned."""

_LOOKED_AT = 512


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """A surface along some of its parameters.  centre: (d,) where the others are held;  along: positions."""

    surface: Surface
    centre: Array
    along: tuple[int, ...]

    def __call__(self, points: Array) -> tuple[Array, Array]:
        whole = np.repeat(self.centre[None], len(points), axis=0)
        whole[:, list(self.along)] = points
        return self.surface(whole)


def slices(tasks: Sequence[Task], size: int, each: int) -> list[Task]:
    """So many slices of every task that can be told apart, evenly among all there are and others on every task."""
    found = []
    for number, task in enumerate(tasks):
        worthy = [one for one in _all(task, size) if _differ(one)]
        start = number % max(len(worthy) // each, 1)
        found += worthy[start :: max(len(worthy) // each, 1)][:each]
    return found


def _all(task: Task, size: int) -> list[Task]:
    if isinstance(task.surface, Table) or len(task.space) <= size:
        return []
    numbers = [i for i, p in enumerate(task.space.values()) if not isinstance(p, Categorical)]
    return [_slice(task, along) for along in combinations(numbers, size)]


def _slice(task: Task, along: tuple[int, ...]) -> Task:
    names = list(task.space)
    centre = points_of(task.space, np.full((1, len(names)), 0.5))[0]
    chosen = [names[i] for i in along]
    return Task(
        name=f"{task.name}-{'-'.join(chosen)}",
        family=task.family,
        space={name: task.space[name] for name in chosen},
        surface=Slice(task.surface, centre, along),
        score_range=task.score_range,
        noise=task.noise,
        cost_noise=task.cost_noise,
    )


def _differ(task: Task) -> bool:
    uniforms = np.random.default_rng(0).random((_LOOKED_AT, len(task.space)))
    scores = task.true(task.points(uniforms))[0]
    return float(scores.max() - np.quantile(scores, 0.1)) >= TOLD_APART * task.noise
