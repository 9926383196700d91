"""Live progress in a terminal: a table that grows in place, or a single line like tqdm's."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from autobct.report.axis import number
from autobct.tuning.history import Run, Stop, Train, value_of_continuing
from autobct.tuning.progress import Event
from autobct.tuning.result import count
from autobct.tuning.tuner import Tuner
from autobct.tuning.visible import one_line

__all__ = ["LiveLine", "LiveTable", "live", "table_of"]

_MOST_COLUMNS = 4  # with more parameters they share one column
_FRAME = 6  # lines of a terminal that are not runs
_PARAM, _NUMBER, _GAP = 8, 7, 2  # letters of a param and of a number, and between two columns
_NUMBERS = 73  # letters of all columns but the params

_CELLS = 10
_SELDOM = 10.0  # seconds between two lines in a file, which cannot be rewritten


@dataclass(frozen=True, slots=True)
class LiveLine:
    """One run as the table shows it, in the user's units.

    total:     cost of all runs so far
    value:     of continuing after this run, once it is known
    decision:  what was decided after this run, once it is known
    """

    run: Run
    total: float
    value: float | None = None
    decision: str = ""


def live(stream: TextIO) -> LiveTable | None:
    """The table, if the stream is a terminal that can redraw it; None otherwise."""
    console = Console(file=stream, highlight=False)
    return LiveTable(console) if console.is_terminal and not console.is_dumb_terminal else None


class LiveTable:
    """A callback of `tune` and of `autobct run`: call it with every event, and close it at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: list[LiveLine] = []
        self._under_way: dict[int, Train] = {}
        self._live: Live | None = None
        self._names: tuple[str, ...] = ()

    def __call__(self, tuner: Tuner, event: Event) -> None:
        """Take in what has happened and redraw."""
        self._names = tuner.problem.space.names
        if isinstance(event, Run):
            self._under_way.pop(event.trial, None)
            self._lines.append(LiveLine(event, tuner.total_cost))
            if event.error is not None:
                self._say(f"Run {event.trial + 1} failed: {event.error}", "red")
        elif isinstance(event, Train | Stop):
            self._decided(event)
        else:
            self._say(event.text, "yellow")
        self._draw()
        if isinstance(event, Stop):
            self.close()
            self._say(event.why, "bold green")

    def close(self) -> None:
        """Leave the whole table on the screen; more than once does no harm."""
        if self._live is None:
            return
        self._under_way.clear()
        self._live.vertical_overflow = "visible"
        self._live.update(table_of(self._lines, self._names, [], self._width))
        self._live.stop()
        self._live = None

    def _decided(self, decision: Train | Stop) -> None:
        if self._lines and not self._lines[-1].decision:
            word = "stop" if isinstance(decision, Stop) else "continue"
            self._lines[-1] = replace(self._lines[-1], value=value_of_continuing(decision), decision=word)
        if isinstance(decision, Train):
            self._under_way[decision.trial] = decision

    def _draw(self) -> None:
        if self._live is None:
            self._live = Live(console=self._console, refresh_per_second=8)
            self._live.start()
        room = max(self._console.height - _FRAME - len(self._under_way), 3)
        shown = table_of(self._lines[-room:], self._names, list(self._under_way.values()), self._width)
        self._live.update(shown, refresh=True)

    @property
    def _width(self) -> int:
        """One less than there is: a full line would begin a new one on some terminals."""
        return self._console.width - 1

    def _say(self, sentence: str, style: str) -> None:
        self._console.print(Text(one_line(sentence, 1000)), style=style, soft_wrap=True)


def table_of(lines: list[LiveLine], names: tuple[str, ...], under_way: list[Train], width: int = 120) -> Table:
    """The runs so far, and below them those under way.  width: columns of the terminal."""
    room = width - _NUMBERS
    together = len(names) > _MOST_COLUMNS or sum(max(len(name), _PARAM) + _GAP for name in names) > room
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("run", justify="right", no_wrap=True, min_width=3)
    if together:
        table.add_column(
            Text(one_line(", ".join(names), 200)), no_wrap=True, overflow="ellipsis", max_width=max(room, _PARAM)
        )
    for name in () if together else names:
        title = Text(one_line(name, 24))
        table.add_column(title, justify="right", no_wrap=True, overflow="ellipsis", min_width=_PARAM)
    for name in ("score", "cost", "total", "estimated", "continuing"):
        table.add_column(name, justify="right", no_wrap=True, min_width=_NUMBER)
    table.add_column("decision", no_wrap=True, min_width=8)
    for line in lines:
        table.add_row(*_cells(line, names, together), style="red" if line.run.score is None else None)
    for train in under_way:
        waiting: list[RenderableType] = [Spinner("dots"), "", "", "", ""]
        params = _params(dict(train.params), names, together)
        table.add_row(str(train.trial + 1), *params, *waiting, "training", style="cyan")
    return table


def _cells(line: LiveLine, names: tuple[str, ...], together: bool) -> list[RenderableType]:
    run = line.run
    values = [run.score, run.cost, line.total, run.estimated_score, line.value]
    numbers = ["–" if value is None else number(value) for value in values]
    numbers[0] = "failed" if run.score is None else numbers[0]
    return [str(run.trial + 1), *_params(dict(run.params), names, together), *numbers, line.decision or "deciding"]


def _params(params: dict[str, object], names: tuple[str, ...], together: bool) -> list[Text]:
    if together:
        return [Text(one_line(", ".join(number(params.get(name, "")) for name in names), 200))]
    return [Text(one_line(number(params.get(name, "")), 24)) for name in names]


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
