"""`autobct run --storage`: tune a program together with any number of other processes."""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import replace
from functools import partial
from typing import Any

import optuna

from autobct.integrations.storage.shared import Interrupted, SharedTuner, shared
from autobct.maps.container import write_file
from autobct.run.executors import Threads
from autobct.run.interrupts import Interrupts, interruptible
from autobct.run.job import RESULT, Ending, Job
from autobct.run.journal_replay import run_of, tuner_of
from autobct.run.process import GRACE
from autobct.run.processes import end_all, marked
from autobct.run.retries import Retries, hopeless
from autobct.run.trial import Allowance, TrialOutcome
from autobct.tuning.decide.position import is_failing
from autobct.tuning.decide.under_way import Waiting, waiting_for
from autobct.tuning.history import Note, Stop, Train
from autobct.tuning.jobs import EndedRun, Executor, Here, places
from autobct.tuning.progress import Listeners
from autobct.tuning.result import count
from autobct.tuning.storage import LateError, Storage
from autobct.tuning.training import the_same_again
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline, Left


def tune_program_together(job: Job, storage: Storage, heard: Listeners, *, jobs: int = 1) -> Ending:
    """Work on the tuning of a program in a database until all workers stop, or this one is interrupted.

    jobs: programs at the same time, of this worker
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # this process is ours
    start = tuner_of(job.settings)
    try:
        with interruptible() as interrupts:
            together = shared(
                start,
                storage,
                settings=defining(job),
                hurried=lambda: interrupts.count > 0,
                gave_up=_gave_up,
                end_orphans=lambda token: end_all(lambda: marked(f"{token}:"), GRACE),
                say=lambda note: None,  # said with all other news
                waiting=lambda text: heard.tell(start, Note(-1, "run", text)),
            )
            with together as worker:
                return _Worker(job, worker, heard, interrupts, jobs).go_on()
    finally:
        heard.close()


def defining(job: Job) -> dict[str, Any]:
    """What makes it this problem and no other; what [env] sets may be secret, so that a fingerprint has to do."""
    told = job.settings.defining
    return {key: _fingerprint(value) if key.startswith("env.") else value for key, value in told.items()}


def _gave_up(tuner: Tuner) -> bool:
    """Whether an earlier call ended as its program failed for every params, as far as anybody could tell."""
    return is_failing(tuner.memory) or the_same_again(tuner.memory.counted)


def _fingerprint(value: Any) -> str:
    return hashlib.sha256(str(value).encode()).hexdigest()[:16]


class _Worker:
    """One process of several, with as many programs at the same time as it has jobs."""

    def __init__(self, job: Job, worker: SharedTuner, heard: Listeners, interrupts: Interrupts, jobs: int = 1) -> None:
        self._job, self._worker, self._heard, self._interrupts, self._jobs = job, worker, heard, interrupts, jobs
        self._running: dict[int, tuple[float, Train]] = {}
        self._retries = Retries(job, interrupts, self._note)
        self._executor: Executor[TrialOutcome] = Here() if jobs == 1 else Threads(jobs)
        told = job.settings.limits.deadline
        self._deadline = None if told is None else Deadline.of(told)
        self._wall = self._cost = 0.0

    def go_on(self) -> Ending:
        """Ask, run, tell, until all stop; what is running here then is waited for and counted."""
        if made := len(self._worker.tuner.history):
            self._note(" ".join([f"Continuing after {count(made)}.", *self._worker.notes]))
        ended: Stop | None = None
        try:
            while not self._interrupts.count:
                stop = self._start() if ended is None else ended
                if stop is not None and not self._running:
                    return self._ended(stop)
                if self._running:
                    ended = self._take(self._executor.wait()) or ended
        except Interrupted:
            pass
        while self._running:
            self._take(self._executor.wait())
        return Ending(self._worker.tuner, self._worker.decisions, None)

    def _start(self) -> Stop | None:
        """Start programs while there is room and they are worth it; otherwise why not, given those under way."""
        while len(self._running) < self._places and not self._interrupts.count:
            decision = self._ask()
            if isinstance(decision, Stop):
                return decision
            self._submit(decision)
        return None

    def _submit(self, decision: Train) -> None:
        attempt = self._worker.attempt(decision)
        job = self._job if attempt == 0 else replace(self._job, folder=self._job.folder / f"again-{attempt}")
        trainer = job.trainer(self._interrupts, mark=self._worker.token(decision))
        allowance, later = self._allowance(), partial(self._allowance, decision)
        self._running[decision.trial] = time.perf_counter(), decision
        self._executor.submit(decision.trial, partial(self._retries.made, trainer, decision, allowance, later))

    @property
    def _places(self) -> int:
        """Programs that may run here now."""
        return places(self._worker.tuner, self._jobs)

    def _waiting(self) -> Waiting | None:
        return waiting_for(self._running.values(), time.perf_counter(), self._jobs, self._job.settings.price_of)

    def _ask(self) -> Train | Stop:
        started, waited = time.perf_counter(), self._worker.waited
        decision = self._worker.ask(self._left(), self._waiting())
        if isinstance(decision, Train):
            (self._job.folder / RESULT).unlink(missing_ok=True)  # that of an earlier stop is not the answer any more
            if self._timed:
                self._worker.charge(time.perf_counter() - started - (self._worker.waited - waited), deciding=True)
            self._heard.tell(self._worker.tuner, decision)
        return decision

    def _take(self, ended: EndedRun[TrialOutcome]) -> Stop | None:
        """What came of a run; why the tuning ends with it, if it does."""
        _, decision = self._running.pop(ended.number)
        if ended.outcome is None:
            raise ended.error or RuntimeError(f"run {ended.number + 1} ended without an outcome")
        outcome = self._retries.judged(decision, ended.outcome)
        try:
            if outcome.capped is not None:
                return self._cut_short(decision, outcome, outcome.capped)
            self._tell(decision, outcome)
        except LateError as late:
            self._note(str(late))
            return None
        return hopeless(self._worker.tuner, outcome)

    def _cut_short(self, decision: Train, outcome: TrialOutcome, capped: str) -> Stop | None:
        """A run that ended, not by its own fault: killed from outside it is made again here, once; else it is released.

        Another worker, or the next call, makes a run that was released.
        """
        if not self._interrupts.count and self._retries.is_made_again(decision, outcome):
            self._worker.lose(decision.trial, outcome.cost)
            self._submit(decision)
            return None
        self._worker.release(decision.trial, outcome.cost)
        return None if self._interrupts.count else self._retries.reason_to_stop(self._worker.tuner, capped)

    def _tell(self, decision: Train, outcome: TrialOutcome) -> None:
        self._wall, self._cost = self._wall + outcome.wall, self._cost + outcome.cost
        run = run_of(self._worker.tuner, decision, outcome.score, outcome.cost, outcome.error)
        told = self._worker.tell(decision, run.score, run.cost, error=run.error)  # the tuner is another one after it
        self._heard.news(self._worker.tuner, told)
        for note in outcome.notes:
            self._note(f"Run {run.trial + 1}: {note}.")

    def _ended(self, stop: Stop) -> Ending:
        self._heard.tell(self._worker.tuner, stop)
        ending = Ending(self._worker.tuner, (*self._worker.decisions, stop), stop)
        self._job.folder.mkdir(parents=True, exist_ok=True)  # a worker that came after the end has made no run
        write_file(self._job.folder / RESULT, ending.summary)
        return ending

    def _note(self, text: str) -> None:
        tuner = self._worker.tuner
        self._heard.tell(tuner, Note(len(tuner.history) - 1, "run", text))

    @property
    def _timed(self) -> bool:
        return self._job.settings.measure == "wall"

    def _left(self) -> Left | None:
        """What the next run may cost until the deadline; a cost that is not time, at the pace of this worker's runs."""
        return None if self._deadline is None else self._deadline.allows(self._cost, self._wall, timed=self._timed)

    def _allowance(self, decision: Train | None = None) -> Allowance:
        """What the program may take while it runs, beside the others here.  decision: its own, if it is under way."""
        settings, others = self._job.settings, [train for _, train in list(self._running.values())]
        costs = [train.expected_cost for train in others if train is not decision]
        total = self._worker.tuner.total_cost + math.fsum(costs)
        return Allowance.within(settings, total, self._deadline, timed=self._timed)
