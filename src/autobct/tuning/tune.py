"""tune(): one call from a training function to a result."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TextIO, Unpack

from autobct.belief.arrays import whole_number
from autobct.tuning.asked import Asked, asked_of
from autobct.tuning.decide.decision import Decision, Train
from autobct.tuning.history import Note, Run
from autobct.tuning.isolation import Isolation, isolation_of
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.progress import Callback, Listeners, listeners
from autobct.tuning.result import Result, TuningError, count
from autobct.tuning.returned import WrongReturnError
from autobct.tuning.space.space import Space
from autobct.tuning.statement import Problem, parted
from autobct.tuning.storage import LateError, Storage, StorageError
from autobct.tuning.training import Times, Trained, TrainingFunction, the_same_again, trained
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline
from autobct.tuning.windows import window

__all__ = ["Result", "TrainingFunction", "TuningError", "tune"]


@spelled_out
def tune(
    train: TrainingFunction,
    space: Problem | Space | Mapping[str, Any],
    *,
    repeats: int = 1,
    isolate: bool | Isolation = False,
    on_failure: Literal["record", "raise"] = "record",
    storage: str | os.PathLike[str] | Storage | None = None,
    callbacks: Sequence[Callback] = (),
    verbose: bool | TextIO = False,
    **keywords: Unpack[TunerKeywords],
) -> Result:
    """Train until another run is not worth its price; return the model to use and why tuning stopped.

    train:        params -> score, at the cost of its wall time in seconds; or params -> (score, cost)
    space:        {"n_estimators": Int(1, 100), "learning_rate": Float(1e-4, 1, log=True)}; Optuna's distributions work
                  too; or a `Problem`, which includes the price and everything else about the problem
    price:        what cost is worth in score: "0.01 per 30s", "1% per 10min", `price_from(gain=0.01, seconds=60)`, or a
                  number, score per unit of cost
    direction:    "maximize" the score, or "minimize" it, e.g. for a loss
    score_range:  approximate lowest and highest score; (0, 1) by default; a score outside widens it
    cost_range:   approximate lowest and highest cost of a run; guessed from the price by default; widened likewise
    prior:        a prior of your own, in model units; "paper" for the paper's prior, with a fixed scale in the stated
                  ranges; by default a surrogate that learns its scale, and a network that was trained on many tasks;
                  "ensemble" for the former alone
    policy:       how to decide, e.g. `relaxed(depth=2)`; by default `ei_per_cost()`, or with a fixed-scale prior a
                  value map from the package if one fits.  It changes nothing else
    recall:       return the best of all trained models, by estimated score (True), or the last one as in the paper
    repeats:      trainings per run; the score is their median, the cost their sum
    max_runs:     make at most this many runs
    max_cost:     start no run that is likely to bring the total cost above this
    deadline:     start no run that is likely to end later: seconds from now, "30 min", "2h", or a datetime
    candidates:   number of candidates to choose from, or the candidates as controls in the unit cube, (G, p)
    overhead:     a fixed price of every run on top of its cost, in units of the score range; 0 by default
    score_noise:  standard deviation of the score if the same training is repeated, in units of score; 0 or "exact"
                  if it is always the same; learned by default
    guess:        values that you expect to be good, for some or all parameters: {"learning_rate": 1e-3}
    guess_strength:  weight of the guess: 1 is the default, 0 ignores it, 3 if you are nearly sure
    increases_cost:  names of numeric parameters that make runs more expensive: ["n_estimators"]
    expect_usual: False if the centre of the space is no better than its corners and larger whole numbers are not more
                  expensive
    isolate:      True makes every training in a process of its own, so that a crash, an exhausted memory or a training
                  that forks is a failed run and no more; `Isolation(timeout="10 min", memory="4 GB")` also limits it.
                  train must then be a function of a module or script, not a lambda or one of a notebook
    on_failure:   "record" continues after a failed run, "raise" ends the tuning with a TuningError; a return value of
                  the wrong type, or the same exception in the first two runs, always ends it
    storage:      where to keep everything, so that the same call continues after a crash: a folder, "my-tuning"; or a
                  database that several processes share, "sqlite:///run.db" or "postgresql://user@host/database"
                  (needs `pip install 'autobct[storage]'`); or a `Storage` with its settings
    callbacks:    functions of (tuner, event), called after each decision (`Train`, `Stop`) and each `Run`, and once for
                  a score or cost outside its range (`Note`) and a model alarm (`Alarm`); a callback that raises is
                  dropped with a warning
    limits:       max_runs, max_cost and deadline as one value, `Limits(max_runs=20)`
    verbose:      True prints progress; a stream prints it there
    seed:         for policies that use random numbers; the default policy does not
    """
    check_call(train, repeats, on_failure)
    isolation = isolation_of(isolate)
    train = train if isolation is None else window("isolated")(train, isolation)
    heard = listeners(callbacks, verbose)
    problem, plan = parted(space, keywords, "tune()")
    deadline, limits = plan.limits.deadline, replace(plan.limits, deadline=None)
    clock = None if deadline is None else Deadline.of(deadline, time.perf_counter)
    tuner = Tuner(problem, policy=plan.policy, limits=limits, seed=plan.seed)
    try:
        with asked_of(tuner, storage) as asked:
            return _until_stop(asked, train, repeats, on_failure, heard, clock)
    finally:
        heard.close()


def _until_stop(
    asked: Asked,
    train: TrainingFunction,
    repeats: int,
    on_failure: str,
    heard: Listeners,
    clock: Deadline | None,
) -> Result:
    times = Times(time.perf_counter(), in_seconds=bool(asked.tuner.problem.price.unit))
    times.resume(asked.tuner)
    cause: BaseException | None = None
    last: tuple[Decision, ...] = ()
    if made := len(asked.tuner.history):
        heard.tell(asked.tuner, Note(made - 1, "run", f"Continuing after {count(made)}."))
    try:
        while isinstance(decision := asked.ask(times.left(asked.tuner, clock)), Train):
            times.waited = asked.waited
            heard.tell(asked.tuner, decision)
            outcome = trained(train, decision, repeats, times)
            try:
                run = told_run(asked, decision, outcome)
            except LateError as late:
                heard.tell(asked.tuner, Note(len(asked.tuner.history) - 1, "run", str(late)))
                continue
            times.costs.append(run.cost)
            cause = outcome.cause or cause
            times.charge(asked)
            heard.news(asked.tuner, run)
            if hopeless := why_hopeless(outcome, asked.tuner.history, on_failure):
                tuner, made_so_far = asked.tuner, asked.decisions
                so_far = None if tuner.best is None else tuner.result(hopeless, made_so_far, deciding=times.deciding)
                raise TuningError(hopeless, tuner.history, so_far) from cause
        last = (decision,)
        heard.tell(asked.tuner, decision)
        why = decision.why
    except KeyboardInterrupt:
        if asked.tuner.best is None:
            raise
        why = f"Interrupted after {count(len(asked.tuner.history))}."
    try:
        return asked.tuner.result(why, (*asked.decisions, *last), deciding=times.deciding)
    except TuningError as nothing:
        raise nothing from cause


def told_run(asked: Asked | Tuner, decision: Train, outcome: Trained) -> Run:
    """Tell the tuner; an outcome it cannot learn from (a score of zero on a log scale) is a failed run."""
    try:
        return asked.tell(decision, outcome.score, outcome.cost, error=outcome.error)
    except StorageError:  # nothing is wrong with the outcome
        raise
    except ValueError as error:
        return asked.tell(decision, error=str(error), cost=outcome.cost)


def why_hopeless(outcome: Trained, history: Sequence[Run], on_failure: str) -> str:
    """Why the tuning ends with this run, an error in the training function; "" if it goes on."""
    number, error = len(history), history[-1].error
    if isinstance(outcome.cause, WrongReturnError):
        return f"run {number}: {error}"
    if error is not None and on_failure == "raise":
        return f"run {number} failed: {error}"
    if outcome.raised and the_same_again(history):
        return (
            f"runs {number - 1} and {number} both failed with {error}, and no run has finished, so the bug is probably "
            f"in train; if some params cannot be trained, return float('nan') for them"
        )
    return ""


def check_call(train: object, repeats: object, on_failure: object) -> None:
    if not callable(train):
        raise TypeError(f"train must be a function of params, got {train!r}; write tune(train, space, price=...)")
    whole_number(repeats, "repeats", example=5)
    if on_failure not in ("record", "raise"):
        raise ValueError(f"on_failure must be 'record' or 'raise', got {on_failure!r}")
