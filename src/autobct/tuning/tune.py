"""tune(): one call from a training function to a result."""

from __future__ import annotations

import datetime
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from autobct.belief.arrays import Array, finite_number, whole_number
from autobct.belief.prior import Prior
from autobct.tuning.decision import Decision, Train
from autobct.tuning.history import Run
from autobct.tuning.limits import Deadline, Left
from autobct.tuning.policy import Policy
from autobct.tuning.price import Price
from autobct.tuning.problem import Direction
from autobct.tuning.progress import Callback, listeners
from autobct.tuning.result import Result, TuningError, count
from autobct.tuning.scale import Affine, AffineLog
from autobct.tuning.space import Space
from autobct.tuning.tuner import Tuner

__all__ = ["Result", "TrainingFunction", "TuningError", "tune"]

TrainingFunction = Callable[[dict[str, Any]], Any]
"""params -> score (its wall time is the cost), or params -> (score, cost)."""


def tune(
    train: TrainingFunction,
    space: Space | Mapping[str, Any],
    *,
    price: float | str | Price,
    direction: Direction = "maximize",
    score_range: Sequence[float] | Affine | AffineLog | None = None,
    cost_range: Sequence[float] | Affine | AffineLog | None = None,
    prior: Prior | str | None = None,
    policy: Policy | None = None,
    recall: bool = True,
    repeats: int = 1,
    max_runs: int | None = None,
    max_cost: float | None = None,
    deadline: float | str | datetime.datetime | datetime.timedelta | None = None,
    candidates: Array | int | None = None,
    overhead: float | None = None,
    score_noise: float | str | None = None,
    guess: Mapping[str, Any] | None = None,
    guess_strength: float = 1.0,
    increases_cost: Sequence[str] = (),
    expect_usual: bool = True,
    on_failure: Literal["record", "raise"] = "record",
    callbacks: Sequence[Callback] = (),
    verbose: bool | TextIO = False,
    seed: int | None = None,
) -> Result:
    """Train until further training is not worth its price; return the model to use, and why it stopped.

    train:        params -> score; its wall time in seconds is the cost.  Or params -> (score, cost)
    space:        {"n_estimators": Int(1, 100), "learning_rate": Float(1e-4, 1, log=True)}; Optuna's distributions too
    price:        what cost is worth in score: "0.01 per 30s", "1% per 10min", `price_from(gain=0.01, seconds=60)`, or a
                  number, score per unit of cost
    direction:    "maximize" the score, or "minimize" it, as of a loss
    score_range:  lowest and highest score to expect, about; (0, 1) if not given; a run outside widens it
    cost_range:   lowest and highest cost to expect, about; guessed from the price if not given; widened alike
    prior:        a first belief of your own, in model units; "paper" for the paper's fixed scale in the stated ranges;
                  otherwise one that learns its scale
    policy:       how to decide, e.g. `ei_per_cost()` or `relaxed(depth=2)`; otherwise a value map of the package where
                  one fits.  It changes nothing else
    recall:       return the best believed of all models trained (True), or the last one as in the paper (False)
    repeats:      trainings per run; the score is their median, the cost their sum
    max_runs:     no more runs than this
    max_cost:     start no run that is likely to bring the total cost above this
    deadline:     start no run that is likely to end later: seconds from now, "30 min", "2h", or a datetime
    candidates:   how many settings to choose among, or these as controls in the unit cube, (G, p)
    overhead:     a fixed price of every run on top of its cost, in units of the score range; none if not given
    score_noise:  standard deviation of the score when the same training is repeated, in units of score; 0 or "exact"
                  if it is always the same; learned if not given
    guess:        values that you expect to be good, of some or all parameters: {"learning_rate": 1e-3}
    guess_strength:  how firmly: 1 as a rule, 0 not at all, 3 if you are nearly sure
    increases_cost:  names of numbers that make runs dearer: ["n_estimators"]
    expect_usual: False if the centre of the space is no better than its corners, and whole numbers are no sizes
    on_failure:   "record" goes on after a failed run, "raise" ends the tuning with a TuningError
    callbacks:    functions of (tuner, event), called after each decision (`Train`, `Stop`) and each `Run`, and once for
                  a range that was left (`Note`) or a model alarm (`Alarm`); one that raises is dropped with a warning
    verbose:      True prints what happens, a stream prints it there
    seed:         for policies that draw random numbers; the default one does not
    """
    _check_call(train, repeats, on_failure)
    heard = listeners(callbacks, verbose)
    clock = None if deadline is None else Deadline.of(deadline, time.perf_counter)
    tuner = Tuner(
        space,
        price=price,
        direction=direction,
        score_range=score_range,
        cost_range=cost_range,
        prior=prior,
        policy=policy,
        recall=recall,
        max_runs=max_runs,
        max_cost=max_cost,
        candidates=candidates,
        overhead=overhead,
        score_noise=score_noise,
        guess=guess,
        guess_strength=guess_strength,
        increases_cost=increases_cost,
        expect_usual=expect_usual,
        seed=seed,
    )
    decisions: list[Decision] = []
    times = Times(time.perf_counter(), in_seconds=bool(tuner.problem.price.unit))
    try:
        while isinstance(decision := tuner.ask(times.left(tuner, clock)), Train):
            decisions.append(decision)
            heard.tell(tuner, decision)
            outcome, cause = _trial(train, decision, repeats, times)
            run = _told(tuner, decision, outcome)
            times.charge(tuner)
            heard.news(tuner, run)
            if run.error is not None and on_failure == "raise":
                raise TuningError(f"run {run.trial + 1} failed: {run.error}", tuner.history) from cause
        decisions.append(decision)
        heard.tell(tuner, decision)
        why = decision.why
    except KeyboardInterrupt:
        if tuner.best is None:
            raise
        why = f"Interrupted after {count(len(tuner.history))}."
    finally:
        heard.close()
    return tuner.result(why, decisions, deciding=times.deciding)


@dataclass(slots=True)
class Times:
    """Where the time goes.  started: on the clock;  training: seconds in runs;  own_cost: told by `train` itself.

    in_seconds: whether the price says that cost is time;  finished: whether a training has returned anything yet
    """

    started: float
    training: float = 0.0
    own_cost: bool = False  # in units that need not be seconds
    in_seconds: bool = False
    finished: bool = False

    @property
    def measured(self) -> bool:
        """Whether the time of a training is known to be its cost."""
        return not self.own_cost and (self.in_seconds or self.finished)

    @property
    def deciding(self) -> float:
        """Seconds that went elsewhere than into runs."""
        return max(time.perf_counter() - self.started - self.training, 0.0)

    def charge(self, tuner: Tuner) -> None:
        """Where the cost is time, the time to decide is cost as well; known once a run has finished.

        The first time it has the set-up in it, which no later run will take again.
        """
        if not self.own_cost and tuner.best is not None:
            tuner.charge(max(self.deciding - tuner.charged, 0.0), deciding=tuner.charged > 0.0)

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


def _told(tuner: Tuner, decision: Train, outcome: dict[str, Any]) -> Run:
    """Tell the tuner; an outcome it cannot learn from (a score of zero on a log scale) is a failed run."""
    try:
        return tuner.tell(decision, **outcome)
    except ValueError as error:
        return tuner.tell(decision, error=str(error), cost=outcome["cost"])


def _trial(
    train: TrainingFunction, decision: Train, repeats: int, times: Times
) -> tuple[dict[str, Any], BaseException | None]:
    """Train `repeats` times; what to tell the tuner, score and cost or error and cost, and what raised the error.

    A training that raises is charged its wall time, or what it was expected to cost where costs are not seconds; the
    larger of the two where that is not known yet.
    If some of the repeats finish, the run has; the others are only paid for.
    """
    scores: list[float] = []
    spent, error, cause = 0.0, "", None
    for _ in range(repeats):
        started = time.perf_counter()
        try:
            returned = train(dict(decision.params))
        except (Exception, SystemExit) as raised:  # a script that exits has failed; it must not take the rest along
            took = time.perf_counter() - started
            times.training += took
            expected = decision.expected_cost / repeats
            spent += took if times.measured else expected if times.own_cost else max(took, expected)
            error, cause = f"{type(raised).__name__}: {raised}", raised
            continue
        took = time.perf_counter() - started
        times.training += took
        times.own_cost, times.finished = times.own_cost or _is_pair(returned), True
        cost = took
        try:
            cost = _cost(returned, took)
            scores.append(finite_number(_score(returned), "the score that train returned"))
        except (TypeError, ValueError) as wrong:
            error, cause = f"{wrong}; return a score, or (score, cost)", wrong
        spent += cost
    if scores:
        return {"score": statistics.median(scores), "cost": spent}, None
    return {"error": error, "cost": spent}, cause


def _is_pair(returned: object) -> bool:
    return isinstance(returned, tuple) and len(returned) == 2


def _score(returned: Any) -> object:
    if isinstance(returned, tuple) and len(returned) != 2:
        raise TypeError(f"train returned {len(returned)} values, {returned!r}")
    return returned[0] if _is_pair(returned) else returned


def _cost(returned: Any, took: float) -> float:
    """The cost that came with the score; the wall time if none did."""
    if not _is_pair(returned):
        return took
    return finite_number(returned[1], "the cost that train returned", least=0.0)


def _check_call(train: object, repeats: object, on_failure: object) -> None:
    if not callable(train):
        raise TypeError(f"train must be a function of params, got {train!r}; write tune(train, space, price=...)")
    whole_number(repeats, "repeats", example=5)
    if on_failure not in ("record", "raise"):
        raise ValueError(f"on_failure must be 'record' or 'raise', got {on_failure!r}")
