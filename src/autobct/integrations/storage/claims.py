"""Trials of a shared study as runs of one tuner.

A trial is a claim: a worker makes run `slot`, at this `attempt`, as decided.  Of two claims for the same attempt the
one with the lower number holds; the database gives out numbers one after the other.  Only its own worker completes or
fails a trial, only others give it up (Optuna's state PRUNED), and a state that is set once never changes.  So every run
has one outcome, whoever reads it and whenever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from autobct.integrations._optuna_store import COST
from autobct.integrations._optuna_trials import Trials
from autobct.run.codec import CodecError, decision_of
from autobct.tuning.decide.decision import Train
from autobct.tuning.history import Run
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
    """

    trial: FrozenTrial
    slot: int
    attempt: int
    token: str
    decision: Train
    heard: tuple[int, ...]
    charge: float
    worker: Mapping[str, Any]


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
    """Reads the trials of one study; what it keeps saves time only.

    problem: the fingerprint that every claim must carry;  rerun: whether a run whose worker died is made again
    timed:   whether its cost is time
    """

    def __init__(self, space: Space, problem: str, *, rerun: bool, timed: bool) -> None:
        self._space, self._problem, self._rerun, self._timed = space, problem, rerun, timed
        self._claims: dict[int, Claim] = {}
        self._runs: dict[int, Run] = {}

    def read(self, trials: Iterable[FrozenTrial]) -> Snapshot:
        """All trials of the study; StorageError if one is not ours."""
        first: dict[tuple[int, int], Claim] = {}
        made: list[Claim] = []
        for trial in sorted(trials, key=lambda trial: trial.number):
            claim = self._claim(trial)
            first.setdefault((claim.slot, claim.attempt), claim)
            if not trial.state.is_finished():
                made.append(claim)
        holding: dict[int, Claim] = {}
        for key in sorted(first):
            holding[key[0]] = first[key]
        told = {slot: claim for slot, claim in holding.items() if self._is_told(claim)}
        order = _order([claim for (_, attempt), claim in sorted(first.items()) if attempt == 0], told)
        heard = set(order)
        unheard = tuple(slot for slot in sorted(told) if slot not in heard)
        rest = [claim for slot, claim in sorted(holding.items()) if slot not in told]
        besides = math.fsum(float(claim.trial.system_attrs.get(RELEASED, 0.0)) for claim in first.values())
        learned = tuple(self._run(told[slot]) for slot in (*order, *unheard))
        return Snapshot(
            trials=Trials(learned, tuple(claim.decision for claim in rest), (besides, 0)),
            made=tuple(made),
            claims=holding,
            unheard=unheard,
            open=tuple(claim for claim in rest if not claim.trial.state.is_finished()),
            lost=tuple(claim for claim in rest if claim.trial.state.is_finished()),
            charged=_charged(first.values()),
        )

    def _claim(self, trial: FrozenTrial) -> Claim:
        known = self._claims.get(trial.number)
        if known is not None and known.trial is trial:
            return known
        data = trial.system_attrs.get(CLAIM)
        if not isinstance(data, dict):
            raise StorageError(f"trial {trial.number} of the study was not started by autobct.tune; use another study")
        if data.get("problem") != self._problem:
            raise StorageError(f"trial {trial.number} of the study belongs to another problem; use another study")
        try:
            decision = decision_of(data["decision"], self._space) if known is None else known.decision
            assert isinstance(decision, Train)
            claim = Claim(
                trial=trial,
                slot=int(data["slot"]),
                attempt=int(data["attempt"]),
                token=str(data["token"]),
                decision=decision,
                heard=tuple(data["heard"]),
                charge=float(data["charge"]),
                worker=dict(data["worker"]),
            )
        except (AssertionError, CodecError, KeyError, TypeError, ValueError) as error:
            raise StorageError(f"trial {trial.number} of the study cannot be read: {error!r}") from None
        self._claims[trial.number] = claim
        return claim

    def _is_told(self, claim: Claim) -> bool:
        state = claim.trial.state
        if state == TrialState.PRUNED:
            return not self._rerun and RELEASED not in claim.trial.system_attrs
        return state.is_finished()

    def _run(self, claim: Claim) -> Run:
        """The outcome of a run; it never changes, so that it is the same value every time."""
        if claim.slot not in self._runs:
            score, cost, error = self._outcome(claim)
            decision = claim.decision
            self._runs[claim.slot] = Run(
                trial=claim.slot,
                params=decision.params,
                control=decision.control,
                score=score,
                cost=cost,
                error=error,
                estimated_score=math.nan,
            )
        return self._runs[claim.slot]

    def _outcome(self, claim: Claim) -> tuple[float | None, float, str | None]:
        trial = claim.trial
        if trial.state == TrialState.PRUNED:
            seconds = float(trial.system_attrs.get(BEAT, {}).get("seconds", 0.0))
            cost = seconds if self._timed else claim.decision.expected_cost
            return None, cost, f"its worker on {claim.worker.get('host')} died"
        cost = float(trial.user_attrs[COST])
        if trial.state == TrialState.COMPLETE and trial.values:
            return float(trial.values[0]), cost, None
        return None, cost, str(trial.user_attrs.get(ERROR) or "the trial failed")


def _order(decided: Sequence[Claim], told: Mapping[int, Claim]) -> list[int]:
    """Told runs in the order in which decisions have learned of them."""
    order: dict[int, None] = {}
    for claim in decided:
        order.update(dict.fromkeys(claim.heard))
    if missing := [slot for slot in order if slot not in told]:
        raise StorageError(f"the study is inconsistent: run {missing[0] + 1} was learned from and has no outcome")
    return list(order)


def _charged(claims: Iterable[Claim]) -> tuple[float, int]:
    charges = [claim.charge for claim in claims if claim.charge > 0.0]
    return math.fsum(charges), len(charges)
