"""The report: one self-contained HTML page, readable with scripts off.

The page is checked by its own content policy: nothing is loaded, and only the style and the script written here count.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from autobct.maps.container import write_file
from autobct.report.axis import number
from autobct.report.chart import Markup, tag, text_of
from autobct.report.draw_belief import Drawn, belief_charts
from autobct.report.draw_progress import price_charts, progress_chart, progress_words
from autobct.report.page_words import facts, heads, notes, rows, rows_text
from autobct.report.story import Story, after_each_run, other_prices, story_of, tell
from autobct.tuning.guard import usual_errors
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.price import rounded
from autobct.tuning.visible import one_line

if TYPE_CHECKING:
    from jinja2 import Template

    from autobct.run.recorded import RecordedRun

__all__ = ["Key", "Section", "page_of", "sections", "write_page", "write_recorded", "write_report"]

_INSTALL = "pip install 'autobct[report]'"


@dataclass(frozen=True, slots=True)
class Inline:
    """A style or a script inside the page, and the digest by which the content policy knows it."""

    text: Markup

    @property
    def digest(self) -> str:
        """SHA-256 of the text, as the policy writes it."""
        return base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()


def write_report(told: Result | Tuner, path: str | os.PathLike[str], notes: Sequence[str] = ()) -> None:
    """Write the page of a result, or of a tuner that is still asking, to a file, whole or not at all.

    notes: sentences that come first among the notes
    """
    check_page_path(path)
    story = story_of(told)
    story = replace(story, notes=(*notes, *story.notes))
    write_page(replace(story, what_if=other_prices(told)), path)


@usual_errors
def write_recorded(run: RecordedRun, path: str | os.PathLike[str]) -> None:
    """Write the page of a tuning that was read from its folder, finished or not."""
    check_page_path(path)
    story = tell(
        run.tuner,
        title=run.path.name,
        why=run.why,
        decisions=after_each_run(run.decisions, len(run.history), run.n_jobs),
        finished=run.finished,
        settings=run.settings,
        versions=run.versions,
    )
    found = run.tuner if run.tuner.best is None else run.result()
    waited = max(found.waits, default=None) if isinstance(found, Result) else None
    write_page(replace(story, what_if=other_prices(found), waited=waited), path)


def write_page(story: Story, path: str | os.PathLike[str]) -> None:
    """Write the page of a story."""
    check_page_path(path)
    write_file(path, page_of(story).encode("utf-8"))


def check_page_path(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written, with what to write instead."""
    shown, folder = os.fspath(path), os.path.dirname(os.path.abspath(path))
    if os.path.splitext(shown)[1].lower() not in (".html", ".htm"):
        raise ValueError(f"the report must be a .html file, got '{shown}'; write e.g. run.html")
    if os.path.isdir(path):
        raise ValueError(f"the report must be a file, but '{shown}' is a folder; write e.g. run.html")
    if not os.path.isdir(folder):
        raise ValueError(f"the report's folder '{folder}' does not exist; make it first, or write another")


def page_of(story: Story) -> str:
    """The page as text."""
    best = story.best
    return _template().render(
        title=story.title,
        style=Inline(Markup(_file("chart.css") + _file("page.css"))),
        script=Inline(Markup(_file("page.js"))),
        notes=notes(story),
        remarks=story.notes,
        why=story.why,
        params=[] if best is None else [(name, number(value)) for name, value in best.params.items()],
        facts=facts(story),
        sections=sections(story),
        heads=heads(story),
        rows=rows(story),
        rows_text=rows_text(story),
        settings=story.settings,
        footer="Made by autobct. Every number on this page follows from the settings and the runs above.",
    )


@cache
def _file(name: str) -> str:
    return (resources.files("autobct.report") / "files" / name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError:
        raise ImportError(
            f"a report needs jinja2, which is not installed; install it with: {_INSTALL}", name="jinja2"
        ) from None
    environment = Environment(autoescape=True, undefined=StrictUndefined, finalize=text_of, trim_blocks=True)
    return environment.from_string(_file("page.html"))


_MOST_RANKED = 8  # parameters that are named


@dataclass(frozen=True, slots=True)
class Key:
    """A sign of a chart and what it stands for."""

    sign: Markup
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """Some pictures under a title.  narrow: the only picture once more, for a phone."""

    title: str
    text: str
    legend: tuple[Key, ...]
    figures: tuple[Drawn, ...]
    narrow: Markup | None = None


def sections(story: Story) -> list[Section]:
    """All that can be drawn of this story."""
    told = []
    if story.history:
        told.append(_progress(story))
    told.append(_belief(story))
    if story.what_if:
        told.append(_prices(story))
    return told


def _progress(story: Story) -> Section:
    better = "below" if story.sign < 0 else "above"
    drawn = Drawn(progress_chart(story), progress_words(story))
    return Section(
        title="Progress",
        text=f"Another run is made while the value of continuing is {better} the estimated score of the best so far.",
        legend=(
            Key(_dot("ink"), "observed"),
            Key(_line("score"), "estimated score, best so far"),
            Key(_dot("go"), "value of continuing"),
            *_common(story, drawn),
        ),
        figures=(drawn,),
        narrow=progress_chart(story, width=400.0, height=320.0),
    )


def _belief(story: Story) -> Section:
    turned = story.dials
    maps_only = len(turned) == 2 and all(dial.numeric for dial in turned)
    bands = (
        ()
        if maps_only
        else (
            Key(_band("score"), "current estimate, with 68 % and 95 % bands for one run (including noise)"),
            Key(_dashes("muted"), "estimate before the first run, with its 68 % band"),
        )
    )
    text = [
        "Stronger colours mean higher values." if maps_only else "Before the first run and after all runs.",
        _ranking(story),
        "The fit is smooth; where a model was trained, its estimated score also counts the score measured there."
        if story.posterior.evidence is not None
        else "",
        "Hover over a run for details.",
        "Faint dots are runs whose other parameters differ." if len(turned) > 1 and not maps_only else "",
    ]
    drawn = belief_charts(story)
    return Section(
        "Estimated score and cost",
        " ".join(filter(None, text)),
        (*bands, Key(_dot("ink"), "run"), *_common(story, *drawn)),
        tuple(drawn),
    )


def _ranking(story: Story) -> str:
    """The most important parameters with their shares, in words."""
    shares = [f"{one_line(name, 40)} {share:.0%}" for name, share in story.importance.items() if share > 0.0]
    if len(shares) < 2:
        return ""
    more = ", ..." if len(shares) > _MOST_RANKED else ""
    return f"Share of the variation in score explained by each parameter: {', '.join(shares[:_MOST_RANKED])}{more}."


def _prices(story: Story) -> Section:
    counted = "" if story.waited is None else " All of them are prices of waiting, on the wall clock."
    return Section(
        "At other prices",
        f"Your price was {rounded(story.problem.price)}. With the same runs in the same order, this is where tuning "
        f"would have stopped at other prices.{counted}",
        (),
        price_charts(story),
    )


def _common(story: Story, *drawn: Drawn) -> tuple[Key, ...]:
    keys = []
    if any('class="beyond"' in figure.picture for figure in drawn):
        keys.append(Key(_sign(tag("path", d="M8 4h10l-5 7z", fill="currentColor"), "ink"), "run outside the chart"))
    if story.best is not None:
        keys.append(Key(_sign(tag("circle", cx=13, cy=7, r=5.5, class_="ring"), "go"), "the model to use"))
    if any(run.score is None for run in story.history):
        keys.append(Key(_sign(tag("path", d="M9 3l8 8m0 -8l-8 8", class_="cross"), "bad"), "failed"))
    return tuple(keys)


def _sign(shape: Markup, colour: str) -> Markup:
    return tag("svg", tag("g", shape, class_=colour), viewBox="0 0 26 14", aria_hidden="true")


def _dot(colour: str) -> Markup:
    return _sign(tag("circle", cx=13, cy=7, r=4.5), f"{colour} dots")


def _line(colour: str) -> Markup:
    return _sign(tag("path", d="M1 7H25", stroke="currentColor", stroke_width=2.5), colour)


def _dashes(colour: str) -> Markup:
    return _sign(tag("path", d="M1 7H25", stroke="currentColor", stroke_width=1.5, stroke_dasharray="5 4"), colour)


def _band(colour: str) -> Markup:
    areas = [tag("path", d=d, fill="currentColor", fill_opacity="0.25") for d in ("M1 1H25V13H1z", "M1 4H25V10H1z")]
    return _sign(tag("g", *areas, tag("path", d="M1 7H25", stroke="currentColor", stroke_width=2.0)), colour)
