"""Plots for notebooks: the history, the estimates, other prices, and the forecast.

Each function takes a result or a tuner and returns a matplotlib figure to show, change or save.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autobct.tuning.guard import usual_errors
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.price import Price

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from autobct.tuning.decide.forecast import Forecast

__all__ = ["belief", "forecast", "history", "what_if"]

_INSTALL = "pip install 'autobct[report]'"


@usual_errors
def history(source: Result | Tuner) -> Figure:
    """Every score against the cost so far, with the best so far and the value of continuing where it is known."""
    figure: Figure = _plots().history_figure(_story(source))
    return figure


@usual_errors
def belief(source: Result | Tuner) -> Figure:
    """Estimated score and cost, before the first run and now, along each parameter through the model to use."""
    figure: Figure = _plots().belief_slices(_story(source))
    return figure


@usual_errors
def what_if(source: Result | Tuner, prices: Iterable[float | str | Price] | None = None) -> Figure:
    """Number of runs and score that other prices would have led to, given the same runs.

    prices: score per unit of cost, or text such as "0.01 per 30s"; by default 1/32 to 32 times the price
    """
    plots = _plots()
    from autobct.report.story import other_prices

    if _tuner(source).best is None:
        raise ValueError("no run has finished yet, so there is nothing to compare; report a finished run first")
    result = source if isinstance(source, Result) else source.result()
    others = other_prices(result) if prices is None else result.what_if(prices)
    figure: Figure = plots.what_if_figure(_story(source), others)
    return figure


@usual_errors
def forecast(source: Result | Tuner | Forecast) -> Figure:
    """How the tuning is likely to end: number of runs, total cost and final score.

    source: a tuner, or its Forecast, which takes a few seconds to compute
    """
    from autobct.tuning.decide.forecast import Forecast

    plots = _plots()
    figure: Figure = plots.forecast_figure(source if isinstance(source, Forecast) else _tuner(source).forecast())
    return figure


def _story(source: Result | Tuner) -> Any:
    from autobct.report.story import story_of

    return story_of(source)


def _tuner(source: object) -> Tuner:
    tuner = source.tuner if isinstance(source, Result) else source
    if not isinstance(tuner, Tuner):
        raise TypeError(
            f"a plot needs a result or a tuner, got {source!r:.80}; write e.g. autobct.plot.history(result)"
        )
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
