"""Figures of the estimates: the prior and the posterior after each run, as in section 4 of the paper.

The belief is a pure function of prior and history, so a figure needs nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from autobct.belief.arrays import Array
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.gaussian import Gaussian
from autobct.report.plots import COLOURS, finished
from autobct.tuning.history import Run
from autobct.tuning.model.estimate import spread_of
from autobct.tuning.model.posterior import beliefs
from autobct.tuning.units.scale import ScaledProblem

_MOST_RUNS, _LATEST = 5, 4  # with more runs than these only the latest are drawn beside the prior
_QUANTILES = np.array([-1.96, -1.0, 0.0, 1.0, 1.96])[:, None]  # 95 % band, 68 % band, middle
_INK = "#222222"
_CONTROLS = np.linspace(0.0, 1.0, 201)[:, None]


def belief_figure(
    problem: ScaledProblem, history: Sequence[Run], *, chosen: Run | None = None, control_label: str = "control u"
) -> Figure:
    """Score H(u) and cost T(u) in model units, one column for the prior and one for the belief after each run.

    chosen:         the run whose model is returned, marked in the last column
    control_label:  below each column: what u stands for
    """
    if problem.prior.dim != 1:
        raise ValueError(f"belief_figure draws one coordinate, but the space has {problem.prior.dim}; tune one number")
    columns = _columns(len(history))
    figure = Figure(figsize=(1.2 + 2.4 * max(len(columns), 2), 5.6), layout="constrained")
    axes = figure.subplots(2, len(columns), sharex=True, sharey="row", squeeze=False)
    for row, panels in zip(_rows(problem, history), axes, strict=True):
        for runs, panel in zip(columns, panels, strict=True):
            _draw_belief(panel, row, runs)
            _draw_choice(panel, history, runs, chosen)
        panels[0].set_ylabel(row.label)
        panels[0].set_yscale("log" if row.log else "linear")
        panels[0].yaxis.set_major_formatter("{x:g}")
        panels[0].set_ylim(*_limits(row, columns))
    for runs, top, bottom in zip(columns, axes[0], axes[1], strict=True):
        top.set_title("prior" if runs == 0 else f"after run {runs}", fontsize=11)
        bottom.set_xlabel(control_label)
    axes[0, 0].set_xlim(-0.04, 1.04)  # a line at an end of the range is not lost in the frame
    axes[0, 0].set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    figure.align_ylabels()
    return finished(figure, columns=8)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a PNG or SVG, as the file's name says; the same figure gives the same file."""
    check_figure_path(path)
    with mpl.rc_context({"svg.hashsalt": "autobct"}):
        figure.savefig(path, dpi=150, metadata={"Date": None} if path.suffix.lower() == ".svg" else {})


def check_figure_path(path: Path) -> None:
    """Refuse a file that could not be written, with what to write instead."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise ValueError(f"the figure must be a .png or .svg file, got '{path}'; write e.g. autobct-demo.png")
    if path.is_dir():
        raise ValueError(f"the figure must be a file, but '{path}' is a folder; write e.g. autobct-demo.png")
    if not path.parent.is_dir():
        raise ValueError(f"the figure's folder '{path.parent}' does not exist; make it first, or write another")


@dataclass(frozen=True, slots=True, eq=False)
class _FigureRow:
    """What one row of the figure shows, all in model units.

    quantiles:  (n + 1, 5, U) of the belief before and after each of the n runs, at U controls
    controls:   (n,) of the runs;  observed: (n,), NaN where a run has failed
    log:        whether the values are positive and told apart by their ratios
    """

    label: str
    colour: str
    quantiles: Array
    controls: Array
    observed: Array
    log: bool


def _rows(problem: ScaledProblem, history: Sequence[Run]) -> tuple[_FigureRow, _FigureRow]:
    """What is drawn, on the scales that the whole history shows."""
    steps = beliefs(problem, history)
    problem, past = steps[-1].problem, [step.belief for step in steps]
    model = problem.prior.model
    score_features, cost_features = model.score_basis(_CONTROLS), model.cost_basis(_CONTROLS)
    controls = np.array([run.control[0] for run in history])
    scores = [np.nan if run.score is None else problem.score_scale.to_model(run.score) for run in history]
    costs = [problem.cost_observed(run.cost) for run in history]
    score = np.stack([_quantiles(belief.score, score_features) for belief in past])
    cost = np.stack([_quantiles(belief.cost, cost_features) for belief in past])
    cost = model.cost_model.from_observation(cost)  # quantiles go through any increasing function
    return (
        _FigureRow(
            label="score H(u)",
            colour=COLOURS["score"],
            quantiles=score,
            controls=controls,
            observed=np.array(scores),
            log=False,
        ),
        _FigureRow(
            label="cost T(u)",
            colour=COLOURS["cost"],
            quantiles=cost,
            controls=controls,
            observed=np.array(costs),
            log=model.cost_model is LOG_LINEAR,
        ),
    )


def _quantiles(weights: Gaussian, features: Array) -> Array:
    """Quantiles (5, U) of score or cost at U controls.  features: (U, J)."""
    mean, sd = spread_of(weights, features)
    return np.asarray(mean + _QUANTILES * sd)


def _columns(runs: int) -> list[int]:
    """After how many runs each column is; with many runs the prior and the latest."""
    return list(range(runs + 1)) if runs <= _MOST_RUNS else [0, *range(runs - _LATEST + 1, runs + 1)]


def _limits(row: _FigureRow, columns: Sequence[int]) -> tuple[float, float]:
    """Room for the unit range, every middle and observation, and the first and last 68 % bands; others may leave."""
    middle, bands = row.quantiles[columns, 2], row.quantiles[[columns[0], columns[-1]], 1:4]
    unit = [1.0] if row.log else [0.0, 1.0]
    shown = np.concatenate([unit, middle.ravel(), bands.ravel(), row.observed[np.isfinite(row.observed)]])
    low, high = float(shown.min()), float(shown.max())
    if row.log:
        return low / 1.2, high * 1.2
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _draw_belief(panel: Axes, row: _FigureRow, runs: int) -> None:
    u, (low95, low68, middle, high68, high95) = _CONTROLS[:, 0], row.quantiles[runs]
    panel.fill_between(u, low68, high68, color=row.colour, alpha=0.40, linewidth=0, label="68 % band")
    panel.fill_between(u, low95, low68, color=row.colour, alpha=0.15, linewidth=0, label="95 % band")
    panel.fill_between(u, high68, high95, color=row.colour, alpha=0.15, linewidth=0)
    panel.plot(u, middle, color=row.colour, linewidth=2, label="estimate")
    if runs > 0:
        seen = row.controls[:runs], row.observed[:runs]
        panel.plot(*seen, "x", color=_INK, markersize=7, markeredgewidth=2, label="observed", zorder=4)


def _draw_choice(panel: Axes, history: Sequence[Run], runs: int, chosen: Run | None) -> None:
    """A vertical line at the control that was tried next, or at the end at the one of the returned model."""
    if runs < len(history):
        panel.axvline(history[runs].control[0], color=_INK, linestyle="--", linewidth=1.2, label="next run")
    elif chosen is not None:
        panel.axvline(chosen.control[0], color=_INK, linewidth=1.2, label="returned")
