"""What commands write on a terminal: one sentence about what is wrong, a progress bar, text that is safe to show."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

import typer

Progress = Callable[[int, int, str], None]

_INSTALL = "pip install 'autobct[build]'"
_LIBRARIES = {"torch": "torch", "sklearn": "scikit-learn"}


@contextlib.contextmanager
def one_sentence(code: int) -> Iterator[None]:
    """What is wrong, without a traceback."""
    try:
        yield
    except ImportError as error:
        library = _LIBRARIES.get((error.name or "").partition(".")[0])
        if error.name == "ray":
            fail(str(error))
        if library is None:
            raise
        fail(f"This needs {library}, which is not installed; install it with: {_INSTALL}")
    except (ValueError, RuntimeError, OSError) as error:
        if type(error).__module__.partition(".")[0] not in ("builtins", "autobct"):
            raise
        fail(str(error), code)


@contextlib.contextmanager
def shown_progress() -> Iterator[Progress]:
    """A bar on a terminal, a plain line for every part elsewhere; on stderr, for the answer is on stdout."""
    if not sys.stderr.isatty():
        yield lambda done, total, text: say(f"[{done}/{total}] {text}", err=True) if text else None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True, highlight=False), transient=True) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total)
            if text:
                bar.console.print(text, markup=False)

        yield progress


def say(text: str, *, err: bool = False) -> None:
    """Print text, some of which may be from a file of somebody else: nothing in it moves a cursor or rings a bell."""
    from autobct.tuning.visible import visible

    typer.echo(visible(text), err=err)


def fail(sentence: str, code: int = 2) -> NoReturn:
    """One sentence on standard error, and out."""
    say(sentence, err=True)
    raise typer.Exit(code)
