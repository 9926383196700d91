"""Libraries that make the runs themselves: the loop for one whose runs take time, and runs that it has already made.

The loop: ask, let the host evaluate, tell, and charge the time of deciding.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from autobct.belief.arrays import Array
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.jobs import places
from autobct.tuning.loop import Alone
from autobct.tuning.progress import Listeners
from autobct.tuning.result import Result
from autobct.tuning.space.space import Space
from autobct.tuning.training import Times, the_same_again
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline, Left

__all__ = ["Evaluated", "control_of", "learnable", "until_it_stops"]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of one candidate.

    cost:  seconds of computing, failed or not
    error: why there is no score;  cause: the host's exception behind it, if there is one
    noise: standard deviation of a score, as known by now; None if it is not
    """

    cost: float
    score: float | None = None
    error: str | None = None
    cause: Exception | None = None
    noise: float | None = None


def until_it_stops(
    tuner: Tuner,
    evaluate: Callable[[list[dict[str, Any]]], list[Evaluated]],
    *,
    deadline: Deadline | None = None,
    heard: Listeners | None = None,
    together: int = 1,
    noise_counts: bool = False,
) -> Result:
    """Evaluate candidates, one at a time or a few together, until no further one is worth its price.

    The host's own exception ends it if the first two candidates fail with the same error, or if none has a score.
    together: so many at most, each decided with those before it under way
    noise_counts: what `Evaluated.noise` says is the noise of a score from then on
    """
    made: dict[int, Train] = {}
    times, heard = Times(time.perf_counter(), in_seconds=True), heard or Listeners([])
    cause: Exception | None = None
    while True:
        batch, stop = _asked(tuner, places(tuner, together), _left(tuner, times, deadline), heard)
        if stop is not None and not batch:
            break
        made |= {train.trial: train for train in batch}
        for decision, found in zip(batch, _timed(evaluate, batch, times), strict=True):
            if noise_counts and found.noise is not None:
                tuner.state_noise(found.noise)
            run = tuner.tell(decision, found.score, found.cost, error=found.error)
            times.charge(Alone(tuner))
            heard.news(tuner, run)
            cause = found.cause or cause
            if found.cause is not None and the_same_again(tuner.history):
                raise found.cause
    heard.tell(tuner, stop)
    if tuner.best is None:
        raise cause or ValueError(_nothing(tuner, stop))
    decisions = [made[run.trial] for run in tuner.history]
    found_all = tuner.result(stop.why, (*decisions, stop), deciding=times.deciding)
    return replace(found_all, elapsed=times.elapsed, n_jobs=together)


def _asked(tuner: Tuner, most: int, left: Left | None, heard: Listeners) -> tuple[list[Train], Stop | None]:
    """At most so many candidates that are worth it together, and the stop if there could be more of them."""
    batch: list[Train] = []
    while len(batch) < most:
        decision = tuner.ask(left)
        if isinstance(decision, Stop):
            return batch, decision
        heard.tell(tuner, decision)
        batch.append(decision)
    return batch, None


def _timed(
    evaluate: Callable[[list[dict[str, Any]]], list[Evaluated]], batch: list[Train], times: Times
) -> list[Evaluated]:
    started = time.perf_counter()
    try:
        return evaluate([dict(decision.params) for decision in batch])
    finally:
        took = time.perf_counter() - started
        times.training, times.waited = times.training + took, times.waited + took


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


def control_of(space: Space, params: Mapping[str, Any]) -> Array | None:
    """The control of a host's values; None if they do not make a point of the space."""
    constants = {n: p.value(0) for n, p in zip(space.names, space.parameters, strict=True) if p.count == 1}
    try:
        return space.control({name: params[name] for name in space.names if name in params} | constants)
    except (TypeError, ValueError):
        return None


def learnable(tuner: Tuner, run: Run) -> Run:
    """The run, or a failed one where a score cannot be on the scale: zero on a log scale."""
    if run.score is None:
        return run
    try:
        tuner.memory.problem.score_observed(run.score)
    except ValueError as wrong:
        return Run(
            trial=run.trial,
            params=run.params,
            control=run.control,
            score=None,
            cost=run.cost,
            error=str(wrong),
            estimated_score=run.estimated_score,
        )
    return run
