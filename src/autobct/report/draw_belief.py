"""Charts of the estimates: curves for one parameter, maps for two numeric ones, slices and maps for more.

A slice is one parameter at a time: the estimate before the first run, the estimate now, and what was observed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array
from autobct.report.axis import Axis, axis_over, number
from autobct.report.chart import (
    Frame,
    Mark,
    Markup,
    band,
    beyond,
    chart,
    cross,
    dot,
    frame,
    group,
    line,
    path_of,
    ring,
    tag,
)
from autobct.report.draw_map import (
    GRID,
    MIDDLE,
    Dial,
    dial_axis,
    dials,
    level_map,
    log_cost,
    map_frame,
    place,
    run_cost,
    run_score,
)
from autobct.report.story import Story, run_text
from autobct.tuning.model.estimate import Learned

__all__ = ["Drawn", "belief_charts"]

_MOST_DIALS, _MOST_MAPS = 6, 6  # those that matter most are drawn
_MOST_CHOICES = 40  # along a side of a map

_POINTS = 41
_MOST_NAMED = 12  # with more runs their numbers would run into each other
_BESIDE = 0.16  # the prior, and what was observed, stand to the left and right of a choice
_SPAN = 3.0  # an observation farther out than so many heights of the estimate is marked at the rim


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart and its caption in words."""

    picture: Markup
    caption: str


def belief_charts(story: Story) -> list[Drawn]:
    """All pictures of the estimates that the space allows, the most important parameters first."""
    turned, (score, cost) = story.dials, sides(story)
    if len(turned) == 2 and all(dial.numeric for dial in turned):
        pair = (turned[0], turned[1])
        scores = _score_map(story, score, pair), _doubt_map(story, score, pair)
        return [*scores, _cost_map(story, cost, pair), _doubt_map(story, cost, pair)]
    shown = story.ranked[:_MOST_DIALS]
    slices = [Drawn(*slice_chart(story, side, dial)) for dial in shown for side in (score, cost)]
    few = [dial for dial in shown if len(dial.columns) <= _MOST_CHOICES]
    pairs = list(itertools.combinations(few, 2))[:_MOST_MAPS]
    return [*slices, *(_score_map(story, score, pair) for pair in pairs)]


def _score_map(story: Story, side: Side, pair: tuple[Dial, Dial]) -> Drawn:
    surface = _surface(story, side, pair)[MIDDLE]
    others = "" if len(dials(story.problem.space)) == 2 else ", with all other parameters as in the model to use"
    caption = f"Estimated {side.name} over {pair[0].name} and {pair[1].name}{others}: {_peak(story, surface, pair)}."
    return _map(story, surface, pair, side, f"estimated {side.title}", caption)


def _doubt_map(story: Story, side: Side, pair: tuple[Dial, Dial]) -> Drawn:
    """Half the width of the 68 % band of one run; as a factor where values are compared by their ratios."""
    quantiles = _surface(story, side, pair)
    doubt = np.sqrt(quantiles[3] / quantiles[1]) if side.log else (quantiles[3] - quantiles[1]) / 2
    doubt = np.abs(doubt)
    how, key = ("as a factor", f"× or ÷ {side.name}") if side.log else ("half of its 68 % interval", f"± {side.title}")
    caption = f"Uncertainty of the {side.name} of one run ({how}): {_least_and_most(doubt, pair)}."
    return _map(story, doubt, pair, replace(side, colour="muted", log=False), key, caption)


def _cost_map(story: Story, side: Side, pair: tuple[Dial, Dial]) -> Drawn:
    surface = _surface(story, side, pair)[MIDDLE]
    caption = f"Estimated {side.name} over {pair[0].name} and {pair[1].name}: {_least_and_most(surface, pair)}."
    return _map(story, surface, pair, side, f"estimated {side.title}", caption)


def _surface(story: Story, side: Side, pair: tuple[Dial, Dial]) -> Array:
    """Quantiles (5, settings of the second, settings of the first)."""
    across, up = pair
    quantiles = side.estimated(story.posterior, story.swept([up, across], GRID))
    columns = GRID if across.numeric else len(across.columns)
    return quantiles.reshape(5, -1, columns)


def _map(story: Story, surface: Array, pair: tuple[Dial, Dial], side: Side, key: str, caption: str) -> Drawn:
    marks = _marks(story, pair)
    drawn = level_map(surface, *pair, marks, colour=side.colour, title=key, log=side.log, says=caption)
    return Drawn(drawn, caption)


def _marks(story: Story, pair: tuple[Dial, Dial]) -> list[Markup]:
    """The runs at their params."""
    at, faint = map_frame(*pair), len(dials(story.problem.space)) > 2
    drawn: dict[str, list[Markup]] = {"bad": [], "ink dots faint": [], "ink dots": [], "go": []}
    for run in story.history:
        best, name = run is story.best, str(run.trial + 1) if len(story.history) <= _MOST_NAMED else ""
        if not all(dial.name in run.params for dial in pair):
            continue
        mark = Mark(place(pair[0], run), place(pair[1], run), run_text(run), name)
        if run.score is None:
            drawn["bad"].append(cross(at, mark))
        else:
            drawn["ink dots faint" if faint and not best else "ink dots"].append(dot(at, mark))
        drawn["go"] += [ring(at, mark)] if best else []
    return [group(colour, *marks) for colour, marks in drawn.items() if marks]


def _peak(story: Story, surface: Array, pair: tuple[Dial, Dial]) -> str:
    return f"best {_value_and_place(surface, int((story.sign * surface).argmax()), pair)}"


def _least_and_most(surface: Array, pair: tuple[Dial, Dial]) -> str:
    """The lowest and the highest value, and where they are; one number where they are the same as shown."""
    low, high = int(surface.argmin()), int(surface.argmax())
    if (shown := number(float(surface.ravel()[low]), 3)) == number(float(surface.ravel()[high]), 3):
        return f"{shown} everywhere"
    return f"from {_value_and_place(surface, low, pair)} to {_value_and_place(surface, high, pair)}"


def _value_and_place(surface: Array, index: int, pair: tuple[Dial, Dial]) -> str:
    row, column = np.unravel_index(index, surface.shape)
    steps = zip(pair, (column, row), surface.shape[::-1], strict=True)
    where = [f"{dial.name}={number(dial.setting(int(k), size))}" for dial, k, size in steps]
    return f"{number(float(surface.ravel()[index]), 3)} near {' and '.join(where)}"


@dataclass(frozen=True, slots=True)
class Side:
    """Score or cost: how it is called, titled on an axis, coloured, estimated (5, n) and observed (n,)."""

    name: str
    title: str
    colour: str
    estimated: Callable[[Learned, Array], Array]
    observed: Array
    log: bool


def sides(story: Story) -> tuple[Side, Side]:
    """The score's side and the cost's."""
    return (
        Side(name="score", title="score", colour="score", estimated=run_score, observed=story.scores, log=False),
        Side(
            name="cost",
            title=story.cost_title,
            colour="cost",
            estimated=run_cost,
            observed=story.costs,
            log=log_cost(story.problem),
        ),
    )


def slice_chart(story: Story, side: Side, dial: Dial) -> tuple[Markup, str]:
    """Prior and posterior along one parameter, all others as in the model to use; and the same in words."""
    controls = story.swept([dial], _POINTS)
    before, after = (side.estimated(known, controls) for known in (story.prior, story.posterior))
    steps = np.linspace(0.0, 1.0, _POINTS) if dial.numeric else np.arange(float(len(controls)))
    at = frame(dial_axis(dial), _value_axis(side, before, after))
    draw = _curves if dial.numeric else _stalks
    shapes = [_prior(at, steps, before, dial.numeric), group(side.colour, *draw(at, steps, after))]
    beside = 0.0 if dial.numeric else _BESIDE
    where = np.array([place(dial, run) + beside for run in story.history])
    faint = story.problem.space.dim > len(dial.columns)
    marks = run_marks(story, at, where, side.observed, faint=faint)
    says = _words(side, dial, after, others=faint)
    return chart(at, shapes, marks, says=says), says


def run_marks(story: Story, at: Frame, x: Array, y: Array, *, faint: bool = False) -> list[Markup]:
    """Every run where it was observed: dots, a ring around the best; at the rim crosses if failed, arrowheads if far.

    faint:  only the best lies in the plane of the chart
    """
    drawn: dict[str, list[Markup]] = {"bad": [], "ink dots faint": [], "ink dots": [], "go": []}
    for run, across, up in zip(story.history, x, y, strict=True):
        if np.isnan(across):  # the run had no such parameter
            continue
        best, name = run is story.best, str(run.trial + 1) if len(story.history) <= _MOST_NAMED else ""
        inside = bool(np.isfinite(up) and at.y.low <= up <= at.y.high)
        above = bool(up > at.y.high)
        rim = float(up) if inside else at.y.high if above else at.y.low
        mark = Mark(float(across), rim, run_text(run), name)
        if inside:
            drawn["ink dots faint" if faint and not best else "ink dots"].append(dot(at, mark))
        elif np.isfinite(up):
            drawn["ink dots faint" if faint and not best else "ink dots"].append(beyond(at, mark, above=above))
        else:
            drawn["bad"].append(cross(at, mark))
        drawn["go"] += [ring(at, mark)] if best else []
    return [group(colour, *marks) for colour, marks in drawn.items() if marks]


def _value_axis(side: Side, before: Array, after: Array) -> Axis:
    """Room for the estimate and for what was observed near it; the prior may leave the frame."""
    scale = (lambda values: np.log(np.maximum(values, 1e-300))) if side.log else np.asarray
    shown = np.concatenate([after[[1, MIDDLE, 3]].ravel(), before[MIDDLE]])
    observed = side.observed[np.isfinite(side.observed)]
    reach = _SPAN * float(np.ptp(scale(shown)))
    near = np.abs(scale(observed) - scale(shown).mean()) < reach
    return axis_over(side.title, np.concatenate([shown, observed[near]]), log=side.log)


def _prior(at: Frame, x: Array, quantiles: Array, numeric: bool) -> Markup:
    low, middle, high = quantiles[1], quantiles[MIDDLE], quantiles[3]
    if not numeric:
        return group("muted", *(_stalk(at, k - _BESIDE, low[k], high[k], middle[k], 2.0) for k in range(len(x))))
    edges = [line(at, x, edge, width=1.0, dashed=True) for edge in (low, high)]
    return group("muted", band(at, x, low, high, opacity=0.10), *edges, line(at, x, middle, width=1.5, dashed=True))


def _curves(at: Frame, x: Array, quantiles: Array) -> list[Markup]:
    low95, low68, middle, high68, high95 = quantiles
    bands = [band(at, x, low95, high95, opacity=0.16), band(at, x, low68, high68, opacity=0.24)]
    return [*bands, line(at, x, middle, width=2.5)]


def _stalks(at: Frame, x: Array, quantiles: Array) -> list[Markup]:
    low95, low68, middle, high68, high95 = quantiles
    thin = [_stalk(at, k, low95[k], high95[k], middle[k], 2.0) for k in x.astype(int)]
    return thin + [_stalk(at, k, low68[k], high68[k], middle[k], 6.0) for k in x.astype(int)]


def _stalk(at: Frame, x: float, low: float, high: float, middle: float, width: float) -> Markup:
    """An upright bar from low to high with a bead in the middle."""
    across, y = float(at.x.at(x)), at.y.at(np.array([low, high, middle]))
    bar = tag("path", d=path_of(np.full(2, across), y[:2]), stroke="currentColor", stroke_width=width, fill="none")
    bead = tag("circle", cx=across, cy=float(y[2]), r=5.5, fill="currentColor")
    return Markup(tag("g", bar, fill="none", stroke_opacity="0.5") + bead)


def _words(side: Side, dial: Dial, after: Array, *, others: bool) -> str:
    """The chart in one sentence."""
    middle = after[MIDDLE]
    low, high = int(middle.argmin()), int(middle.argmax())
    shown = [number(float(middle[k]), 3) for k in (low, high)]
    ends = [f"{value} at {number(dial.setting(k, len(middle)))}" for value, k in zip(shown, (low, high), strict=True)]
    kept = ", with all other parameters as in the model to use" if others else ""
    values = f"{shown[0]} everywhere" if shown[0] == shown[1] else f"from {ends[0]} to {ends[1]}"
    return f"Estimated {side.name} along {dial.name}{kept}: {values}."
