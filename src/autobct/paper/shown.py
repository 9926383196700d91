"""Runs and summaries as cells of a table: for the terminal, for a page, and as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autobct.paper.experiment import Experiment, PublishedRun
from autobct.paper.play import PlayedRun, PlayedTuning
from autobct.paper.summary import Spread, Summary, Tunings, published_summary

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
