"""Summaries of repeated experiments, and runs as table cells: for terminal, page and JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.paper.experiment import Experiment, Published, PublishedRun
from autobct.paper.play import PlayedRun, PlayedTuning, Player, TableReplay, Trainer, opening


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


Cells = list[list[str]]
"""A line of headers, then the rows."""


def run_cells(lines: Sequence[PlayedRun]) -> Cells:
    """One tuning as in the paper's tables: n, h_n, t_n, sum of t, u_{n-1}, posterior mean score, V."""
    rows = [[line.score, line.cost, line.total, *line.control, line.believed, line.value] for line in lines]
    return _run_cells(len(lines[0].control), rows)


def published_run_cells(lines: Sequence[PublishedRun]) -> Cells:
    """The same of a tuning of the paper's."""
    rows, total = [], 0.0
    for score, cost, control, believed, value in lines:
        total += cost
        rows.append([score, cost, total, *control, believed, value])
    return _run_cells(len(lines[0][2]), rows)


def _run_cells(dim: int, rows: Sequence[Sequence[float | None]]) -> Cells:
    head = ["n", "h_n", "t_n", "sum t", *_control_heads(dim), "posterior", "V"]
    return [head, *([str(n), *map(_number, row)] for n, row in enumerate(rows, 1))]


def seed_cells(played: Sequence[PlayedTuning], price: float) -> Cells:
    """One line for each tuning, in the columns of the paper's summaries."""
    rows = [
        [
            str(seed),
            *map(_number, (one.model.score, one.last.total, *one.model.control)),
            str(len(one.lines)),
            *map(_number, (one.believed, one.last.value, one.net(price))),
        ]
        for seed, one in enumerate(played)
    ]
    return [["seed", *_summary_heads(len(played[0].last.control))], *rows]


def summary_cells(rows: Sequence[tuple[str, Summary]]) -> Cells:
    """Means and standard deviations, ours and the paper's, one below the other."""
    head = ["", *_summary_heads(len(rows[0][1].control))]
    return [head, *([label, *_summary(summary)] for label, summary in rows)]


def published_rows(experiment: Experiment) -> list[tuple[str, Summary]]:
    """The paper's rows with their labels."""
    return [(f"paper, {row.label}", published_summary(row, experiment.price)) for row in experiment.published]


def text_lines(cells: Cells) -> list[str]:
    """The cells in columns; the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]

    def line(row: Sequence[str]) -> str:
        first, *others = zip(row, widths, strict=True)
        return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip()

    return [line(row) for row in cells]


def markdown_lines(cells: Cells) -> list[str]:
    """The cells as a markdown table."""
    head, *rows = (f"| {' | '.join(row)} |" for row in cells)
    return [head, "|---" * len(cells[0]) + "|", *rows]


def plain(experiment: Experiment, tunings: Tunings, **others: Any) -> dict[str, Any]:
    """Everything about the tunings of an experiment, as JSON can hold it."""
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.source,
        "method": str(experiment.method),
        "settings": experiment.settings,
        **others,
        **plain_tunings(tunings),
        "published": {label: _plain_summary(summary) for label, summary in published_rows(experiment)},
    }


def plain_tunings(tunings: Tunings) -> dict[str, Any]:
    """The summary and every run."""
    return {
        "summary": _plain_summary(tunings.summary),
        "tunings": [_plain_tuning(seed, one, tunings.price) for seed, one in enumerate(tunings.played)],
    }


def _plain_tuning(seed: int, one: PlayedTuning, price: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "returned": one.returned + 1,
        "posterior": one.believed,
        "net": one.net(price),
        "why": one.why,
        "runs": [_plain_line(line) for line in one.lines],
    }


def _plain_line(line: PlayedRun) -> dict[str, Any]:
    return {
        "n": line.number,
        "h": line.score,
        "t": line.cost,
        "sum_t": line.total,
        "u": list(line.control),
        "params": dict(line.params),
        "posterior": line.believed,
        "V": line.value,
        "score": line.outcome.score,
        "seconds": line.outcome.seconds,
        **line.outcome.extra,
    }


def _plain_summary(summary: Summary) -> dict[str, Any]:
    def both(one: Spread | None) -> dict[str, float | None] | None:
        return None if one is None else {"mean": one.mean, "sd": one.sd}

    return {
        "tunings": summary.tunings,
        "h": both(summary.score),
        "sum_t": both(summary.cost),
        "u": [both(u) for u in summary.control],
        "runs": both(summary.runs),
        "posterior": both(summary.believed),
        "V": both(summary.value),
        "net": both(summary.net),
        "net_by_table_mean": both(summary.mean_net),
    }


def _summary(summary: Summary) -> list[str]:
    cells = (summary.score, summary.cost, *summary.control, summary.runs, summary.believed, summary.value, summary.net)
    return ["-" if cell is None else str(cell) for cell in cells]


def _summary_heads(dim: int) -> list[str]:
    return ["final h", "sum t", *_control_heads(dim), "runs", "posterior", "V", "net"]


def _control_heads(dim: int) -> list[str]:
    return ["u"] if dim == 1 else [f"u{index + 1}" for index in range(dim)]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
