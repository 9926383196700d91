"""One run of a user's function: call it, time it, read what it returned."""

from __future__ import annotations

import math
import statistics
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from autobct.tuning.history import Run, Train
from autobct.tuning.returned import RETURN, WrongReturnError, is_pair, number_of, shown
from autobct.tuning.units.limits import Deadline, Left

if TYPE_CHECKING:
    from autobct.tuning.loop import Asked
    from autobct.tuning.tuner import Tuner

TrainingFunction = Callable[[dict[str, Any]], Any]
"""params -> score (its wall time is the cost), or params -> (score, cost)."""


class TrainingError(Exception):
    """A training that failed elsewhere, in a process of its own: the whole sentence.

    seconds: what it took;  lost: seconds of an earlier try that somebody killed
    limited: a limit ended it, within which other params may well stay
    """

    def __init__(self, sentence: str, seconds: float = 0.0, lost: float = 0.0, *, limited: bool = False) -> None:
        super().__init__(sentence, seconds, lost)
        self.sentence, self.seconds, self.lost, self.limited = sentence, seconds, lost, limited

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


class WorkerError(RuntimeError):
    """An exception in another process, in words: what was raised there, and its traceback."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a training returned that was timed elsewhere; `seconds` and `lost` as in `TrainingError`."""

    returned: Any
    seconds: float
    lost: float = 0.0


@dataclass(slots=True)
class Times:
    """Where the time goes.  started: on the clock;  waited: seconds in which runs were waited for.

    training:   seconds in runs;  own_cost: returned by `train` itself, in units that need not be seconds
    in_seconds: whether the price says that cost is time;  finished: whether a training has returned anything yet
    charged:    seconds of deciding that were charged;  others: seconds of waiting for other processes
    costs:      of the runs that this process made
    lost:       seconds of trainings that somebody killed and that were made again, not charged yet
    """

    started: float
    training: float = 0.0
    waited: float = 0.0
    own_cost: bool = False
    in_seconds: bool = False
    finished: bool = False
    charged: float = 0.0
    others: float = 0.0
    costs: list[float] = field(default_factory=list)
    lost: float = 0.0

    def resume(self, tuner: Tuner) -> None:
        """Where a tuning continues: deciding was charged if its costs are time."""
        if tuner.best is not None:
            self.own_cost, self.finished = tuner.charged == 0.0, True

    @property
    def measured(self) -> bool:
        """Whether the time of a training is known to be its cost."""
        return not self.own_cost and (self.in_seconds or self.finished)

    @property
    def elapsed(self) -> float:
        """Seconds since it started."""
        return time.perf_counter() - self.started

    @property
    def deciding(self) -> float:
        """Seconds in which no run was waited for."""
        return max(self.elapsed - self.waited - self.others, 0.0)

    def spend(self, once: OneTraining) -> None:
        """Count what a training took, as seen from where it was waited for, and what was lost before it."""
        self.training += once.wall
        self.lost += once.lost

    def charge(self, asked: Asked) -> None:
        """Charge what went elsewhere than into runs since the last time, where costs are time.

        That is the time to decide, and that of trainings which were lost; known once a run has finished.  The first
        charge for deciding has the set-up in it, which no later run will take again.
        """
        if self.own_cost or asked.tuner.best is None:
            return
        lost, self.lost = self.lost, 0.0
        if lost:
            asked.charge(lost)
        due, before = max(self.deciding - self.charged, 0.0), self.charged
        self.charged += due
        asked.charge(due, deciding=before > 0.0)

    def left(self, tuner: Tuner, deadline: Deadline | None) -> Left | None:
        """What the next run may cost until the deadline.

        Costs of the user's own are taken to be time at the pace of the runs so far; before the first one only a price
        per time says that costs are seconds, and otherwise it is enough that the deadline has not come.
        """
        if deadline is None:
            return None
        left, cost = deadline.left(), math.fsum(self.costs)
        if left <= 0.0 or not (self.own_cost or tuner.history or tuner.problem.price.unit):
            return Left(left if left <= 0.0 else math.inf, "deadline")
        pace = self.training / cost if self.own_cost and cost > 0.0 and self.training > 0.0 else 1.0
        return Left(left / pace, "deadline")


@dataclass(frozen=True, slots=True)
class OneTraining:
    """One training: a score or an error, and what it took.

    seconds:  wall time where it was made;  cost: what `train` returned, or None if that is the wall time
    cause:    the exception behind the error;  raised: whether the training function raised it, or a limit ended it
    wall:     seconds as seen from outside, with the start of a process of its own;  lost, limited: as in
              `TrainingError`
    """

    seconds: float
    score: float | None = None
    cost: float | None = None
    error: str = ""
    cause: BaseException | None = None
    raised: bool = False
    wall: float = 0.0
    lost: float = 0.0
    limited: bool = False

    def __reduce__(self) -> tuple[type[OneTraining], tuple[Any, ...]]:
        """An exception crosses to another process as words: many cannot be pickled, or not be made again."""
        cause = self.cause
        if cause is not None and not isinstance(cause, WrongReturnError | WorkerError):
            cause = WorkerError(f"{self.error}\n\n{''.join(traceback.format_exception(cause)).rstrip()}")
        words = self.error, cause, self.raised
        return OneTraining, (self.seconds, self.score, self.cost, *words, self.wall, self.lost, self.limited)


@dataclass(frozen=True, slots=True)
class Training:
    """A run that is still to be made: `repeats` trainings with the same params, anywhere."""

    train: TrainingFunction
    params: dict[str, Any]
    repeats: int = 1

    def __call__(self) -> tuple[OneTraining, ...]:
        """Train.  After a return value that is wrong for all params there is no need to repeat it."""
        made: list[OneTraining] = []
        while len(made) < self.repeats and not (made and isinstance(made[-1].cause, WrongReturnError)):
            made.append(self._once())
        return tuple(made)

    def _once(self) -> OneTraining:
        started = time.perf_counter()
        try:
            returned = self.train(dict(self.params))
        except (Exception, SystemExit) as failure:  # a script that exits has failed; it must not take the rest along
            return _failed(failure, time.perf_counter() - started)
        wall = time.perf_counter() - started
        if isinstance(returned, Measured):
            return replace(_read(returned.returned, returned.seconds), wall=wall, lost=returned.lost)
        return replace(_read(returned, wall), wall=wall)


@dataclass(frozen=True, slots=True)
class Trained:
    """What came of a run: a score or an error, and the cost in either case.

    cause, raised: the exception behind the error, and whether the training function raised it
    """

    cost: float
    score: float | None = None
    error: str | None = None
    cause: BaseException | None = None
    raised: bool = False


def summed_up(trainings: Sequence[OneTraining], expected: float, times: Times) -> Trained:
    """All trainings of a run together.  expected: cost of each.

    A training that raises is charged its wall time, or what it was expected to cost where costs are not seconds; the
    larger of the two where that is not known yet.
    If some of the repeats finish, the run has; the others are only paid for.
    """
    spent = 0.0
    for once in trainings:
        times.spend(once)
        if once.raised:
            took = once.seconds
            spent += took if times.measured else expected if times.own_cost else max(took, expected)
        else:
            times.own_cost, times.finished = times.own_cost or once.cost is not None, True
            spent += once.seconds if once.cost is None else once.cost
    scores = [once.score for once in trainings if once.score is not None]
    failed = [once for once in trainings if once.score is None]
    if scores and not any(isinstance(once.cause, WrongReturnError) for once in failed):
        return Trained(spent, statistics.median(scores))
    last = failed[-1]
    return Trained(spent, error=last.error, cause=last.cause, raised=last.raised and not last.limited)


def trained(train: TrainingFunction, decision: Train, repeats: int, times: Times) -> Trained:
    """A run made here and now."""
    made = Training(train, dict(decision.params), repeats)()
    return summed_up(made, decision.expected_cost / repeats, times)


def _failed(failure: BaseException, wall: float) -> OneTraining:
    """A training that raised; one that failed elsewhere says itself what it took."""
    if isinstance(failure, WrongReturnError):
        return OneTraining(wall, error=str(failure), cause=failure, wall=wall)
    if not isinstance(failure, TrainingError):
        error = f"{type(failure).__name__}: {failure}".removesuffix(": ")
        return OneTraining(wall, error=error, cause=failure, raised=True, wall=wall)
    return OneTraining(
        seconds=failure.seconds,
        error=str(failure),
        cause=failure,
        raised=True,
        wall=wall,
        lost=failure.lost,
        limited=failure.limited,
    )


def the_same_again(history: Sequence[Run]) -> bool:
    """Whether the first runs fail with the very same words: the fault is then hardly in the params."""
    if len(history) < 2 or any(run.error is None for run in history):
        return False
    return history[-1].error == history[-2].error


def _read(returned: Any, seconds: float) -> OneTraining:
    """What a training returned; an error if there is no score in it."""
    cost: float | None = None
    try:
        if isinstance(returned, tuple) and len(returned) != 2:
            raise WrongReturnError(f"train returned {len(returned)} values, {shown(returned)}; {RETURN}")
        if is_pair(returned):
            cost = seconds  # in its place until it is read: it is a cost of the user's own
            cost = number_of(returned[1], "the cost that train returned", least=0.0)
        score = number_of(returned[0] if is_pair(returned) else returned, "the score that train returned")
        return OneTraining(seconds, score, cost)
    except (WrongReturnError, ValueError) as wrong:
        return OneTraining(seconds, cost=cost, error=f"{wrong}", cause=wrong)
