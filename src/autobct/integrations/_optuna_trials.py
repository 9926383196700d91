"""Optuna's trials as runs of a tuner: search space, score, cost, what is still running, and what a storage keeps."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from autobct.belief.arrays import finite_number
from autobct.integrations._hosts import control_of
from autobct.tuning.history import Decision, Run, Train, run_if_continued
from autobct.tuning.space.parameter import Categorical, Int, Parameter
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Space

_SET = "call trial.set_user_attr('cost', ...) in the objective"


@dataclass(frozen=True, slots=True, eq=False)
class Trials:
    """What a tuner learns from a study.

    runs:    finished trials inside the search space, by number
    outside: cost of those that are not, and how many of these have a value
    running: the other trials that are running, as far as their values are known
    mended:  after so many of the runs the cause of failures was fixed: the last ones in a row are forgiven
    """

    runs: tuple[Run, ...]
    running: tuple[Train, ...]
    outside: tuple[float, int]
    mended: tuple[int, ...] = ()

    @property
    def mending(self) -> Trials:
        """The same once the cause of the last failures in a row is fixed."""
        return replace(self, mended=(*self.mended, len(self.runs)))


def space_of(given: Space | Mapping[str, Any]) -> Space:
    """The search space of parameters or Optuna's distributions; ValueError for what cannot be one."""
    if isinstance(given, Table):
        raise ValueError("space cannot be a Table here; write a dict of parameters or of Optuna's distributions")
    try:
        return Space.of(given)
    except TypeError as wrong:
        raise ValueError(str(wrong)) from None


def distribution_of(parameter: Parameter) -> BaseDistribution:
    """The same parameter in Optuna's vocabulary."""
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    high = parameter.high if parameter.count is None else parameter.value(parameter.count - 1)
    if isinstance(parameter, Int):
        return IntDistribution(parameter.low, int(high), log=parameter.log, step=parameter.step)
    return FloatDistribution(parameter.low, high, log=parameter.log, step=parameter.step)


def distributions_of(space: Space) -> dict[str, BaseDistribution]:
    """All parameters that have more than one value."""
    pairs = zip(space.names, space.parameters, strict=True)
    return {name: distribution_of(parameter) for name, parameter in pairs if parameter.count != 1}


class Reader:
    """Reads trials; what it keeps is a cache, as a finished trial never changes."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._distributions = distributions_of(space)
        self._read: dict[int, tuple[FrozenTrial, float, Run | None]] = {}

    def read(self, trials: Iterable[FrozenTrial], apart: int | None = None) -> Trials:
        """All trials of a study.  apart: the number of a running trial that is not counted, as it is decided on."""
        ordered = sorted(trials, key=lambda trial: trial.number)
        finished = [trial for trial in ordered if trial.state.is_finished()]
        costs = costs_of(finished)
        read = [(self._run(trial, cost), cost) for trial, cost in zip(finished, costs, strict=True)]
        typical = fmean(costs) if costs else 0.0
        running = [t for t in ordered if t.state == TrialState.RUNNING and t.number != apart]
        outside = [cost for run, cost in read if run is None]
        lost = sum(t.state == TrialState.COMPLETE for t, (run, _) in zip(finished, read, strict=True) if run is None)
        return Trials(
            tuple(run for run, _ in read if run is not None),
            tuple(train for trial in running if (train := self._under_way(trial, typical)) is not None),
            (math.fsum(outside), lost),
        )

    def _run(self, trial: FrozenTrial, cost: float) -> Run | None:
        known = self._read.get(trial.number)
        if known is None or known[1] != cost or not (known[0] is trial or _alike(known[0], trial)):
            known = (trial, cost, self._made(trial, cost))
        self._read[trial.number] = (trial, *known[1:])
        return known[2]

    def _made(self, trial: FrozenTrial, cost: float) -> Run | None:
        control = control_of(self.space, trial.params)
        if control is None:
            return None
        score, error = _outcome(trial)
        return Run(
            trial=trial.number,
            params=self.space.params(control),
            control=control,
            score=score,
            cost=cost,
            error=error,
            estimated_score=math.nan,
        )

    def _under_way(self, trial: FrozenTrial, typical: float) -> Train | None:
        """A running trial as one that was asked for; its expected gain and score play no part any more."""
        suggested = trial.system_attrs.get(SUGGESTED, {})
        known = {name: self._distributions[name] for name in suggested if name in self._distributions}
        params = {name: kind.to_external_repr(suggested[name]) for name, kind in known.items()} | trial.params
        control = control_of(self.space, params)
        if control is None:
            return None
        cost = float(trial.user_attrs.get(EXPECTED_COST, typical))
        return Train(
            trial=trial.number,
            params=self.space.params(control),
            control=control,
            expected_gain=0.0,
            expected_cost=cost,
            price_of_run=0.0,
            expected_score=math.nan,
            value=math.nan,
            stop_value=None,
        )


def _alike(first: FrozenTrial, second: FrozenTrial) -> bool:
    """Whether two trials came out the same at the same parameters."""
    return (first.state, first.values, first.params) == (second.state, second.values, second.params)


def costs_of(finished: Sequence[FrozenTrial]) -> list[float]:
    """The cost of each trial: the user attribute "cost", or the duration in seconds where no trial has it.

    Where trials state their cost, one that failed or was pruned before it could is charged what was expected of it, or
    the mean of the others.
    """
    stated = [_stated(trial) for trial in finished]
    known = [cost for cost in stated if cost is not None]
    if not known:
        return [_duration(trial) for trial in finished]
    return [_unstated(t, fmean(known)) if cost is None else cost for t, cost in zip(finished, stated, strict=True)]


def _stated(trial: FrozenTrial) -> float | None:
    if COST not in trial.user_attrs:
        return None
    try:
        return finite_number(trial.user_attrs[COST], "cost", least=0.0)
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"Trial {trial.number}: user attribute {wrong}.") from None


def _unstated(trial: FrozenTrial, mean: float) -> float:
    if trial.state == TrialState.COMPLETE:
        raise ValueError(
            f"Trial {trial.number} has no user attribute 'cost', but other trials of the study have one; "
            f"{_SET} of every trial, or of none to use durations."
        )
    return float(trial.user_attrs.get(EXPECTED_COST, mean))


def _duration(trial: FrozenTrial) -> float:
    if MEASURED in trial.user_attrs:
        return float(trial.user_attrs[MEASURED])
    seconds = 0.0 if trial.duration is None else trial.duration.total_seconds()
    if seconds <= 0.0:  # what create_trial() makes up ends when it starts
        raise ValueError(
            f"Trial {trial.number} has no duration, so its cost is unknown; {_SET}, "
            f"or create the trial with user_attrs={{'cost': ...}}."
        )
    return seconds


def _outcome(trial: FrozenTrial) -> tuple[float | None, str | None]:
    """The score or the error of a finished trial; a pruned one scores what it reported last."""
    value = trial.values[0] if trial.values else None
    if trial.state == TrialState.FAIL or value is None:
        return None, "the trial failed" if trial.state == TrialState.FAIL else "pruned before it reported a value"
    return (value, None) if math.isfinite(value) else (None, f"the value was {value}")


STOPPED = "autobct:stopped"
"""The study attribute with the decision to stop, and the price and limits under which it was made."""

WHY = "autobct:why"
"""The attribute of a study or a trial with the last decision, or the one that suggested it, in one sentence."""

COST = "cost"
"""The user attribute with the cost of a trial, set by the objective."""

MEASURED = "autobct:cost"
"""The user attribute with the duration that the sampler measured, so that all workers read the same number."""

EXPECTED_COST = "autobct:expected_cost"
"""The user attribute with the cost that was expected of a trial when it was suggested."""

SUGGESTED = "autobct:suggested"
"""The system attribute with the suggested values, in Optuna's internal representation, before the objective asks."""


def all_trials(study: optuna.Study) -> list[FrozenTrial]:
    """All trials, also where a pruner shows the sampler only some of them."""
    return study._storage.get_all_trials(study._study_id, deepcopy=False)


def refuse_many_objectives(study: optuna.Study, name: str) -> None:
    """ValueError for a study with several objectives, in Optuna's words."""
    if len(study.directions) > 1:
        raise ValueError(
            f"If the study is being used for multi-objective optimization, {name} cannot be used: "
            "a price is per unit of one score."
        )


def stop_loop(study: optuna.Study) -> bool:
    """End the study's optimize(); False under ask-and-tell, where there is no loop to end."""
    whole = getattr(study, "_study", study)  # HyperbandPruner shows the sampler one bracket of a study
    try:
        whole.stop()
    except RuntimeError:
        return False
    return True


def tell_trial(study: optuna.Study, trial: FrozenTrial, decision: Decision | None, suggested: dict[str, float]) -> None:
    """Store a suggestion where optuna-dashboard and other workers see it."""
    storage, trial_id = study._storage, trial._trial_id
    storage.set_trial_system_attr(trial_id, SUGGESTED, suggested)
    if decision is not None:
        storage.set_trial_user_attr(trial_id, WHY, decision.why)
    train = run_if_continued(decision)
    if train is not None:
        storage.set_trial_user_attr(trial_id, "autobct:expected_score", float(train.expected_score))
        storage.set_trial_user_attr(trial_id, EXPECTED_COST, float(train.expected_cost))
        storage.set_trial_user_attr(trial_id, "autobct:expected_gain", float(train.expected_gain))


def finished_trial(
    study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
) -> FrozenTrial:
    """The trial as it will be stored, with the duration up to now as its cost if it states none."""
    finished = copy.copy(trial)
    finished.state = state
    finished.values = values
    if COST not in trial.user_attrs and trial.datetime_start is not None:
        seconds = (datetime.datetime.now() - trial.datetime_start).total_seconds()
        study._storage.set_trial_user_attr(trial._trial_id, MEASURED, max(seconds, 0.0))
        finished.user_attrs = {**trial.user_attrs, MEASURED: max(seconds, 0.0)}
    return finished
