"""Score against what it has cost so far, and the value of going on after each run."""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array
from autobct.report.axis import Axis, axis_over, number
from autobct.report.chart import Frame, Mark, chart, dot, frame, group, line
from autobct.report.draw_slice import run_marks
from autobct.report.story import Story
from autobct.report.svg import Markup, path_of, tag
from autobct.tuning.result import count

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
        tail += f"{verdict} the best so far, {number(incumbent)}."
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
