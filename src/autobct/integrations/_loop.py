"""The loop of a host whose runs take time: ask, let the host evaluate, tell, and charge the time of deciding."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autobct.tuning.asked import Alone
from autobct.tuning.decide.decision import Decision, Train
from autobct.tuning.result import Result
from autobct.tuning.training import Times, the_same_again
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline, Left

__all__ = ["Evaluated", "until_it_stops"]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of one candidate.

    cost:  seconds of computing, failed or not
    error: why there is no score;  cause: the host's exception behind it, if there is one
    """

    cost: float
    score: float | None = None
    error: str | None = None
    cause: Exception | None = None


def until_it_stops(
    tuner: Tuner,
    evaluate: Callable[[dict[str, Any]], Evaluated],
    *,
    deadline: Deadline | None = None,
    say: Callable[[str], object] = lambda sentence: None,
) -> Result:
    """Evaluate candidates one at a time until no further one is worth its price.

    The host's own exception ends it if the first two candidates fail with the same error, or if none has a score.
    """
    decisions: list[Decision] = []
    times = Times(time.perf_counter(), in_seconds=True)
    cause: Exception | None = None
    while isinstance(decision := tuner.ask(_left(tuner, times, deadline)), Train):
        decisions.append(decision)
        say(decision.why)
        found = _timed(evaluate, decision, times)
        tuner.tell(decision, found.score, found.cost, error=found.error)
        times.charge(Alone(tuner))
        cause = found.cause or cause
        if found.cause is not None and the_same_again(tuner.history):
            raise found.cause
    decisions.append(decision)
    say(decision.why)
    if tuner.best is None:
        raise cause or ValueError(_nothing(tuner, decision))
    return tuner.result(decision.why, decisions, deciding=times.deciding)


def _timed(evaluate: Callable[[dict[str, Any]], Evaluated], decision: Train, times: Times) -> Evaluated:
    started = time.perf_counter()
    try:
        return evaluate(dict(decision.params))
    finally:
        times.training += time.perf_counter() - started


def _left(tuner: Tuner, times: Times, deadline: Deadline | None) -> Left | None:
    """What the next run may cost until the deadline; parallel folds compute more seconds than the clock shows."""
    if deadline is None:
        return None
    cost = math.fsum(run.cost for run in tuner.history)
    pace = times.training / cost if cost > 0.0 and times.training > 0.0 else 1.0
    return Left(deadline.left() / pace, "deadline")


def _nothing(tuner: Tuner, decision: Decision) -> str:
    if not tuner.history:
        return f"No candidate was evaluated. {decision.why}"
    return f"No candidate has a finite score. {decision.why} The last error was: {tuner.history[-1].error}"
