"""The loop: ask, run, tell, until the decision is to stop; one run at a time or several, with or without storage."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from autobct.tuning.decide.under_way import PriceOf, Waiting, waiting_for
from autobct.tuning.history import Decision, Note, Run, Stop, Train
from autobct.tuning.jobs import FIRST_ALONE, EndedRun, Executor, WorkerLostError, places
from autobct.tuning.progress import Listeners, window
from autobct.tuning.result import Result, TuningError, count
from autobct.tuning.returned import WrongReturnError
from autobct.tuning.storage import LateError, StorageError, storage_of
from autobct.tuning.training import (
    OneTraining,
    Times,
    Trained,
    Training,
    TrainingFunction,
    summed_up,
    the_same_again,
)
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline, Left

__all__ = ["LoopOrder", "told_run", "until_stop", "why_hopeless"]


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


@dataclass(frozen=True, slots=True)
class LoopOrder:
    """What is to be run, and how; as in `tune`.

    jobs: runs at the same time
    """

    train: TrainingFunction
    repeats: int = 1
    on_failure: Literal["record", "raise"] = "record"
    jobs: int = 1
    price_of: PriceOf = "compute"


@dataclass(slots=True)
class _Loop:
    """One tuning from its first decision, or a restart, to its end.

    running: number -> moment of the start, and the run;  cause: the last exception in a run
    ended:   number -> seconds after which it ended;  lost: numbers of runs whose worker ended before they did
    """

    asked: Asked
    executor: Executor[tuple[OneTraining, ...]]
    order: LoopOrder
    heard: Listeners
    times: Times
    deadline: Deadline | None
    running: dict[int, tuple[float, Train]] = field(default_factory=dict)
    cause: BaseException | None = None
    ended: dict[int, float] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)

    @property
    def tuner(self) -> Tuner:
        return self.asked.tuner

    def go(self) -> Stop:
        """Until it stops.  After each run that ends as many start as are worth it: never two are told at once."""
        while True:
            stop = self._start()
            if stop is not None and not self.running:
                self.heard.tell(self.tuner, stop)
                return stop
            self._take(self._next())

    def _start(self) -> Stop | None:
        """Start runs while there is room and they are worth it; otherwise why not, given those under way."""
        while len(self.running) < places(self.tuner, self.order.jobs):
            decision = self.asked.ask(self.times.left(self.tuner, self.deadline), self._waiting())
            self.times.others = self.asked.waited
            if isinstance(decision, Stop):
                return decision
            self.running[decision.trial] = (time.perf_counter(), decision)
            self.heard.tell(self.tuner, decision)
            self._submit(decision)
        return None

    def _submit(self, decision: Train) -> None:
        self.executor.submit(decision.trial, Training(self.order.train, dict(decision.params), self.order.repeats))

    def _waiting(self) -> Waiting | None:
        return waiting_for(self.running.values(), time.perf_counter(), self.order.jobs, self.order.price_of)

    def _next(self) -> EndedRun[tuple[OneTraining, ...]]:
        began = time.perf_counter()
        try:
            return self.executor.wait()
        finally:
            self.times.waited += time.perf_counter() - began

    def _take(self, ended: EndedRun[tuple[OneTraining, ...]]) -> None:
        """What came of a run; TuningError if it shows that no run will do.

        One whose worker was lost is made again once, what it has cost is charged: it need not be the parameters' doing.
        """
        started, decision = self.running.pop(ended.number)
        if isinstance(ended.error, WorkerLostError) and ended.number not in self.lost:
            self.lost.add(ended.number)
            self.asked.charge(self._cost_of_lost(decision, started))
            self.running[ended.number] = time.perf_counter(), decision
            made = len(self.tuner.history) - 1
            self.heard.tell(self.tuner, Note(made, "run", f"Run {ended.number + 1}: {ended.error}. It is made again."))
            self._submit(decision)
            return
        outcome = self._outcome(ended, decision, started)
        try:
            run = told_run(self.asked, decision, outcome)
        except LateError as late:
            self.heard.tell(self.tuner, Note(len(self.tuner.history) - 1, "run", str(late)))
            return
        self.ended[run.trial] = self.times.elapsed
        self.times.costs.append(run.cost)
        self.cause = outcome.cause or self.cause
        self.times.charge(self.asked)
        self.heard.news(self.tuner, run)
        if hopeless := why_hopeless(outcome, self.tuner.history, self.order.on_failure):
            so_far = None if self.tuner.best is None else self.result(hopeless)
            raise TuningError(hopeless, self.tuner.history, so_far) from self.cause

    def _outcome(self, ended: EndedRun[tuple[OneTraining, ...]], decision: Train, started: float) -> Trained:
        if ended.outcome is not None:
            outcome = summed_up(ended.outcome, decision.expected_cost / self.order.repeats, self.times)
            return _in_seconds(outcome, self.times) if self.order.price_of == "waiting" else outcome
        if not isinstance(ended.error, WorkerLostError):
            raise ended.error or RuntimeError(f"run {ended.number + 1} ended without an outcome")
        cost = self._cost_of_lost(decision, started)
        return Trained(cost, error=f"{ended.error}", cause=ended.error, raised=True)

    def _cost_of_lost(self, decision: Train, started: float) -> float:
        """What a run has cost until its worker was lost: its seconds, or where costs are the user's own as expected."""
        seconds = time.perf_counter() - started
        self.times.training += seconds
        return decision.expected_cost if self.times.own_cost else seconds

    def result(self, why: str, stop: Stop | None = None) -> Result:
        """The result as of now; TuningError if no run has finished."""
        last = [train for _, train in self.running.values()] if stop is None else [stop]
        times, order = self.times, self.order
        try:
            found = self.tuner.result(why, (*self.asked.decisions, *last), deciding=times.deciding)
        except TuningError as nothing:
            raise nothing from self.cause
        here = all(run.trial in self.ended for run in found.history)
        ended = tuple(self.ended[run.trial] for run in found.history) if here else ()
        return replace(found, elapsed=times.elapsed, n_jobs=order.jobs, price_of=order.price_of, ended=ended)


def until_stop(
    asked: Asked,
    executor: Executor[tuple[OneTraining, ...]],
    order: LoopOrder,
    heard: Listeners,
    deadline: Deadline | None = None,
) -> Result:
    """Run until no further run is worth its price, given those under way, which are finished and counted.

    An interruption (Ctrl-C) ends what is running; the result is then that of the runs so far.
    """
    times = Times(time.perf_counter(), in_seconds=bool(asked.tuner.problem.price.unit))
    times.resume(asked.tuner)
    if made := len(asked.tuner.history):
        heard.tell(asked.tuner, Note(made - 1, "run", f"Continuing after {count(made)}."))
    elif places(asked.tuner, order.jobs) < order.jobs:
        heard.tell(asked.tuner, Note(-1, "run", FIRST_ALONE))
    loop = _Loop(asked=asked, executor=executor, order=order, heard=heard, times=times, deadline=deadline)
    stop: Stop | None = None
    try:
        stop = loop.go()
        why = stop.why
    except KeyboardInterrupt:
        if asked.tuner.best is None:
            raise
        why = f"Interrupted after {count(len(asked.tuner.history))}."
    finally:
        executor.cancel()
    return loop.result(why, stop)


def told_run(asked: Asked | Tuner, decision: Train, outcome: Trained) -> Run:
    """Tell the tuner; an outcome it cannot learn from (a score of zero on a log scale) is a failed run."""
    try:
        return asked.tell(decision, outcome.score, outcome.cost, error=outcome.error)
    except StorageError:  # nothing is wrong with the outcome
        raise
    except ValueError as error:
        return asked.tell(decision, error=str(error), cost=outcome.cost)


def _in_seconds(outcome: Trained, times: Times) -> Trained:
    """Where the price is one of waiting, costs have to be seconds."""
    if not times.own_cost:
        return outcome
    wrong = WrongReturnError(
        'train returned a cost of its own, but price_of="waiting" counts seconds; return the score alone'
    )
    return Trained(outcome.cost, error=str(wrong), cause=wrong)


def why_hopeless(outcome: Trained, history: Sequence[Run], on_failure: str) -> str:
    """Why the tuning ends with this run, an error in the training function; "" if it goes on."""
    number, error = len(history), history[-1].error
    if isinstance(outcome.cause, WrongReturnError):
        return f"run {number}: {error}"
    if error is not None and on_failure == "raise":
        return f"run {number} failed: {error}"
    if outcome.raised and the_same_again(history):
        return (
            f"runs {number - 1} and {number} both failed with {error}, and no run has finished, so the bug is probably "
            f"in train; if some params cannot be trained, return float('nan') for them"
        )
    return ""
