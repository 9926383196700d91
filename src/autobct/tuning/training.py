"""One run of a user's function: call it, time it, read what it returned."""

from __future__ import annotations

import math
import statistics
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autobct.belief.arrays import finite_number
from autobct.tuning.decide.decision import Train
from autobct.tuning.history import Run
from autobct.tuning.units.limits import Deadline, Left

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner

TrainingFunction = Callable[[dict[str, Any]], Any]
"""params -> score (its wall time is the cost), or params -> (score, cost)."""

_RETURN = "return the score as a number, or (score, cost)"
_SHOWN = 60  # characters of what was returned


class WorkerError(RuntimeError):
    """An exception in another process, in words: what was raised there, and its traceback."""


class WrongReturnError(TypeError):
    """The training function returned something that is no score: the same for all params, so that no run will do."""


@dataclass(slots=True)
class Times:
    """Where the time goes.  started: on the clock;  waited: seconds in which runs were waited for.

    training:   seconds in runs;  own_cost: returned by `train` itself, in units that need not be seconds
    in_seconds: whether the price says that cost is time;  finished: whether a training has returned anything yet
    """

    started: float
    training: float = 0.0
    waited: float = 0.0
    own_cost: bool = False
    in_seconds: bool = False
    finished: bool = False

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
        return max(self.elapsed - self.waited, 0.0)

    def due(self, tuner: Tuner) -> float | None:
        """Deciding since the last charge: where the cost is time, the time to decide is cost as well.

        None where it is not, or not known yet: before the first run has finished.  The first time it has the set-up in
        it, which no later run will take again.
        """
        return None if self.own_cost or tuner.best is None else max(self.deciding - tuner.charged, 0.0)

    def left(self, tuner: Tuner, deadline: Deadline | None) -> Left | None:
        """What the next run may cost until the deadline.

        Costs of the user's own are taken to be time at the pace of the runs so far; before the first one only a price
        per time says that costs are seconds, and otherwise it is enough that the deadline has not come.
        """
        if deadline is None:
            return None
        left, cost = deadline.left(), math.fsum(run.cost for run in tuner.history)
        if left <= 0.0 or not (self.own_cost or tuner.history or tuner.problem.price.unit):
            return Left(left if left <= 0.0 else math.inf, "deadline")
        pace = self.training / cost if self.own_cost and cost > 0.0 and self.training > 0.0 else 1.0
        return Left(left / pace, "deadline")


@dataclass(frozen=True, slots=True)
class OneTraining:
    """One training: a score or an error, and what it took.

    seconds:  wall time;  cost: what `train` returned, or None if that is the wall time
    cause:    the exception behind the error;  raised: whether the training function raised it
    """

    seconds: float
    score: float | None = None
    cost: float | None = None
    error: str = ""
    cause: BaseException | None = None
    raised: bool = False

    def __reduce__(self) -> tuple[type[OneTraining], tuple[Any, ...]]:
        """An exception crosses to another process as words: many cannot be pickled, or not be made again."""
        cause = self.cause
        if cause is not None and not isinstance(cause, WrongReturnError | WorkerError):
            cause = WorkerError(f"{self.error}\n\n{''.join(traceback.format_exception(cause)).rstrip()}")
        return OneTraining, (self.seconds, self.score, self.cost, self.error, cause, self.raised)


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
            error = f"{type(failure).__name__}: {failure}".removesuffix(": ")
            return OneTraining(time.perf_counter() - started, error=error, cause=failure, raised=True)
        return _read(returned, time.perf_counter() - started)


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
        times.training += once.seconds
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
    return Trained(spent, error=failed[-1].error, cause=failed[-1].cause, raised=failed[-1].raised)


def trained(train: TrainingFunction, decision: Train, repeats: int, times: Times) -> Trained:
    """A run made here and now."""
    made = Training(train, dict(decision.params), repeats)()
    return summed_up(made, decision.expected_cost / repeats, times)


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
            raise WrongReturnError(f"train returned {len(returned)} values, {_shown(returned)}; {_RETURN}")
        if _is_pair(returned):
            cost = seconds  # in its place until it is read: it is a cost of the user's own
            cost = _number(returned[1], "the cost that train returned", least=0.0)
        score = _number(returned[0] if _is_pair(returned) else returned, "the score that train returned")
        return OneTraining(seconds, score, cost)
    except (WrongReturnError, ValueError) as wrong:
        return OneTraining(seconds, cost=cost, error=f"{wrong}", cause=wrong)


def _number(value: Any, name: str, *, least: float = -math.inf) -> float:
    """A finite number; ValueError if it is not finite, WrongReturnError if it is no number at all."""
    if hasattr(value, "item") and math.prod(getattr(value, "shape", ())) == 1:
        value = value.item()  # an array or a tensor that holds one number
    try:
        return finite_number(value, name, least=least)
    except ValueError as wrong:
        raise ValueError(f"{wrong}; {_RETURN}") from None
    except TypeError:
        raise WrongReturnError(f"{name} must be a number, got {_what(value)}; {_instead(value)}") from None


def _is_pair(returned: object) -> bool:
    return isinstance(returned, tuple) and len(returned) == 2


def _what(value: Any) -> str:
    """What was returned, for a sentence."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    return f"{kind} of shape {tuple(shape)}" if shape is not None else f"{kind} {_shown(value)}"


def _instead(value: Any) -> str:
    """What to write instead."""
    if value is None:
        return f"a return statement seems to be missing: {_RETURN}"
    if isinstance(value, Mapping) and value:
        return f"return one of its values, e.g. metrics[{next(iter(value))!r}]"
    if isinstance(value, bool | str):
        return f"return float(...): {_RETURN}"
    if hasattr(value, "shape"):
        return "return one number, e.g. float(scores.mean())"
    return _RETURN


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
