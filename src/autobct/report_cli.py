"""`autobct report`: one page about a tuning that stands in a folder, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autobct.console import fail, say


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("report")(report)


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that autobct run made, or its TOML file.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The HTML page to write.  [default: RUN with .html]")
    ] = None,
) -> None:
    """Write a report on a tuning as one HTML page: the result, the reasons, charts and all runs."""
    from autobct.report.page import check_page_path, write_recorded
    from autobct.run import read_run

    try:
        if out is not None:
            check_page_path(out)
        recorded = read_run(run)
        path = out or recorded.path.with_suffix(".html")
        write_recorded(recorded, path)
    except ImportError as error:
        if error.name not in ("jinja2", "contourpy"):
            raise
        fail(f"{error}.")
    except OSError as error:
        fail(f"'{error.filename or out or run}' could not be written ({error.strerror}); give another file with --out.")
    except ValueError as error:
        fail(f"{error}.")
    open_end = "" if recorded.finished else " The tuning is not finished; the page says so."
    say(f"Wrote {path}, {path.stat().st_size / 1000:.0f} kB.{open_end}")
