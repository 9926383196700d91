"""From a journal back to a tuner that knows all that was found, and to the decisions that were made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autobct.run.codec import CodecError, decision_of, encoded, same
from autobct.run.config import parse
from autobct.run.journal import JournalError
from autobct.run.program_settings import ProgramSettings, SettingsError
from autobct.tuning.decide.decision import Decision, Stop, Train
from autobct.tuning.decide.waiting import Waiting
from autobct.tuning.history import Run
from autobct.tuning.settings import versions
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

Record = Mapping[str, Any]

_DAMAGED = "the journal is inconsistent"


@dataclass(frozen=True, slots=True, eq=False)
class JournalReplay:
    """What a journal amounts to.

    tuner:      one with all of these runs
    decisions:  before each run, and those after them: runs without an outcome, or to stop
    wall:       seconds of wall time in all runs
    """

    tuner: Tuner
    decisions: tuple[Decision, ...]
    wall: float

    @property
    def stopped(self) -> Stop | None:
        """The decision to stop, if that is how it ended."""
        last = self.decisions[-1] if self.decisions else None
        return last if isinstance(last, Stop) else None


def settings_in(record: Record) -> ProgramSettings:
    """What a record of the journal says that the TOML file, and the file of rows if it names one, said then."""
    return parse(record["toml"], lambda file: str(record["rows"]))


def tuner_of(settings: ProgramSettings) -> Tuner:
    """The tuner of some settings; the deadline is told at each decision."""
    limits = settings.limits
    return Tuner(
        settings.space if settings.table is None else settings.table,
        **settings.tuning,
        max_runs=limits.max_runs,
        max_cost=limits.max_cost,
        seed=settings.seed,
    )


def replay(records: Sequence[Record], *, verify: bool) -> JournalReplay:
    """Tell a tuner everything that stands in a journal.

    Of runs without an outcome the last one is still to be asked for, and all others are under way: decisions after them
    counted on them.
    verify: let it decide everything again, and hold each decision, to the last bit, against the one that was made
    """
    try:
        told = _Replaying(records[0], verify=verify)
        for record in records:
            told.take(record)
        return told.all
    except (CodecError, SettingsError, KeyError, TypeError) as error:
        raise JournalError(f"{_DAMAGED}: {error}") from None


class _Replaying:
    """A tuner that is being told, record by record."""

    def __init__(self, header: Record, *, verify: bool) -> None:
        self._header = header
        settings = settings_in(header)
        self._tuner, self._timed = tuner_of(settings), settings.measure == "wall"
        self._decisions: list[Decision] = []
        self._asked: Record | None = None  # the last one; others were asked for after those before it
        self._verify = verify
        self._stop: Stop | None = None
        self._wall = 0.0

    @property
    def all(self) -> JournalReplay:
        last: list[Decision] = [*self._tuner.under_way]
        if self._asked is not None:
            last.append(self._train(self._asked))
        return JournalReplay(
            self._tuner, (*self._decisions, *last, *(() if self._stop is None else (self._stop,))), self._wall
        )

    def take(self, record: Record) -> None:
        kind = record["kind"]
        if kind == "asked":
            if self._asked is not None and self._asked["decision"]["trial"] != record["decision"]["trial"]:
                self._start()
            self._asked, self._stop = record, None  # the same run again: the tuning was continued before it
        elif kind == "told":
            self._start()
            self._take_run(record)
        elif kind == "charged":
            self._tuner.charge(record["cost"])
        elif kind == "again":  # those under way began again; the last one was asked for anew
            self._asked = None
        elif kind == "stopped":
            self._asked, self._stop = None, self._decoded(record, Stop)
        elif kind == "resumed":  # with other limits, which may decide otherwise from here on
            before, self._tuner = self._tuner, tuner_of(settings_in(record))
            self._tuner.replay(before.history)
            self._tuner.charge_as(before)
            for train in before.under_way:
                self._tuner.adopt(train)

    def _start(self) -> None:
        """The run that was asked for last is under way from here on."""
        if self._asked is None:
            return
        decision = self._train(self._asked)
        if self._verify:
            self._check(decision, self._asked)
        self._tuner.adopt(decision)
        self._tuner.charge(self._asked["charge"], deciding=self._timed)
        self._asked = None

    def _take_run(self, told: Record) -> None:
        decision = next((train for train in self._tuner.under_way if train.trial == told["trial"]), None)
        if decision is None:
            raise JournalError(f"{_DAMAGED}: it has the outcome of a run that was never asked for")
        run = run_of(self._tuner, decision, told["score"], told["cost"], told["error"])
        self._tuner.tell(decision, run.score, run.cost, error=run.error)
        self._decisions.append(decision)
        self._wall += float(told["wall"])

    def _check(self, recorded: Train, asked: Record) -> None:
        left, waiting = asked["left"], asked.get("waiting")
        again = self._tuner.peek(
            None if left is None else Left(**left), None if waiting is None else Waiting(**waiting)
        )
        if not isinstance(again, Train) or not same(encoded(again), encoded(recorded)):
            raise JournalError(otherwise(recorded.trial, self._header))

    def _train(self, record: Record) -> Train:
        found = self._decoded(record, Train)
        assert isinstance(found, Train)
        return found

    def _decoded(self, record: Record, kind: type) -> Any:
        found = decision_of(record["decision"], self._tuner.memory.problem.space)
        if not isinstance(found, kind):
            raise JournalError(f"{_DAMAGED}: there is a {type(found).__name__} where a {kind.__name__} should be")
        return found


def run_of(tuner: Tuner, train: Train, score: float | None, cost: float, error: str | None) -> Run:
    """A run to tell the tuner; one with a score that it cannot learn from, e.g. zero on a log scale, has failed."""
    try:
        if score is not None:
            tuner.memory.problem.score_observed(score)
    except ValueError as wrong:
        score, error = None, str(wrong)
    return Run(
        trial=train.trial,
        params=train.params,
        control=train.control,
        score=score,
        cost=cost,
        error=error,
        estimated_score=math.nan,
    )


def otherwise(trial: int, header: Record) -> str:
    """Why a decision may come out otherwise than it did: the numbers are computed with something else."""
    then, now = header.get("versions", {}), versions()
    other = [f"{name} was {then.get(name)} and is {now[name]}" for name in now if then.get(name) != now[name]]
    reason = "; ".join(other) or "the machine computes otherwise"
    return (
        f"run {trial + 1} would be decided differently now ({reason}); continue with the versions it was started with"
    )
