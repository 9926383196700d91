"""A tuning on one line that is rewritten in place, in the manner of tqdm: where a table does not fit."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import TextIO

from autobct.report.axis import number
from autobct.tuning.decide.decision import Stop, Train
from autobct.tuning.history import Run
from autobct.tuning.progress import Event
from autobct.tuning.result import count
from autobct.tuning.tuner import Tuner
from autobct.tuning.visible import one_line

__all__ = ["Bar"]

_CELLS = 10
_SELDOM = 10.0  # seconds between two lines in a file, which cannot be rewritten


class Bar:
    """A callback of `tune`: how close the next run is to not being worth its price, and what there is so far.

    The bar is full when the price of the next run reaches what it is expected to gain, which is when a tuning stops.
    stream: stderr by default, as progress is no output;  clock: in seconds
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock, self._started, self._last = clock, clock(), -_SELDOM
        self._rewrites, self._width, self._share = self._stream.isatty(), 0, 0.0

    def __call__(self, tuner: Tuner, event: Event) -> None:
        """Take in what has happened and rewrite the line."""
        if isinstance(event, Train):
            self._share = max(self._share, _share(event))
        if isinstance(event, Stop):
            self._share = 1.0
        if isinstance(event, Train | Run | Stop):
            self._draw(self._line(tuner), final=isinstance(event, Stop))
        if isinstance(event, Stop):
            self._write(one_line(event.why, 1000) + "\n")

    def close(self) -> None:
        """Leave the line as it is, and go on below it; more than once does no harm."""
        if self._width:
            self._write("\n")
        self._width = 0

    def _line(self, tuner: Tuner) -> str:
        full = round(self._share * _CELLS)
        running, best = len(tuner.under_way), tuner.best
        parts = [
            f"[{'#' * full}{'.' * (_CELLS - full)}] {count(len(tuner.history))}",
            *([f"{running} running"] if running else []),
            *([] if best is None or best.score is None else [f"best {number(best.score)}"]),
            f"cost {number(tuner.total_cost)}",
            f"{_clock_time(self._clock() - self._started)}",
        ]
        return ", ".join(parts)

    def _draw(self, line: str, *, final: bool) -> None:
        if self._rewrites:
            room = shutil.get_terminal_size().columns - 1
            shown = line[:room]
            self._write("\r" + shown.ljust(self._width) + ("\n" if final else ""))
            self._width = 0 if final else len(shown)
        elif final or self._clock() - self._last >= _SELDOM:
            self._last = self._clock()
            self._write(line + "\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _share(decision: Train) -> float:
    """Price of the next run over its gain: one where it is just worth it.  Nothing is known before the first."""
    if decision.stop_value is None or decision.expected_gain <= 0.0:
        return 0.0
    return min(max(decision.price_of_run / decision.expected_gain, 0.0), 1.0)


def _clock_time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"
