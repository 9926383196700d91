"""The picture of docs/how-it-decides.md: estimates and values at three decisions of the tuning on that page."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.docs_pages import ROOT, blocks

from autobct import Run, Tuner
from autobct.tuning.decide.explain import Explanation
from autobct.tuning.history import Stop

PAGE = ROOT / "docs" / "how-it-decides.md"
_BLUE, _GREEN, _GREY = "#0072B2", "#0B7A53", "#7A828C"


def decisions_figure() -> Figure:
    """Three columns: before the second run, before the third, and at the stop."""
    tuner = played()
    figure = Figure(figsize=(9.6, 5.2), layout="constrained")
    panels = figure.subplots(2, 3, sharex=True)
    for column, runs in enumerate((1, 2, len(tuner.history))):
        then = tuner.twin(fresh=True)
        then.replay(tuner.history[:runs])
        told = then.explain()
        draw_belief(panels[0, column], told, tuner.history[:runs])
        draw_value(panels[1, column], told)
    for panel in panels[0]:
        panel.set_ylim(0.35, 1.15)
    handles, labels = panels[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    panels[0, 0].set_ylabel("estimated score")
    panels[1, 0].set_ylabel("value")
    for panel in panels[1]:
        panel.set_xlabel("depth")
    return figure


def played() -> Tuner:
    """The tuner of the page, after the page's own loop."""
    code = next(block.text for block in blocks(PAGE) if block.kind == "run")
    names: dict[str, object] = {}
    exec(compile(code, PAGE.name, "exec"), names)
    tuner = names["tuner"]
    assert isinstance(tuner, Tuner)
    return tuner


def draw_belief(panel: Axes, told: Explanation, history: tuple[Run, ...]) -> None:
    """The band of scores, nineteen in twenty, and the runs so far."""
    places = [params["depth"] for params in told.params]
    middle, sds = told.expected_scores, told.score_sds
    panel.fill_between(places, middle - 2 * sds, middle + 2 * sds, color=_BLUE, alpha=0.2, linewidth=0)
    panel.plot(places, middle, color=_BLUE)
    panel.plot([run.params["depth"] for run in history], [run.score for run in history], "o", color="black")
    runs = f"after {len(history)} run{'s' if len(history) > 1 else ''}"
    panel.set_title(f"{runs}: {'stop' if isinstance(told.decision, Stop) else 'continue'}", fontsize=11)


def draw_value(panel: Axes, told: Explanation) -> None:
    """The value of training anywhere, the incumbent's score, and the run that is chosen."""
    places = [params["depth"] for params in told.params]
    panel.plot(places, told.values, color=_GREEN, label="value of one more run there")
    panel.axhline(told.stop_value or 0.0, color=_GREY, linestyle="--", label="value of stopping: the best so far")
    if told.best is not None and not isinstance(told.decision, Stop):
        panel.plot(
            [told.best.params["depth"]], [told.best.value], "v", color=_GREEN, markersize=9, label="the next run"
        )
