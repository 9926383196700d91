"""tune(): one call from a training function to a result."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TextIO, Unpack

from autobct.tuning.decide.under_way import PriceOf
from autobct.tuning.jobs import Backend, Isolation, check_call, check_jobs, check_waiting, isolation_of, with_executor
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.loop import LoopOrder, asked_of, until_stop
from autobct.tuning.progress import Callback, listeners
from autobct.tuning.result import Result, TuningError
from autobct.tuning.space.space import Space
from autobct.tuning.statement import Problem, parted
from autobct.tuning.storage import Storage
from autobct.tuning.training import TrainingFunction
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline

__all__ = ["Result", "TrainingFunction", "TuningError", "tune"]


@spelled_out
def tune(
    train: TrainingFunction,
    space: Problem | Space | Mapping[str, Any],
    *,
    repeats: int = 1,
    n_jobs: int = 1,
    backend: Backend = "processes",
    price_of: PriceOf = "compute",
    isolate: bool | Isolation = False,
    on_failure: Literal["record", "raise"] = "record",
    storage: str | os.PathLike[str] | Storage | None = None,
    callbacks: Sequence[Callback] = (),
    verbose: bool | str | TextIO = False,
    **keywords: Unpack[TunerKeywords],
) -> Result:
    """Train until another run is not worth its price; return the model to use and why tuning stopped.

    train:        params -> score, at the cost of its wall time in seconds; or params -> (score, cost)
    space:        {"n_estimators": Int(1, 100), "learning_rate": Float(1e-4, 1, log=True)}; Optuna's distributions work
                  too; or a `Problem`, which includes the price and everything else about the problem
    price:        what cost is worth in score: "0.01 per 30s", "1% per 10min", `price_from(gain=0.01, seconds=60)`, or a
                  number, score per unit of cost
    direction:    "maximize" the score, or "minimize" it, e.g. for a loss
    score_range:  approximate lowest and highest score; by default (0, 1), or (0, 100) for percentages; a score
                  outside widens it
    cost_range:   approximate lowest and highest cost of a run; guessed from the price by default; widened likewise
    prior:        a prior of your own, in model units; "paper" for the paper's prior, with a fixed scale in the stated
                  ranges; by default a surrogate that learns its scale, a network that was trained on many tasks, and a
                  Gaussian process; "ensemble" for the first of them alone
    policy:       how to decide, e.g. `relaxed(depth=2)`; by default `ei_per_cost()`, or with a fixed-scale prior a
                  value map from the package if one fits.  It changes nothing else
    recall:       return the best of all trained models, by estimated score (True), or the last one as in the paper
    repeats:      trainings per run; the score is their median, the cost their sum
    n_jobs:       runs side by side; -1 for one per core.  Each decision counts on the runs under way
    backend:      where these run: "processes" (needs joblib: `pip install 'autobct[jobs]'`) or "threads"
    price_of:     what `price` pays for: "compute", the time of all runs, or "waiting", the wall clock, so that four
                  runs side by side cost as much as the longest of them
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
    expect_usual: False to drop the default assumptions: that parameters of well-known names (learning_rate, max_depth,
                  ...) are good at their usual values, that the centre of the space is slightly better than its
                  corners, and that larger whole numbers are more expensive
    isolate:      True runs every training in its own process, so that a crash, running out of memory or a fork is only
                  a failed run; `Isolation(timeout="10 min", memory="4 GB")` also limits it.
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
    verbose:      True prints progress, "bar" on one line; a stream prints it there
    seed:         for policies that use random numbers; the default policy does not
    """
    check_call(train, repeats, on_failure)
    jobs = check_jobs(n_jobs, backend, price_of)
    train, executor = with_executor(train, isolation_of(isolate), jobs, backend)
    heard = listeners(callbacks, verbose)
    problem, plan = parted(space, keywords, "tune()")
    deadline, limits = plan.limits.deadline, replace(plan.limits, deadline=None)
    clock = None if deadline is None else Deadline.of(deadline, time.perf_counter)
    tuner = Tuner(problem, policy=plan.policy, limits=limits, seed=plan.seed)
    check_waiting(price_of, tuner)
    order = LoopOrder(train, repeats=repeats, on_failure=on_failure, jobs=jobs, price_of=price_of)
    try:
        with asked_of(tuner, storage) as asked:
            return until_stop(asked, executor, order, heard, clock)
    finally:
        heard.close()
