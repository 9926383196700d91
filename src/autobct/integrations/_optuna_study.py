"""The decision for an Optuna study: a pure function of its trials, so that all workers reach the same one."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import optuna
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from autobct.integrations._optuna_follow import Follower
from autobct.integrations._optuna_trials import STOPPED, WHY, all_trials, space_of
from autobct.tuning.history import Decision, Stop
from autobct.tuning.keywords import TunerKeywords
from autobct.tuning.space.parameter import Float
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import Direction

_SPACES = 4  # search spaces whose tuners are kept
_PATIENCE = 10  # so many failed trials in a row: the fault is not in the parameters
_BY_NAME = ("guess", "increases_cost")
_OF_SPACE = (*_BY_NAME, "candidates", "prior", "policy")


class StudyTuner:
    """Decides for studies.

    space:  None to infer it from the trials, as Optuna does;  keywords: those of `Tuner`
    others: another sampler makes the suggestions
    """

    def __init__(
        self, space: Space | Mapping[str, Any] | None, keywords: TunerKeywords, caller: str, *, others: bool = False
    ) -> None:
        _check_keywords(keywords, caller)
        self._others = others
        self.space = None if space is None else space_of(space)
        self.keywords = keywords
        self._forget()
        stand_in = {name: value for name, value in keywords.items() if name not in _OF_SPACE}
        tuner = Tuner({"x": Float(0, 1)}, **cast(TunerKeywords, stand_in)) if space is None else self._start(None)
        self.terms = {
            "price": str(tuner.memory.problem.price),
            "max_runs": tuner.limits.max_runs,
            "max_cost": tuner.limits.max_cost,
        }

    def _forget(self) -> None:
        self.lock = threading.RLock()
        self._followers: dict[str, Follower] = {}
        self._warned = False

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "keywords": self.keywords, "terms": self.terms, "_others": self._others}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def decision(
        self,
        study: optuna.Study,
        *,
        space: Space | None = None,
        current: FrozenTrial | None = None,
    ) -> Decision | None:
        """What to do next; None while there is no search space to decide in.

        space:   the one that was inferred for a suggestion
        current: the trial that is decided on, or that is about to be stored as finished
        """
        trials = all_trials(study)
        if current is not None and current.state.is_finished():
            trials = [current if trial.number == current.number else trial for trial in trials]
        if failing(trials):
            return Stop("failing", sum(trial.state.is_finished() for trial in trials), None)
        space = self.space or space or self.inferred(trials)
        if space is None:
            return None
        with self.lock:
            return self._follower(space, study).decision(trials, None if current is None else current.number)

    def inferred(self, trials: Sequence[FrozenTrial]) -> Space | None:
        """What all finished trials have in common, as Optuna infers it; None if that is nothing to tune."""
        found = intersection_search_space(list(trials), include_pruned=True)
        tuned = {name: kind for name, kind in found.items() if not kind.single()}
        if not tuned and not self._warned and any(trial.state == TrialState.COMPLETE for trial in trials):
            self._warned = True
            warnings.warn(
                "No parameter has the same range in all finished trials, so there is nothing to model: parameters are "
                "sampled at random, and the study does not stop by itself.  Pass space=... to the sampler.",
                stacklevel=2,
            )
        return space_of(tuned) if tuned else None

    def _follower(self, space: Space, study: optuna.Study) -> Follower:
        direction: Direction = "maximize" if study.direction == StudyDirection.MAXIMIZE else "minimize"
        key = f"{direction} {space!r}"
        if key not in self._followers:
            for old in list(self._followers)[: len(self._followers) + 1 - _SPACES]:
                del self._followers[old]
            self._followers[key] = Follower(self._start(space, direction), space, others=self._others)
        return self._followers[key]

    def _start(self, space: Space | None, direction: Direction = "maximize") -> Tuner:
        keywords: dict[str, Any] = dict(self.keywords)
        if self.space is None and space is not None:  # what was said of parameters that are not always there
            guess = {name: value for name, value in (keywords.get("guess") or {}).items() if name in space.names}
            keywords["guess"] = guess or None
            keywords["increases_cost"] = [n for n in keywords.get("increases_cost", ()) if n in space.names]
        told = self.space or space
        assert told is not None
        return Tuner(told, **cast(TunerKeywords, keywords | {"direction": direction}))

    def stopped(self, study: optuna.Study) -> str | None:
        """Why the study was stopped, by this worker or another, under the same price and limits; None if it was not."""
        record = study._storage.get_study_user_attrs(study._study_id).get(STOPPED)
        return record["why"] if record and record["terms"] == self.terms else None

    def tell_study(self, study: optuna.Study, decision: Decision) -> None:
        """Store a decision where optuna-dashboard and other workers see it.

        Failing trials end this worker only: the fault may be its machine's.
        """
        set_attr, study_id = study._storage.set_study_user_attr, study._study_id
        set_attr(study_id, WHY, decision.why)
        if isinstance(decision, Stop) and decision.reason != "failing":
            record = {"why": decision.why, "reason": decision.reason, "terms": self.terms}
            set_attr(study_id, STOPPED, record)
        estimated = decision.value if isinstance(decision, Stop) else decision.stop_value
        if estimated is not None:
            set_attr(study_id, "autobct:best_estimated_score", float(estimated))


def failing(trials: Sequence[FrozenTrial]) -> bool:
    """Whether the last trials all failed, whatever their parameters."""
    last = [trial.state for trial in trials if trial.state.is_finished()][-_PATIENCE:]
    return len(last) == _PATIENCE and all(state == TrialState.FAIL for state in last)


def _check_keywords(keywords: TunerKeywords, caller: str) -> None:
    if "direction" in keywords:
        raise TypeError(f"{caller} takes the direction from the study; write create_study(direction=...)")
    if "deadline" in keywords:
        raise TypeError(f"{caller} has no deadline; write study.optimize(objective, timeout=...)")
