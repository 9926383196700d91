"""The study of a shared tuning: everything that is read from a database or written to it."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optuna
import sqlalchemy
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.exceptions import DuplicatedStudyError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from autobct.integrations._optuna_trials import EXPECTED_COST, STOPPED, WHY, distribution_of
from autobct.integrations.storage.claims import CLAIM, Claim, Snapshot
from autobct.integrations.storage.database import keep_copy, opened
from autobct.integrations.storage.patience import Patience
from autobct.integrations.storage.workers import identity
from autobct.run.journal import decision_of, encoded
from autobct.run.program_settings import differences
from autobct.tuning.history import Stop, Train
from autobct.tuning.space.parameter import Categorical
from autobct.tuning.space.space import Space
from autobct.tuning.statement import versions
from autobct.tuning.storage import Storage, StorageError
from autobct.tuning.tuner import Tuner

SETTINGS = "autobct:settings"
"""The study attribute with what makes it this problem and no other."""

_LIMITS = ("max_runs", "max_cost")
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")  # in what a function calls itself; another in every process


@dataclass(frozen=True, slots=True, eq=False)
class SharedStudy:
    """One study in a database.

    problem: the fingerprint of its settings
    """

    storage: Storage
    backend: RDBStorage
    study_id: int
    space: Space
    problem: str
    patience: Patience

    @classmethod
    def open(cls, storage: Storage, tuner: Tuner, settings: Mapping[str, Any], patience: Patience) -> SharedStudy:
        """The study of this problem, made if there is none; StorageError if it is of another."""
        backend, problem = opened(storage), tuner.memory.problem
        said = json.loads(json.dumps(settings))
        direction = StudyDirection.MAXIMIZE if problem.direction == "maximize" else StudyDirection.MINIMIZE
        study_id = patience(lambda: _study_id(backend, storage.study, direction))
        study = cls(storage, backend, study_id, problem.space, fingerprint(said), patience)
        study._check_settings(said, settings_of_tuner(tuner))
        return study

    @property
    def engine(self) -> sqlalchemy.Engine:
        """The connections behind it."""
        return self.backend.engine

    def close(self) -> None:
        """Let go of all connections."""
        self.backend.remove_session()
        self.backend.engine.dispose()

    def changed(self, running: set[int], last: int) -> list[FrozenTrial]:
        """The trials with these ids, and all after the last one, in one look.

        Optuna's own list of all trials would keep each of them, 10 kB a trial, for as long as the process lives.
        """
        return self.patience(lambda: self.backend._get_trials(self.study_id, None, running, last))

    def running(self) -> list[FrozenTrial]:
        """Those that are running, without patience."""
        states = (TrialState.RUNNING,)
        return self.backend.get_all_trials(self.study_id, deepcopy=False, states=states)

    def state(self, claim: Claim) -> TrialState:
        """The state of a trial as it is now."""
        return self.patience(lambda: self.backend.get_trial(claim.trial_id)).state

    def set_attr(self, claim: Claim, key: str, value: Any, *, user: bool = False) -> None:
        """Store something with a trial; UpdateFinishedTrialError if it is not running."""
        write = self.backend.set_trial_user_attr if user else self.backend.set_trial_system_attr
        self.patience(lambda: write(claim.trial_id, key, value))

    def finish(self, claim: Claim, state: TrialState, score: float | None = None) -> None:
        """End a trial, in one step; UpdateFinishedTrialError if it has ended."""
        values = None if score is None else [score]
        self.patience(lambda: self.backend.set_trial_state_values(claim.trial_id, state, values))
        keep_copy(self.engine)

    def claim(
        self, token: str, decision: Train, attempt: int, heard: Sequence[int], charge: float, *, mends: bool = False
    ) -> None:
        """Claim a run.  token: by which this claim is known, also if it is stored twice."""
        data = {
            "slot": decision.trial,
            "attempt": attempt,
            "token": token,
            "decision": encoded(decision),
            "heard": list(heard),
            "charge": charge,
            "worker": identity(),
            "problem": self.problem,
            **({"mends": True} if mends else {}),
        }
        params, distributions = shown_params(self.space, decision)
        template = optuna.trial.create_trial(
            state=TrialState.RUNNING,
            params=params,
            distributions=distributions,
            user_attrs={WHY: decision.why, EXPECTED_COST: float(decision.expected_cost)},
            system_attrs={CLAIM: data},
        )
        template.datetime_start = datetime.datetime.now()
        self.patience(lambda: self.backend.create_new_trial(self.study_id, template))

    def withdraw(self, claims: Sequence[Claim]) -> None:
        """End the trials of claims that do not hold."""
        for claim in claims:
            with contextlib.suppress(UpdateFinishedTrialError):
                self.finish(claim, TrialState.PRUNED)

    def stopped(self, seen: Snapshot, limits: Mapping[str, Any]) -> Stop | None:
        """The decision to stop that a worker has made after the same runs and under the same limits."""
        record = self.patience(lambda: self.backend.get_study_user_attrs(self.study_id)).get(STOPPED)
        if not record or seen.trials.running or record["terms"] != dict(limits):
            return None
        if record["runs"] != len(seen.trials.runs):
            return None
        decision = decision_of(record["decision"], self.space)
        return decision if isinstance(decision, Stop) else None

    def stop(self, decision: Stop, seen: Snapshot, limits: Mapping[str, Any]) -> None:
        """Record that this is the end, for all workers."""
        record = {
            "why": decision.why,
            "reason": decision.reason,
            "terms": dict(limits),
            "runs": len(seen.trials.runs),
            "decision": encoded(decision),
        }
        self.patience(lambda: self.backend.set_study_user_attr(self.study_id, WHY, decision.why))
        self.patience(lambda: self.backend.set_study_user_attr(self.study_id, STOPPED, record))

    def _check_settings(self, settings: dict[str, Any], tuner: dict[str, Any]) -> None:
        """The same problem, or a study that nobody has begun yet.  tuner: for whoever reads it, what the tuner says."""
        before, begun = self._settings(), False
        if before is None:
            begun = self.patience(lambda: self.backend.get_n_trials(self.study_id)) > 0
            before = self._settings()  # once more: whoever claims a run has stored the settings before
        if before is None and begun:
            raise StorageError(f"{self._named} was not made by autobct.tune; {_OTHER}")
        if before is None:
            record = {"settings": settings, "versions": versions(), "tuner": tuner}
            self.patience(lambda: self.backend.set_study_user_attr(self.study_id, SETTINGS, record))
            before = self._settings() or {}
        if changed := differences(before, settings):
            raise StorageError(
                f"{self._named} is of another problem: {', '.join(changed)} differ{'s' * (len(changed) == 1)}; {_OTHER}"
            )

    def _settings(self) -> dict[str, Any] | None:
        record = self.patience(lambda: self.backend.get_study_user_attrs(self.study_id)).get(SETTINGS)
        return None if record is None else dict(record["settings"])

    @property
    def _named(self) -> str:
        return f"the study {self.storage.study!r} in {self.storage.shown!r}"


_OTHER = "change it back, or give another study name"


def fingerprint(settings: Mapping[str, Any]) -> str:
    """Of a problem; carried by every claim."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:32]


def settings_of_tuner(tuner: Tuner) -> dict[str, Any]:
    """What makes it this problem and no other; limits may differ between workers and from call to call."""
    plain: dict[str, Any] = json.loads(_ADDRESS.sub("", json.dumps(tuner.settings)))
    return {key: value for key, value in plain.items() if key not in _LIMITS}


def shown_params(space: Space, decision: Train) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """The parameters of a run for optuna-dashboard; a choice that is some object by what it calls itself."""
    params: dict[str, Any] = {}
    distributions: dict[str, BaseDistribution] = {}
    for name, parameter in zip(space.names, space.parameters, strict=True):
        if name not in decision.params:
            continue
        value = decision.params[name]
        if isinstance(parameter, Categorical):
            choices = [_plain(choice) for choice in parameter.choices]
            params[name], distributions[name] = _plain(value), CategoricalDistribution(choices)
        else:
            params[name], distributions[name] = value, distribution_of(parameter)
    return params, distributions


def _plain(choice: Any) -> Any:
    plain = choice is None or isinstance(choice, bool | int | float | str)
    return choice if plain else _ADDRESS.sub("", repr(choice))


def _study_id(backend: RDBStorage, name: str, direction: StudyDirection) -> int:
    try:
        return backend.get_study_id_from_name(name)
    except KeyError:
        pass
    try:
        return backend.create_new_study([direction], name)
    except DuplicatedStudyError:  # somebody was faster
        return backend.get_study_id_from_name(name)
