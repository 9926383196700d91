"""Trials of a shared study as runs of one tuner.

A trial is a claim: a worker makes run `slot`, at this `attempt`, as decided.  Of two claims for the same attempt the
one with the lower number holds; the database gives out numbers one after the other.  Only its own worker completes or
fails a trial, only others give it up (Optuna's state PRUNED), and a state that is set once never changes.  So every run
has one outcome, whoever reads it and whenever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from autobct.belief.arrays import finite_number
from autobct.integrations._optuna_trials import COST, Trials
from autobct.run.journal import CodecError, decision_of
from autobct.tuning.history import Run, Train
from autobct.tuning.memory import with_outcome
from autobct.tuning.space.space import Space
from autobct.tuning.storage import StorageError

CLAIM = "autobct:claim"
"""The system attribute with the claim, there from the first moment of the trial."""

BEAT = "autobct:beat"
"""The system attribute that its worker changes from time to time: a count, and the seconds it has run."""

ERROR = "error"
"""The user attribute with the error of a failed run."""

RELEASED = "autobct:released"
"""The system attribute of a run that its own worker gave up, e.g. after Ctrl-C: the cost it had; it is made again."""

KILLED = "autobct:killed"
"""The system attribute of a run whose program was killed from outside and started again: the cost it had until then."""


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One worker's claim to make a run: all that is kept of its trial once it has ended.

    number, trial_id: of the trial, in its study and in the database
    """

    number: int
    trial_id: int
    slot: int
    attempt: int
    token: str
    decision: Train


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedTrial:
    """A claim and its trial as it was last read.

    heard:  runs that had been told when it was decided on and not before, in the order in which they were learned
    charge: what its worker has charged since its claim before, e.g. for deciding
    mends:  whether it was decided on as if the failures just before it had not been: their cause was fixed
    """

    claim: Claim
    trial: FrozenTrial
    heard: tuple[int, ...]
    charge: float
    worker: Mapping[str, Any]
    mends: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A study at one moment.

    trials:   runs in the order in which they were learned, those under way, and costs besides
    made:     claims whose trial is running, also those that do not hold
    claims:   slot -> the claim that holds;  unheard: runs that no decision has learned of yet
    open:     claims that are under way;  lost: those that were given up and are to be made again
    charged:  all that was charged for deciding, and how often
    """

    trials: Trials
    made: tuple[ClaimedTrial, ...]
    claims: Mapping[int, Claim]
    unheard: tuple[int, ...]
    open: tuple[ClaimedTrial, ...]
    lost: tuple[ClaimedTrial, ...]
    charged: tuple[float, int]

    @property
    def next_slot(self) -> int:
        """The number of the next run."""
        return max(self.claims, default=-1) + 1


class ClaimReader:
    """Reads the trials of one study as they come and end; of one that has ended it keeps the claim and the run.

    problem: the fingerprint that every claim must carry;  rerun: whether a run whose worker died is made again
    timed:   whether its cost is time
    """

    def __init__(self, space: Space, problem: str, *, rerun: bool, timed: bool) -> None:
        self._space, self._problem, self._rerun, self._timed = space, problem, rerun, timed
        self._taken, self._last = 0, -1  # trials that were read, and the id of the last of them
        self._running: dict[int, ClaimedTrial] = {}  # by number
        self._holding: dict[int, Claim] = {}  # by slot
        self._rest: dict[int, ClaimedTrial] = {}  # by slot: those that hold and have no outcome
        self._heard: dict[int, Run] = {}  # by slot, in the order in which decisions learned of them
        self._unheard: dict[int, Run] = {}  # by slot
        self._mended: tuple[int, ...] = ()
        self._besides, self._charged, self._charges = Fraction(0), Fraction(0), 0

    @property
    def unread(self) -> tuple[set[int], int]:
        """Which trials may have changed, by their id: those that were running, and all after the last one."""
        return {claimed.claim.trial_id for claimed in self._running.values()}, self._last

    def read(self, trials: Iterable[FrozenTrial]) -> Snapshot:
        """What a study amounts to.  trials: at least those that may have changed; StorageError if one is not ours."""
        ordered = sorted(trials, key=lambda trial: trial.number)
        for trial in ordered:
            if (known := self._running.get(trial.number)) is not None:
                self._look_again(replace(known, trial=trial))
        for trial in ordered:
            if trial.number == self._taken:  # one that another process is still making has a gap before it
                self._take(claimed_trial(trial, self._space, self._problem))
                self._taken, self._last = trial.number + 1, trial._trial_id
        unheard, rest = sorted(self._unheard), [self._rest[slot] for slot in sorted(self._rest)]
        learned = (*self._heard.values(), *(self._unheard[slot] for slot in unheard))
        under_way = tuple(claimed.claim.decision for claimed in rest)
        open_now = tuple(claimed for claimed in rest if not claimed.trial.state.is_finished())
        besides = sum((_besides(claimed.trial) for claimed in open_now), self._besides)
        return Snapshot(
            trials=Trials(learned, under_way, (float(besides), 0), self._mended),
            made=tuple(self._running[number] for number in sorted(self._running)),
            claims=dict(self._holding),
            unheard=tuple(unheard),
            open=open_now,
            lost=tuple(claimed for claimed in rest if claimed.trial.state.is_finished()),
            charged=(float(self._charged), self._charges),
        )

    def _take(self, claimed: ClaimedTrial) -> None:
        """A trial that was not there before."""
        claim = claimed.claim
        before = self._holding.get(claim.slot)
        if before is None or before.attempt < claim.attempt:  # the first claim to this attempt holds
            self._hear(claimed)
            self._charged += Fraction(claimed.charge)
            self._charges += claimed.charge > 0.0
            self._holding[claim.slot], self._rest[claim.slot] = claim, claimed
        self._look_again(claimed)

    def _hear(self, claimed: ClaimedTrial) -> None:
        """What the decision behind a claim had learned."""
        for slot in claimed.heard:
            if slot in self._unheard:
                self._heard[slot] = self._unheard.pop(slot)
            elif slot not in self._heard:
                raise StorageError(
                    f"the study is inconsistent: run {slot + 1} was used in a decision but has no outcome"
                )
        if claimed.mends:
            self._mended = (*self._mended, len(self._heard))

    def _look_again(self, claimed: ClaimedTrial) -> None:
        """A trial that was running when last seen, or is new: the only ones that can have changed."""
        claim, trial = claimed.claim, claimed.trial
        holds = self._holding[claim.slot].number == claim.number
        if holds:
            self._rest[claim.slot] = claimed
        if not trial.state.is_finished():
            self._running[claim.number] = claimed
            return
        self._running.pop(claim.number, None)
        if holds:
            self._besides += _besides(trial)
        if holds and self._is_told(trial):
            self._unheard[claim.slot] = outcome_of(claimed, timed=self._timed)
            del self._rest[claim.slot]

    def _is_told(self, trial: FrozenTrial) -> bool:
        if trial.state == TrialState.PRUNED:
            return not self._rerun and RELEASED not in trial.system_attrs
        return trial.state.is_finished()


def _besides(trial: FrozenTrial) -> Fraction:
    """What tries of a run have cost that count for nothing else."""
    return sum((Fraction(float(trial.system_attrs.get(key, 0.0))) for key in (KILLED, RELEASED)), Fraction(0))


def claimed_trial(trial: FrozenTrial, space: Space, problem: str) -> ClaimedTrial:
    """The trial and the claim that it is; StorageError if it is none, or of another problem than this fingerprint's."""
    data = trial.system_attrs.get(CLAIM)
    if not isinstance(data, dict):
        raise StorageError(f"trial {trial.number} of the study was not started by autobct.tune; use another study")
    if data.get("problem") != problem:
        raise StorageError(f"trial {trial.number} of the study belongs to another problem; use another study")
    try:
        decision = decision_of(data["decision"], space)
        assert isinstance(decision, Train)
        claim = Claim(
            number=trial.number,
            trial_id=trial._trial_id,
            slot=int(data["slot"]),
            attempt=int(data["attempt"]),
            token=str(data["token"]),
            decision=decision,
        )
        return ClaimedTrial(
            claim=claim,
            trial=trial,
            heard=tuple(data["heard"]),
            charge=finite_number(data["charge"], "charge", least=0.0),
            worker=dict(data["worker"]),
            mends=data.get("mends", False) is True,
        )
    except (AssertionError, CodecError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"trial {trial.number} of the study cannot be read: {error!r}") from None


def outcome_of(claimed: ClaimedTrial, *, timed: bool) -> Run:
    """The run whose outcome a finished trial has; it never changes.  timed: its cost is time."""
    trial, decision = claimed.trial, claimed.claim.decision
    if trial.state == TrialState.PRUNED:
        seconds = float(trial.system_attrs.get(BEAT, {}).get("seconds", 0.0))
        killed = float(trial.system_attrs.get(KILLED, 0.0))  # is charged already
        cost = max(seconds - killed, 0.0) if timed else decision.expected_cost
        return with_outcome(decision, None, cost, f"its worker on {claimed.worker.get('host')} died")
    cost = float(trial.user_attrs[COST])
    if trial.state == TrialState.COMPLETE and trial.values:
        return with_outcome(decision, float(trial.values[0]), cost, None)
    return with_outcome(decision, None, cost, str(trial.user_attrs.get(ERROR) or "the trial failed"))
