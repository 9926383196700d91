"""The history of a Ray search, what came of its trials, and the decision after it: a pure function of both."""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, cast

from ray.tune.utils import flatten_dict

from autobct.belief.arrays import Array
from autobct.integrations._hosts import learnable
from autobct.integrations._ray_state import SavedState
from autobct.tuning.decide.explain import run_at
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.keywords import TunerKeywords
from autobct.tuning.memory import with_outcome
from autobct.tuning.result import Result, TuningError
from autobct.tuning.space.parameter import Float
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import Direction

__all__ = ["ENDED", "History", "Reported", "check_keywords", "outcome_of", "params_in", "ray_trials"]

_OF_SPACE = ("guess", "increases_cost", "candidates", "prior", "policy")


class History:
    """Runs that have ended and trials that have not.

    space, mode: None until Ray says them;  keywords: those of `Tuner`
    """

    def __init__(self, space: Space | None, keywords: TunerKeywords, mode: str | None) -> None:
        self.space, self._keywords, self._mode = space, keywords, mode
        self._tuner: Tuner | None = None
        self._ids: list[str] = []  # of each run, "" for one that was made elsewhere
        self.pending: dict[str, Train] = {}
        self._decisions: list[Train] = []
        self._stop: Stop | None = None  # of the runs and trials as they are
        if space is not None:
            _tuner_of(space, keywords, mode)  # refused at once if it cannot be

    @classmethod
    def of(cls, state: SavedState, keywords: TunerKeywords, mode: str | None) -> History:
        """A history that was saved; its runs are learned again, in the same order."""
        made = cls(state.space, keywords, mode)
        for trial_id, run in state.runs:
            made._learn(trial_id, run)
        made.pending, made._decisions = dict(state.pending), list(state.decisions)
        return made

    def saved(self, metric: str | None, mode: str | None, cost: str) -> SavedState:
        """All of it."""
        runs = tuple(zip(self._ids, self.runs, strict=True))
        return SavedState(
            metric=metric,
            mode=mode,
            cost=cost,
            space=self.space,
            runs=runs,
            pending=dict(self.pending),
            decisions=tuple(self._decisions),
        )

    @property
    def runs(self) -> tuple[Run, ...]:
        """Those that have ended, in order."""
        return () if self._tuner is None else self._tuner.history

    @property
    def last(self) -> Decision | None:
        """The last decision."""
        return self._stop or (self._decisions[-1] if self._decisions else None)

    def state(self, space: Space | None, mode: str | None, same_metric: bool | None) -> None:
        """Say what is tuned; ValueError if it was something else, and trials were made for that."""
        same = repr(space) == repr(self.space) and mode == self._mode and same_metric is not False
        if not same and (self.runs or self.pending):
            raise ValueError(
                "The search space, the metric or the mode has changed, and this AutoBCTSearch has trials of another: "
                f"it was {self.space!r}, mode {self._mode!r}. Make a new AutoBCTSearch for a new experiment."
            )
        if not same and space is not None:
            _tuner_of(space, self._keywords, mode)
        self.space, self._mode = space, mode

    def decided(self, trial_id: str) -> Decision:
        """What to do next; what is to be trained is pending from then on, as the trial with this id."""
        if trial_id in self.pending:
            return self.pending[trial_id]
        if self._stop is None:
            decision = self._now().peek()
            if isinstance(decision, Train):
                self.pending[trial_id] = decision
                self._decisions.append(decision)
                return decision
            self._stop = decision
        return self._stop

    def told(self, trial_id: str, score: float | None, cost: float, error: str | None) -> None:
        """What came of a trial that was pending."""
        train = self.pending.pop(trial_id)
        self._learn(trial_id, with_outcome(train, score, cost, error))

    def evaluated(self, control: Array, score: float | None, cost: float, error: str | None) -> None:
        """A run that was made elsewhere."""
        params = self._known_space().params(control)
        self._learn(
            "",
            Run(
                trial=self._now().memory.asked,
                params=params,
                control=control,
                score=score,
                cost=cost,
                error=error,
                estimated_score=math.nan,
            ),
        )

    def adopted(self, trial_id: str, control: Array) -> bool:
        """A trial that was suggested by this search and forgotten is pending again."""
        tuner = self._now()
        tuner.admit(control)
        self.pending[trial_id] = run_at(tuner.memory, control)
        self._decisions.append(self.pending[trial_id])
        return True

    def forget(self, trial_id: str) -> None:
        """A trial that never ran."""
        train = self.pending.pop(trial_id)
        self._decisions = [made for made in self._decisions if made is not train]
        self._stop = None

    def knows(self, trial_id: str) -> bool:
        """Whether a trial has ended, or is pending."""
        return trial_id in self.pending or trial_id in self._ids

    def result(self) -> Result:
        """The result as of now; TuningError if no run has finished."""
        if self._tuner is None:
            raise TuningError("no trial has ended", ())
        decisions: list[Decision] = [*self._decisions, *([] if self._stop is None else [self._stop])]
        why = f"Not finished: {len(self.runs)} trials so far." if self._stop is None else self._stop.why
        return self._tuner.result(why, decisions)

    def _now(self) -> Tuner:
        """A tuner after all runs, with all that is pending."""
        self._tuner = self._tuner or _tuner_of(self._known_space(), self._keywords, self._mode)
        _ = self._tuner.candidates  # searched for once, for all decisions after these runs
        twin = self._tuner.twin()
        for train in self.pending.values():
            twin.admit(train.control)
            twin.adopt(train)
        return twin

    def _learn(self, trial_id: str, run: Run) -> None:
        tuner = self._tuner = self._tuner or _tuner_of(self._known_space(), self._keywords, self._mode)
        tuner.admit(run.control)
        tuner.replay([learnable(tuner, run)])
        self._ids.append(trial_id)
        self._stop = None

    def _known_space(self) -> Space:
        assert self.space is not None
        return self.space


def check_keywords(keywords: TunerKeywords) -> None:
    """TypeError or ValueError for what cannot be, before Ray says what the space is."""
    if "direction" in keywords:
        raise TypeError("AutoBCTSearch() takes the direction from Ray; write TuneConfig(mode='max') or mode='max'")
    if "deadline" in keywords:
        raise TypeError("AutoBCTSearch() has no deadline; write TuneConfig(time_budget_s=...)")
    stand_in: dict[str, Any] = {name: value for name, value in keywords.items() if name not in _OF_SPACE}
    _tuner_of(Space.of({"x": Float(0, 1)}), cast(TunerKeywords, stand_in), "max")


def _tuner_of(space: Space, keywords: TunerKeywords, mode: str | None) -> Tuner:
    direction: Direction = "minimize" if mode == "min" else "maximize"
    return Tuner(space, **cast(TunerKeywords, {**keywords, "direction": direction}))


ENDED = ("TERMINATED", "ERROR")
"""What Ray calls the state of a trial that will not go on."""


@dataclass(frozen=True, slots=True)
class Reported:
    """score: None if there is none;  cost: None if none was reported;  error: why there is no score."""

    score: float | None
    cost: float | None
    error: str | None = None
    reported: bool = True  # whether the metric was there at all


def outcome_of(result: Mapping[str, Any], metric: str, cost: str) -> Reported:
    """Of a result as Ray flattens it."""
    spent: Any = result.get(cost)
    taken = float(spent) if _is_number(spent) and math.isfinite(spent) and spent >= 0 else None
    if metric not in result:
        return Reported(None, taken, f"the trial reported no `{metric}`", reported=False)
    value = result[metric]
    if not _is_number(value) or not math.isfinite(value):
        return Reported(None, taken, f"`{metric}` was {value!r}")
    return Reported(float(value), taken)


def params_in(result: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """The values of a trial in its result, which repeats its configuration."""
    return {name: result[f"config/{name}"] for name in space.names if f"config/{name}" in result}


def ray_trials(folder: str) -> dict[str, tuple[str, dict[str, Any]]] | None:
    """What Ray has written of its trials beside a search: id -> (status, last result); None if it cannot be read."""
    found = glob.glob(os.path.join(folder, "experiment_state-*.json"))
    if not found:
        return None
    try:
        with open(max(found), encoding="utf-8") as file:
            pairs = json.load(file)["trial_data"]
        states = [(json.loads(state), json.loads(metadata)) for state, metadata in pairs]
        return {s["trial_id"]: (s["status"], flatten_dict(dict(m.get("last_result") or {}))) for s, m in states}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
