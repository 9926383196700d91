"""The charts of the report as matplotlib figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from autobct.belief.arrays import Array
from autobct.report.axis import Axis
from autobct.report.draw_belief import Side, sides
from autobct.report.draw_map import MIDDLE, Dial, dial_axis, place
from autobct.report.story import Story
from autobct.tuning.decide.forecast import Forecast
from autobct.tuning.result import WhatIf

__all__ = ["COLOURS", "belief_slices", "finished", "forecast_figure", "history_figure", "what_if_figure"]

COLOURS = {"score": "#0072B2", "cost": "#C04F00"}
"""Of score and cost, told apart with any colour vision."""

_GO, _BAD, _GREY = "#0B7A53", "#C0262D", "#7A828C"
_POINTS = 101


def history_figure(story: Story) -> Figure:
    """Every score against the cost so far, the estimated score of the best, and the value of continuing."""
    figure = Figure(figsize=(7.5, 4.0), layout="constrained")
    panel: Axes = figure.subplots()
    totals, going_on, incumbent = story.totals, story.going_on, story.incumbent
    if np.isfinite(incumbent).any():
        panel.step(
            totals, incumbent, where="post", color=COLOURS["score"], linewidth=2, label="estimated score, best so far"
        )
    if np.isfinite(going_on).any():
        panel.plot(totals, going_on, "o--", color=_GO, linewidth=1.2, markersize=5, label="value of continuing")
    panel.plot(totals[1:], story.scores, "o", color="black", label="observed")
    failed = totals[1:][~np.isfinite(story.scores)]
    if failed.size:
        low = np.zeros(len(failed))
        panel.plot(failed, low, "x", color=_BAD, transform=panel.get_xaxis_transform(), clip_on=False, label="failed")
    _ring_best(panel, story)
    panel.set(xlabel=story.total_title, ylabel="score")
    return finished(figure)


def belief_slices(story: Story) -> Figure:
    """One row for each parameter, the most important first: score and cost before the first run and now."""
    turned = story.ranked
    figure = Figure(figsize=(9.0, 0.6 + 2.7 * len(turned)), layout="constrained")
    for dial, row in zip(turned, figure.subplots(len(turned), 2, squeeze=False), strict=True):
        for side, panel in zip(sides(story), row, strict=True):
            _draw_slice(panel, story, side, dial, alone=len(turned) == 1)
    return finished(figure)


def what_if_figure(story: Story, others: Sequence[WhatIf]) -> Figure:
    """Runs and score over the price."""
    others = sorted(others, key=lambda other: other.price.per_cost)
    prices = [other.price.per_cost for other in others]
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for panel, name in zip(figure.subplots(1, 2), ("runs", "score"), strict=True):
        values = np.array([getattr(other, name) for other in others], dtype=float)
        known = np.array([other.known for other in others])
        panel.plot(prices, values, "-", color=_GREY, drawstyle="steps-mid", linewidth=1)
        panel.plot(prices, np.where(known, values, np.nan), "o", color=COLOURS["score"], label="would have stopped")
        if not known.all():
            panel.plot(
                prices, np.where(known, np.nan, values), "o", mfc="white", color=_GREY, label="would have continued"
            )
        panel.axvline(story.problem.price.per_cost, color=_GO, linestyle="--", label="your price")
        if name == "runs":
            panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        panel.set(xscale="log", xlabel=f"price, score per {story.unit or 'unit of cost'}", ylabel=name)
    return finished(figure)


def forecast_figure(forecast: Forecast) -> Figure:
    """Number of runs, total cost and final score, over the draws of the forecast."""
    figure = Figure(figsize=(10.0, 3.2), layout="constrained")
    runs, cost, score = figure.subplots(1, 3)
    stopping = dict(sorted(forecast.stopping.items()))
    runs.bar(list(stopping), list(stopping.values()), color=_GREY, width=0.8)
    runs.set(xlabel="runs", ylabel="probability")
    runs.xaxis.set_major_locator(MaxNLocator(integer=True))
    for panel, values, name in ((cost, forecast.costs, "cost"), (score, forecast.scores, "score")):
        panel.hist(values, bins=20, color=COLOURS[name], alpha=0.75)
        panel.axvline(float(np.mean(values)), color="black", linestyle="--", label="expected")
        panel.set(xlabel=f"{'total' if name == 'cost' else 'final'} {name}", ylabel="simulations")
    return finished(figure)


def _draw_slice(panel: Axes, story: Story, side: Side, dial: Dial, *, alone: bool) -> None:
    controls = story.swept([dial], _POINTS)
    before, after = (side.estimated(known, controls) for known in (story.prior, story.posterior))
    x = np.linspace(0.0, 1.0, _POINTS) if dial.numeric else np.arange(float(len(controls)))
    if dial.numeric:
        _draw_curves(panel, x, before, after, COLOURS[side.colour])
    else:
        _draw_stalks(panel, x, before, after, COLOURS[side.colour])
    where = [place(dial, run) for run in story.history]
    panel.plot(where, side.observed, "o", color="black", alpha=1.0 if alone else 0.4, label="observed")
    axis = dial_axis(dial)
    panel.set_xticks([value for value, _ in axis.ticks], [text for _, text in axis.ticks])
    panel.set(xlabel=dial.name, ylabel=side.title, xlim=_padded(axis), yscale="log" if side.log else "linear")


def _draw_curves(panel: Axes, x: Array, before: Array, after: Array, colour: str) -> None:
    panel.fill_between(
        x, before[1], before[3], color=_GREY, alpha=0.15, linewidth=0, label="before the first run, 68 %"
    )
    panel.plot(x, before[MIDDLE], "--", color=_GREY, linewidth=1.2)
    panel.fill_between(x, after[0], after[4], color=colour, alpha=0.15, linewidth=0, label="now, 95 %")
    panel.fill_between(x, after[1], after[3], color=colour, alpha=0.3, linewidth=0, label="now, 68 %")
    panel.plot(x, after[MIDDLE], color=colour, linewidth=2, label="now")


def _draw_stalks(panel: Axes, x: Array, before: Array, after: Array, colour: str) -> None:
    for shift, quantiles, shade in ((-0.12, before, _GREY), (0.0, after, colour)):
        middle = quantiles[MIDDLE]
        for low, high, width in ((0, 4, 1.2), (1, 3, 4.0)):
            spread = np.abs([middle - quantiles[low], quantiles[high] - middle])
            panel.errorbar(x + shift, middle, yerr=spread, fmt="o", color=shade, elinewidth=width)


def _ring_best(panel: Axes, story: Story) -> None:
    if story.best is None:
        return
    index = next(k for k, run in enumerate(story.history) if run is story.best)
    at = story.totals[index + 1], story.scores[index]
    panel.plot(*at, "o", color=_GO, markersize=14, markerfacecolor="none", markeredgewidth=2, label="model to use")


def _padded(axis: Axis) -> tuple[float, float]:
    room = 0.03 * (axis.high - axis.low)
    return axis.low - room, axis.high + room


def finished(figure: Figure, *, columns: int = 4) -> Figure:
    """A light grid, and one legend below all panels: every label once.  columns: of the legend, at most."""
    entries: dict[str, Artist] = {}
    for panel in figure.axes:
        panel.grid(color="#DDDDDD", linewidth=0.6)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=min(len(entries), columns), frameon=False
    )
    return figure
