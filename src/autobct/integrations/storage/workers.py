"""Workers of a shared tuning: one process on one machine each, whether it is alive, and its heartbeats.

A thread says that this worker's runs are going on, and notes who has fallen silent.  Optuna's own heartbeat covers
`optimize` only, and compares times of the database's clock, which may be set.  Here a sign is a count that changes, and
silence is measured by the observer's own steady clock, as far as it was awake and the database answered.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial

from autobct.integrations.storage.claims import BEAT
from autobct.integrations.storage.patience import TROUBLE

PER_GRACE = 6
"""Heartbeats in one grace period."""


class Heart:
    """Beats for this worker's runs and listens to the others.

    interval: seconds between two beats;  running: the trials of the study that are running
    """

    def __init__(self, storage: BaseStorage, interval: float, running: Callable[[], Sequence[FrozenTrial]]) -> None:
        self._storage, self._interval, self._running = storage, interval, running
        self._mine: dict[int, tuple[float, int]] = {}  # trial id -> when it began, beats so far
        self._silent: dict[int, tuple[int, float]] = {}  # trial id -> its last beat, seconds since
        self._looked = time.monotonic()
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._beat, name="autobct-heart", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def begin(self, trial_id: int) -> None:
        """Beat for a run from now on."""
        with self._lock:
            self._mine[trial_id] = (time.monotonic(), 0)

    def finish(self, trial_id: int) -> None:
        """Beat for it no more."""
        with self._lock:
            self._mine.pop(trial_id, None)

    def silence(self, trial_id: int) -> float:
        """Seconds for which a running trial is known to have given no sign of life."""
        with self._lock:
            return self._silent.get(trial_id, (0, 0.0))[1]

    def look(self, trials: Sequence[FrozenTrial]) -> None:
        """Note the last beats.  After a gap, e.g. while this process slept, at most two intervals count as silence."""
        with self._lock:
            now = time.monotonic()
            passed, self._looked = min(now - self._looked, 2.0 * self._interval), now
            before, self._silent = self._silent, {}
            for trial in trials:
                beat = int(trial.system_attrs.get(BEAT, {}).get("count", 0))
                known, since = before.get(trial._trial_id, (-1, 0.0))
                self._silent[trial._trial_id] = (beat, since + passed if known == beat else 0.0)

    def _beat(self) -> None:
        while not self._end.wait(self._interval):
            try:
                self._say()
                self.look(self._running())
            except TROUBLE:  # away; the next beat tries again
                continue
            finally:
                getattr(self._storage, "remove_session", lambda: None)()

    def _say(self) -> None:
        with self._lock:
            mine = dict(self._mine)
        for trial_id, (began, count) in mine.items():
            try:
                sign = {"count": count + 1, "seconds": time.monotonic() - began}
                self._storage.set_trial_system_attr(trial_id, BEAT, sign)
            except UpdateFinishedTrialError:  # given to another; its result will be refused
                self.finish(trial_id)
                continue
            with self._lock:
                if trial_id in self._mine:
                    self._mine[trial_id] = (began, count + 1)


def identity() -> dict[str, Any]:
    """This process as plain data: the same for no other, on this machine or elsewhere."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "place": _place(), "born": _born(os.getpid())}


def is_gone(worker: Mapping[str, Any]) -> bool:
    """Whether a process has certainly ended; False for one on another machine, of which nothing is known."""
    place, born = worker.get("place"), worker.get("born")
    if place is None or born is None or place != _place():
        return False
    return _born(int(worker["pid"])) != born


def _place() -> str | None:
    """Where process numbers mean the same: this boot of this machine, and this container on it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return None


def _born(pid: int) -> str | None:
    """When a process was started, in ticks since boot; None if there is none, or only what is left of one."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]
