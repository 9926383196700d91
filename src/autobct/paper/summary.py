"""What many tunings of an experiment came to, in the columns of the paper's summaries."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autobct.paper.experiment import Experiment, Published
from autobct.paper.play import PlayedTuning, Player, Trainer, opening
from autobct.paper.replay import TableReplay


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation; the latter is None where there is only one number."""

    mean: float
    sd: float | None = None

    def __str__(self) -> str:
        """0.782 (0.15), as the paper has it."""
        return f"{self.mean:.3f}" if self.sd is None else f"{self.mean:.3f} ({self.sd:.2g})"


@dataclass(frozen=True, slots=True)
class Summary:
    """The paper's columns over some tunings.

    score, believed:  h and posterior mean score of the returned model
    cost:             sum of t;  control: (p,) of the returned model;  runs: number of them
    value:            V at the end;  net: score less price x cost;  mean_net: the same with the table's mean score
    """

    tunings: int
    score: Spread
    cost: Spread
    control: tuple[Spread, ...]
    runs: Spread
    believed: Spread | None
    value: Spread | None
    net: Spread
    mean_net: Spread | None = None


@dataclass(frozen=True, slots=True)
class Tunings:
    """All tunings of one player.  mean_scores: of models trained like the returned ones, on average, if known."""

    played: tuple[PlayedTuning, ...]
    mean_scores: tuple[float, ...] | None
    price: float

    @property
    def nets(self) -> list[float]:
        """Score of the returned model less the price of all runs, for each."""
        return [one.net(self.price) for one in self.played]

    @property
    def mean_nets(self) -> list[float] | None:
        """The same with the average score of such a model, which chance has not chosen."""
        if self.mean_scores is None:
            return None
        return [score - self.price * one.last.total for score, one in zip(self.mean_scores, self.played, strict=True)]

    @property
    def summary(self) -> Summary:
        """Means and standard deviations."""
        models, lasts = [one.model for one in self.played], [one.last for one in self.played]
        return Summary(
            tunings=len(self.played),
            score=spread([model.score for model in models]),
            cost=spread([last.total for last in lasts]),
            control=tuple(spread(column) for column in zip(*(model.control for model in models), strict=True)),
            runs=spread([len(one.lines) for one in self.played]),
            believed=spread([one.believed for one in self.played]),
            value=_known([last.value for last in lasts]),
            net=spread(self.nets),
            mean_net=None if self.mean_nets is None else spread(self.mean_nets),
        )


def spread(numbers: Sequence[float]) -> Spread:
    """Mean and standard deviation of a sample."""
    return Spread(math.fsum(numbers) / len(numbers), statistics.stdev(numbers) if len(numbers) > 1 else None)


def difference(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, float | None]:
    """Mean of paired differences and its standard error."""
    found = spread([a - b for a, b in zip(ours, theirs, strict=True)])
    return found.mean, None if found.sd is None else found.sd / math.sqrt(len(ours))


def published_summary(row: Published, price: float) -> Summary:
    """A row of the paper's in the same columns."""

    def told(name: str, value: float, index: int = 0) -> Spread:
        sds = row.spread.get(name, ())
        return Spread(value, sds[index] if sds else None)

    return Summary(
        tunings=1,
        score=told("score", row.score),
        cost=told("cost", row.cost),
        control=tuple(told("control", u, index) for index, u in enumerate(row.control)),
        runs=told("runs", row.runs),
        believed=None if row.believed is None else Spread(row.believed),
        value=None if row.value is None else Spread(row.value),
        net=Spread(row.score - price * row.cost),
    )


def replayed(experiment: Experiment, player: Player, replay: TableReplay, seeds: int) -> Tunings:
    """Tunings with seeds 0, 1, .., against a recorded table."""
    start, factor = opening(experiment, player), recorded_factor(experiment, replay)
    played = tuple(start.play(replay_trainer(experiment, replay, seed), factor)[0] for seed in range(seeds))
    means = tuple(
        float(experiment.score.to_model(replay.mean_score(np.array(one.model.control), experiment.trainings)))
        for one in played
    )
    return Tunings(played, means, experiment.price)


def replay_trainer(experiment: Experiment, replay: TableReplay, seed: int) -> Trainer:
    """Trainings drawn from a recorded table."""
    return lambda control, params, run: replay.run(control, experiment.trainings, seed=seed, run=run)


def recorded_factor(experiment: Experiment, replay: TableReplay) -> float:
    """The paper's minutes per minute of the machine on which the table was recorded."""
    return experiment.cost.factor(replay.mean_seconds(np.array(experiment.cost.control), experiment.trainings))


def _known(numbers: Sequence[float | None]) -> Spread | None:
    told = [number for number in numbers if number is not None]
    return spread(told) if told else None
