"""Tune a program in a folder until more is not worth its price; the same again goes on where it was."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from autobct.maps.store import write_file
from autobct.run.codec import encoded, same
from autobct.run.interrupts import Interrupts, interruptible
from autobct.run.job import Job
from autobct.run.opening import Opened, opened
from autobct.run.process import INTERRUPTED
from autobct.run.replay import tell, versions
from autobct.run.trial import Allowance, Outcome
from autobct.tuning.decision import Decision, Stop, Train
from autobct.tuning.limits import Deadline, Left
from autobct.tuning.tuner import Run, Tuner

Listener = Callable[[Tuner, Any], None]
"""Hears of every decision and run: (tuner, event)."""

CAPS = ("max_runs", "max_cost", "deadline")


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a tuning ended, for now.  stop: None if it was interrupted."""

    tuner: Tuner
    decisions: tuple[Decision, ...]
    stop: Stop | None

    @property
    def code(self) -> int:
        """The exit code: 0 not worth it, 1 gave up on failures, 3 no run finished, 4 a cap, 130 interrupted."""
        if self.stop is None:
            return 130
        if self.tuner.best is None:
            return 3
        if self.stop.reason in CAPS:
            return 4
        return 1 if self.stop.reason == "failing" else 0


def tune_program(job: Job, listeners: Sequence[Listener] = (), *, fresh: bool = False) -> Ending:
    """Tune, from the start or from where it was.

    listeners:  hear of every decision and of every run, also of those that were made before, in order
    fresh:      begin again; the folder of the old tuning is moved aside
    """
    with interruptible() as interrupts, opened(job, fresh=fresh) as folder:
        return Session(job, folder, listeners, interrupts).go_on()


class Session:
    """One stretch of a tuning, from its start or a restart to a stop or an interruption."""

    def __init__(self, job: Job, folder: Opened, listeners: Sequence[Listener], interrupts: Interrupts) -> None:
        self._job, self._listeners, self._interrupts = job, listeners, interrupts
        self._journal, self._again = folder.journal, folder.again
        self._tuner = folder.again.tuner
        self._decisions: list[Decision] = list(folder.again.decisions[: len(self._tuner.history)])
        self._trainer = job.trainer(interrupts, folder.lock)
        told = job.settings.limits.deadline
        self._deadline = None if told is None else Deadline.of(told)

    def go_on(self) -> Ending:
        """Ask, run, tell, until it stops."""
        while not self._interrupts.count:
            decision = self._ask()
            if isinstance(decision, Stop):
                return self._end(decision)
            capped = self._run(decision)
            if capped == INTERRUPTED:
                break
            if capped is not None:
                stop = self._tuner.ask(Left(0.0, capped))
                assert isinstance(stop, Stop)
                return self._end(stop)
        return Ending(self._tuner, tuple(self._decisions), None)

    def _ask(self) -> Decision:
        left, started = self._left(), time.perf_counter()
        decision = self._tuner.ask(left)
        charge = time.perf_counter() - started if self._job.settings.measure == "wall" else 0.0
        if isinstance(decision, Stop):
            return decision
        self._journal.add("asked", decision=encoded(decision), left=_plain(left), charge=charge, at=_now())
        self._tuner.charge(charge)
        self._decisions.append(decision)
        self._tell_listeners(decision)
        return decision

    def _run(self, decision: Train) -> str | None:
        """One run, told.  Or what ended it, not by its own fault: then its cost is charged, and it is still to be made."""
        outcome = self._trainer.train(decision, self._allowance())
        if outcome.capped is not None:
            self._journal.add("charged", trial=decision.trial, cost=outcome.cost, why=outcome.error, at=_now())
            self._tuner.charge(outcome.cost)
            return outcome.capped
        self._journal.add(
            "told",
            trial=decision.trial,
            score=outcome.score,
            cost=outcome.cost,
            error=outcome.error,
            notes=list(outcome.notes),
            at=_now(),
        )
        run = tell(self._tuner, decision, outcome.score, outcome.cost, outcome.error)
        self._tell_listeners(run, outcome)
        return None

    def _end(self, stop: Stop) -> Ending:
        before = self._again.stopped
        if before is None or not same(encoded(stop), encoded(before)):
            self._journal.add("stopped", decision=encoded(stop), at=_now())
        self._decisions.append(stop)
        self._tell_listeners(stop)
        ending = Ending(self._tuner, tuple(self._decisions), stop)
        write_file(self._job.folder / "result.json", _summary(ending))
        return ending

    def _left(self) -> Left | None:
        """The most that the next run may cost, by the cap that leaves least."""
        limits, found = self._job.settings.limits, []
        if limits.max_cost is not None:
            found.append(Left(max(limits.max_cost - self._tuner.total_cost, 0.0), "max_cost"))
        if self._deadline is not None:
            seconds = max(self._deadline.left(), 0.0)
            if self._job.settings.measure == "wall" or seconds == 0.0:
                found.append(Left(seconds, "deadline"))
        return min(found, key=lambda left: left.amount, default=None)

    def _allowance(self) -> Allowance:
        """The same for the program while it runs."""
        settings = self._job.settings
        most = math.inf if settings.limits.max_cost is None else settings.limits.max_cost - self._tuner.total_cost
        until = math.inf if self._deadline is None else self._deadline.left()
        wall = most if settings.measure == "wall" else math.inf
        return Allowance(
            seconds=max(min(wall, until), 0.0),
            cpu=max(most, 0.0) if settings.measure == "cpu" else math.inf,
            seconds_reason="max_cost" if wall <= until else "deadline",
        )

    def _tell_listeners(self, event: Train | Stop | Run, outcome: Outcome | None = None) -> None:
        for listener in self._listeners:
            listener(self._tuner, event)
        for note in () if outcome is None else outcome.notes:
            for listener in self._listeners:
                listener(self._tuner, note)


def _summary(ending: Ending) -> bytes:
    """result.json: what a script wants to know."""
    best, stop = ending.tuner.best, ending.stop
    summary = {
        "params": None if best is None else dict(best.params),
        "score": None if best is None else best.score,
        "run": None if best is None else best.trial + 1,
        "runs": len(ending.tuner.history),
        "cost": math.fsum(run.cost for run in ending.tuner.history),
        "total_cost": ending.tuner.total_cost,
        "reason": None if stop is None else stop.reason,
        "why": None if stop is None else stop.why,
        "exit_code": ending.code,
        "versions": versions(),
    }
    return (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()


def _plain(left: Left | None) -> dict[str, Any] | None:
    return None if left is None else asdict(left)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
