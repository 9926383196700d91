"""The paper's table of a run, printed in the terminal as the runs finish.

On a terminal it is redrawn in place, with the run under way in its last row; into a pipe or a file it is plain lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from autobct.belief.arrays import Array
from autobct.tuning.history import Decision, Run, Train, short, value_of_continuing
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import ScaledProblem

_NONE = "-"
_NUMBER_WIDTH = 5  # of 0.123: a column keeps its width while the rows come in


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One run as in the paper's tables; all numbers in model units.

    score, cost, total_cost:  h_n, t_n and the sum of t_1..t_n; a failed run has no score
    control, params:          u_{n-1}, (p,), and what it stands for, "" for a parameter that did not exist
    estimated_score:          at the control after this run
    value:                    of continuing after this run (V); None where no further run is possible
    """

    number: int
    score: float | None
    cost: float
    total_cost: float
    control: Array
    params: Mapping[str, Any]
    estimated_score: float
    value: float | None


def last_row(problem: ScaledProblem, history: Sequence[Run], decision: Decision) -> Row:
    """The row of the last run.  decision: what was decided after it."""
    run = history[-1]
    value = value_of_continuing(decision)
    to_score, to_cost = problem.score_scale.to_model, problem.cost_scale.to_model
    return Row(
        number=len(history),
        score=None if run.score is None else to_score(run.score),
        cost=to_cost(run.cost),
        total_cost=sum(to_cost(past.cost) for past in history),
        control=run.control,
        params=_all_named(run.params, problem),
        estimated_score=to_score(run.estimated_score),
        value=None if value is None else to_score(value),
    )


def watch(
    decisions: Iterable[Decision], tuner: Tuner, console: Console, *, titles: Mapping[str, str] | None = None
) -> Decision:
    """Show every run as it finishes; the last decision.

    decisions:  the tuner's, as they are made; what runs between two of them is the training
    titles:     column titles of the parameters, where they are not their names
    """
    names = [(titles or {}).get(name, name) for name in tuner.problem.space.names]
    headers = ["n", "h_n", "t_n", "sum t", "u_{n-1}", *names, "estimated score", "continuing"]
    live = console.is_terminal and not console.is_dumb_terminal
    return (_watch_live if live else _watch_plain)(decisions, tuner, console, headers)


def _watch_live(decisions: Iterable[Decision], tuner: Tuner, console: Console, headers: Sequence[str]) -> Decision:
    rows: list[Row] = []
    with Live(console=console, refresh_per_second=10) as live:
        for decision in decisions:
            if tuner.history:
                rows.append(last_row(tuner.problem, tuner.history, decision))
            named = decision
            if isinstance(decision, Train):
                named = replace(decision, params=_all_named(decision.params, tuner.problem))
            live.update(run_table(rows, headers, named), refresh=True)
    return decision


def _watch_plain(decisions: Iterable[Decision], tuner: Tuner, console: Console, headers: Sequence[str]) -> Decision:
    widths = _widths(headers)

    def line(cells: Sequence[str]) -> Text:
        return Text("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))

    console.print(line(headers), soft_wrap=True)
    for decision in decisions:
        if tuner.history:
            console.print(line(_cells(last_row(tuner.problem, tuner.history, decision))), soft_wrap=True)
    console.print()
    return decision


def run_table(rows: Sequence[Row], headers: Sequence[str], decision: Decision) -> Table:
    """The runs so far, and below them the run that was decided on."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for header, width in zip(headers, _widths(headers), strict=True):
        table.add_column(header, justify="right", no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*_cells(row))
    if isinstance(decision, Train):
        table.add_row(*_under_way(len(rows) + 1, decision), style="cyan")
    return table


def _widths(headers: Sequence[str]) -> list[int]:
    return [2, *(max(len(header), _NUMBER_WIDTH) for header in headers[1:])]


def _cells(row: Row) -> list[str]:
    return [
        str(row.number),
        "failed" if row.score is None else f"{row.score:.3f}",
        f"{row.cost:.3f}",
        f"{row.total_cost:.3f}",
        *_choice(row.control, row.params),
        f"{row.estimated_score:.3f}",
        _NONE if row.value is None else f"{row.value:.3f}",
    ]


def _under_way(number: int, train: Train) -> list[RenderableType]:
    return [str(number), Spinner("dots"), "", "", *_choice(train.control, train.params), "training", ""]


def _all_named(params: Mapping[str, Any], problem: ScaledProblem) -> dict[str, Any]:
    return {name: params.get(name, "") for name in problem.space.names}


def _choice(control: Array, params: Mapping[str, Any]) -> list[str]:
    return [", ".join(f"{u:.2f}" for u in control), *map(short, params.values())]
