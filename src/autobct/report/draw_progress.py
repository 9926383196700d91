"""Score against the cost so far, the value of continuing after each run, and runs and score at other prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.report.axis import Axis, axis_over, number
from autobct.report.chart import Frame, Mark, Markup, chart, dot, frame, group, line, path_of, rule, tag
from autobct.report.draw_belief import Drawn, run_marks
from autobct.report.story import Story
from autobct.tuning.result import WhatIf, count

__all__ = ["progress_chart", "progress_words"]

_SPAN = 3.0  # a score worse than the others by so many of their spans is marked at the rim


def progress_chart(story: Story, *, width: float = 900.0, height: float = 340.0) -> Markup:
    """Observed scores, the best so far and the value of continuing, over the cost so far."""
    totals, going_on, incumbent = story.totals, story.going_on, story.incumbent
    x = axis_over(story.total_title, np.append(totals, 0.0), count=8 if width > 600 else 4, room=0.04)
    at = frame(x, _score_axis(story), width=width, height=height)
    best_x, best_y = _steps(totals, incumbent, x.high)
    shapes = [
        group("go", *(_gap(at, *gap) for gap in zip(totals, incumbent, going_on, strict=True))),
        group("score", line(at, best_x, best_y, width=2.5)),
        group("go", line(at, totals, going_on, dashed=True, width=1.5)),
    ]
    values = [
        dot(at, Mark(float(total), float(value), f"After {count(after)}: continuing is worth {number(value)}"))
        for after, (total, value) in enumerate(zip(totals, going_on, strict=True))
        if np.isfinite(value)
    ]
    runs = run_marks(story, at, totals[1:], story.scores)
    return chart(at, shapes, [group("go dots", *values), *runs], says=progress_words(story))


def progress_words(story: Story) -> str:
    """The chart in words."""
    finished = story.scores[np.isfinite(story.scores)]
    if not finished.size:
        return "No run has finished yet, so there is no score to show."
    first, best = number(float(finished[0])), number(float(story.sign * (story.sign * finished).max()))
    runs = count(len(story.history))
    head = f"{runs} at a cost of {story.spent(float(story.totals[-1]))}: the first score was {first}, "
    going_on, incumbent = story.going_on[-1], story.incumbent[-1]
    tail = f"the best {best}."
    if np.isfinite(going_on) and np.isfinite(incumbent):
        better = story.sign * (going_on - incumbent) > 0
        verdict = "better than" if better else "no better than"
        tail += f" After the last run, continuing is worth {number(going_on)}, "
        tail += f"{verdict} the estimated score of the best so far, {number(incumbent)}."
    return head + tail


def _score_axis(story: Story) -> Axis:
    """Room for everything but scores that are far worse than all others."""
    shown = np.concatenate([story.going_on, story.incumbent])
    near = story.scores[np.isfinite(story.scores)]
    if near.size > 3:
        rising = story.sign * near
        reach = _SPAN * max(float(np.ptp(np.percentile(rising, [25, 100]))), 1e-9)
        near = near[rising >= float(np.median(rising)) - reach]
    return axis_over("score", np.concatenate([shown, near]))


def _steps(totals: Array, values: Array, end: float) -> tuple[Array, Array]:
    """A line that keeps each value until the next is known."""
    x = np.repeat(totals, 2)[1:]
    return np.append(x, end), np.repeat(values, 2)


def _gap(at: Frame, total: float, incumbent: float, going_on: float) -> Markup:
    """What continuing is worth above, or below, the best so far."""
    if not (np.isfinite(incumbent) and np.isfinite(going_on)):
        return Markup("")
    ends = at.x.at(np.array([total, total])), at.y.at(np.array([incumbent, going_on]))
    return tag("path", d=path_of(*ends), stroke="currentColor", stroke_width=5.0, stroke_opacity="0.25")


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
        group("muted", _between_prices(at, prices, np.where(~known | _beside(known), values, np.nan), dashed=True)),
        group(colour, _between_prices(at, prices, np.where(known, values, np.nan), dashed=False)),
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


def _between_prices(at: Frame, prices: Array, values: Array, *, dashed: bool) -> Markup:
    """A line with a step half way between two prices, where some price in between would have changed the decision."""
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
    known = [k for k, other in enumerate(story.what_if) if other.known]
    if not known:
        return f"Tuning would have continued at every price shown; the best of these runs scored {number(scores[0])}."
    ends = [f"{number(float(scores[k]))} at a price of {number(story.what_if[k].price.per_cost, 3)}" for k in known]
    told = f"Score of the returned model: {ends[0]}" + (f", {ends[-1]}." if len(ends) > 1 else ".")
    if len(known) == len(story.what_if):
        return told
    return f"{told} At lower prices tuning would have continued with an unknown outcome; the best so far is dashed."
