"""Tune a program in a folder until more is not worth its price; the same call again continues."""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from autobct.maps.store import write_file
from autobct.run.codec import encoded, same
from autobct.run.interrupts import Interrupts, interruptible
from autobct.run.job import Job
from autobct.run.journal_replay import run_of
from autobct.run.opening import OpenedFolder, opened
from autobct.run.process import INTERRUPTED, LOST, NOT_STARTED, TWICE, Waiting
from autobct.run.trial import Allowance, TrialOutcome
from autobct.tuning.decide.decision import Decision, Stop, Train
from autobct.tuning.decide.standing import incumbent_score
from autobct.tuning.history import Note
from autobct.tuning.progress import Listeners
from autobct.tuning.result import count
from autobct.tuning.settings import versions
from autobct.tuning.training import the_same_again
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline, Left

_RESULT = "result.json"
CAPS = ("max_runs", "max_cost", "deadline")

FORGIVEN = ("failing", "same failure", "no score")
"""Reasons to stop that say that the params are not the cause."""

HANGING = 600.0
"""Seconds after which a run without a timeout is said to take long, and again after twice as many."""

WAIT = 60.0
"""Seconds in which a program that cannot be started may come back."""

_RETRY = 1.0  # seconds between two tries to start it


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a tuning ended, for now.  stop: None if it was interrupted."""

    tuner: Tuner
    decisions: tuple[Decision, ...]
    stop: Stop | None

    @property
    def code(self) -> int:
        """The exit code: 0 not worth it, 1 gave up or could not start, 3 no run finished, 4 a cap, 130 interrupted."""
        if self.stop is None:
            return 130
        if self.tuner.best is None:
            return 3
        if self.stop.reason in CAPS:
            return 4
        return 1 if self.stop.reason in ("failing", NOT_STARTED) else 0


def tune_program(job: Job, heard: Listeners, *, fresh: bool = False) -> Ending:
    """Tune, from the start or from where it was.

    heard:  hear of every decision and run from now on
    fresh:  begin again; the folder of the old tuning is moved aside
    """
    try:
        with opened(job, fresh=fresh) as folder, interruptible() as interrupts:
            return Session(job, folder, heard, interrupts).go_on()
    finally:
        heard.close()


class Session:
    """One stretch of a tuning, from its start or a restart to a stop or an interruption."""

    def __init__(self, job: Job, folder: OpenedFolder, heard: Listeners, interrupts: Interrupts) -> None:
        self._job, self._heard, self._interrupts = job, heard, interrupts
        self._journal, self._tuner, self._wall = folder.journal, folder.again.tuner, folder.again.wall
        self._was_stopped = folder.again.stopped
        self._decisions: list[Decision] = list(folder.again.decisions[: len(self._tuner.history)])
        self._trainer = job.trainer(interrupts, folder.lock, Waiting(self._say_waiting, HANGING))
        self._note, self._lost = folder.again.note, set[int]()
        told = job.settings.limits.deadline
        self._deadline = None if told is None else Deadline.of(told)

    def go_on(self) -> Ending:
        """Ask, run, tell, until it stops."""
        if self._tuner.history:
            self._say(f"Continuing after {count(len(self._tuner.history))}. {self._note}".rstrip())
        self._forgive()
        while not self._interrupts.count:
            decision = self._ask()
            if isinstance(decision, Stop):
                return self._end(decision)
            outcome = self._run(decision)
            if outcome.capped == INTERRUPTED or (outcome.capped == NOT_STARTED and self._interrupts.count):
                break
            if outcome.capped == NOT_STARTED:
                return self._end(Stop(NOT_STARTED, len(self._tuner.history), incumbent_score(self._tuner.memory)))
            if outcome.capped is not None:
                stop = self._tuner.ask(Left(0.0, outcome.capped))
                assert isinstance(stop, Stop)
                return self._end(stop)
            if (hopeless := self._hopeless(outcome)) is not None:
                return self._end(hopeless)
        return Ending(self._tuner, tuple(self._decisions), None)

    def _ask(self) -> Decision:
        """The next decision; a run that it asks for is on record before it starts."""
        left, started = self._left(), time.perf_counter()
        decision = self._tuner.ask(left)
        if isinstance(decision, Stop):
            return decision
        charge = time.perf_counter() - started if self._timed else 0.0
        told_left = None if left is None else asdict(left)
        self._journal.add("asked", decision=encoded(decision), left=told_left, charge=charge, at=_now())
        (self._job.folder / _RESULT).unlink(missing_ok=True)  # that of an earlier stop is not the answer any more
        self._tuner.charge(charge, deciding=self._timed)
        self._decisions.append(decision)
        self._heard.tell(self._tuner, decision)
        return decision

    def _forgive(self) -> None:
        """Failures that ended the tuning are not held against their params: who calls again has mended the cause."""
        stopped = self._was_stopped
        if stopped is not None and stopped.reason in FORGIVEN and (runs := self._tuner.forgive()):
            self._journal.add("forgiven", runs=runs, at=_now())
            self._say(
                f"The last {count(runs)} failed and ended the tuning; they are not held against their parameters."
            )

    def _run(self, decision: Train) -> TrialOutcome:
        """One run, told; but if it was capped, not by its own fault, its cost is charged and it is still to be made."""
        outcome = self._trained(decision)
        if outcome.capped is not None:
            self._charge(decision, outcome)
            return outcome
        self._journal.add("told", trial=decision.trial, **asdict(outcome), at=_now())
        run = run_of(self._tuner, decision, outcome.score, outcome.cost, outcome.error)
        self._heard.news(self._tuner, self._tuner.tell(decision, run.score, run.cost, error=run.error))
        self._wall += outcome.wall
        for note in outcome.notes:
            self._say(f"Run {run.trial + 1}: {note}.")
        return outcome

    def _trained(self, decision: Train) -> TrialOutcome:
        """The outcome; one that was killed from outside is made again once, one that cannot start is waited for."""
        outcome, number = self._trainer.train(decision, self._allowance()), decision.trial + 1
        if outcome.capped == NOT_STARTED and WAIT > 0.0:
            self._say(f"Run {number} could not be started: {outcome.error}. Trying again for {WAIT:g} s.")
            until = time.monotonic() + WAIT
            while outcome.capped == NOT_STARTED and time.monotonic() < until and not self._interrupts.count:
                time.sleep(min(_RETRY, WAIT))
                outcome = self._trainer.train(decision, self._allowance())
        if outcome.capped == LOST and decision.trial not in self._lost:
            self._lost.add(decision.trial)
            self._charge(decision, outcome)
            self._say(f"Run {number} was {outcome.error}, not by its own doing as far as we know: it is made again.")
            return self._trained(decision)
        if outcome.capped == LOST:
            error = f"{TWICE}: {outcome.error}"
            return replace(outcome, error=error, capped=None)
        return outcome

    def _charge(self, decision: Train, outcome: TrialOutcome) -> None:
        self._journal.add("charged", trial=decision.trial, cost=outcome.cost, why=outcome.error, at=_now())
        self._tuner.charge(outcome.cost)

    def _say(self, text: str) -> None:
        self._heard.tell(self._tuner, Note(len(self._tuner.history) - 1, "run", text))

    def _say_waiting(self, seconds: float) -> None:
        """A program may hang, and without a limit nobody would ever know."""
        if self._job.settings.limits.timeout is None:
            self._say(
                f"Run {len(self._tuner.history) + 1} has been running for {seconds:.0f} s, and no timeout is set. "
                f'If it hangs, press Ctrl-C, write timeout = "1h" under [limits] in {self._job.path}, and run the same '
                f"command."
            )

    def _hopeless(self, outcome: TrialOutcome) -> Stop | None:
        """The end of a tuning whose program fails for every params, as far as anybody can tell."""
        history = self._tuner.history
        if any(run.error is None for run in history):
            return None
        if outcome.fault == "output":
            return Stop("no score", len(history), None)
        return Stop("same failure", len(history), None) if outcome.fault and the_same_again(history) else None

    def _end(self, stop: Stop) -> Ending:
        before = self._was_stopped
        if before is None or not same(encoded(stop), encoded(before)):
            self._journal.add("stopped", decision=encoded(stop), at=_now())
        self._decisions.append(stop)
        self._heard.tell(self._tuner, stop)
        ending = Ending(self._tuner, tuple(self._decisions), stop)
        write_file(self._job.folder / _RESULT, _summary(ending))
        return ending

    @property
    def _timed(self) -> bool:
        return self._job.settings.measure == "wall"

    def _left(self) -> Left | None:
        """What the next run may cost until the deadline; a cost that is not time, at the pace of the runs so far."""
        if self._deadline is None:
            return None
        seconds, cost = self._deadline.left(), math.fsum(run.cost for run in self._tuner.history)
        if self._timed or seconds <= 0.0:
            return Left(seconds, "deadline")
        return Left(seconds * cost / self._wall, "deadline") if cost > 0.0 and self._wall > 0.0 else None

    def _allowance(self) -> Allowance:
        """What the program may take while it runs."""
        settings, total = self._job.settings, self._tuner.total_cost
        most = math.inf if settings.limits.max_cost is None else max(settings.limits.max_cost - total, 0.0)
        until = math.inf if self._deadline is None else max(self._deadline.left(), 0.0)
        wall = most if self._timed else math.inf
        return Allowance(
            seconds=min(wall, until),
            cpu=most if settings.measure == "cpu" else math.inf,
            seconds_reason="max_cost" if wall <= until else "deadline",
        )


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
