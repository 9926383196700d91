"""From plays to a table: means over tasks, seeds averaged first, bootstrap standard errors over tasks, pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from cube import Array
from peer_cells import Cell
from peer_list import Entry
from tasks import LEVELS, Outcome, Task, best_seen, outcome_of

_DRAWS = 4000


@dataclass(frozen=True, slots=True)
class Row:
    """A tuner at a price level: means over tasks.  k: number of trials that was chosen in hindsight."""

    captured: float
    error: float
    trials: float
    cost: float
    score: float
    k: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A tuner at all levels.  by_task[task][level]: captured of each seed;  seconds: CPU per decision."""

    label: str
    hindsight: bool
    rows: Mapping[float, Row]
    by_task: Mapping[str, Mapping[float, Sequence[float]]]
    seconds: float


def line_of(entry: Entry, cells: Sequence[Cell], tasks: Sequence[Task]) -> Line:
    """The line of a tuner that has played all tasks at least once."""
    rows: dict[float, Row] = {}
    by_task: dict[str, dict[float, list[float]]] = {task.name: {} for task in tasks}
    for level in LEVELS:
        mine = {task.name: [c for c in cells if c.task == task.name and c.level in (None, level)] for task in tasks}
        outcomes, k = _outcomes(entry, mine, tasks, level)
        rows[level] = _row(list(outcomes.values()), k)
        for name, found in outcomes.items():
            by_task[name][level] = [outcome.captured for outcome in found]
    return Line(entry.label, entry.hindsight, rows, by_task, float(np.mean([c.seconds for c in cells])))


def _outcomes(
    entry: Entry, cells: Mapping[str, Sequence[Cell]], tasks: Sequence[Task], level: float
) -> tuple[dict[str, list[Outcome]], int | None]:
    if not entry.hindsight:
        return {
            task.name: [outcome_of(task, level, cell.history, cell.chosen) for cell in cells[task.name]]
            for task in tasks
        }, None
    longest = min(len(cell.trials) for found in cells.values() for cell in found)
    each = [
        {task.name: [cut(task, level, c, k) for c in cells[task.name]] for task in tasks} for k in range(1, longest + 1)
    ]
    means = [np.mean([_mean(found, lambda o: o.captured) for found in at.values()]) for at in each]
    best = int(np.argmax(means))
    return each[best], best + 1


def cut(task: Task, level: float, cell: Cell, k: int) -> Outcome:
    """What a play would have been worth after k trials."""
    trials = cell.history[:k]
    return outcome_of(task, level, trials, best_seen(trials))


def _row(found: Sequence[Sequence[Outcome]], k: int | None) -> Row:
    captured = np.array([_mean(outcomes, lambda o: o.captured) for outcomes in found])
    trials, cost, score = (
        float(np.mean([_mean(outcomes, part) for outcomes in found]))
        for part in (lambda o: float(o.trials), lambda o: o.cost, lambda o: o.score)
    )
    return Row(float(captured.mean()), bootstrap(captured), trials, cost, score, k)


def _mean(outcomes: Sequence[Outcome], part: Callable[[Outcome], float]) -> float:
    return float(np.mean([part(outcome) for outcome in outcomes]))


def bootstrap(values: Array) -> float:
    """Standard error of a mean over tasks."""
    picks = np.random.default_rng(0).integers(len(values), size=(_DRAWS, len(values)))
    return float(values[picks].mean(axis=1).std(ddof=1))


def paired(
    ours: Mapping[str, Mapping[float, Sequence[float]]],
    theirs: Mapping[str, Mapping[float, Sequence[float]]],
    level: float,
) -> tuple[float, float]:
    """Mean difference over the tasks that both have played, seeds averaged first, and its standard error."""
    both = [name for name in ours if name in theirs]
    away = np.array([np.mean(ours[name][level]) - np.mean(theirs[name][level]) for name in both])
    return float(away.mean()), bootstrap(away)


def by_family(line: Line, tasks: Sequence[Task]) -> dict[str, dict[float, float]]:
    """Mean captured in each family."""
    names = {family: [t.name for t in tasks if t.family == family] for family in dict.fromkeys(t.family for t in tasks)}
    return {
        family: {level: float(np.mean([np.mean(line.by_task[n][level]) for n in members])) for level in LEVELS}
        for family, members in names.items()
    }
