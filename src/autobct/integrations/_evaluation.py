"""One candidate of a scikit-learn search: evaluate it on the fixed folds, read its score and its cost."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from autobct.integrations._candidates import EvaluatedCandidates, FixedSplits
from autobct.integrations._loop import Evaluated

__all__ = ["Evaluation", "check_metric"]

_ALL_FAILED = "All the "  # how scikit-learn begins its error when a candidate fails on every fold
_DETAILS = "Below are more details about the failures:"  # and what it goes on with


class Evaluation:
    """All candidates of one `fit`, evaluated one at a time.

    search:   the search, with `n_splits_`, `refit` and its splitter
    evaluate: scikit-learn's `evaluate_candidates`
    context:  of the search, for scikit-learn's callbacks
    results:  the dict that becomes `cv_results_`: what the last call of `evaluate` returned
    """

    def __init__(self, search: Any, evaluate: Callable[..., dict[str, Any]], context: Any) -> None:
        self._search, self._evaluate, self._context = search, evaluate, context
        self._splits = FixedSplits(search._checked_cv_orig)
        self.candidates = EvaluatedCandidates()
        self.results: dict[str, Any] = {}

    def __call__(self, params: dict[str, Any]) -> Evaluated:
        """What came of a candidate; one that fails on every fold does not end the search."""
        folds = self._search.n_splits_
        inner = begun(self._search, self._context, "candidate", max_subtasks=folds, sequential_subtasks=False)
        started = time.perf_counter()
        try:
            self.results = self._evaluate([params], self._splits, callback_ctx=inner)
        except ValueError as error:
            if not str(error).lstrip().startswith(_ALL_FAILED):
                raise
            return self._failed(params, time.perf_counter() - started, error)
        finally:
            inner.call_on_fit_task_end(estimator=self._search)
        return evaluated(self.results, self._search.refit, folds)

    def _failed(self, params: dict[str, Any], seconds: float, error: ValueError) -> Evaluated:
        from sklearn.exceptions import FitFailedWarning

        self.candidates.add_failed(params, seconds)
        details = str(error).partition(_DETAILS)[2].strip()
        sentence = f"All fits with {params} failed; their score is set to {self._search.error_score}."
        warnings.warn(f"{sentence}\n\n{_DETAILS}\n{details}", FitFailedWarning, stacklevel=2)
        return Evaluated(seconds, error=str(error).rstrip().splitlines()[-1], cause=error)


def evaluated(row: Mapping[str, Any], refit: object, folds: int) -> Evaluated:
    """Score and cost of the last candidate: the seconds to fit and score all its folds."""
    cost = float(row["mean_fit_time"][-1] + row["mean_score_time"][-1]) * folds
    metrics = [key.removeprefix("mean_test_") for key in row if key.startswith("mean_test_")]
    if metrics != ["score"]:
        check_metric(refit, metrics)
    score = float(row["mean_test_score" if metrics == ["score"] else f"mean_test_{refit}"][-1])
    if math.isfinite(score):
        return Evaluated(cost, score)
    return Evaluated(cost, error=f"the mean test score is {score}: a fold failed or could not be scored")


def check_metric(refit: object, metrics: Iterable[str]) -> None:
    """ValueError if, of several metrics, `refit` does not name the one to tune for."""
    if refit not in (names := sorted(metrics)):
        raise ValueError(
            "For multi-metric scoring, the parameter refit must be the name of the metric to tune for, one of "
            f"{names}. {refit!r} was passed."
        )


def begun(search: Any, above: Any, name: str, **options: Any) -> Any:
    """A task below another one, of which scikit-learn's callbacks hear; end it with `call_on_fit_task_end`."""
    return above.subcontext(task_name=name, **options).call_on_fit_task_begin(estimator=search)
