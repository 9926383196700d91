"""Text and table of the report."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.report.axis import number
from autobct.report.story import Story
from autobct.tuning.history import Stop, what_continuing_is_worth
from autobct.tuning.visible import one_line

_MOST_ERROR = 400  # characters; the history keeps all of it

__all__ = ["Cell", "Fact", "Head", "PageNote", "PageRow", "facts", "heads", "notes", "rows", "rows_text"]


@dataclass(frozen=True, slots=True)
class PageNote:
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
class PageRow:
    """One run.  best: whether its model is the one to use."""

    cells: tuple[Cell, ...]
    best: bool


def notes(story: Story) -> list[PageNote]:
    """What to know before the answer: that it may change, and that its model may be wrong."""
    told = []
    if story.unfinished is not None:
        told.append(PageNote("Not finished.", story.unfinished))
    if story.alarm is not None:
        told.append(PageNote("The model may be wrong.", story.alarm, alarm=True))
    return told


def facts(story: Story) -> list[Fact]:
    """Score, cost, runs, price; the wall clock where that is what the price pays for."""
    failed = sum(run.score is None for run in story.history)
    price, spent = story.problem.price, float(story.totals[-1]) + story.charged
    per_cost = str(price).partition(" per ")[2]
    deciding = f"; includes {story.spent(story.charged, 2)} for deciding" if story.charged else ""
    told = []
    if story.best is not None:
        told.append(Fact("Score", number(story.best.score), f"estimated {story.estimated_best}"))
    paid = spent if story.waited is None else story.waited
    worth = f"worth {number(price.per_cost * paid, 3)} in score"
    if story.waited is not None:
        told.append(Fact("Wall clock", story.spent(paid), worth))
        worth = "of computing, which has no price here"
    told.append(Fact("Total cost", story.spent(spent), f"{worth}{deciding}"))
    told.append(Fact("Runs", str(len(story.history)), f"{failed} failed" if failed else "none failed"))
    told.append(Fact("Price", number(price.score, 3), f"per {per_cost}"))
    return told


def heads(story: Story) -> list[Head]:
    """The columns: the run, its params, its outcome, the estimates after it."""
    numbers = ["score", story.cost_title, story.total_title, "estimated score", "continuing"]
    params = [Head(name, text_column=not numeric) for name, numeric in _numeric(story).items()]
    return [Head("run"), *params, *map(Head, numbers), Head("decision", text_column=True)]


def rows(story: Story) -> list[PageRow]:
    """All runs, failed ones with their error."""
    going_on, totals, numeric = story.going_on, story.totals, _numeric(story)
    told = []
    for index, run in enumerate(story.history):
        params = [_param(run.params, name, as_number) for name, as_number in numeric.items()]
        values = [run.score, run.cost, float(totals[index + 1]), run.estimated_score, float(going_on[index + 1])]
        cells = (_count(run.trial + 1), *params, *map(_amount, values), _outcome(story, index))
        told.append(PageRow(cells, best=run is story.best))
    return told


def rows_text(story: Story) -> str:
    """What the columns mean."""
    return (
        "Estimated score: for these params, given the runs up to this one. Continuing: the value of continuing after "
        f"this run, i.e. the {what_continuing_is_worth(story.problem.direction)}. The model to use is in bold."
    )


def _numeric(story: Story) -> dict[str, bool]:
    """For each parameter whether all its values are numbers."""
    names = story.problem.space.names
    return {name: all(map(_is_number, _values(story, name))) for name in names}


def _values(story: Story, name: str) -> list[Any]:
    return [run.params[name] for run in story.history if name in run.params]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool | np.bool_)


def _param(params: Mapping[str, Any], name: str, numeric: bool) -> Cell:
    if name not in params:
        return Cell("", "" if numeric else None)
    value = params[name]
    return Cell(number(value), repr(float(value)) if numeric else None)


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
        return Cell(one_line(run.error, _MOST_ERROR), error=True)
    if index + 1 < len(story.history):
        return Cell("continue")
    stopped = any(isinstance(decision, Stop) for decision in story.decisions)
    return Cell("stop" if stopped and story.unfinished is None else "")
