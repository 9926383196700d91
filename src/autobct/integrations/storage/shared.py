"""Ask and tell in a database: any number of workers, one tuning."""

from __future__ import annotations

import contextlib
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import TrialState

from autobct.belief.arrays import finite_number
from autobct.integrations._optuna_study import Follower
from autobct.integrations._optuna_trials import COST
from autobct.integrations.storage.claims import ERROR, KILLED, RELEASED, Claim, ClaimedTrial, ClaimReader, Snapshot
from autobct.integrations.storage.database import Turn
from autobct.integrations.storage.patience import LOG, Patience
from autobct.integrations.storage.study import SharedStudy, settings_of_tuner
from autobct.integrations.storage.workers import PER_GRACE, Heart, identity, is_gone
from autobct.tuning.decide.position import is_failing
from autobct.tuning.decide.under_way import Waiting
from autobct.tuning.history import Decision, Run, Train
from autobct.tuning.memory import run_told
from autobct.tuning.result import count
from autobct.tuning.storage import LateError, Storage, StorageError
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Left

_FIRST_LOOK, _LAST_LOOK = 0.02, 1.0  # seconds between two looks at runs that others are making
_HELD: set[str] = set()  # tokens of all claims that are at work in this process
_LOCAL = ("deadline",)  # reasons to stop that hold for one worker only


class Interrupted(Exception):  # noqa: N818 - nothing is wrong
    """A worker was asked to end while it waited for the others."""


class SharedTuner:
    """A tuner whose runs are in a database.  Use `shared` to create one.

    tuner:  the tuner with all runs that were there at the last look, of all workers
    waited: seconds in which this worker waited for others
    notes:  sentences about what earlier calls have left
    """

    def __init__(
        self,
        study: SharedStudy,
        start: Tuner,
        reader: ClaimReader,
        hurried: Callable[[], bool],
        gave_up: Callable[[Tuner], bool],
        end_orphans: Callable[[str], object],
    ) -> None:
        self._study, self._reader, self._hurried, self._gave_up = study, reader, hurried, gave_up
        self._end_orphans = end_orphans
        self._limits = {"max_runs": start.limits.max_runs, "max_cost": start.limits.max_cost}
        self._follower = Follower(start, start.memory.problem.space)
        grace = study.storage.grace
        self._turn = Turn(study.engine, study.storage.study, grace)
        self._heart = Heart(study.backend, grace / PER_GRACE, study.running)
        self._mine: dict[int, Claim] = {}  # by slot
        self._due = self.waited = 0.0
        self.tuner = start
        self._seen = self._look()
        self._mended = gave_up(self.tuner)  # another call, so what made the last runs fail is fixed
        self.notes = (_forgiving(self.tuner),) if self._mended else ()

    @property
    def decisions(self) -> tuple[Train, ...]:
        """The decisions behind all runs of the tuner, in the order of its history."""
        return tuple(self._seen.claims[run.trial].decision for run in self.tuner.history)

    def attempt(self, decision: Train) -> int:
        """How often this run was begun before and given up."""
        return self._mine[decision.trial].attempt

    def token(self, decision: Train) -> str:
        """By which this worker's claim to a run is known."""
        return self._mine[decision.trial].token

    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """The next run for this worker, or to stop.

        A stop that runs of other workers may still change is waited for; under runs of this worker it is returned, and
        holds only until they are told.
        """
        wait, started = _FIRST_LOOK, time.monotonic()
        while True:
            waited = time.monotonic() - started
            decision = self._decided(None if left is None else replace(left, amount=left.amount - waited), waiting)
            if decision is not None:
                return decision
            self._wait(wait)
            wait = min(1.5 * wait, _LAST_LOOK)

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """As `Tuner.tell`, into the database; LateError if the run was given to another worker in the meantime."""
        number = trial.trial if isinstance(trial, Train) else trial
        if number not in list(self._mine):
            raise ValueError(f"trial {number!r} is not under way here; call tell() once for each trial of ask()")
        claim = self._mine[number]
        run = run_told(self.tuner.memory.started(claim.decision), number, score, cost, error)
        del self._mine[number]
        self._heart.finish(claim.trial_id)
        try:
            self._study.set_attr(claim, COST, run.cost, user=True)
            if run.error is not None:
                self._study.set_attr(claim, ERROR, run.error, user=True)
            self._study.finish(claim, TrialState.FAIL if run.score is None else TrialState.COMPLETE, run.score)
        except UpdateFinishedTrialError:
            if self._study.state(claim) == TrialState.PRUNED:
                self._seen = self._look()
                raise _late(number) from None  # otherwise it was this very call, and only the answer was lost
        except StorageError as away:
            outcome = f"score {run.score}" if run.error is None else f"error {run.error!r}"
            raise StorageError(f"{away}; run {number + 1} ({outcome}, cost {run.cost}) is not stored") from None
        finally:
            _HELD.discard(claim.token)
        self._seen = self._look()
        return next(run for run in reversed(self.tuner.history) if run.trial == number)

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """Add a cost that belongs to no run; it is stored with the next run of this worker."""
        self._due += finite_number(cost, "cost", least=0.0)
        self._seen = self._look()

    def release(self, trial: int, cost: float = 0.0) -> None:
        """Give up a run that was interrupted; another worker, or the next call, makes it again."""
        claim = self._mine.pop(trial)
        self._heart.finish(claim.trial_id)
        try:
            self._study.set_attr(claim, RELEASED, float(cost))
            self._study.finish(claim, TrialState.PRUNED)
        except UpdateFinishedTrialError:
            return
        finally:
            _HELD.discard(claim.token)

    def lose(self, trial: int, cost: float) -> None:
        """Count the cost of a try that was killed from outside; the run stays here, or LateError as `tell`."""
        claim = self._mine[trial]
        try:
            self._study.set_attr(claim, KILLED, float(cost))
        except UpdateFinishedTrialError:
            del self._mine[trial]
            self._heart.finish(claim.trial_id)
            _HELD.discard(claim.token)
            raise _late(trial) from None
        self._seen = self._look()

    def start(self) -> None:
        """Start sending heartbeats."""
        self._heart.start()

    def close(self) -> None:
        """Give up what is under way, and end."""
        for trial in list(self._mine):
            with contextlib.suppress(StorageError):  # the others notice that it is gone
                self.release(trial)
        self._heart.close()

    def _look(self, *, deciding: bool = False) -> Snapshot:
        """Read the study, and learn what is new in it."""
        return self._follow(self._reader.read(self._study.changed(*self._reader.unread)), deciding=deciding)

    def _follow(self, seen: Snapshot, *, deciding: bool = False) -> Snapshot:
        """Learn what is new in a study."""
        self.tuner = self._follower.standing(seen.trials, deciding=deciding)
        total, times = seen.charged[0] + self._due, seen.charged[1] + (self._due > 0.0)
        if times:  # their mean is what the next decision is expected to take
            self.tuner.charge(total - total / times)
            self.tuner.charge(total / times, deciding=True)
        return seen

    def _decided(self, left: Left | None, waiting: Waiting | None) -> Decision | None:
        """A decision; None where it has to wait for others."""
        started = time.monotonic()
        with self._turn.taken():
            self.waited += time.monotonic() - started
            seen = self._seen = self._without_the_dead(self._look(deciding=True))
            if seen.lost:
                claim = seen.lost[0].claim
                return self._claimed(claim.decision, claim.attempt + 1, ())
            if (stop := self._study.stopped(seen, self._limits)) is not None:
                return stop
            mends = self._mended and self._gave_up(self.tuner)
            if mends:
                self._follow(replace(seen, trials=seen.trials.mending), deciding=True)
            decision = self.tuner.peek(left, waiting)
            if isinstance(decision, Train):
                return self._claimed(decision, 0, seen.unheard, mends=mends)
            if decision.reason in _LOCAL or self._mine:
                return decision
            if seen.trials.running:
                return None
            if decision.reason != "failing":  # the fault may be this machine's
                self._study.stop(decision, seen, self._limits)
            return decision

    def _claimed(self, decision: Train, attempt: int, heard: Sequence[int], *, mends: bool = False) -> Train | None:
        """The run, if the claim to it holds."""
        token = secrets.token_hex(8)
        _HELD.add(token)
        self._study.claim(token, decision, attempt, heard, self._due, mends=mends)
        due, self._due = self._due, 0.0
        self._seen = self._look()
        found = self._seen.claims.get(decision.trial)
        held = found if found is not None and found.token == token else None
        made = [claimed.claim for claimed in self._seen.made]
        self._study.withdraw([claim for claim in made if claim.token == token and claim is not held])
        if held is None:
            _HELD.discard(token)
            self._due = due
            return None
        self._mended = self._mended and attempt > 0
        self._mine[decision.trial] = held
        self._heart.begin(held.trial_id)
        return held.decision

    def _without_the_dead(self, seen: Snapshot) -> Snapshot:
        """Give up the runs of workers that have died or fallen silent."""
        self._heart.look([claimed.trial for claimed in seen.open])
        mine = {claim.number for claim in self._mine.values()}
        dead = [claimed for claimed in seen.open if claimed.claim.number not in mine and self._is_dead(claimed)]
        for claimed in dead:
            if is_gone(claimed.worker):
                self._end_orphans(claimed.claim.token)
            with contextlib.suppress(UpdateFinishedTrialError):  # it was there after all, or another was faster
                self._study.finish(claimed.claim, TrialState.PRUNED)
        return self._look() if dead else seen

    def _is_dead(self, claimed: ClaimedTrial) -> bool:
        if claimed.worker == identity():
            return claimed.claim.token not in _HELD  # of an earlier call in this process, which has ended
        return is_gone(claimed.worker) or self._heart.silence(claimed.claim.trial_id) >= self._study.storage.grace

    def _wait(self, seconds: float) -> None:
        if self._hurried():
            raise Interrupted
        time.sleep(seconds)
        self.waited += seconds


def _late(trial: int) -> LateError:
    return LateError(
        f"Run {trial + 1} took longer than its worker gave signs of life and went to another worker; "
        f"this result is not counted."
    )


def _forgiving(tuner: Tuner) -> str:
    runs = tuner.twin().forgive()
    return f"The last {count(runs)} failed; they are not held against their parameters."


@contextlib.contextmanager
def shared(
    tuner: Tuner,
    storage: Storage,
    *,
    settings: Mapping[str, Any] | None = None,
    hurried: Callable[[], bool] = lambda: False,
    gave_up: Callable[[Tuner], bool] = lambda tuner: is_failing(tuner.memory),
    end_orphans: Callable[[str], object] = lambda token: None,
    say: Callable[[str], object] = lambda note: warnings.warn(note, RuntimeWarning, stacklevel=4),
    waiting: Callable[[str], object] = LOG.warning,
) -> Iterator[SharedTuner]:
    """Work on a tuning in a database, from its start or from where it is.

    tuner:    a new one;  settings: what makes it this problem and no other, by default what the tuner says
    hurried:  true when this worker is to end: it waits for nothing any more
    gave_up:  whether failures have ended the tuning; another call goes on, and they are not held against their params
    end_orphans: ends what a worker that died on this machine has left running, by the token of its claim
    say:      hears what there is to say of earlier calls
    waiting:  hears of a database that does not answer for a while; by default the log does
    """
    if tuner.history or tuner.under_way:
        raise ValueError("tuner must be new: its earlier runs would not be stored")
    said = {**(settings_of_tuner(tuner) if settings is None else settings), "on_crash": storage.on_crash}
    study = SharedStudy.open(storage, tuner, said, Patience(storage, storage.patience, hurried, waiting))
    with contextlib.closing(study):
        reader = ClaimReader(
            tuner.memory.problem.space,
            study.problem,
            rerun=storage.on_crash == "rerun",
            timed=bool(tuner.memory.problem.price.unit),
        )
        worker = SharedTuner(study, tuner, reader, hurried, gave_up, end_orphans)
        for note in worker.notes:
            say(note)
        worker.start()
        with contextlib.closing(worker):
            yield worker
