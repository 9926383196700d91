"""Notebook display of a result, and its runs as a pandas DataFrame or a safe CSV file.

A spreadsheet takes a cell that begins with = + - @ for a formula, even in quotes, and a formula can send data away.
Parameter values and error messages may come from others, so such a text gets an apostrophe before it, which shows it
as text.  Numbers stay numbers.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from autobct.maps.container import write_file
from autobct.report.axis import number
from autobct.report.chart import Markup, join, tag
from autobct.report.draw_progress import progress_chart, progress_words
from autobct.report.page_words import facts, notes
from autobct.report.story import Story, story_of
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner
from autobct.tuning.visible import one_line, visible

if TYPE_CHECKING:
    import pandas

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
        picture = progress_chart(story, width=640.0, height=260.0)
        signs = {"cross": "crosses: failed runs", "beyond": "triangles: runs outside the chart"}
        legend = [
            "Dots: observed scores",
            "line: estimated score of the best so far",
            "dashed: value of continuing",
            *(words for sign, words in signs.items() if f'class="{sign}"' in picture),
            "circle: the model to use",
        ]
        caption = f"{progress_words(story)} {'; '.join(legend)}."
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


_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "|", "%")


def write_csv(records: Sequence[Mapping[str, Any]], path: str | os.PathLike[str]) -> None:
    """Write the records to a file, whole or not at all."""
    write_file(path, csv_text(records).encode("utf-8"))


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """The records as CSV, the names in the first line."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    if records:
        writer.writerow([_cell(name) for name in records[0]])
    writer.writerows([_cell(value) for value in record.values()] for record in records)
    return stream.getvalue()


def _cell(value: Any) -> str | int | float:
    """A number as it is, nothing for None, and text that is no formula."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = visible(str(value), keep="\n")
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def dataframe_of(records: Sequence[Mapping[str, Any]]) -> pandas.DataFrame:
    """The records as a DataFrame, one row for each run."""
    try:
        import pandas
    except ImportError:
        raise ImportError(
            "to_dataframe() needs pandas, which is not installed; install it with: pip install pandas "
            "(or use to_records(), which needs nothing)",
            name="pandas",
        ) from None
    return pandas.DataFrame(records)
