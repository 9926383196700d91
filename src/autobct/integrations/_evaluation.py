"""Candidates of a scikit-learn search: evaluate them on the fixed folds, read their scores and costs.

Folds are evidence of how noisy a candidate's mean score is, and whether it is worth seeing the rest of its folds.  With
scores y of candidates c on folds f, y_cf = candidate_c + fold_f + e_cf, e ~ N(0, s^2): all candidates see the same
folds, so a fold's own level says nothing about which is better.

| | |
|---|---|
| s^2 | squares of what rows and columns do not explain, over (C - 1)(F - 1) |
| noise of a mean over F folds | s / sqrt(F) |
| after k folds, lead d over the best on these | the final lead is N(d, 2 s^2 (1/k - 1/F)) |
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.normal import upsilon
from autobct.integrations._candidates import EvaluatedCandidates, FixedSplits, not_seen
from autobct.integrations._hosts import Evaluated

__all__ = ["Evaluation", "check_metric"]

_ALL_FAILED = "All the "  # how scikit-learn begins its error when all fits fail
_DETAILS = "Below are more details about the failures:"  # and what it goes on with

Folds = list[dict[str, Any]]
"""What scikit-learn measured of one candidate, fold by fold."""


class Evaluation:
    """All candidates of one `fit`, evaluated one at a time or a few together.

    search:   the search, with `n_splits_`, `refit` and its splitter
    evaluate: scikit-learn's `evaluate_candidates`
    context:  of the search, for scikit-learn's callbacks
    price:    of a second, in score
    results:  the dict that becomes `cv_results_`
    """

    def __init__(self, search: Any, evaluate: Callable[..., dict[str, Any]], context: Any, price: float) -> None:
        self._search, self._evaluate, self._context, self._price = search, evaluate, context, price
        self._splits, self._folds = FixedSplits(search._checked_cv_orig), search.n_splits_
        self._out: list[dict[str, Any]] = []
        self.candidates = EvaluatedCandidates()
        self.scores = FoldScores()
        self.results: dict[str, Any] = {}

    def __call__(self, params: Sequence[dict[str, Any]]) -> list[Evaluated]:
        """What came of each; one that fails on every fold does not end the search."""
        few = self._search.min_folds
        if few is None or few >= self._folds or self.scores.spread is None:
            return [self._whole(one, folds) for one, folds in self._measured(params, 0, self._folds)]
        found = []
        for one, first in self._measured(params, 0, few):
            rest = self._folds - few
            scores = None if isinstance(first, Evaluated) else self._scores(first)
            price = 0.0 if isinstance(first, Evaluated) else self._price * _seconds(first) * rest / few
            score = None if scores is None else self.scores.given_up(scores, price)
            if isinstance(first, Evaluated):
                found.append(self._whole(one, first))
            elif score is not None:
                self.candidates.add(one, [*first, *[not_seen(first[0])] * rest])
                found.append(Evaluated(_seconds(first), score))
            else:
                [(_, second)] = self._measured([one], few, self._folds)
                found.append(self._whole(one, first + second if isinstance(second, list) else second))
        return found

    def take(self, out: list[dict[str, Any]]) -> dict[str, Any]:
        """What scikit-learn has measured so far, from its hook; what it hands on to `cv_results_`."""
        self._out = out
        return self.results

    def _measured(
        self, params: Sequence[dict[str, Any]], begin: int, end: int
    ) -> list[tuple[dict[str, Any], Folds | Evaluated]]:
        """Some folds of some candidates; if all of their fits fail, what came of each."""
        search, folds = self._search, end - begin
        count = folds * len(params)
        inner = begun(search, self._context, "candidate", max_subtasks=count, sequential_subtasks=False)
        started = time.perf_counter()
        search.n_splits_ = folds
        try:
            self._evaluate(params, self._splits.part(begin, end), callback_ctx=inner)
        except ValueError as error:
            if not str(error).lstrip().startswith(_ALL_FAILED):
                raise
            seconds = (time.perf_counter() - started) / len(params)
            return [(one, self._failed(one, seconds, error)) for one in params]
        finally:
            search.n_splits_ = self._folds
            inner.call_on_fit_task_end(estimator=search)
        last = self._out[-count:]
        return [(one, last[at * folds : (at + 1) * folds]) for at, one in enumerate(params)]

    def _whole(self, params: dict[str, Any], folds: Folds | Evaluated) -> Evaluated:
        """One that has seen all folds, or failed on all."""
        if isinstance(folds, Evaluated):
            self.candidates.add_failed(params, folds.cost)
            return folds
        self.candidates.add(params, folds)
        scores, cost = self._scores(folds), _seconds(folds)
        self.scores.add(scores)
        if all(fold.get("fit_error") is not None for fold in folds):
            return Evaluated(cost, error="all fits failed", noise=self.scores.noise)
        score = float(np.average(scores))
        if math.isfinite(score):
            return Evaluated(cost, score, noise=self.scores.noise)
        return Evaluated(cost, error=f"the mean test score is {score}: a fold failed or could not be scored")

    def _scores(self, folds: Folds) -> list[float]:
        """Of the one metric, or of that which is tuned for."""
        first, refit = folds[0]["test_scores"], self._search.refit
        if not isinstance(first, Mapping):
            return [float(fold["test_scores"]) for fold in folds]
        check_metric(refit, first)
        return [float(fold["test_scores"][refit]) for fold in folds]

    def _failed(self, params: dict[str, Any], seconds: float, error: ValueError) -> Evaluated:
        from sklearn.exceptions import FitFailedWarning

        details = str(error).partition(_DETAILS)[2].strip()
        sentence = f"All fits with {params} failed; their score is set to {self._search.error_score}."
        warnings.warn(f"{sentence}\n\n{_DETAILS}\n{details}", FitFailedWarning, stacklevel=2)
        return Evaluated(seconds, error=str(error).rstrip().splitlines()[-1], cause=error)


def _seconds(folds: Folds) -> float:
    """To fit and score all of these."""
    return math.fsum(fold["fit_time"] + fold["score_time"] for fold in folds)


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


@dataclass(slots=True)
class FoldScores:
    """Scores of the candidates that have seen all folds.  rows: (F,) each"""

    rows: list[Array] = field(default_factory=list)

    def add(self, scores: Sequence[float]) -> None:
        """A candidate that has seen all folds; one with a fold that failed says nothing."""
        if np.all(np.isfinite(scores)):
            self.rows.append(np.asarray(scores, dtype=np.float64))

    @property
    def spread(self) -> float | None:
        """Standard deviation of what neither candidate nor fold explains   (s); None before two candidates."""
        if len(self.rows) < 2 or len(self.rows[0]) < 2:
            return None
        table = np.stack(self.rows)
        rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
        return math.sqrt(float(np.sum(rest**2)) / ((len(table) - 1) * (table.shape[1] - 1)))

    @property
    def noise(self) -> float | None:
        """Standard deviation of a candidate's mean over all folds; None before two candidates."""
        spread = self.spread
        return None if spread is None else spread / math.sqrt(len(self.rows[0]))

    def given_up(self, first: Sequence[float], price_of_rest: float) -> float | None:
        """The score to expect of a candidate that is not worth its other folds; None if it is.

        first: its scores on the first folds;  price_of_rest: what the others would cost, in score
        """
        spread = self.spread
        if spread is None or not np.all(np.isfinite(first)):
            return None
        best, seen, folds = max(self.rows, key=np.mean), len(first), len(self.rows[0])
        lead = float(np.mean(first) - np.mean(best[:seen]))
        unsure = spread * math.sqrt(2.0 * (1.0 / seen - 1.0 / folds))
        return float(np.mean(best)) + lead if float(upsilon(lead, unsure)) < price_of_rest else None
