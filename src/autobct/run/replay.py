"""From a journal back to a tuner that knows all that was found, and to the decisions that were made."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from autobct.belief.prior import PAPER_PRIORS
from autobct.run.codec import CodecError, decision_of, encoded, same
from autobct.run.journal import JournalError
from autobct.run.settings import Settings
from autobct.tuning.decision import Decision, Stop, Train
from autobct.tuning.limits import Left
from autobct.tuning.tuner import Run, Tuner

_DAMAGED = "the journal does not hold together"


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """What a journal amounts to.

    tuner:      one that has been told all of it
    decisions:  before each run, and the last one: to stop, or a run that was not told
    """

    tuner: Tuner
    decisions: tuple[Decision, ...]

    @property
    def under_way(self) -> Train | None:
        """A run that was asked for and not told, if there is one."""
        last = self.decisions[-1] if len(self.decisions) > len(self.tuner.history) else None
        return last if isinstance(last, Train) else None

    @property
    def stopped(self) -> Stop | None:
        """The decision to stop, if that is how it ended."""
        last = self.decisions[-1] if self.decisions else None
        return last if isinstance(last, Stop) else None


def versions() -> dict[str, str]:
    """What decisions are computed with."""
    from autobct import __version__

    return {
        "autobct": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def tuner_of(settings: Settings, *, made: int = 0, with_cap: bool = False) -> Tuner:
    """The tuner of some settings.

    made:      runs that were made already; a lower max_runs comes too late for them
    with_cap:  tell it max_cost now, rather than at each decision, where it is on record
    """
    told = dict(settings.tuning)
    most, prior = settings.limits.max_runs, told.pop("prior", None)
    return Tuner(
        settings.space,
        **told,
        prior=None if prior is None else PAPER_PRIORS[prior],
        max_runs=None if most is None else max(most, made),
        max_cost=settings.limits.max_cost if with_cap else None,
        seed=settings.seed,
    )


def replay(settings: Settings, records: Sequence[Mapping[str, Any]], *, verify: bool) -> Replay:
    """Tell a new tuner everything that stands in a journal; what was asked for and not told is not asked for again.

    verify: let it decide everything again, and hold each decision, to the last bit, against the one that was made
    """
    tuner = tuner_of(settings, made=sum(record["kind"] == "told" for record in records))
    decisions: list[Decision] = []
    asked: Mapping[str, Any] | None = None
    stop: Stop | None = None
    try:
        for record in records[1:]:
            if record["kind"] == "asked":
                asked, stop = record, None
            elif record["kind"] == "told":
                decisions.append(_again(tuner, _needed(asked), records[0], verify=verify))
                tell(tuner, decisions[-1], record["score"], record["cost"], record["error"])
                asked = None
            elif record["kind"] == "charged":
                tuner.charge(record["cost"])
            elif record["kind"] == "stopped":
                stop = _stop(record, tuner)
        last = stop if stop is not None or asked is None else _train(asked, tuner)
    except (CodecError, KeyError, TypeError) as error:
        raise JournalError(f"{_DAMAGED}: {error}") from None
    return Replay(tuner, (*decisions, *(() if last is None else (last,))))


def tell(tuner: Tuner, train: Train, score: float | None, cost: float, error: str | None) -> Run:
    """Tell the tuner; an outcome it cannot learn from is a failed run."""
    try:
        return tuner.tell(train, score, cost, error=error)
    except ValueError as wrong:
        return tuner.tell(train, cost=cost, error=str(wrong))


def _again(tuner: Tuner, record: Mapping[str, Any], header: Mapping[str, Any], *, verify: bool) -> Train:
    recorded = _train(record, tuner)
    if not verify:
        tuner.adopt(recorded)
        again: Decision = recorded
    else:
        left = record["left"]
        again = tuner.ask(None if left is None else Left(**left))
        if not isinstance(again, Train) or not same(encoded(again), encoded(recorded)):
            raise JournalError(_otherwise(recorded, header))
    tuner.charge(record["charge"])
    return again


def _needed(asked: Mapping[str, Any] | None) -> Mapping[str, Any]:
    if asked is None:
        raise JournalError(f"{_DAMAGED}: a run was told that nobody asked for")
    return asked


def _train(record: Mapping[str, Any], tuner: Tuner) -> Train:
    found = decision_of(record["decision"], tuner.problem.space)
    if not isinstance(found, Train):
        raise JournalError(f"{_DAMAGED}: a run that was asked for is a stop")
    return found


def _stop(record: Mapping[str, Any], tuner: Tuner) -> Stop:
    found = decision_of(record["decision"], tuner.problem.space)
    if not isinstance(found, Stop):
        raise JournalError(f"{_DAMAGED}: a stop is a run")
    return found


def _otherwise(recorded: Train, header: Mapping[str, Any]) -> str:
    """Why a decision may come out otherwise than it did: the numbers are computed with something else."""
    then, now = header.get("versions", {}), versions()
    other = [f"{name} was {then.get(name)} and is {now[name]}" for name in now if then.get(name) != now[name]]
    reason = "; ".join(other) or "the machine computes otherwise"
    return f"run {recorded.trial + 1} would now be decided otherwise ({reason}); go on with what it was begun with"
