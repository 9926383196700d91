"""What decides and remembers: a tuner alone, or one that also writes everything down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from autobct.tuning.decide.decision import Decision, Train
from autobct.tuning.decide.waiting import Waiting
from autobct.tuning.history import Run
from autobct.tuning.storage import storage_of
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left
from autobct.tuning.windows import window


class Asked(Protocol):
    """Ask and tell as `Tuner` does it, wherever the runs are kept."""

    @property
    def tuner(self) -> Tuner:
        """The tuner itself, with all runs so far."""

    @property
    def decisions(self) -> tuple[Train, ...]:
        """The decisions behind these runs, in the same order, as far as they are known."""

    @property
    def waited(self) -> float:
        """Seconds spent on waiting for other processes."""

    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """As `Tuner.ask`."""

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `Tuner.tell`; LateError if another has taken over the run."""

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `Tuner.charge`."""


@dataclass(slots=True)
class Alone:
    """A tuner that writes nothing down.  made: number of a run -> the decision for it."""

    tuner: Tuner
    waited: float = 0.0
    made: dict[int, Train] = field(default_factory=dict)

    @property
    def decisions(self) -> tuple[Train, ...]:
        """The decisions behind all runs that were asked for here."""
        return tuple(self.made[run.trial] for run in self.tuner.history if run.trial in self.made)

    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """As `Tuner.ask`."""
        decision = self.tuner.ask(left, waiting)
        if isinstance(decision, Train):
            self.made[decision.trial] = decision
        return decision

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `Tuner.tell`."""
        return self.tuner.tell(trial, score, cost, error=error)

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `Tuner.charge`."""
        self.tuner.charge(cost, deciding=deciding)


@contextlib.contextmanager
def asked_of(tuner: Tuner, storage: object) -> Iterator[Asked]:
    """Ask this tuner, new, or the tuning that it continues in a storage.  storage: None to keep nothing."""
    if storage is None:
        yield Alone(tuner)
        return
    where = storage_of(storage)
    with window("database" if where.is_database else "folder")(tuner, where) as kept:
        yield kept
