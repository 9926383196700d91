"""Which pictures an estimate gets: curves for one parameter, maps for two numbers, slices and maps for more."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np

from autobct.belief.arrays import Array
from autobct.report.axis import number
from autobct.report.chart import Mark, Markup, cross, dot, group, ring
from autobct.report.draw_map import GRID, level_map, map_frame, place
from autobct.report.draw_slice import Side, sides, slice_chart
from autobct.report.estimated import MIDDLE, Dial, dials
from autobct.report.story import Story, run_text

__all__ = ["Drawn", "belief_charts"]

_MOST_DIALS, _MOST_MAPS = 6, 6  # those that matter most are drawn
_MOST_NAMED = 12
_MOST_CHOICES = 40  # along a side of a map


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
    how, key = ("as a factor", "× or ÷") if side.log else ("half the width of the 68 % band", "±")
    least, most = number(float(np.abs(doubt).min()), 3), number(float(np.abs(doubt).max()), 3)
    caption = f"Uncertainty of the {side.name} of one run ({how}): from {least} near the runs to {most} far from them."
    return _map(story, np.abs(doubt), pair, replace(side, colour="muted", log=False), f"{key} {side.title}", caption)


def _cost_map(story: Story, side: Side, pair: tuple[Dial, Dial]) -> Drawn:
    surface = _surface(story, side, pair)[MIDDLE]
    spread = f"from {number(float(surface.min()), 3)} to {number(float(surface.max()), 3)}"
    caption = f"Estimated {side.name} over {pair[0].name} and {pair[1].name}: {spread}."
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
        text = f"Run {run.trial + 1}" if faint else run_text(run)
        if not all(dial.name in run.params for dial in pair):
            continue
        mark = Mark(place(pair[0], run), place(pair[1], run), text, name)
        if run.score is None:
            drawn["bad"].append(cross(at, mark))
        else:
            drawn["ink dots faint" if faint and not best else "ink dots"].append(dot(at, mark))
        drawn["go"] += [ring(at, mark)] if best else []
    return [group(colour, *marks) for colour, marks in drawn.items() if marks]


def _peak(story: Story, surface: Array, pair: tuple[Dial, Dial]) -> str:
    best = int((story.sign * surface).argmax())
    row, column = np.unravel_index(best, surface.shape)
    steps = zip(pair, (column, row), surface.shape[::-1], strict=True)
    where = [f"{dial.name}={number(dial.setting(int(k), size))}" for dial, k, size in steps]
    return f"best {number(float(surface.ravel()[best]), 3)} near {' and '.join(where)}"
