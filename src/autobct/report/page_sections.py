"""The pictures of the page, section by section, each with its legend and a caption in words."""

from __future__ import annotations

from dataclasses import dataclass

from autobct.report.chart import Markup, tag
from autobct.report.draw_belief import Drawn, belief_charts
from autobct.report.draw_progress import price_charts, progress_chart, progress_words
from autobct.report.story import Story
from autobct.tuning.visible import one_line

_MOST_RANKED = 8  # parameters that are named

__all__ = ["Key", "Section", "sections"]


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
    return Section(
        title="Progress",
        text=f"Another run is made while the value of continuing is {better} the estimated score of the best so far.",
        legend=(
            Key(_dot("ink"), "observed"),
            Key(_line("score"), "estimated score, best so far"),
            Key(_dot("go"), "value of continuing"),
            *_common(story),
        ),
        figures=(Drawn(progress_chart(story), progress_words(story)),),
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
    text = "Stronger colours mean higher values." if maps_only else "Before the first run and after all runs."
    text = f"{text} {_ranking(story)} Hover over a run for details.".replace("  ", " ")
    return Section(
        "Estimated score and cost",
        text,
        (*bands, Key(_dot("ink"), "run"), *_common(story)),
        tuple(belief_charts(story)),
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
        f"Your price was {story.problem.price}. With the same runs in the same order, this is where tuning would have "
        f"stopped at other prices.{counted}",
        (),
        price_charts(story),
    )


def _common(story: Story) -> tuple[Key, ...]:
    keys = []
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
