"""`tune` in a folder: the journal of `stored`, and how a run that a crash interrupted is handled."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autobct.maps.container import write_file
from autobct.run.ask_tell import StoredTuner, stored
from autobct.run.journal import NAME, JournalError, decision_of, read_journal
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.history import Decision, Run, Train
from autobct.tuning.space.space import Space
from autobct.tuning.storage import Storage, StorageError
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

_CLOCK = "running.json"
_PER_GRACE = 6


class InFolder:
    """A tuner whose runs are in a folder, for `tune`."""

    waited = 0.0

    def __init__(self, kept: StoredTuner, folder: Path, grace: float) -> None:
        self._kept = kept
        self._clock = _RunClock(folder / _CLOCK, grace / _PER_GRACE)
        self._made = _earlier(folder / NAME, kept.tuner.memory.problem.space)

    @property
    def tuner(self) -> Tuner:
        """The tuner itself."""
        return self._kept.tuner

    @property
    def decisions(self) -> tuple[Train, ...]:
        """The decisions behind all runs."""
        return tuple(self._made[run.trial] for run in self.tuner.history)

    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """As `StoredTuner.ask`; a run that a crash has cut short comes first, or counts as failed."""
        decision = self._kept.ask(left, waiting)
        if isinstance(decision, Train):
            self._made[decision.trial] = decision
            self._clock.begin(decision.trial)
        return decision

    def fail_interrupted(self) -> None:
        """Count the runs that a crash has cut short as failed, at the cost they had when last heard of."""
        timed = bool(self.tuner.memory.problem.price.unit)
        for _ in self.tuner.under_way:
            train = self._kept.ask()  # these come first
            assert isinstance(train, Train)
            cost = self._clock.seconds(train.trial) if timed else train.expected_cost
            self._kept.tell(train, error="the process died", cost=cost)

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `StoredTuner.tell`."""
        try:
            run = self._kept.tell(trial, score, cost, error=error)
        except JournalError as damaged:
            raise StorageError(str(damaged)) from None
        self._clock.finish(run.trial)
        return run

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `StoredTuner.charge`."""
        self._kept.charge(cost, deciding=deciding)

    def close(self) -> None:
        """Stop the clock."""
        self._clock.close()


class _RunClock:
    """Writes down from time to time how long the runs have taken; a process that is killed cannot say so any more."""

    def __init__(self, path: Path, interval: float) -> None:
        self._path, self._interval = path, interval
        self._before = _read(path)
        self._began: dict[int, float] = {}
        self._lock, self._end = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._write, name="autobct-clock", daemon=True)
        self._thread.start()

    def begin(self, trial: int) -> None:
        with self._lock:
            self._began[trial] = time.monotonic()

    def finish(self, trial: int) -> None:
        with self._lock:
            self._began.pop(trial, None)

    def seconds(self, trial: int) -> float:
        """Of a run that an earlier process made."""
        return float(self._before.get(str(trial), 0.0))

    def close(self) -> None:
        self._end.set()
        self._thread.join()

    def _write(self) -> None:
        while not self._end.wait(self._interval):
            with self._lock:
                now = time.monotonic()
                taken = {str(trial): now - began for trial, began in self._began.items()}
            with contextlib.suppress(OSError):  # a full disk: the journal will say so
                write_file(self._path, json.dumps(taken).encode())


@contextlib.contextmanager
def in_folder(tuner: Tuner, storage: Storage) -> Iterator[InFolder]:
    """Keep a new tuner in a folder, or continue the tuning that is there; StorageError if that cannot be."""
    from autobct.run.lock import LockedError

    folder = Path(os.fspath(storage.address))
    with contextlib.ExitStack() as held:
        try:
            kept = held.enter_context(stored(tuner, folder))
        except (JournalError, LockedError) as error:
            raise StorageError(str(error)) from None
        except OSError as error:
            raise StorageError(f"the folder {str(folder)!r} cannot be used: {error.strerror}") from None
        found = held.enter_context(contextlib.closing(InFolder(kept, folder, storage.grace)))
        if storage.on_crash == "fail":
            found.fail_interrupted()
        yield found


def _earlier(journal: Path, space: Space) -> dict[int, Train]:
    """The decisions of earlier processes, by run."""
    asked = [record["decision"] for record in read_journal(journal) if record["kind"] == "asked"]
    made = [decision_of(decision, space) for decision in asked]
    return {train.trial: train for train in made if isinstance(train, Train)}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
