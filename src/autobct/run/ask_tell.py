"""Ask and tell from Python, with everything on disk: the same script continues after a crash."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TextIO

from autobct.run.codec import encoded, same
from autobct.run.journal import NAME, Journal, JournalError
from autobct.run.journal_replay import otherwise
from autobct.run.program_settings import differences
from autobct.tuning.decide.decision import Decision, Stop, Train
from autobct.tuning.decide.waiting import PriceOf, Waiting
from autobct.tuning.history import Run
from autobct.tuning.jobs import Backend, check_call, check_jobs, check_waiting, executor_of
from autobct.tuning.loop import LoopOrder, until_stop
from autobct.tuning.progress import Callback, listeners
from autobct.tuning.result import Result
from autobct.tuning.settings import versions
from autobct.tuning.training import TrainingFunction
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # in what a function calls itself; another in every process


class StoredTuner:
    """A tuner that writes its decisions and runs to a journal.  Use `stored` to create one.

    tuner: the tuner itself, for everything else: history, best, explain(), result()
    """

    def __init__(self, tuner: Tuner, journal: Journal, interrupted: list[Train]) -> None:
        self.tuner = tuner
        self._journal, self._interrupted = journal, interrupted

    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """As `Tuner.ask`, but the runs that an earlier process left without an outcome come first."""
        if self._interrupted:
            return self._interrupted.pop(0)
        decision = self.tuner.ask(left, waiting)
        if isinstance(decision, Train):
            told = None if left is None else asdict(left)
            more = {} if waiting is None else {"waiting": asdict(waiting)}
            self._journal.add("asked", decision=encoded(decision), left=told, **more)
        return decision

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `Tuner.tell`; the outcome is on disk when this returns."""
        run = self.tuner.tell(trial, score, cost, error=error)
        self._journal.add("told", trial=run.trial, score=run.score, cost=run.cost, error=run.error)
        return run

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """As `Tuner.charge`."""
        self.tuner.charge(cost, deciding=deciding)
        self._journal.add("charged", cost=float(cost), deciding=deciding)

    def tune(
        self,
        train: TrainingFunction,
        *,
        repeats: int = 1,
        n_jobs: int = 1,
        backend: Backend = "processes",
        price_of: PriceOf = "compute",
        on_failure: Literal["record", "raise"] = "record",
        callbacks: Sequence[Callback] = (),
        verbose: bool | str | TextIO = False,
    ) -> Result:
        """Train until another run is not worth its price, from where the last process ended; as `autobct.tune`."""
        check_call(train, repeats, on_failure)
        jobs = check_jobs(n_jobs, backend, price_of)
        check_waiting(price_of, self.tuner)
        order = LoopOrder(train, repeats=repeats, on_failure=on_failure, jobs=jobs, price_of=price_of)
        return until_stop(self, executor_of(jobs, backend), order, listeners(callbacks, verbose))


@contextlib.contextmanager
def stored(tuner: Tuner, directory: str | os.PathLike[str]) -> Iterator[StoredTuner]:
    """Store a new tuner in a folder, or continue the tuning that is there.

    >>> with stored(Tuner(space, price=0.01), "my-tuning") as tuner:
    ...     while isinstance(decision := tuner.ask(), Train):
    ...         tuner.tell(decision, *train(decision.params))

    The runs of an earlier process are replayed, and every decision is compared, bit for bit, with the recorded one;
    JournalError if one differs, or if the folder belongs to another problem.
    """
    from autobct.run.lock import locked  # needs POSIX, unlike reading what was stored

    if tuner.history or tuner.under_way:
        raise ValueError("tuner must be new: its earlier runs would not be stored")
    folder = Path(directory).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        path = folder / NAME
        if path.exists():
            journal, records = Journal.resume(path)
        else:
            header = {"settings": _settings(tuner), "versions": versions()}
            journal, records = Journal.start(path, **header), [{"kind": "header", **header}]
        with contextlib.closing(journal):
            yield StoredTuner(tuner, journal, _again(tuner, records, folder))


def _again(tuner: Tuner, records: list[dict[str, Any]], folder: Path) -> list[Train]:
    """Tell a tuner what stands in a journal; the runs that were not told."""
    _check_settings(tuner, records[0], folder)
    under_way: dict[int, Train] = {}
    for record in records[1:]:
        if record["kind"] == "asked":
            train = _asked(tuner, record, records[0])
            under_way[train.trial] = train
        elif record["kind"] == "told":
            tuner.tell(under_way.pop(record["trial"]), record["score"], record["cost"], error=record["error"])
        elif record["kind"] == "charged":
            tuner.charge(record["cost"], deciding=record.get("deciding", False))
    return list(under_way.values())


def _asked(tuner: Tuner, record: Mapping[str, Any], header: Mapping[str, Any]) -> Train:
    left, waiting = record["left"], record.get("waiting")
    decision = tuner.ask(None if left is None else Left(**left), None if waiting is None else Waiting(**waiting))
    recorded = {**record["decision"], "params": None}  # the control says what they are, and is exact
    if isinstance(decision, Stop) or not same({**encoded(decision), "params": None}, recorded):
        raise JournalError(otherwise(record["decision"]["trial"], header))
    return decision


def _settings(tuner: Tuner) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(_ADDRESS.sub("", json.dumps(tuner.settings)))
    return plain


def _check_settings(tuner: Tuner, header: Mapping[str, Any], folder: Path) -> None:
    if not isinstance(header.get("settings"), dict):
        raise JournalError(
            f"{str(folder)!r} was made by autobct run; continue with autobct run, or give another folder"
        )
    changed = differences(header["settings"], _settings(tuner))
    if changed:
        raise JournalError(
            f"{', '.join(changed)} changed since the tuning in {str(folder)!r} was started, so its runs do not "
            f"apply; change it back, or give another folder"
        )
