"""How a result and a tuner show themselves in a notebook: the answer, its numbers, and one chart."""

from __future__ import annotations

from importlib import resources

from autobct.report.axis import number
from autobct.report.chart import Markup, join, tag
from autobct.report.draw_progress import progress_chart, progress_words
from autobct.report.page_words import facts, notes
from autobct.report.story import Story
from autobct.report.telling import story_of
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner
from autobct.tuning.visible import one_line

__all__ = ["result_html", "tuner_html"]


def result_html(result: Result) -> str:
    """A result: the params to use, score and cost, why it stopped, and score against cost."""
    return _shown(story_of(result))


def tuner_html(tuner: Tuner) -> str:
    """A tuner: the same of what is known so far."""
    return _shown(story_of(tuner))


def _shown(story: Story) -> str:
    """One block that brings its own style and stays within it."""
    parts = [
        tag("style", Markup(_file("chart.css") + _file("notebook.css"))),
        *(tag("p", tag("b", note.head), " ", note.text, class_="abct-say") for note in notes(story)),
        tag("p", tag("b", story.why), class_="abct-say"),
        _params(story),
        _facts(story),
        *(tag("p", remark, class_="abct-say muted") for remark in story.notes),
    ]
    if story.history:
        legend = (
            "Dots: observed scores; line: estimated score of the best so far; dashed: value of continuing; "
            "circle: the model to use."
        )
        caption = f"{progress_words(story)} {legend}"
        picture = progress_chart(story, width=640.0, height=260.0)
        parts.append(tag("figure", picture, tag("figcaption", caption, class_="muted")))
    return tag("div", *parts, class_="abct abct-note")


def _params(story: Story) -> Markup:
    if story.best is None:
        return Markup("")
    names, values = zip(*story.best.params.items(), strict=True)
    head = tag("tr", *(tag("th", one_line(name, 80)) for name in names))
    row = tag("tr", *(tag("td", one_line(number(value), 80)) for value in values))
    return tag("table", tag("caption", "The model to use"), head, row)


def _facts(story: Story) -> Markup:
    told = facts(story)
    head = tag("tr", *(tag("th", fact.name) for fact in told))
    values = tag("tr", *(tag("td", fact.value) for fact in told))
    more = tag("tr", *(tag("td", fact.more, class_="muted") for fact in told))
    return tag("table", join([head, values, more]))


def _file(name: str) -> str:
    return (resources.files("autobct.report") / "files" / name).read_text(encoding="utf-8")
