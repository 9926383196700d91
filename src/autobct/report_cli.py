"""`autobct report`: one page about a tuning that stands in a folder or a database, finished or not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autobct.console import fail, say

if TYPE_CHECKING:
    from autobct.run.recorded import RecordedRun


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("report")(report)


def report(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="The folder that autobct run made, its TOML file, or the address of a database: sqlite:///run.db.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The HTML page to write.  [default: RUN with .html]")
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the tuning, in a database that holds several.")
    ] = None,
) -> None:
    """Write a report on a tuning as one HTML page: the result, the reasons, charts and all runs."""
    from autobct.report.page import check_page_path, write_recorded
    from autobct.run import read_run
    from autobct.tuning.storage import masked

    try:
        if out is not None:
            check_page_path(out)
        recorded = _from_database(run, study) if "://" in run else read_run(Path(run))
        path = out or recorded.path.with_suffix(".html")
        write_recorded(recorded, path)
    except ImportError as error:
        if error.name not in ("jinja2", "contourpy", "optuna"):
            raise
        fail(f"{error}.")
    except OSError as error:
        where = error.filename or out or masked(run)
        fail(f"'{where}' could not be written ({error.strerror}); give another file with --out.")
    except ValueError as error:
        fail(f"{error}.")
    open_end = "" if recorded.finished else " The tuning is not finished; the page says so."
    say(f"Wrote {path}, {path.stat().st_size / 1000:.0f} kB.{open_end}")


def _from_database(address: str, study: str | None) -> RecordedRun:
    from autobct.tuning.storage import check_address

    check_address(address)
    from autobct.integrations.storage.stored_study import read_study  # needs Optuna

    return read_study(address, study)
