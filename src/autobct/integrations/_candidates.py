"""What a scikit-learn search needs besides its base class: fixed splits, a row for every candidate, a first guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autobct.tuning.history import Train, short
from autobct.tuning.result import Result
from autobct.tuning.space.parameter import Categorical, Parameter
from autobct.tuning.space.space import Space

__all__ = ["EvaluatedCandidates", "FixedSplits", "baseline_of", "columns_of", "guess_of", "not_seen"]


class FixedSplits:
    """The splits of a splitter, made once: all candidates see the same folds, whatever its random_state."""

    def __init__(self, cv: Any) -> None:
        self._cv = cv
        self._folds: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """The folds: the same ones at every call."""
        if self._folds is None:
            self._folds = list(self._cv.split(X, y, **params))
        return self._folds

    def part(self, begin: int, end: int) -> _SomeFolds:
        """Some of the folds, as a splitter."""
        return _SomeFolds(self, begin, end)


@dataclass(frozen=True, slots=True)
class _SomeFolds:
    whole: FixedSplits
    begin: int
    end: int

    def split(self, X: Any, y: Any = None, **params: Any) -> list[Any]:
        """Those folds; all that there are where none may be missing, for scikit-learn to complain."""
        folds = self.whole.split(X, y, **params)
        return folds if self.begin == 0 and self.end >= len(folds) else folds[self.begin : self.end]


@dataclass(slots=True)
class EvaluatedCandidates:
    """All candidates in the order of their evaluation, also those that failed on every fold.

    params: of each;  folds: of each, what scikit-learn measured on every fold; None if all of them failed
    failed: seconds that each failed candidate took, by its position
    """

    params: list[dict[str, Any]] = field(default_factory=list)
    folds: list[list[dict[str, Any]] | None] = field(default_factory=list)
    failed: dict[int, float] = field(default_factory=dict)

    def add(self, params: dict[str, Any], folds: list[dict[str, Any]]) -> None:
        """One that was evaluated."""
        self.params.append(params)
        self.folds.append(folds)

    def add_failed(self, params: dict[str, Any], seconds: float) -> None:
        """One that failed on every fold."""
        self.failed[len(self.params)] = seconds
        self.params.append(params)
        self.folds.append(None)

    def measured(self, error_score: float) -> list[dict[str, Any]]:
        """Of all candidates and folds; a failed fit has the error_score, as scikit-learn gives it."""
        like = next(folds for folds in self.folds if folds is not None)
        rows: list[dict[str, Any]] = []
        for position, folds in enumerate(self.folds):
            if folds is None:
                seconds = self.failed[position] / len(like)
                folds = [_failed(like[0], seconds, error_score)] * len(like)
            rows.extend(folds)
        return rows


def _failed(like: Mapping[str, Any], seconds: float, error_score: float) -> dict[str, Any]:
    """A fold that failed, with the same metrics as one that did not."""
    scores = {
        name: dict.fromkeys(like[name], error_score) if isinstance(like[name], Mapping) else error_score
        for name in ("test_scores", "train_scores")
        if name in like
    }
    return {**like, **scores, "fit_time": seconds, "score_time": 0.0}


def not_seen(like: Mapping[str, Any]) -> dict[str, Any]:
    """A fold that a candidate did not see: no score, and no time."""
    return _failed(like, 0.0, float("nan"))


def columns_of(result: Result) -> dict[str, Any]:
    """What autobct adds to `cv_results_`, one number for each candidate."""
    trains = [decision for decision in result.decisions if isinstance(decision, Train)]
    return {
        "cost": _array(run.cost for run in result.history),
        "autobct_expected_gain": _array(train.expected_gain for train in trains),
        "autobct_expected_cost": _array(train.expected_cost for train in trains),
        "autobct_price_of_run": _array(train.price_of_run for train in trains),
        "autobct_estimated_score": _array(result.memory.estimated_score(run.control) for run in result.history),
    }


def _array(values: Iterable[float]) -> Any:
    return np.array(list(values), dtype=np.float64)


def guess_of(known: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """Those of an estimator's own parameters that lie in the space."""
    pairs: Sequence[tuple[str, Parameter]] = list(zip(space.names, space.parameters, strict=True))
    return {name: known[name] for name, parameter in pairs if name in known and _is_in(parameter, known[name])}


def _is_in(parameter: Parameter, value: Any) -> bool:
    try:
        if isinstance(parameter, Categorical):
            parameter.index(value)
        else:
            parameter.to_unit(value)
    except (TypeError, ValueError):
        return False
    return True


def baseline_of(known: Mapping[str, Any], result: Result) -> str:
    """How the best compares with the estimator's own parameters, in one sentence; "" where the space lacks these."""
    space = result.problem.space
    own = guess_of(known, space)
    try:
        control = space.control(own)
    except (TypeError, ValueError):
        return ""
    runs = [run for run in result.history if run.score is not None and np.allclose(run.control, control, atol=1e-9)]
    score = result.memory.estimated_score(control) if not runs else runs[-1].score
    assert score is not None
    stated = ", ".join(f"{name}={short(value)}" for name, value in own.items())
    how = "score" if runs else "are estimated to score"
    gain = (result.score if runs else result.expected_score) - score
    compared = f"the best candidate scores {abs(gain):.3g} {'more' if gain >= 0 else 'less'}"
    return f"Baseline: the estimator's own parameters ({stated}) {how} {score:.4g}; {compared}."
