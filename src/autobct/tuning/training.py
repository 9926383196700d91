"""One run of a user's function: call it, time it, read what it returned."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autobct.belief.arrays import finite_number
from autobct.tuning.decide.decision import Train
from autobct.tuning.history import Run
from autobct.tuning.units.limits import Deadline, Left

if TYPE_CHECKING:
    from autobct.tuning.asked import Asked
    from autobct.tuning.tuner import Tuner

TrainingFunction = Callable[[dict[str, Any]], Any]
"""params -> score (its wall time is the cost), or params -> (score, cost)."""

_RETURN = "return the score as a number, or (score, cost)"
_SHOWN = 60  # characters of what was returned


class WrongReturnError(TypeError):
    """The training function returned something that is no score: the same for all params, so that no run will do."""


@dataclass(slots=True)
class Times:
    """Where the time goes.  started: on the clock;  training: seconds in runs;  own_cost: told by `train` itself.

    in_seconds: whether the price says that cost is time;  finished: whether a training has returned anything yet
    charged:    seconds of deciding that were charged;  waited: seconds of waiting for other processes
    costs:      of the runs that this process made
    """

    started: float
    training: float = 0.0
    own_cost: bool = False  # in units that need not be seconds
    in_seconds: bool = False
    finished: bool = False
    charged: float = 0.0
    waited: float = 0.0
    costs: list[float] = field(default_factory=list)

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

    def charge(self, asked: Asked) -> None:
        """Where the cost is time, the time to decide is cost as well; known once a run has finished.

        The first time it has the set-up in it, which no later run will take again.
        """
        if not self.own_cost and asked.tuner.best is not None:
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
            took = time.perf_counter() - started
            times.training += took
            expected = decision.expected_cost / repeats
            spent += took if times.measured else expected if times.own_cost else max(took, expected)
            error, cause, raised = f"{type(failure).__name__}: {failure}".removesuffix(": "), failure, True
            continue
        took = time.perf_counter() - started
        times.training += took
        times.own_cost, times.finished = times.own_cost or _is_pair(returned), True
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
            raise WrongReturnError(f"train returned {len(returned)} values, {_shown(returned)}; {_RETURN}")
        if _is_pair(returned):
            cost = _number(returned[1], "the cost that train returned", least=0.0)
        return _number(returned[0] if _is_pair(returned) else returned, "the score that train returned"), cost, None
    except (WrongReturnError, ValueError) as wrong:
        return None, cost, wrong


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
