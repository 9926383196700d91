"""tune_on_ray(): the loop of `tune` with its runs on a Ray cluster, side by side."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO, Unpack

import ray
from ray import cloudpickle
from ray.exceptions import RayError

from autobct.belief.arrays import whole_number
from autobct.tuning.history import Decision, Stop, Train
from autobct.tuning.jobs import check_call, places
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.loop import told_run, why_hopeless
from autobct.tuning.progress import Callback, Listeners, listeners
from autobct.tuning.result import Result, TuningError, count
from autobct.tuning.space.space import Space
from autobct.tuning.statement import Problem, parted
from autobct.tuning.training import Times, Trained, TrainingFunction, trained
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline

__all__ = ["tune_on_ray"]

_RETRIES = 3
"""Ray's own default: a run whose node or worker process has died is started again so often."""


@spelled_out
def tune_on_ray(
    train: TrainingFunction,
    space: Problem | Space | Mapping[str, Any],
    *,
    concurrent: int | None = None,
    ray_options: Mapping[str, Any] | None = None,
    repeats: int = 1,
    on_failure: Literal["record", "raise"] = "record",
    callbacks: Sequence[Callback] = (),
    verbose: bool | TextIO = False,
    **keywords: Unpack[TunerKeywords],
) -> Result:
    """Tune as `tune` does, with the runs as tasks on a Ray cluster; return the same `Result`.

    concurrent:   runs side by side; by default as many as the cluster can take when tuning starts.  Each decision takes
                  those that are running into account, and a stop waits for them
    ray_options:  options of the tasks as `ray.remote` has them, e.g. {"num_gpus": 1}; one CPU each by default

    `train`, `space` and all other keywords are those of `tune`.  The price counts the cost of all runs.  A run whose
    node dies is started again; one that raises is a failed run.  Without a cluster, Ray starts one on this machine.
    """
    check_call(train, repeats, on_failure)
    if concurrent is not None:
        whole_number(concurrent, "concurrent", example=4)
    heard = listeners(callbacks, verbose)
    problem, plan = parted(space, keywords, "tune_on_ray()")
    clock = None if plan.limits.deadline is None else Deadline.of(plan.limits.deadline, time.perf_counter)
    tuner = Tuner(problem, policy=plan.policy, limits=replace(plan.limits, deadline=None), seed=plan.seed)
    if not ray.is_initialized():
        ray.init()
    options = {"num_cpus": 1, "max_retries": _RETRIES, **(ray_options or {})}
    cluster = _Cluster(tuner, heard, clock, concurrent or _slots(options), on_failure)
    cluster.task, cluster.arguments = ray.remote(_trained).options(**options), (ray.put(train), repeats)
    try:
        return cluster.until_it_stops()
    finally:
        cluster.cancel()
        heard.close()


def _slots(options: Mapping[str, Any]) -> int:
    """How many tasks the cluster can take at once."""
    asked = {"CPU": options.get("num_cpus"), "GPU": options.get("num_gpus"), **(options.get("resources") or {})}
    there = ray.cluster_resources()
    return max(1, min((int(there.get(name, 0.0) / share) for name, share in asked.items() if share), default=1))


@dataclass(frozen=True, slots=True)
class _Done:
    """What a worker sends back: the outcome, and whether the training function says what it costs."""

    outcome: Trained
    took: float
    own_cost: bool
    finished: bool


def _trained(train: TrainingFunction, repeats: int, decision: Train, own_cost: bool, in_seconds: bool) -> _Done:
    """On the worker: one run, timed there."""
    times = Times(time.perf_counter(), own_cost=own_cost, in_seconds=in_seconds)
    outcome = trained(train, decision, repeats, times)
    return _Done(_sendable(outcome), times.training, times.own_cost, times.finished)


def _sendable(outcome: Trained) -> Trained:
    """With a cause that crosses processes: an exception that does not is replaced by its traceback as text."""
    if outcome.cause is None:
        return outcome
    try:
        cloudpickle.loads(cloudpickle.dumps(outcome.cause))
    except Exception:
        text = "".join(traceback.format_exception(outcome.cause))
        return replace(outcome, cause=RuntimeError(f"the exception of the worker could not be sent:\n{text}"))
    return outcome


class _Cluster:
    """Runs side by side: those under way, and what to do when one has ended.

    task, arguments: what Ray runs, and what every run is given first
    """

    task: Any
    arguments: tuple[Any, ...]

    def __init__(
        self, tuner: Tuner, heard: Listeners, clock: Deadline | None, concurrent: int, on_failure: str
    ) -> None:
        self._tuner, self._heard, self._clock = tuner, heard, clock
        self._concurrent, self._on_failure = concurrent, on_failure
        self._times = Times(time.perf_counter(), in_seconds=bool(tuner.problem.price.unit))
        self._running: dict[Any, tuple[Train, float]] = {}  # Ray's reference -> the decision, and when it was started
        self._decisions: list[Decision] = []
        self._deciding = 0.0
        self._cause: BaseException | None = None

    def until_it_stops(self) -> Result:
        """Start runs while any is worth its price, and learn from each as it ends."""
        try:
            while isinstance(decision := self._start(), Train) or self._running:
                self._learn(*self._ended())
            why = decision.why
            self._decisions.append(decision)
            self._heard.tell(self._tuner, decision)
        except KeyboardInterrupt:
            if self._tuner.best is None:
                raise
            why = f"Interrupted after {count(len(self._tuner.history))}."
        try:
            return self._tuner.result(why, self._decisions, deciding=self._deciding)
        except TuningError as nothing:
            raise nothing from self._cause

    def cancel(self) -> None:
        """End what is still running, after an error or Ctrl-C."""
        for reference in self._running:
            ray.cancel(reference, force=True)
        self._running.clear()

    def _start(self) -> Decision:
        """Start runs until the cluster is full, or none is worth its price now; the last decision."""
        began, decision = time.perf_counter(), None
        while len(self._running) < places(self._tuner, self._concurrent) or decision is None:
            decision = self._tuner.ask(self._times.left(self._tuner, self._clock))
            if isinstance(decision, Stop):
                break
            self._decisions.append(decision)
            self._heard.tell(self._tuner, decision)
            known = self._times.own_cost, self._times.in_seconds or self._times.finished
            reference = self.task.remote(*self.arguments, decision, *known)
            self._running[reference] = decision, time.perf_counter()
        self._deciding += time.perf_counter() - began
        return decision

    def _ended(self) -> tuple[Train, Trained]:
        """The next run to end; one that Ray could not finish has failed."""
        [reference], _ = ray.wait(list(self._running), num_returns=1)
        decision, began = self._running.pop(reference)
        try:
            done: _Done = ray.get(reference)
        except RayError as lost:
            took = time.perf_counter() - began
            self._times.training += took
            cost = took if self._times.measured else decision.expected_cost
            return decision, Trained(cost, error=_first_line(lost), cause=lost)
        self._times.training += done.took
        self._times.own_cost = self._times.own_cost or done.own_cost
        self._times.finished = self._times.finished or done.finished
        return decision, done.outcome

    def _learn(self, decision: Train, outcome: Trained) -> None:
        began, tuner = time.perf_counter(), self._tuner
        run = told_run(tuner, decision, outcome)
        self._times.costs.append(run.cost)
        self._cause = outcome.cause or self._cause
        self._deciding += time.perf_counter() - began
        if not self._times.own_cost and tuner.best is not None:
            tuner.charge(max(self._deciding - tuner.charged, 0.0), deciding=tuner.charged > 0.0)
        self._heard.news(tuner, run)
        if hopeless := why_hopeless(outcome, tuner.history, self._on_failure):
            so_far = None if tuner.best is None else tuner.result(hopeless, self._decisions, deciding=self._deciding)
            raise TuningError(hopeless, tuner.history, so_far) from self._cause


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
