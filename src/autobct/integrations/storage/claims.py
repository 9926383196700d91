"""Trials of a shared study as runs of one tuner.

A trial is a claim: a worker makes run `slot`, at this `attempt`, as decided.  Of two claims for the same attempt the
one with the lower number holds; the database gives out numbers one after the other.  Only its own worker completes or
fails a trial, only others give it up (Optuna's state PRUNED), and a state that is set once never changes.  So every run
has one outcome, whoever reads it and whenever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from autobct.belief.arrays import finite_number
from autobct.integrations._optuna_store import COST
from autobct.integrations._optuna_trials import Trials
from autobct.run.codec import CodecError, decision_of
from autobct.tuning.decide.decision import Train
from autobct.tuning.history import Run
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


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """One worker's claim to make a run.

    heard:  runs that had been told when it was decided on and not before, in the order in which they were learned
    charge: what its worker has charged since its claim before, e.g. for deciding
    mends:  whether it was decided on as if the failures just before it had not been: their cause was mended
    """

    trial: FrozenTrial
    slot: int
    attempt: int
    token: str
    decision: Train
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
    made: tuple[Claim, ...]
    claims: Mapping[int, Claim]
    unheard: tuple[int, ...]
    open: tuple[Claim, ...]
    lost: tuple[Claim, ...]
    charged: tuple[float, int]

    @property
    def next_slot(self) -> int:
        """The number of the next run."""
        return max(self.claims, default=-1) + 1


class ClaimReader:
    """Reads the trials of one study; what it has read once it does not look at again, unless it was running.

    problem: the fingerprint that every claim must carry;  rerun: whether a run whose worker died is made again
    timed:   whether its cost is time
    """

    def __init__(self, space: Space, problem: str, *, rerun: bool, timed: bool) -> None:
        self._space, self._problem, self._rerun, self._timed = space, problem, rerun, timed
        self._forget()

    def _forget(self) -> None:
        self._taken, self._last = 0, -1  # trials that were read, and the number of the last of them
        self._running: dict[int, Claim] = {}  # by place among the trials
        self._first: dict[tuple[int, int], int] = {}  # slot and attempt -> number of the first claim to it
        self._holding: dict[int, Claim] = {}  # by slot
        self._rest: set[int] = set()  # slots without an outcome
        self._unheard: set[int] = set()
        self._heard: dict[int, Run] = {}  # by slot, in the order in which decisions learned of them
        self._told: dict[int, Run] = {}  # by slot
        self._mended: tuple[int, ...] = ()
        self._besides, self._charged, self._charges = Fraction(0), Fraction(0), 0

    def read(self, trials: Sequence[FrozenTrial]) -> Snapshot:
        """All trials of the study, by number; StorageError if one is not ours."""
        if self._taken and (len(trials) < self._taken or trials[self._taken - 1].number != self._last):
            self._forget()  # not the trials that were read, and more
        for place, claim in list(self._running.items()):
            if trials[place] is not claim.trial:
                self._look_again(place, replace(claim, trial=trials[place]))
        for place in range(self._taken, len(trials)):
            self._take(place, claim_of(trials[place], self._space, self._problem))
            self._taken, self._last = place + 1, trials[place].number
        unheard, rest = sorted(self._unheard), [self._holding[slot] for slot in sorted(self._rest)]
        learned = (*self._heard.values(), *(self._told[slot] for slot in unheard))
        return Snapshot(
            trials=Trials(learned, tuple(claim.decision for claim in rest), (float(self._besides), 0), self._mended),
            made=tuple(self._running.values()),
            claims=dict(self._holding),
            unheard=tuple(unheard),
            open=tuple(claim for claim in rest if not claim.trial.state.is_finished()),
            lost=tuple(claim for claim in rest if claim.trial.state.is_finished()),
            charged=(float(self._charged), self._charges),
        )

    def _take(self, place: int, claim: Claim) -> None:
        """A trial that was not there before."""
        if (claim.slot, claim.attempt) not in self._first:
            if missing := [slot for slot in claim.heard if slot not in self._told]:
                run = missing[0] + 1
                raise StorageError(f"the study is inconsistent: run {run} was learned from and has no outcome")
            self._first[claim.slot, claim.attempt] = claim.trial.number
            self._charged, self._charges = self._charged + Fraction(claim.charge), self._charges + (claim.charge > 0.0)
            self._heard.update((slot, self._told[slot]) for slot in claim.heard if slot not in self._heard)
            self._unheard.difference_update(claim.heard)
            if claim.mends:
                self._mended = (*self._mended, len(self._heard))
            if claim.slot not in self._holding or self._holding[claim.slot].attempt < claim.attempt:
                self._holding[claim.slot] = claim
                self._rest.add(claim.slot)
        self._look_again(place, claim)

    def _look_again(self, place: int, claim: Claim) -> None:
        """A trial that was running when last seen, or is new: the only ones that can have changed."""
        holds = self._holding[claim.slot].trial.number == claim.trial.number
        if holds:
            self._holding[claim.slot] = claim
        if not claim.trial.state.is_finished():
            self._running[place] = claim
            return
        self._running.pop(place, None)
        if self._first[claim.slot, claim.attempt] == claim.trial.number:
            self._besides += Fraction(float(claim.trial.system_attrs.get(RELEASED, 0.0)))
        if holds and self._is_told(claim):
            self._told[claim.slot] = outcome_of(claim, timed=self._timed)
            self._unheard.add(claim.slot)
            self._rest.remove(claim.slot)

    def _is_told(self, claim: Claim) -> bool:
        state = claim.trial.state
        if state == TrialState.PRUNED:
            return not self._rerun and RELEASED not in claim.trial.system_attrs
        return state.is_finished()


def claim_of(trial: FrozenTrial, space: Space, problem: str) -> Claim:
    """The claim that a trial is; StorageError if it is none, or of another problem than this fingerprint's."""
    data = trial.system_attrs.get(CLAIM)
    if not isinstance(data, dict):
        raise StorageError(f"trial {trial.number} of the study was not started by autobct.tune; use another study")
    if data.get("problem") != problem:
        raise StorageError(f"trial {trial.number} of the study belongs to another problem; use another study")
    try:
        decision = decision_of(data["decision"], space)
        assert isinstance(decision, Train)
        return Claim(
            trial=trial,
            slot=int(data["slot"]),
            attempt=int(data["attempt"]),
            token=str(data["token"]),
            decision=decision,
            heard=tuple(data["heard"]),
            charge=finite_number(data["charge"], "charge", least=0.0),
            worker=dict(data["worker"]),
            mends=data.get("mends", False) is True,
        )
    except (AssertionError, CodecError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"trial {trial.number} of the study cannot be read: {error!r}") from None


def outcome_of(claim: Claim, *, timed: bool) -> Run:
    """The run whose outcome a finished trial has; it never changes.  timed: its cost is time."""
    trial, decision = claim.trial, claim.decision
    if trial.state == TrialState.PRUNED:
        seconds = float(trial.system_attrs.get(BEAT, {}).get("seconds", 0.0))
        cost = seconds if timed else decision.expected_cost
        return with_outcome(decision, None, cost, f"its worker on {claim.worker.get('host')} died")
    cost = float(trial.user_attrs[COST])
    if trial.state == TrialState.COMPLETE and trial.values:
        return with_outcome(decision, float(trial.values[0]), cost, None)
    return with_outcome(decision, None, cost, str(trial.user_attrs.get(ERROR) or "the trial failed"))
