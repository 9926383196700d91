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
    decisions:  before each run, and the last one: to stop, or a run without an outcome
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
    """Tell a tuner everything that stands in a journal; what was asked for and not told is not asked for again.

    verify: let it decide everything again, and hold each decision, to the last bit, against the one that was made
    """
    try:
        told = _Replaying(records[0])
        for record in records:
            told.take(record, verify=verify)
        return told.all
    except (CodecError, SettingsError, KeyError, TypeError) as error:
        raise JournalError(f"{_DAMAGED}: {error}") from None


class _Replaying:
    """A tuner that is being told, record by record."""

    def __init__(self, header: Record) -> None:
        self._header = header
        settings = settings_in(header)
        self._tuner, self._timed = tuner_of(settings), settings.measure == "wall"
        self._decisions: list[Decision] = []
        self._asked: Record | None = None
        self._stop: Stop | None = None
        self._wall = 0.0

    @property
    def all(self) -> JournalReplay:
        last: Decision | None = self._stop
        if last is None and self._asked is not None:
            last = self._train(self._asked)
        return JournalReplay(self._tuner, (*self._decisions, *(() if last is None else (last,))), self._wall)

    def take(self, record: Record, *, verify: bool) -> None:
        kind = record["kind"]
        if kind == "asked":
            self._asked, self._stop = record, None
        elif kind == "told":
            self._take_run(record, verify=verify)
        elif kind == "charged":
            self._tuner.charge(record["cost"])
        elif kind == "stopped":
            self._stop = self._decoded(record, Stop)
        elif kind == "resumed":  # with other limits, which may decide otherwise from here on
            before, self._tuner = self._tuner, tuner_of(settings_in(record))
            self._tuner.replay(before.history)
            self._tuner.charge_as(before)

    def _take_run(self, told: Record, *, verify: bool) -> None:
        if self._asked is None or self._asked["decision"]["trial"] != told["trial"]:
            raise JournalError(f"{_DAMAGED}: it has the outcome of a run that was never asked for")
        decision = self._train(self._asked)
        if verify:
            self._check(decision, self._asked["left"])
        self._tuner.charge(self._asked["charge"], deciding=self._timed)
        self._tuner.replay([run_of(self._tuner, decision, told["score"], told["cost"], told["error"])])
        self._decisions.append(decision)
        self._wall += float(told["wall"])
        self._asked = None

    def _check(self, recorded: Train, left: Record | None) -> None:
        again = self._tuner.peek(None if left is None else Left(**left))
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
