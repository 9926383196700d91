"""`autobct run`, `init`, `repair` and `report`: tune any program by a TOML file, and write a page about a tuning."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autobct.console import fail, say

if TYPE_CHECKING:
    from autobct.run.job import Ending, Job
    from autobct.run.recorded import RecordedRun
    from autobct.tuning.storage import OnCrash, Storage

_FIRST = Path("tune.toml")
_CODES = (
    "Exit codes: 0 stopped because another run is not worth its price; 1 gave up after failures, could not start the "
    "program, or could not write to disk; 2 error in the file or on the command line; 3 no run finished; 4 stopped by "
    "max_runs, max_cost or deadline; 130 interrupted: the same command continues."
)

TomlFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="The TOML file with the settings; autobct init writes one.")
]


def add_to(app: typer.Typer) -> None:
    """Add the four commands to the command line."""
    app.command("run", epilog=_CODES)(run)
    app.command("init")(init)
    app.command("repair")(repair)
    app.command("report")(report)


def run(
    path: TomlFile = _FIRST,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Run nothing; print a forecast and the next command.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over; the old tuning is kept under another name.")
    ] = False,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="Folder for the results.  [default: FILE with .run for .toml]")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=-1, help="Programs to run at the same time; -1 for one per core.")
    ] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the result.")] = False,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            envvar="AUTOBCT_STORAGE",
            help="A database that several processes share: sqlite:///run.db or postgresql://user@host/database.",
        ),
    ] = None,
    study: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the tuning in the database.  [default: FILE's]")
    ] = None,
    on_crash: Annotated[
        str,
        typer.Option(
            metavar="rerun|fail",
            help="What becomes of a run whose process died: made again, or failed at its cost so far.",
        ),
    ] = "rerun",
    grace: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Silence after which a worker of a database is considered dead.  [default: 60]"
        ),
    ] = None,
) -> None:
    """Tune any program until another run is not worth its price, or continue an interrupted tuning."""
    if os.name != "posix":
        fail("autobct run needs Linux, macOS or another POSIX system; use autobct.tune from Python here.")
    with _one_sentence():
        from autobct.run.job import Job

        _check_options(storage, study, on_crash, grace, fresh=fresh)
        where = None if storage is None else _storage(storage, study or path.stem, on_crash, grace)
        job = Job.of(path, folder)
        if dry_run:
            _foretell(job, where)
        elif where is not None:
            ending = _tuned_together(job, where, quiet=quiet, jobs=_number(jobs))
            _finish(job, ending, quiet=quiet, where=where.shown)
        else:
            ending = _tuned(job, fresh=fresh, quiet=quiet, jobs=_number(jobs), on_crash=on_crash)
            _finish(job, ending, quiet=quiet)


def init(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = _FIRST,
) -> None:
    """Write a commented TOML file to start from."""
    from autobct.run.job import first_file

    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(first_file())
    except FileExistsError:
        fail(f"'{path}' already exists; give another name.")
    except OSError as error:
        fail(f"'{path}' cannot be written: {error.strerror}.")
    say(f"Wrote {path}. Put your program in it, then try: autobct run {path} --dry-run")


def repair(
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="The folder of a tuning whose journal is damaged, or its TOML file."),
    ],
) -> None:
    """Keep what is sound in a damaged journal, say what was lost, and keep the original."""
    if os.name != "posix":
        fail("autobct repair needs Linux, macOS or another POSIX system.")
    with _one_sentence():
        from autobct.run.recorded import folder_of
        from autobct.run.recorded import repair as repaired

        typer.echo(str(repaired(folder_of(folder) if folder.suffix == ".toml" else folder)))


def _foretell(job: Job, where: Storage | None) -> None:
    """The forecast, and the next command; nothing is run, nothing is written, and no database is opened."""
    from autobct.run.job import standing
    from autobct.tuning.history import Train
    from autobct.tuning.units.limits import Deadline, Left

    tuner, told = standing(job).tuner, job.settings.limits.deadline
    timed = told is not None and job.settings.measure == "wall"
    left = Left(Deadline.of(told).left(), "deadline") if told is not None and timed else None
    say(str(tuner.forecast(left=left)))
    decision = tuner.peek(left)
    say(decision.why)
    if isinstance(decision, Train):
        say(f"In {job.directory} it would run:\n  {job.trainer().command_line(decision)}")
    if where is None:
        say(f"The results would be stored in {job.folder}.")
    else:
        say(f"The results would be stored in {where.shown}. Runs that are already there are not in this forecast.")


def _number(jobs: int) -> int:
    from autobct.tuning.jobs import cores

    if jobs == 0:
        fail("--jobs must be at least 1, or -1 for one per core.", 2)
    return cores() if jobs == -1 else jobs


def _tuned(job: Job, *, fresh: bool, quiet: bool, jobs: int, on_crash: str) -> Ending:
    """A table on a terminal, plain lines elsewhere."""
    from autobct.run.session import tune_program
    from autobct.tuning.progress import listeners

    heard = listeners((), False if quiet else sys.stdout)
    crash: OnCrash = "fail" if on_crash == "fail" else "rerun"  # checked before
    return tune_program(job, heard, fresh=fresh, jobs=jobs, on_crash=crash)


def _check_options(address: str | None, study: str | None, on_crash: str, grace: float | None, *, fresh: bool) -> None:
    """Refuse a wrong value, and what would have no effect: in a folder or in a database."""
    from autobct.tuning.storage import StorageError

    if on_crash not in ("rerun", "fail"):
        raise StorageError(f"--on-crash must be 'rerun' or 'fail', got {on_crash!r}")
    if grace is not None and not 0.0 < grace < math.inf:
        raise StorageError(f"--grace must be positive, got {grace:g}; write seconds, e.g. 60")
    if study is not None and not study.strip():
        raise StorageError("--study must be a name, got an empty one")
    if address is not None and fresh:
        raise StorageError("--fresh is for a folder; in a database start over with another name: --study NAME")
    given = {"--study": study is not None, "--grace": grace is not None}
    if address is None and any(given.values()):
        options = " and ".join(option for option in given if given[option])
        raise StorageError(f"give {options} only with --storage; a folder has one tuning and one process at a time")


def _storage(address: str, study: str, on_crash: str, grace: float | None) -> Storage:
    from autobct.tuning.storage import Storage, StorageError

    given = {} if grace is None else {"grace": grace}
    found = Storage(address, study, on_crash, **given)  # type: ignore[arg-type]  # checked before
    if not found.is_database:
        raise StorageError(f"--storage {found.shown!r} is not the address of a database; give a folder with --dir")
    return found


def _tuned_together(job: Job, storage: Storage, *, quiet: bool, jobs: int) -> Ending:
    try:
        from autobct.integrations.storage.program import tune_program_together
    except ImportError as error:
        fail(f"{error}.")
    from autobct.tuning.progress import listeners

    return tune_program_together(job, storage, listeners((), False if quiet else sys.stdout), jobs=jobs)


def _finish(job: Job, ending: Ending, *, quiet: bool, where: str | None = None) -> None:
    """The answer, and an exit code for scripts; why it stopped has been said unless it was to be quiet."""
    tuner, stop = ending.tuner, ending.stop
    if stop is None:
        say(f"Interrupted; all results are in {where or job.folder}, and the same command continues.", err=True)
    if tuner.best is not None:
        why = stop.why if stop is not None and quiet else ""
        say(str(tuner.result(why, ending.decisions)).rstrip())
    elif stop is not None:
        last = tuner.history[-1].error if tuner.history else None
        said = f" The last run failed: {last}." if last else ""
        say(f"No run finished. {stop.why}{said} The output of the runs is in {job.folder / 'runs'}.", err=True)
    raise typer.Exit(ending.code)


@contextlib.contextmanager
def _one_sentence() -> Iterator[None]:
    """What is wrong, without a traceback."""
    from autobct.run.journal import JournalError
    from autobct.run.lock import LockedError
    from autobct.run.program_settings import SettingsError
    from autobct.tuning.storage import StorageError

    try:
        yield
    except (SettingsError, JournalError, LockedError, StorageError) as error:
        fail(str(error))
    except KeyboardInterrupt:
        fail("Interrupted before anything was run.", 130)
    except BrokenPipeError:
        raise
    except OSError as error:
        where = error.filename or "the results could not be written"
        fail(f"{where}: {error.strerror}; the results so far are kept, and the same command continues.", 1)


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
    from autobct.tuning.storage import check_address, masked

    try:
        if out is not None:
            check_page_path(out)
        if not os.path.exists(run):
            check_address(run)  # one with a typo is refused with its password masked
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
