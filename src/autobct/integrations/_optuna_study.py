"""The decision for an Optuna study: a pure function of its trials, so that all workers reach the same one.

A tuner follows the trials of the study; a decision after the same trials is made once.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

import optuna
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from autobct.integrations._hosts import learnable
from autobct.integrations._optuna_trials import STOPPED, WHY, Reader, Trials, all_trials, space_of
from autobct.tuning.decide.explain import run_at
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.keywords import TunerKeywords
from autobct.tuning.memory import Memory
from autobct.tuning.space.parameter import Float
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import Direction

_SNAPSHOTS = 32  # trials that may finish out of order without all being learned again

PROPOSALS = 3
"""Trials of another sampler that show what its next one is worth.  docs/decisions/terminator.md."""


@dataclass(frozen=True, slots=True)
class Stand:
    """What a tuner remembers of so many runs, and what was expected of the last one before it was made.

    The candidates of its decisions are not kept: they are several hundred kB and are searched for again.
    """

    runs: int
    memory: Memory
    expected: Train | None = None


class Follower:
    """The tuner of one search space that follows a study; what it keeps only saves time.

    others: another sampler makes the suggestions, so a run that only this tuner would choose is no reason to go on
    """

    def __init__(self, start: Tuner, space: Space, *, others: bool = False) -> None:
        self._others = others
        self._space = space
        self._reader: Reader | None = None
        self._runs: tuple[Run, ...] = ()
        self._mended: tuple[int, ...] = ()
        self._tuner = start.twin()  # after the last of the stands
        self._start = Stand(0, start.memory)
        self._stands: deque[Stand] = deque([self._start], maxlen=_SNAPSHOTS)
        self._last: tuple[Trials, Decision] | None = None
        self._warned = 0

    def decision(self, trials: Sequence[FrozenTrial], apart: int | None) -> Decision:
        """What to do next.  apart: the number of the running trial that is decided on."""
        self._reader = self._reader or Reader(self._space)
        seen = self._reader.read(trials, apart)
        if self._last is None or not _same(self._last[0], seen):
            self._warn(seen)
            self._last = (seen, self._decided(seen))
        return self._last[1]

    def standing(self, seen: Trials, *, deciding: bool = True) -> Tuner:
        """A tuner of its own that knows all of this.  deciding: search for candidates, once for all decisions."""
        followed = self._followed(seen.runs, seen.mended)
        if deciding:
            _ = followed.candidates
        tuner = followed.twin()
        tuner.charge(seen.outside[0])
        for train in seen.running:
            tuner.admit(train.control)
            tuner.adopt(train)
        return tuner

    def _decided(self, seen: Trials) -> Decision:
        decision = self.standing(seen).peek()
        return self._as_others(decision) if self._others and isinstance(decision, Train) else decision

    def _followed(self, runs: tuple[Run, ...], mended: tuple[int, ...]) -> Tuner:
        """A tuner after these runs, from the longest beginning that is known."""
        same = _alike(runs, self._runs)
        if mended != self._mended:
            same, self._mended = min(same, *(number - 1 for number in {*mended} ^ {*self._mended})), mended
        while self._stands and self._stands[-1].runs > same:
            self._stands.pop()
        if not self._stands:
            self._stands.append(self._start)
        tuner = self._tuner.twin()  # a fork may not change the tuner that it was copied with
        tuner.restore(self._stands[-1].memory)
        for run in runs[self._stands[-1].runs :]:
            self._stands.append(self._after(self._stands[-1].runs, tuner, run))
        self._runs, self._tuner = runs, tuner
        return tuner

    def _after(self, runs: int, tuner: Tuner, run: Run) -> Stand:
        """Teach a tuner one more run.  runs: that it knows already."""
        memory = tuner.memory
        expected = run_at(memory, run.control) if self._others and memory.best is not None else None
        tuner.admit(run.control)
        tuner.replay([learnable(tuner, run)])
        if runs + 1 in self._mended:
            tuner.forgive()
        return Stand(runs + 1, tuner.memory, expected)

    def _as_others(self, decision: Train) -> Decision:
        """To stop if the last suggestions of the other sampler were not worth their price when they were made."""
        last = [stand.expected for stand in self._stands if stand.expected is not None][-PROPOSALS:]
        if len(last) < PROPOSALS:
            return decision
        gain, price = fmean(train.expected_gain for train in last), fmean(train.price_of_run for train in last)
        if gain > price:
            return decision
        note = (
            f"The last {PROPOSALS} trials were each expected to gain {gain:.3g} for a cost worth {price:.3g}. "
            f"AutoBCTSampler would continue: {decision.why}"
        )
        return Stop("not worth it", len(self._runs), decision.stop_value, note=note)

    def _warn(self, seen: Trials) -> None:
        count = seen.outside[1]
        if count > self._warned and any(run.score is not None for run in seen.runs):
            self._warned = count
            warnings.warn(
                f"{count} finished trial(s) lie outside the search space and are left out of the model; "
                "their cost counts towards max_cost.",
                stacklevel=2,
            )


def _alike(one: Sequence[Run], two: Sequence[Run]) -> int:
    """With how many runs both begin.  Nearly always all of the shorter one, which is looked at first and at once."""
    size = min(len(one), len(two))
    if one[:size] == two[:size]:  # a run equals only itself
        return size
    return next(n for n in range(size) if one[n] is not two[n])


def _same(first: Trials, second: Trials) -> bool:
    """Whether nothing has happened in between; a trial that was read before is the same run."""
    under_way = [[(train.trial, train.control.tobytes()) for train in seen.running] for seen in (first, second)]
    known = len(first.runs) == len(second.runs) and all(a is b for a, b in zip(first.runs, second.runs, strict=True))
    rest = first.outside == second.outside and first.mended == second.mended
    return known and under_way[0] == under_way[1] and rest


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
