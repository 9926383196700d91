"""What other prices would have done with the same runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.report.axis import Axis, axis_over, number
from autobct.report.chart import Frame, chart, frame, group, line, rule
from autobct.report.draw_belief import Drawn
from autobct.report.story import Story
from autobct.report.svg import Markup
from autobct.tuning.result import WhatIf, count

__all__ = ["price_charts"]


def price_charts(story: Story) -> tuple[Drawn, ...]:
    """Runs and score over the price; nothing where no other price was tried."""
    if not story.what_if:
        return ()
    runs = np.array([other.runs for other in story.what_if], dtype=float)
    scores = np.array([other.score for other in story.what_if], dtype=float)
    return (
        _over_price(story, "runs", runs, "ink", _runs_words(story)),
        _over_price(story, "score", scores, "score", _score_words(story, scores)),
    )


def _over_price(story: Story, title: str, values: Array, colour: str, caption: str) -> Drawn:
    prices = np.array([other.price.per_cost for other in story.what_if])
    known = np.array([other.known for other in story.what_if])
    x = axis_over(f"price, score per {story.unit or 'unit of cost'}", prices, log=True, room=0.02)
    y = axis_over(title, np.append(values, 0.0) if title == "runs" else values, room=0.12)
    at = frame(x, _whole(y) if title == "runs" else y)
    shapes = [
        group("muted", _steps(at, prices, np.where(~known | _beside(known), values, np.nan), dashed=True)),
        group(colour, _steps(at, prices, np.where(known, values, np.nan), dashed=False)),
        group("go", rule(at, x=story.problem.price.per_cost, text="your price")),
    ]
    return Drawn(chart(at, shapes, says=caption), caption)


def _whole(axis: Axis) -> Axis:
    """Only whole numbers at the ticks."""
    ticks = tuple((value, text) for value, text in axis.ticks if value == round(value) and value >= 0)
    return Axis(axis.title, axis.low, axis.high, ticks)


def _beside(known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The first known price too, so that the dashes reach the line."""
    return np.concatenate([[False], known[1:] & ~known[:-1]])


def _steps(at: Frame, prices: Array, values: Array, *, dashed: bool) -> Markup:
    """A line with a step half way between two prices, where some price in between would have changed its mind."""
    middle = np.sqrt(prices[:-1] * prices[1:])
    x = np.concatenate([prices[:1], np.repeat(middle, 2), prices[-1:]])
    return line(at, x, np.repeat(values, 2), dashed=dashed)


def _runs_words(story: Story) -> str:
    lowest, highest = map(_at, (story.what_if[0], story.what_if[-1]))
    told = f"Tuning would have made {lowest} and {highest}."
    if all(other.known for other in story.what_if):
        return told
    return f"{told} Dashed: tuning would have continued after the last run, with an unknown outcome."


def _at(other: WhatIf) -> str:
    more = "" if other.known else "more than "
    return f"{more}{count(other.runs)} at a price of {number(other.price.per_cost, 3)}"


def _score_words(story: Story, scores: Array) -> str:
    best, worst = number(float(scores[0])), number(float(scores[-1]))
    return f"Score of the returned model: {best} at the lowest price shown, {worst} at the highest."
