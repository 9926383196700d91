"""Replaying a recorded table: what trainings at any control would have come to, without training.

Every control of the table has the same number of repeats, ordered by score.  A training at a recorded control is one of
its repeats, drawn evenly; between recorded controls, score and seconds are interpolated linearly (in 2-D bilinearly)
among the repeats of the same rank, so that there is as much chance between the controls as at them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from autobct.belief.arrays import Array
from autobct.paper.experiment import TrainingOutcome
from autobct.paper.recorded_table import RecordedTable, TableError, read_table


@dataclass(frozen=True, slots=True, eq=False)
class TableReplay:
    """A table on its grid.

    axes:     one rising array of controls for each coordinate, from 0 to 1
    columns:  score, seconds and the others, each (n_1, .., n_p, R): the repeats of a control by rising score
    """

    axes: tuple[Array, ...]
    columns: Mapping[str, Array]
    header: Mapping[str, str]

    @property
    def repeats(self) -> int:
        """R."""
        return int(self.columns["score"].shape[-1])

    def run(self, control: Array, trainings: int, *, seed: int, run: int) -> TrainingOutcome:
        """Median score and total seconds of some trainings at a control; the same seed and run give the same."""
        ranks = np.random.default_rng((seed, run)).integers(self.repeats, size=trainings)
        drawn = {name: self.ranked(control, name)[ranks] for name in self.columns}
        extra = {name: float(np.median(values)) for name, values in drawn.items() if name not in ("score", "seconds")}
        return TrainingOutcome(float(np.median(drawn["score"])), float(drawn["seconds"].sum()), extra)

    def mean_score(self, control: Array, trainings: int) -> float:
        """The expected median of so many trainings at a control."""
        return float(self.ranked(control, "score") @ median_weights(self.repeats, trainings))

    def mean_seconds(self, control: Array, trainings: int) -> float:
        """The expected total of so many trainings at a control."""
        return trainings * float(self.ranked(control, "seconds").mean())

    def ranked(self, control: Array, name: str) -> Array:
        """The repeats (R,) at a control (p,), by rising score, interpolated between recorded controls."""
        values = self.columns[name]
        return np.asarray(sum(weight * values[corner] for weight, corner in self._corners(control)))

    def _corners(self, control: Array) -> Iterator[tuple[float, tuple[int, ...]]]:
        """The recorded controls around this one, and how much each counts."""
        sides = []
        for axis, u in zip(self.axes, control, strict=True):
            right = int(np.clip(np.searchsorted(axis, u), 1, len(axis) - 1))
            share = float((u - axis[right - 1]) / (axis[right] - axis[right - 1]))
            sides.append(((1.0 - share, right - 1), (share, right)))
        for corner in itertools.product(*sides):
            yield math.prod(share for share, _ in corner), tuple(index for _, index in corner)


def median_weights(repeats: int, trainings: int) -> Array:
    """How often each rank (R,) is the median of an odd number of even draws."""
    if trainings % 2 == 0:
        raise ValueError(f"the median of {trainings} trainings is not one of them; write an odd number")
    below = np.arange(repeats + 1) / repeats  # probability that a draw is among the lowest k
    most = range((trainings + 1) // 2, trainings + 1)
    reached = sum(math.comb(trainings, m) * below**m * (1.0 - below) ** (trainings - m) for m in most)
    return np.diff(np.asarray(reached))


def replay_of(table: RecordedTable, dim: int) -> TableReplay:
    """A table as a grid; TableError, in one sentence, if it is not one in so many dimensions."""
    if table.u.shape[1] != dim:
        raise TableError(f"table {table.name!r} has {table.u.shape[1]} controls, but the experiment has {dim}")
    axes = tuple(np.unique(column) for column in table.u.T)
    for number, axis in enumerate(axes, 1):
        if len(axis) < 2 or axis[0] != 0.0 or axis[-1] != 1.0:
            raise TableError(f"table {table.name!r}: u{number} must go from 0 to 1, got {axis[0]:g} to {axis[-1]:g}")
    shape = tuple(map(len, axes))
    cells = np.ravel_multi_index([np.searchsorted(axis, u) for axis, u in zip(axes, table.u.T, strict=True)], shape)
    counts = np.bincount(cells, minlength=math.prod(shape))
    if counts.min() != counts.max():
        odd = np.unravel_index(int(counts.argmin()), shape)
        where = ", ".join(f"{axis[i]:g}" for axis, i in zip(axes, odd, strict=True))
        raise TableError(
            f"table {table.name!r} is no whole grid: control ({where}) has {counts.min()} repeats, "
            f"others {counts.max()}"
        )
    order = np.lexsort((table.repeat, table.score, cells))
    columns = {"score": table.score, "seconds": table.seconds, **table.extra}
    return TableReplay(
        axes, {name: values[order].reshape(*shape, -1) for name, values in columns.items()}, table.header
    )


def recorded(name: str, dim: int, folder: Path | None = None) -> TableReplay:
    """The table of that name that came with the package, or the one in a folder; TableError or FileNotFoundError."""
    if folder is not None:
        return _named(folder / f"{name}.csv", name, dim)
    with resources.as_file(resources.files("autobct.paper") / "tables" / f"{name}.csv") as path:
        return _named(path, name, dim)


def _named(path: Path, name: str, dim: int) -> TableReplay:
    table = read_table(path)
    if table.name != name:
        raise TableError(f"'{path}' holds the trainings of {table.name!r}, but those of {name!r} are needed")
    return replay_of(table, dim)
