"""Progress reports: callbacks, plain lines for a pipe or a file, and lazily imported displays.

Windows are what tuning uses and does not import, as they are in packages above it: reports and notebook views,
storages, workers for runs side by side.  Each is named here as text, and imported when it is needed.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from autobct.tuning.history import Note, Run, Stop, Train
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.visible import visible

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner

_WINDOWS = {
    "screen": ("autobct.report.live", "live"),
    "report": ("autobct.report.page", "write_report"),
    "result_html": ("autobct.report.notebook", "result_html"),
    "tuner_html": ("autobct.report.notebook", "tuner_html"),
    "isolated": ("autobct.run.isolated", "isolated"),
    "dataframe": ("autobct.report.notebook", "dataframe_of"),
    "bar": ("autobct.report.live", "Bar"),
    "processes": ("autobct.run.executors", "Processes"),
    "threads": ("autobct.run.executors", "Threads"),
    "folder": ("autobct.run.kept", "in_folder"),
    "database": ("autobct.integrations.storage", "shared"),
    "csv": ("autobct.report.notebook", "write_csv"),
}
"""What is needed -> the module that has it, and its name there."""


def window(name: str) -> Callable[..., Any]:
    """The function or class, imported now."""
    module, function = _WINDOWS[name]
    drawn: Callable[..., Any] = getattr(import_module(module), function)
    return drawn


Event = Train | Stop | Run | Note | Alarm
"""A decision, a reported run, a note about a range, or a model alarm."""

Callback = Callable[["Tuner", Event], object]
"""Called with the tuner and each event as it happens.  If it has a method `close`, that is called at the end."""

_log = logging.getLogger("autobct")
_log.addHandler(logging.NullHandler())  # quiet unless the application listens


@dataclass(frozen=True, slots=True)
class Last:
    """What a tracker of experiments is told at the end.

    params: of the best run;  numbers: its score, how many runs, what they cost;  why: it stopped
    """

    params: Mapping[str, Any]
    numbers: dict[str, float]
    why: str


def last_of(tuner: Tuner, event: Event) -> Last | None:
    """The result, if the event is the stop and a run has finished."""
    best = tuner.best
    if not isinstance(event, Stop) or best is None or best.score is None:
        return None
    numbers = {"best_score": best.score, "runs": float(len(tuner.history)), "total_cost": tuner.total_cost}
    return Last(dict(best.params), numbers, event.why)


class Listeners:
    """All callbacks of one tuning, called by one thread at a time.

    One that raises is dropped with a warning: it must not cost a finished run.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._callbacks, self._lock = list(callbacks), threading.RLock()

    def tell(self, tuner: Tuner, event: Event) -> None:
        """Tell everyone, and the log."""
        _log.log(_level(event), "%s", _Lazy(tuner, event))
        with self._lock:
            for callback in tuple(self._callbacks):
                try:
                    callback(tuner, event)
                except Exception as error:
                    self._callbacks.remove(callback)
                    _warn(callback, error)

    def news(self, tuner: Tuner, run: Run) -> None:
        """Tell of a run, and of what was to be said of it."""
        number = next((k for k, told in enumerate(tuner.history) if told.trial == run.trial), len(tuner.history) - 1)
        self.tell(tuner, run)
        for said in (*tuner.notes, tuner.alarm):
            if said is not None and said.run == number:
                self.tell(tuner, said)

    def close(self) -> None:
        """Close all that want to be closed, those that were dropped excepted."""
        for callback in self._callbacks:
            try:
                getattr(callback, "close", lambda: None)()
            except Exception as error:
                _warn(callback, error)


def listeners(callbacks: object, verbose: object) -> Listeners:
    """The callbacks of a user, checked, and one that prints if asked to.

    verbose: True, "bar" for one line that is rewritten, or a stream to print to
    """
    told: list[Any] = list(callbacks) if isinstance(callbacks, Sequence) else [callbacks]
    for callback in told:
        if not callable(callback):
            raise TypeError(f"callbacks must be functions of (tuner, event), got {callback!r}; write callbacks=[show]")
    return Listeners([*_printer(verbose), *told])


def plain(stream: TextIO) -> Callback:
    """One line for each event."""
    return lambda tuner, event: print(visible(line(tuner, event)), file=stream, flush=True)


def line(tuner: Tuner, event: Event) -> str:
    """An event in words."""
    if isinstance(event, Train | Stop):
        first = isinstance(event, Train) and event.stop_value is None  # what it says is not said elsewhere
        return event.why if first else event.why.removesuffix(event.note).rstrip()
    if isinstance(event, Note | Alarm):
        return event.text
    total = f"total {tuner.total_cost:.4g}"
    if event.score is None:
        return f"Run {event.trial + 1} failed: {event.error}; cost {event.cost:.4g}, {total}."
    estimated = f"estimated {event.estimated_score:.4g}"
    return f"Run {event.trial + 1}: score {event.score:.4g} ({estimated}), cost {event.cost:.4g}, {total}."


def _level(event: Event) -> int:
    """Failures and alarms are warnings; runs, notes and the stop are worth knowing; decisions are for debugging."""
    if isinstance(event, Alarm) or (isinstance(event, Run) and event.error is not None):
        return logging.WARNING
    return logging.DEBUG if isinstance(event, Train) else logging.INFO


@dataclass(frozen=True, slots=True)
class _Lazy:
    """The line of an event, written only if somebody reads the log."""

    tuner: Tuner
    event: Event

    def __str__(self) -> str:
        return line(self.tuner, self.event)


def _printer(verbose: object) -> list[Callback]:
    if verbose is False:
        return []
    if verbose == "bar":
        return [window("bar")()]
    if verbose is True:
        import sys

        verbose = sys.stdout
    if not hasattr(verbose, "write"):
        raise TypeError(f"verbose must be True, False, 'bar' or a stream, got {verbose!r}; write verbose=True")
    stream: TextIO = verbose  # type: ignore[assignment]  # it writes
    drawn = window("screen")(stream) if stream.isatty() else None
    return [drawn or plain(stream)]


def _warn(callback: object, error: Exception) -> None:
    name = getattr(callback, "__qualname__", type(callback).__qualname__)
    message = f"callback {name} failed with {type(error).__name__}: {error}; it will not be called again"
    warnings.warn(message, RuntimeWarning, stacklevel=4)
