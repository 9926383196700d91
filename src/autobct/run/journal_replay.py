"""Rebuilds the tuner and its decisions from a journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autobct.run.config import parse
from autobct.run.journal import ROUNDING, JournalError, alike, decision_of
from autobct.run.program_settings import ProgramSettings
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.memory import with_outcome
from autobct.tuning.problem import is_candidate
from autobct.tuning.statement import versions
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

Record = Mapping[str, Any]

VERIFIED = 10
"""The last runs of a journal, which are decided again when it is opened: all of thousands would take a minute."""

LIMITED = ("max_runs", "max_cost", "deadline", "failing", "nothing left")
"""Reasons to stop that say nothing of what a decision would be."""

_DAMAGED = "the journal is inconsistent"


@dataclass(frozen=True, slots=True, eq=False)
class JournalReplay:
    """What a journal amounts to.

    tuner:      one with all of these runs
    decisions:  before each run, and those after them: runs without an outcome, or to stop
    wall:       seconds of wall time in all runs
    note:       a sentence if a run would be decided otherwise now; it counts as it was made
    """

    tuner: Tuner
    decisions: tuple[Decision, ...]
    wall: float
    note: str = ""

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
    verify: let it decide the last few runs again, and note where it would train with other params now
    """
    made = sum(record.get("kind") == "told" for record in records)
    verify = verify and not was_repaired(records)
    try:
        told = _Replaying(records[0])
        for record in records:
            told.take(record, verify=verify and told.made >= made - VERIFIED)
        return told.all
    except JournalError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:  # whatever stands in it
        raise JournalError(f"{_DAMAGED}: {error}") from None


def cut_short(records: Sequence[Record]) -> dict[int, float]:
    """Run -> expected cost, of all that were under way when the process died; one that it gave up itself is none."""
    expected, under_way = dict[int, float](), set[int]()
    try:
        for record in records:
            kind = record["kind"]
            if kind == "asked":
                expected[record["decision"]["trial"]] = float(record["decision"]["expected_cost"])
                under_way.add(record["decision"]["trial"])
            elif kind == "again":
                under_way.update(record["trials"])
            elif kind == "stopped":
                under_way.clear()
            elif kind == "told" or (kind == "charged" and not record.get("again", False)):
                under_way.discard(record["trial"])
        return {trial: expected[trial] for trial in sorted(under_way)}
    except (ValueError, LookupError, TypeError) as error:  # whatever stands in it
        raise JournalError(f"{_DAMAGED}: {error}") from None


def was_repaired(records: Sequence[Record]) -> bool:
    """Whether lines are missing, so that decisions after them cannot be made again."""
    return any(record.get("kind") == "repaired" for record in records)


class _Replaying:
    """A tuner that is being told, record by record."""

    def __init__(self, header: Record) -> None:
        self._header = header
        settings = settings_in(header)
        self._tuner, self._timed = tuner_of(settings), settings.measure == "wall"
        self._decisions: list[Decision] = []
        self._asked: Record | None = None  # the last one; others were asked for after those before it
        self._stop: Stop | None = None
        self._wall = 0.0
        self._note = ""

    @property
    def made(self) -> int:
        return len(self._decisions)

    @property
    def all(self) -> JournalReplay:
        last: list[Decision] = [*self._tuner.under_way]
        if self._asked is not None:
            last.append(self._train(self._asked))
        stop = () if self._stop is None else (self._stop,)
        return JournalReplay(self._tuner, (*self._decisions, *last, *stop), self._wall, self._note)

    def take(self, record: Record, *, verify: bool) -> None:
        kind = record["kind"]
        if kind == "asked":
            if self._asked is not None and self._asked["decision"]["trial"] != record["decision"]["trial"]:
                self._start(verify=verify)
            self._asked, self._stop = record, None  # the same run again: the tuning was continued before it
        elif kind == "told":
            self._start(verify=verify)
            self._take_run(record)
        elif kind == "charged":
            self._tuner.charge(record["cost"])
        elif kind == "again":  # those under way began again; the last one was asked for anew
            self._asked = None
        elif kind == "stopped":
            self._asked, self._stop = None, self._decoded(record, Stop)
        elif kind == "forgiven":
            self._tuner.forgive()
        elif kind == "resumed":  # with other limits, which may decide otherwise from here on
            before, self._tuner = self._tuner, tuner_of(settings_in(record))
            self._tuner.restore(before.memory)

    def _start(self, *, verify: bool) -> None:
        """The run that was asked for last is under way from here on."""
        if self._asked is None:
            return
        decision = self._train(self._asked)
        if verify:
            self._note = self._note or differing(self._tuner, decision, self._asked, self._header)
        self._tuner.adopt(placed(self._tuner, decision))
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
    return with_outcome(train, score, cost, error)


def placed(tuner: Tuner, train: Train) -> Train:
    """A recorded run as one of the tuner's: at the candidate that it is but for rounding, or as one more candidate."""
    problem = tuner.memory.problem
    if is_candidate(problem, train.control):
        return train
    if train.control.shape == (problem.space.dim,):
        apart = np.abs(problem.controls - train.control).max(axis=-1)
        if apart.min() <= ROUNDING:
            return replace(train, control=problem.controls[int(apart.argmin())].copy())
    tuner.admit(train.control)
    return train


def differing(tuner: Tuner, recorded: Train, asked: Record, header: Record) -> str:
    """A sentence if the tuner would train with other params now, as it is computed with something else; else "".

    asked: the record of the decision, with what it depended on besides the runs
    """
    left, waiting = asked["left"], asked.get("waiting")
    again = tuner.peek(None if left is None else Left(**left), None if waiting is None else Waiting(**waiting))
    if alike(again, recorded) or (isinstance(again, Stop) and again.reason in LIMITED):
        return ""
    then, now = header.get("versions", {}), versions()
    other = [f"{name} was {then.get(name)} and is {now[name]}" for name in now if then.get(name) != now[name]]
    reason = "; ".join(other) or "by another policy, or on another machine"
    return (
        f"Run {recorded.trial + 1} would be decided differently now ({reason}). It counts as it was made, and the "
        f"tuning continues from there."
    )
