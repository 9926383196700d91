"""What the page says in words and in its table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from autobct.report.axis import number
from autobct.report.story import Story

__all__ = ["Cell", "Fact", "Head", "Note", "Row", "facts", "heads", "notes", "rows", "rows_text"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know before reading on."""

    head: str
    text: str
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of the answer."""

    name: str
    value: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """A column of the table.  text_column: whether it holds words."""

    name: str
    text_column: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the table.  value: what to sort by; "" for nothing, None to sort by the text."""

    text: str
    value: str | None = None
    error: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One run.  best: whether its model is the one to use."""

    cells: tuple[Cell, ...]
    best: bool


def notes(story: Story) -> list[Note]:
    """Whether the tuning is still going, and whether its model can be trusted."""
    told = []
    if story.unfinished is not None:
        told.append(Note("Not finished.", story.unfinished))
    if story.alarm is not None:
        told.append(Note("The model may be wrong.", story.alarm, alarm=True))
    return told


def facts(story: Story) -> list[Fact]:
    """Score, cost, runs, price."""
    failed = sum(run.score is None for run in story.history)
    spent = float(story.totals[-1])
    per_cost = story.problem.price.per_cost
    told = []
    if story.best is not None:
        believed = story.believed_best
        told.append(Fact(story.score_name.capitalize(), number(story.best.score), f"believed {believed}"))
    told.append(
        Fact(
            f"Total {story.cost_name}",
            number(spent),
            f"worth {number(per_cost * spent, 3)} of {story.score_name} at your price",
        )
    )
    told.append(Fact("Runs", str(len(story.history)), f"{failed} failed" if failed else "none failed"))
    told.append(Fact("Price", number(per_cost, 3), f"{story.score_name} per unit of {story.cost_name}"))
    return told


def heads(story: Story) -> list[Head]:
    """The columns: the run, its params, what came of it, what was thought of it."""
    numbers = [
        f"{story.score_name}",
        story.cost_name,
        f"total {story.cost_name}",
        f"believed {story.score_name}",
        "going on",
    ]
    params = [Head(name, text_column=not _numeric(story, name)) for name in story.problem.space.names]
    return [Head("run"), *params, *map(Head, numbers), Head("then", text_column=True)]


def rows(story: Story) -> list[Row]:
    """All runs, failed ones with their error."""
    going_on, totals = story.going_on, story.totals
    told = []
    for index, run in enumerate(story.history):
        params = [_param(story, name, run.params.get(name)) for name in story.problem.space.names]
        values = [run.score, run.cost, float(totals[index + 1]), run.believed, float(going_on[index + 1])]
        cells = (_count(run.trial + 1), *params, *map(_amount, values), _outcome(story, index))
        told.append(Row(cells, best=run is story.best))
    return told


def rows_text(story: Story) -> str:
    """What the columns mean."""
    return (
        f"Believed {story.score_name}: at these params, right after the run. Going on: expected final "
        f"{story.score_name} less the price of all that would follow, after the run. The model to use is in bold."
    )


def _numeric(story: Story, name: str) -> bool:
    return all(_is_number(run.params.get(name)) for run in story.history)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def _param(story: Story, name: str, value: object) -> Cell:
    return Cell(number(value), repr(float(value)) if _numeric(story, name) else None)  # type: ignore[arg-type]


def _count(value: int) -> Cell:
    return Cell(str(value), str(value))


def _amount(value: float | None) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("–", "")
    return Cell(number(value), repr(float(value)))


def _outcome(story: Story, index: int) -> Cell:
    """What was decided after the run; the error, if it failed."""
    run = story.history[index]
    if run.error is not None:
        return Cell(run.error, error=True)
    last = index + 1 == len(story.history)
    return Cell("stopped" if last and story.unfinished is None else "went on" if not last else "")
