"""Plots for notebooks: what happened, what is believed, what another price would have done, what may come.

Each takes a result or a tuner and returns a matplotlib figure, to show, to change and to save.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autobct.tuning.price import Price
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from autobct.tuning.forecast import Forecast

__all__ = ["belief", "forecast", "history", "what_if"]

_INSTALL = "pip install 'autobct[report]'"


def history(told: Result | Tuner) -> Figure:
    """Every score against the cost so far, the score in hand, and the value of going on where it is known."""
    figure: Figure = _plots().history_figure(_story(told))
    return figure


def belief(told: Result | Tuner) -> Figure:
    """Score and cost as believed before the first run and now, along each parameter through the model to use."""
    figure: Figure = _plots().belief_slices(_story(told))
    return figure


def what_if(told: Result | Tuner, prices: Iterable[float | str | Price] | None = None) -> Figure:
    """Runs and score that other prices would have had from the same runs.

    prices: score per unit of cost, or text such as "0.01 per 30s"; a thirtieth to thirty times the price if not given
    """
    plots = _plots()
    from autobct.report.telling import other_prices

    tuner = _tuner(told)
    if tuner.best is None:
        raise ValueError("no run has finished, so no price would have got anything; tell a score first")
    others = other_prices(tuner) if prices is None else tuner.result().what_if(prices)
    figure: Figure = plots.what_if_figure(_story(told), others)
    return figure


def forecast(told: Result | Tuner | Forecast) -> Figure:
    """How the tuning may go on from here: final score, total cost, number of runs.

    told: a tuner, or the Forecast it made, which takes some seconds
    """
    from autobct.tuning.forecast import Forecast

    plots = _plots()
    figure: Figure = plots.forecast_figure(told if isinstance(told, Forecast) else _tuner(told).forecast())
    return figure


def _story(told: Result | Tuner) -> Any:
    from autobct.report.telling import story_of

    return story_of(told)


def _tuner(told: object) -> Tuner:
    tuner = told.tuner if isinstance(told, Result) else told
    if not isinstance(tuner, Tuner):
        raise TypeError(f"a plot needs a result or a tuner, got {told!r:.80}; write e.g. autobct.plot.history(result)")
    return tuner


def _plots() -> Any:
    try:
        from autobct.report import plots
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise ImportError(
            f"plots need matplotlib, which is not installed; install it with: {_INSTALL}", name="matplotlib"
        ) from None
    return plots
