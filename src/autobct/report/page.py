"""One page that tells a tuning: no network, no other file, readable with scripts off.

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

from autobct.maps.store import write_file
from autobct.report.axis import number
from autobct.report.chart import Markup, text_of
from autobct.report.page_sections import sections
from autobct.report.page_words import facts, heads, notes, rows, rows_text
from autobct.report.story import Story
from autobct.report.telling import other_prices, story_of, tell
from autobct.tuning.guard import usual_errors
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner

if TYPE_CHECKING:
    from jinja2 import Template

    from autobct.run.recorded import RecordedRun

__all__ = ["page_of", "write_page", "write_recorded", "write_report"]

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
        decisions=run.decisions,
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
