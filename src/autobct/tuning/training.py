"""One run of a user's function: call it, time it, read what it returned."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autobct.tuning.decide.decision import Train
from autobct.tuning.history import Run
from autobct.tuning.returned import RETURN, WrongReturnError, is_pair, number_of, shown
from autobct.tuning.units.limits import Deadline, Left

if TYPE_CHECKING:
    from autobct.tuning.asked import Asked
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


@dataclass(frozen=True, slots=True)
class Measured:
    """What a training returned that was timed elsewhere; `seconds` and `lost` as in `TrainingError`."""

    returned: Any
    seconds: float
    lost: float = 0.0


@dataclass(slots=True)
class Times:
    """Where the time goes.  started: on the clock;  training: seconds in runs;  own_cost: told by `train` itself.

    in_seconds: whether the price says that cost is time;  finished: whether a training has returned anything yet
    charged:    seconds of deciding that were charged;  waited: seconds of waiting for other processes
    costs:      of the runs that this process made
    lost:       seconds of trainings that somebody killed and that were made again
    """

    started: float
    training: float = 0.0
    own_cost: bool = False  # in units that need not be seconds
    in_seconds: bool = False
    finished: bool = False
    charged: float = 0.0
    waited: float = 0.0
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
    def deciding(self) -> float:
        """Seconds that went elsewhere than into runs."""
        return max(time.perf_counter() - self.started - self.training - self.waited, 0.0)

    def spend(self, made: object, took: float) -> float:
        """Count what a training took, `took` seconds as seen from here; those it took where it was made."""
        self.training += took
        if not isinstance(made, Measured | TrainingError):
            return took
        self.lost += made.lost
        return made.seconds

    def charge(self, asked: Asked) -> None:
        """Where the cost is time, the time to decide is cost as well; known once a run has finished.

        The first time it has the set-up in it, which no later run will take again.
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
class Trained:
    """What came of a run: a score or an error, and the cost in either case.

    cause, raised: the exception behind the error, and whether the training function raised it
    """

    cost: float
    score: float | None = None
    error: str | None = None
    cause: BaseException | None = None
    raised: bool = False


def trained(train: TrainingFunction, decision: Train, repeats: int, times: Times) -> Trained:
    """Train `repeats` times.

    A training that raises is charged its wall time, or what it was expected to cost where costs are not seconds; the
    larger of the two where that is not known yet.
    If some of the repeats finish, the run has; the others are only paid for.
    """
    scores: list[float] = []
    spent, error, raised = 0.0, "", False
    cause: BaseException | None = None
    for _ in range(repeats):
        started = time.perf_counter()
        try:
            returned = train(dict(decision.params))
        except (Exception, SystemExit) as failure:  # a script that exits has failed; it must not take the rest along
            took = times.spend(failure, time.perf_counter() - started)
            if isinstance(failure, WrongReturnError):
                return Trained(spent + took, error=str(failure), cause=failure)
            expected = decision.expected_cost / repeats
            spent += took if times.measured else expected if times.own_cost else max(took, expected)
            error, cause, raised = _said(failure), failure, not getattr(failure, "limited", False)
            continue
        took = times.spend(returned, time.perf_counter() - started)
        returned = returned.returned if isinstance(returned, Measured) else returned
        times.own_cost, times.finished = times.own_cost or is_pair(returned), True
        score, cost, wrong = _read(returned, took)
        spent += cost
        if score is not None:
            scores.append(score)
        else:
            error, cause, raised = f"{wrong}", wrong, False
        if isinstance(wrong, WrongReturnError):
            return Trained(spent, error=error, cause=wrong)
    if scores:
        return Trained(spent, statistics.median(scores))
    return Trained(spent, error=error, cause=cause, raised=raised)


def _said(failure: BaseException) -> str:
    """A failure in words."""
    return (
        str(failure)
        if isinstance(failure, TrainingError)
        else f"{type(failure).__name__}: {failure}".removesuffix(": ")
    )


def the_same_again(history: Sequence[Run]) -> bool:
    """Whether the first runs fail with the very same words: the fault is then hardly in the params."""
    if len(history) < 2 or any(run.error is None for run in history):
        return False
    return history[-1].error == history[-2].error


def _read(returned: Any, took: float) -> tuple[float | None, float, Exception | None]:
    """(score, cost, None), or (None, cost, why there is no score); the wall time where no cost was returned."""
    cost = took
    try:
        if isinstance(returned, tuple) and len(returned) != 2:
            raise WrongReturnError(f"train returned {len(returned)} values, {shown(returned)}; {RETURN}")
        if is_pair(returned):
            cost = number_of(returned[1], "the cost that train returned", least=0.0)
        return number_of(returned[0] if is_pair(returned) else returned, "the score that train returned"), cost, None
    except (WrongReturnError, ValueError) as wrong:
        return None, cost, wrong
