"""What is kept in an Optuna storage, and the little that is asked of a study besides."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Sequence

import optuna
from optuna.trial import FrozenTrial, TrialState

from autobct.tuning.history import Decision, run_if_continued

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
