"""Ask and tell from Python with everything on disk: the same script resumes after a crash."""

from __future__ import annotations

import contextlib
import json
import os
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from autobct.run.journal import NAME, CodecError, Journal, JournalError, decision_of, encoded
from autobct.run.journal_replay import VERIFIED, differing, placed, was_repaired
from autobct.run.program_settings import differences
from autobct.tuning.decide.position import is_failing
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.guard import Guard, changing
from autobct.tuning.history import Decision, Run, Train
from autobct.tuning.result import count
from autobct.tuning.statement import versions
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

_FREE = ("policy", "candidates", "max_runs", "max_cost")
"""Settings that may change: runs that were made apply whatever comes after them."""

_UNLESS_SAID = ("table", "guess", "guess_strength", "increases_cost", "expect_usual")
"""Settings that are there only if something was said; any other that is not there is one of another version."""

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # in what a function calls itself; another in every process


class StoredTuner:
    """A tuner that writes its decisions and runs to a journal.  Use `stored` to create one.  Threads may share it.

    tuner: the tuner itself, for everything else: history, best, explain(), result()
    notes: sentences about what an earlier process had done, e.g. that a run would be decided differently now
    """

    def __init__(
        self, tuner: Tuner, journal: Journal, interrupted: Sequence[Train] = (), notes: Sequence[str] = ()
    ) -> None:
        self.tuner, self.notes = tuner, tuple(notes)
        self._journal, self._interrupted, self._guard = journal, list(interrupted), Guard()

    @changing
    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """As `Tuner.ask`, but the runs that an earlier process left without an outcome come first."""
        if self._interrupted:
            return self._interrupted.pop(0)
        with self._undone():
            decision = self.tuner.ask(left, waiting)
            if isinstance(decision, Train):
                most = None if left is None else asdict(left)
                more = {} if waiting is None else {"waiting": asdict(waiting)}
                self._journal.add("asked", decision=encoded(decision), left=most, **more)
        return decision

    @changing
    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `Tuner.tell`; the outcome is on disk when this returns, and not reported if it cannot be stored."""
        with self._undone():
            run = self.tuner.tell(trial, score, cost, error=error)
            self._journal.add("told", trial=run.trial, score=run.score, cost=run.cost, error=run.error)
        return run

    @changing
    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `Tuner.charge`."""
        with self._undone():
            self.tuner.charge(cost, deciding=deciding)
            self._journal.add("charged", cost=float(cost), deciding=deciding)

    @contextlib.contextmanager
    def _undone(self) -> Iterator[None]:
        """What cannot be stored has not happened: the tuner never knows more than the journal."""
        before = self.tuner.memory
        try:
            yield
        except BaseException:
            self.tuner.restore(before)
            raise


@contextlib.contextmanager
def stored(tuner: Tuner, directory: str | os.PathLike[str]) -> Iterator[StoredTuner]:
    """Store a new tuner in a folder, or continue the tuning that is there.

    >>> with stored(Tuner(space, price=0.01), "my-tuning") as tuner:
    ...     while isinstance(decision := tuner.ask(), Train):
    ...         tuner.tell(decision, *train(decision.params))

    The runs of an earlier process count as they were made, and the next decision follows from them: on one machine it
    is the same, bit for bit, as without the interruption.  Limits and policy may be changed; with another version or on
    another machine a decision may differ, which is said in a warning.  After ten failures in a row it continues as
    well: they are not held against their params.  JournalError if the folder belongs to another problem.
    """
    from autobct.run.lock import locked  # needs POSIX, unlike reading what was stored

    if tuner.history or tuner.under_way:
        raise ValueError("tuner must be new: its earlier runs would not be stored")
    folder = Path(directory).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder) as lock:
        path = folder / NAME
        if path.exists():
            journal, records = Journal.resume(path, lock.check)
        else:
            header = {"settings": _settings(tuner), "versions": versions()}
            journal, records = Journal.start(path, lock.check, **header), [{"kind": "header", **header}]
        with contextlib.closing(journal):
            yield _again(tuner, journal, records, folder)


def _again(tuner: Tuner, journal: Journal, records: list[dict[str, Any]], folder: Path) -> StoredTuner:
    """Tell a tuner what stands in a journal, and go on."""
    notes = _check_settings(_settings(tuner), records[0], folder)
    under_way: dict[int, Train] = {}
    left = sum(record["kind"] == "asked" for record in records)
    verify = not was_repaired(records)
    try:
        for record in records[1:]:
            left -= record["kind"] == "asked"
            notes += _take(tuner, record, under_way, records[0] if verify and left < VERIFIED and not notes else None)
    except (CodecError, KeyError, TypeError, ValueError) as error:
        raise JournalError(f"the journal in {str(folder)!r} is inconsistent: {error}") from None
    if is_failing(tuner.memory) and (runs := tuner.forgive()):
        journal.add("forgiven", runs=runs)
        notes.append(f"The last {count(runs)} failed; they are not held against their parameters.")
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=4)
    return StoredTuner(tuner, journal, list(under_way.values()), notes)


def _take(
    tuner: Tuner, record: Mapping[str, Any], under_way: dict[int, Train], header: Mapping[str, Any] | None
) -> list[str]:
    """One line of a journal; what there is to say of it.  header: given if its decision is to be compared."""
    notes, kind = [], record["kind"]
    if kind == "asked":
        train = decision_of(record["decision"], tuner.memory.problem.space)
        if not isinstance(train, Train):
            raise TypeError("there is a Stop where a Train should be")
        if header is not None:
            notes = [note for note in (differing(tuner, train, record, header),) if note]
        under_way[train.trial] = train = placed(tuner, train)
        tuner.adopt(train)
    elif kind == "told":
        tuner.tell(under_way.pop(record["trial"]), record["score"], record["cost"], error=record["error"])
    elif kind == "charged":
        tuner.charge(record["cost"], deciding=record.get("deciding", False))
    elif kind == "forgiven":
        tuner.forgive()
    return notes


def _settings(tuner: Tuner) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(_ADDRESS.sub("", json.dumps(tuner.settings)))
    return plain


def _check_settings(now: Mapping[str, Any], header: Mapping[str, Any], folder: Path) -> list[str]:
    """JournalError if a folder is of another problem; what there is to say where it is the same in other words."""
    then = header.get("settings")
    if not isinstance(then, dict):
        raise JournalError(
            f"{str(folder)!r} was made by autobct run; continue with autobct run, or give another folder"
        )
    shared = {key for key in (*then, *now) if (key in then and key in now) or key in _UNLESS_SAID}
    changed = [key for key in differences(then, now) if key in shared and key not in _FREE]
    if changed:
        raise JournalError(
            f"{', '.join(changed)} changed since the tuning in {str(folder)!r} was started, so its runs do not "
            f"apply; change it back, or give another folder"
        )
    version = header.get("versions", {}).get("autobct")
    if then.get("policy") == now["policy"] or version != versions()["autobct"]:  # another version has other words
        return []
    return [f"The policy changed since the tuning in {str(folder)!r} was started; its runs count as they were made."]
