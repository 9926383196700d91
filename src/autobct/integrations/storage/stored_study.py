"""Reads a tuning from a database without changing anything: for a report, on any machine with access to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna.trial import FrozenTrial

from autobct.integrations._optuna_study import Follower
from autobct.integrations._optuna_trials import STOPPED
from autobct.integrations.storage.claims import ClaimReader
from autobct.integrations.storage.database import existing
from autobct.integrations.storage.patience import Patience
from autobct.integrations.storage.study import SETTINGS, fingerprint, settings_of_tuner
from autobct.run.journal import decision_of
from autobct.run.recorded import RecordedRun
from autobct.tuning.history import Decision, Stop
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.storage import Storage, StorageError
from autobct.tuning.tuner import Tuner

_KINDS: dict[str, type[Parameter]] = {"Float": Float, "Int": Int, "Categorical": Categorical}
_KEYWORDS = ("price", "direction", "score_range", "cost_range", "recall", "overhead", "score_noise", "seed")
_HINTS = ("guess_strength", "increases_cost", "expect_usual")
_PATIENCE = 10.0  # seconds


def read_study(address: str, study: str | None = None) -> RecordedRun:
    """Read a tuning from a database, finished or not.  study: its name; needed where there are several.

    StorageError if there is none, or if it was started from Python with settings that a database cannot hold.
    """
    found = _found(Storage(address, patience=_PATIENCE), study)
    record = found.attrs[SETTINGS]
    said, start = record["settings"], tuner_of_settings(record.get("tuner") or record["settings"], found.storage)
    problem = start.memory.problem
    reader = ClaimReader(
        problem.space, fingerprint(said), rerun=said.get("on_crash") != "fail", timed=bool(problem.price.unit)
    )
    seen = reader.read(found.trials)
    tuner = Follower(start, problem.space).standing(seen.trials, deciding=False)
    tuner.charge(seen.charged[0])
    stop = _stop(found.attrs.get(STOPPED), len(tuner.history), tuner) if not seen.trials.running else None
    made: list[Decision] = [seen.claims[run.trial].decision for run in tuner.history]
    return RecordedRun(
        path=found.path,
        settings={key: value for key, value in said.items() if key != "on_crash"},
        problem=tuner.problem,
        history=tuner.history,
        decisions=(*made, *(() if stop is None else (stop,))),
        finished=stop is not None,
        versions=dict(record["versions"]),
        tuner=tuner,
    )


def tuner_of_settings(said: Mapping[str, Any], storage: Storage) -> Tuner:
    """The tuner that some settings are of; StorageError if they are not all there is to say of it."""
    settings = {key: value for key, value in said.items() if key != "on_crash"}
    try:
        space = {name: _parameter(told) for name, told in settings["space"].items()}
        given = {key: settings[key] for key in _KEYWORDS}
        hints = {key: settings[key] for key in _HINTS if key in settings}
        prior = None if settings["prior"] == "default" else settings["prior"]
        tuner = Tuner(space, **given, **hints, guess=_guess(space, settings), prior=prior)
        same = settings_of_tuner(tuner) == settings
    except (KeyError, TypeError, ValueError, AttributeError):
        same = False
    if not same:
        raise StorageError(
            f"the study {storage.study!r} in {storage.shown!r} was started from Python with settings that the database "
            f"does not hold, e.g. a policy, a prior or rows; write result.report('run.html') there"
        )
    return tuner


def _parameter(told: Mapping[str, Any]) -> Parameter:
    fields = {key: value for key, value in told.items() if key != "type"}
    if told["type"] == "Categorical":
        return Categorical(fields.pop("choices"), **fields)
    return _KINDS[told["type"]](**fields)


def _guess(space: Mapping[str, Parameter], settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values at the places that were stored."""
    told = settings.get("guess") or {}
    kinds = [(space[name], name, place) for name, place in told.items()]
    return {
        name: kind.choices[int(place)] if isinstance(kind, Categorical) else kind.from_unit(place)
        for kind, name, place in kinds
    } or None


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A study as it stands.  path: beside which a page is written;  attrs: of the study;  trials: by number."""

    storage: Storage
    path: Path
    attrs: Mapping[str, Any]
    trials: list[FrozenTrial]


def _found(storage: Storage, study: str | None) -> _Found:
    """The study that is meant."""
    backend, patience = existing(storage), Patience(storage, storage.patience)
    try:
        studies = {each.study_name: each.user_attrs for each in patience(backend.get_all_studies)}
        name = _chosen([name for name, attrs in studies.items() if SETTINGS in attrs], storage, study)
        read = lambda: backend.get_all_trials(backend.get_study_id_from_name(name), deepcopy=False)  # noqa: E731
        trials = sorted(patience(read), key=lambda trial: trial.number)
        path = _path(backend.engine.url, name, named=study is not None)
    finally:
        backend.remove_session()
        backend.engine.dispose()
    return _Found(replace(storage, study=name), path, studies[name], trials)


def _chosen(ours: Sequence[str], storage: Storage, name: str | None) -> str:
    """The name of the study that is meant, among those of tunings."""
    listed = ", ".join(map(repr, ours))
    if name is not None and name not in ours:
        there = f"it has {listed}" if ours else "it has none at all"
        raise StorageError(f"there is no tuning {name!r} in {storage.shown!r}; {there}")
    if not ours:
        raise StorageError(f"there is no tuning in {storage.shown!r}")
    if name is None and len(ours) > 1:
        raise StorageError(f"there are several tunings in {storage.shown!r}; write --study and one of {listed}")
    return ours[0] if name is None else name


def _path(url: sqlalchemy.URL, study: str, *, named: bool) -> Path:
    """What a page is named after: the file of the database, or the study if that was named."""
    file = Path(url.database or "") if url.drivername == "sqlite" else None
    plain = re.sub(r"[^\w.-]+", "-", study)
    if file is None:
        return Path(f"{plain}.run")
    return file.with_name(f"{plain}.run") if named else file


def _stop(record: Mapping[str, Any] | None, runs: int, tuner: Tuner) -> Stop | None:
    """The decision to stop after all of these runs, if there is one."""
    if not record or record["runs"] != runs:
        return None
    decision = decision_of(json.loads(json.dumps(record["decision"])), tuner.memory.problem.space)
    return decision if isinstance(decision, Stop) else None
