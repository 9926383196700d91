"""`tune` in a folder: the journal of `stored`, and how a run that a crash interrupted is handled."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from autobct.run.ask_tell import StoredTuner, stored
from autobct.run.journal import NAME, JournalError, decision_of, read_journal
from autobct.run.run_clock import DIED, RunClock
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.history import Decision, Run, Train
from autobct.tuning.space.space import Space
from autobct.tuning.storage import Storage, StorageError
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

_PER_GRACE = 6  # times that it is written down how long runs have taken


class InFolder:
    """A tuner whose runs are in a folder, for `tune`."""

    waited = 0.0

    def __init__(self, kept: StoredTuner, folder: Path, grace: float) -> None:
        self._kept, self._folder = kept, folder
        self._clock = RunClock(folder, grace / _PER_GRACE)
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
        with self._one_sentence():
            decision = self._kept.ask(left, waiting)
        if isinstance(decision, Train):
            self._made[decision.trial] = decision
            self._clock.begin(decision.trial)
        return decision

    def fail_interrupted(self) -> None:
        """Count the runs that a crash has cut short as failed, at the cost they had when last heard of."""
        timed = bool(self.tuner.memory.problem.price.unit)
        for _ in self.tuner.under_way:
            with self._one_sentence():
                train = self._kept.ask()  # these come first
                assert isinstance(train, Train)
                cost = self._clock.seconds(train.trial) if timed else train.expected_cost
                self._kept.tell(train, error=DIED, cost=cost)

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `StoredTuner.tell`."""
        number = trial.trial if isinstance(trial, Train) else trial
        outcome = f"score {score}" if error is None else f"error {error!r}"
        with self._one_sentence(f"; run {number + 1} ({outcome}, cost {cost}) is not stored"):
            run = self._kept.tell(trial, score, cost, error=error)
        self._clock.finish(run.trial)
        return run

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `StoredTuner.charge`."""
        with self._one_sentence():
            self._kept.charge(cost, deciding=deciding)

    def close(self) -> None:
        """Stop the clock."""
        self._clock.close()

    @contextlib.contextmanager
    def _one_sentence(self, lost: str = "") -> Iterator[None]:
        """StorageError if the journal cannot be written.  lost: what is not in it then"""
        from autobct.run.lock import LockedError

        try:
            yield
        except (JournalError, LockedError) as error:
            raise StorageError(str(error)) from None
        except OSError as error:
            where = f"the folder {str(self._folder)!r} cannot be written"
            raise StorageError(f"{where}: {error.strerror}{lost}; the same call continues") from None


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
