"""How long the runs in a folder have taken so far, on disk: a process that is killed cannot say so any more."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path

from autobct.belief.arrays import finite_number
from autobct.maps.container import write_file
from autobct.maps.ordinary import read_json, read_ordinary

DIED = "the process died"
"""The error of a run that a crash has cut short, if it counts as failed."""

INTERVAL = 10.0
"""Seconds between two times, where no period of grace says otherwise."""

_NAME = "running.json"
_MOST_BYTES = 1 << 20


class RunClock:
    """Writes down from time to time, in a folder, how long the runs under way have taken.

    A time that is written down is that of a run under way: it is taken back when the run ends, or begins again.
    interval: seconds between two times
    """

    def __init__(self, folder: Path, interval: float) -> None:
        self._path, self._interval = folder / _NAME, interval
        self._before = _read(self._path)
        self._written = set(self._before)
        self._began: dict[int, float] = {}
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="autobct-clock", daemon=True)

    def begin(self, trial: int) -> None:
        """A run begins now, perhaps again."""
        with self._lock:
            if not self._thread.is_alive() and not self._end.is_set():
                self._thread.start()
            self._began[trial] = time.monotonic()
            self._take_back(trial)

    def finish(self, trial: int) -> None:
        """It has ended."""
        with self._lock:
            self._began.pop(trial, None)
            self._take_back(trial)

    def seconds(self, trial: int) -> float:
        """Of a run that an earlier process made, when it was last written down."""
        return self._before.get(str(trial), 0.0)

    def close(self) -> None:
        """Stop."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(self._interval):
            with self._lock:
                self._write()

    def _take_back(self, trial: int) -> None:
        if str(trial) in self._written:
            self._write()

    def _write(self) -> None:
        now = time.monotonic()
        taken = {str(trial): now - began for trial, began in self._began.items()}
        with contextlib.suppress(OSError):  # a full disk: the journal will say so
            write_file(self._path, json.dumps(taken).encode())
            self._written = set(taken)


def _read(path: Path) -> dict[str, float]:
    """Run -> seconds; none if the file is none of ours, which costs no more than the times in it."""
    try:
        found = read_json(read_ordinary(path, _MOST_BYTES).decode("utf-8"))
        return {str(run): finite_number(seconds, "seconds", least=0.0) for run, seconds in found.items()}
    except (ValueError, TypeError, AttributeError):  # FileError is a ValueError
        return {}
