"""Runs an experiment with the paper's method or the package's own, on recorded or real trainings.

Replaying a recorded table: every control has the same number of repeats, ordered by score.  A training at a recorded
control is one of its repeats, drawn evenly; between recorded controls, score and seconds are interpolated linearly (in
2-D bilinearly) among the repeats of the same rank, so that there is as much chance between the controls as at them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.maps.library import shipped_map
from autobct.paper.experiment import MOST_RUNS, Experiment, Method, TrainingOutcome
from autobct.paper.recorded_table import RecordedTable, TableError, read_table
from autobct.tuning.decide.policy import Policy, relaxed
from autobct.tuning.history import Decision, Train, value_of_continuing
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import Affine

Trainer = Callable[[Array, Mapping[str, Any], int], TrainingOutcome]
"""(control, params, number of the run from 0) -> what it came to, with all trainings of the run."""

_UNIT = Affine(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """One run as in the paper's tables.

    score, cost, total:  h_n, t_n, and the sum of t_1 .. t_n
    control, params:     u_{n-1}, and what it stands for
    believed, value:     posterior mean score at the control, and V, both after this run
    """

    number: int
    score: float
    cost: float
    total: float
    control: tuple[float, ...]
    params: Mapping[str, Any]
    believed: float
    value: float | None
    outcome: TrainingOutcome


@dataclass(frozen=True, slots=True)
class PlayedTuning:
    """One tuning.

    returned:  which of its lines has the model that is returned
    believed:  posterior mean score of that model at the end
    why:       it stopped, in a sentence
    """

    lines: tuple[PlayedRun, ...]
    returned: int
    believed: float
    why: str

    @property
    def last(self) -> PlayedRun:
        """The run at which it stopped: what the paper's summaries are about."""
        return self.lines[-1]

    @property
    def model(self) -> PlayedRun:
        """The run whose model is returned: the last one in the paper's method."""
        return self.lines[self.returned]

    def net(self, price: float) -> float:
        """Score of the returned model less the price of all runs."""
        return self.model.score - price * self.last.total


@dataclass(frozen=True, slots=True, eq=False)
class Player:
    """How decisions are made.

    policy:    None for the package's own
    recall:    whether the best model is returned, or the last one
    overhead:  fixed price of a run, in score: what the shipped maps were learned with, and nothing on the fly
    controls:  candidates, if not the experiment's
    """

    policy: Policy | None
    recall: bool
    overhead: float
    controls: Array | None = None

    def tuner(self, experiment: Experiment) -> Tuner:
        """A tuner in the paper's units: it is told h and t."""
        return Tuner(
            experiment.space,
            price=experiment.price,
            score_range=_UNIT,
            cost_range=_UNIT,
            prior=experiment.prior,
            policy=self.policy,
            recall=self.recall,
            overhead=self.overhead,
            max_runs=MOST_RUNS,
            candidates=experiment.controls if self.controls is None else self.controls,
        )


def paper_player(method: Method, dim: int) -> Player:
    """The paper's method: the last model is returned.

    VI/Map: one lookahead on V_N of the shipped map of the paper's linear cost, each time (relaxed).  V_N is the paper's
    iterate; networks stand where the paper has forests.  OTF: with integrals instead of samples.
    """
    if not method.map:
        return Player(relaxed(method.depth, damping=method.damping), recall=False, overhead=0.0)
    deepest = shipped_map(f"{dim}d-linear-last")
    value_map = replace(deepest, networks=deepest.networks[: method.depth - 1])
    return Player(relaxed(1, damping=method.damping, terminal=value_map), recall=False, overhead=OVERHEAD)


def default_player() -> Player:
    """What the package does if it is told nothing: the best model is returned, with the shipped map for that."""
    return Player(None, recall=True, overhead=OVERHEAD)


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """An experiment before its first run, which is the same for every seed: decided once."""

    experiment: Experiment
    tuner: Tuner
    first: Train

    def play(self, train: Trainer, factor: float) -> tuple[PlayedTuning, Tuner]:
        """One tuning, and the tuner as it stands at the end.  factor: see `CostScale`."""
        tuner, experiment = self.tuner.twin(fresh=True), self.experiment
        tuner.adopt(self.first)
        decision: Decision = self.first
        lines: list[PlayedRun] = []
        while isinstance(decision, Train):
            params = {**experiment.fixed, **decision.params}
            outcome = train(decision.control, params, decision.trial)
            score, cost = experiment.score.to_model(outcome.score), experiment.cost.to_model(outcome.seconds, factor)
            run = tuner.tell(decision, score=score, cost=cost)
            control, total = tuple(map(float, decision.control)), cost + (lines[-1].total if lines else 0.0)
            decision = tuner.ask()
            value = value_of_continuing(decision)
            lines.append(
                PlayedRun(
                    number=len(lines) + 1,
                    score=score,
                    cost=cost,
                    total=total,
                    control=control,
                    params=params,
                    believed=run.estimated_score,
                    value=value,
                    outcome=outcome,
                )
            )
        best = tuner.best
        returned = next(index for index, run in enumerate(tuner.history) if run is best)
        believed = tuner.estimated_score(np.array(lines[returned].control))
        return PlayedTuning(tuple(lines), returned, believed, decision.why), tuner


def opening(experiment: Experiment, player: Player) -> Opening:
    """Decide on the first run."""
    tuner = player.tuner(experiment)
    first = tuner.ask()
    assert isinstance(first, Train)  # without a model there is nothing to stop with
    return Opening(experiment, tuner, first)


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
            f"table {table.name!r} is not a complete grid: control ({where}) has {counts.min()} repeats, "
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
