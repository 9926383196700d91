"""Tunes a program in a folder until another run is not worth its price; the same call resumes."""

from __future__ import annotations

import math
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial

from autobct.maps.container import write_file
from autobct.run.executors import Threads
from autobct.run.interrupts import Interrupts, interruptible
from autobct.run.job import RESULT, Ending, Job, OpenedFolder, opened
from autobct.run.journal import encoded, same
from autobct.run.journal_replay import run_of
from autobct.run.retries import Retries, hopeless
from autobct.run.trial import Allowance, TrialOutcome
from autobct.tuning.decide.under_way import Waiting, waiting_for
from autobct.tuning.history import Decision, Note, Stop, Train
from autobct.tuning.jobs import FIRST_ALONE, EndedRun, Executor, Here, places
from autobct.tuning.progress import Listeners
from autobct.tuning.result import count
from autobct.tuning.storage import OnCrash
from autobct.tuning.units.limits import Deadline, Left

FORGIVEN = ("failing", "same failure", "no score")
"""Reasons to stop that say that the params are not the cause."""


def tune_program(
    job: Job, heard: Listeners, *, fresh: bool = False, jobs: int = 1, on_crash: OnCrash = "rerun"
) -> Ending:
    """Tune, from the start or from where it was.

    heard:     hear of every decision and run from now on
    fresh:     begin again; the folder of the old tuning is moved aside
    jobs:      programs at the same time
    on_crash:  as of `Storage`
    """
    try:
        with opened(job, fresh=fresh, on_crash=on_crash) as folder, interruptible() as interrupts:
            return Session(job, folder, heard, interrupts, jobs).go_on()
    finally:
        heard.close()


class Session:
    """One stretch of a tuning, from its start or a restart to a stop or an interruption."""

    def __init__(self, job: Job, folder: OpenedFolder, heard: Listeners, interrupts: Interrupts, jobs: int = 1) -> None:
        self._job, self._heard, self._interrupts, self._jobs = job, heard, interrupts, jobs
        self._journal, self._tuner, self._wall = folder.journal, folder.again.tuner, folder.again.wall
        self._clock = folder.clock
        self._again = list(self._tuner.under_way)  # an earlier session began them, and they are to be made again
        self._made = {made.trial: made for made in folder.again.decisions if isinstance(made, Train)}
        self._running: dict[int, tuple[float, Train]] = {}
        self._executor: Executor[TrialOutcome] = Here() if jobs == 1 else Threads(jobs)
        self._trainer = job.trainer(interrupts, folder.lock)
        self._retries = Retries(job, interrupts, self._say)
        self._note, self._was_stopped = folder.again.note, folder.again.stopped
        told = job.settings.limits.deadline
        self._deadline = None if told is None else Deadline.of(told)

    def go_on(self) -> Ending:
        """Ask, run, tell, until it stops; what is running then is waited for and counted."""
        if self._tuner.history:
            self._say(f"Continuing after {count(len(self._tuner.history))}. {self._note}".rstrip())
        elif self._places < self._jobs:
            self._say(FIRST_ALONE)
        self._forgive()
        ended: Stop | None = None
        while not self._interrupts.count:
            stop = self._start() if ended is None else ended
            if stop is not None and not self._running:
                return self._end(stop)
            ended = self._take(self._executor.wait()) or ended
        while self._running:
            self._take(self._executor.wait())
        return Ending(self._tuner, self._decisions, None)

    @property
    def _decisions(self) -> tuple[Decision, ...]:
        """Before each run, and of those without an outcome."""
        told = [run.trial for run in self._tuner.history]
        return tuple(self._made[trial] for trial in (*told, *sorted(self._made.keys() - set(told))))

    def _start(self) -> Stop | None:
        """Start runs while there is room and they are worth it; otherwise why not, given those under way."""
        while len(self._running) < self._places and not self._interrupts.count:
            allowance = self._allowance()
            if self._again and min(allowance.seconds, allowance.cpu) <= 0.0:
                decision = self._tuner.peek(Left(0.0, allowance.seconds_reason))
            else:
                decision = self._next_again() if self._again else self._ask()
            if isinstance(decision, Stop):
                return decision
            self._submit(decision)
        return None

    def _next_again(self) -> Train:
        """A run that an earlier session began, and that is on record as under way from now on."""
        decision = self._again.pop(0)
        self._journal.add("again", trials=[decision.trial], at=_now())
        return decision

    @property
    def _places(self) -> int:
        return self._jobs if self._again else places(self._tuner, self._jobs)

    def _ask(self) -> Decision:
        """The next decision; a run that it asks for is on record before it starts."""
        left, waiting, started = self._left(), self._waiting(), time.perf_counter()
        decision = self._tuner.ask(left, waiting)
        if isinstance(decision, Stop):
            return decision
        charge = time.perf_counter() - started if self._timed else 0.0
        told_left = None if left is None else asdict(left)
        more = {} if waiting is None else {"waiting": asdict(waiting)}
        self._journal.add("asked", decision=encoded(decision), left=told_left, charge=charge, **more, at=_now())
        (self._job.folder / RESULT).unlink(missing_ok=True)  # that of an earlier stop is not the answer any more
        self._tuner.charge(charge, deciding=self._timed)
        self._made[decision.trial] = decision
        self._heard.tell(self._tuner, decision)
        return decision

    def _waiting(self) -> Waiting | None:
        return waiting_for(self._running.values(), time.perf_counter(), self._jobs, self._job.settings.price_of)

    def _forgive(self) -> None:
        """Failures that ended the tuning are not held against their params: whoever calls again has fixed the cause."""
        stopped = self._was_stopped
        if stopped is not None and stopped.reason in FORGIVEN and (runs := self._tuner.forgive()):
            self._journal.add("forgiven", runs=runs, at=_now())
            self._say(
                f"The last {count(runs)} failed and ended the tuning; they are not held against their parameters."
            )

    def _take(self, ended: EndedRun[TrialOutcome]) -> Stop | None:
        """What came of a run; why the tuning ends with it, if it does."""
        _, decision = self._running.pop(ended.number)
        self._clock.finish(decision.trial)
        if ended.outcome is None:
            raise ended.error or RuntimeError(f"run {ended.number + 1} ended without an outcome")
        outcome = self._retries.judged(decision, ended.outcome)
        if outcome.capped is not None:
            return self._cut_short(decision, outcome, outcome.capped)
        self._journal.add("told", trial=decision.trial, **asdict(outcome), at=_now())
        run = run_of(self._tuner, decision, outcome.score, outcome.cost, outcome.error)
        self._heard.news(self._tuner, self._tuner.tell(decision, run.score, run.cost, error=run.error))
        self._wall += outcome.wall
        for note in outcome.notes:
            self._say(f"Run {run.trial + 1}: {note}.")
        return hopeless(self._tuner, outcome)

    def _cut_short(self, decision: Train, outcome: TrialOutcome, capped: str) -> Stop | None:
        """A run that ended, not by its own fault: its cost is charged, and it is still to be made.

        One that was killed from outside is made again once.
        """
        again = self._retries.is_made_again(decision, outcome)
        more = {"again": True} if again else {}
        self._journal.add("charged", trial=decision.trial, cost=outcome.cost, why=outcome.error, **more, at=_now())
        self._tuner.charge(outcome.cost)
        if again:
            self._submit(decision)
            return None
        return self._retries.reason_to_stop(self._tuner, capped)

    def _submit(self, decision: Train) -> None:
        allowance, later = self._allowance(), partial(self._allowance, decision)
        self._running[decision.trial] = (time.perf_counter(), decision)
        self._clock.begin(decision.trial)
        self._executor.submit(decision.trial, partial(self._retries.made, self._trainer, decision, allowance, later))

    def _say(self, text: str) -> None:
        self._heard.tell(self._tuner, Note(len(self._tuner.history) - 1, "run", text))

    def _end(self, stop: Stop) -> Ending:
        before = self._was_stopped
        if before is None or not same(encoded(stop), encoded(before)):
            self._journal.add("stopped", decision=encoded(stop), at=_now())
        self._heard.tell(self._tuner, stop)
        ending = Ending(self._tuner, (*self._decisions, stop), stop)
        write_file(self._job.folder / RESULT, ending.summary)
        return ending

    @property
    def _timed(self) -> bool:
        return self._job.settings.measure == "wall"

    def _left(self) -> Left | None:
        """What the next run may cost until the deadline; a cost that is not time, at the pace of the runs so far."""
        if self._deadline is None:
            return None
        cost = math.fsum(run.cost for run in self._tuner.history)
        return self._deadline.allows(cost, self._wall, timed=self._timed)

    def _allowance(self, decision: Train | None = None) -> Allowance:
        """What the program may take while it runs, beside the others under way.  decision: its own, if it is one."""
        settings, others = self._job.settings, [train for _, train in list(self._running.values())]
        total = self._tuner.total_cost + math.fsum(train.expected_cost for train in others if train is not decision)
        return Allowance.within(settings, total, self._deadline, timed=self._timed)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
