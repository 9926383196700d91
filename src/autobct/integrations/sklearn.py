"""AutoBCTSearchCV: a scikit-learn search that stops when no further candidate is worth its price."""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from autobct.integrations._candidates import baseline_of, columns_of, guess_of
from autobct.integrations._evaluation import Evaluation, begun, check_metric
from autobct.integrations._hosts import until_it_stops
from autobct.tuning.decide.explain import Explanation
from autobct.tuning.history import Stop, Train
from autobct.tuning.progress import Event, Listeners
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.limits import Deadline
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import Affine, AffineLog

_INSTALL = "install it with: pip install 'autobct[sklearn]'"

try:
    import sklearn
    from joblib import effective_n_jobs
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state
    from sklearn.utils._param_validation import Interval, StrOptions
    from sklearn.utils.validation import check_is_fitted
except ImportError as missing:
    raise ImportError(
        f"autobct.integrations.sklearn needs scikit-learn, which is not installed; {_INSTALL}", name="sklearn"
    ) from missing

if tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9):
    raise ImportError(
        f"autobct.integrations.sklearn needs scikit-learn 1.9 or newer, found {sklearn.__version__}; {_INSTALL}",
        name="sklearn",
    )

__all__ = ["AutoBCTSearchCV"]

_RANGE = [tuple, list, Affine, AffineLog, None]


class AutoBCTSearchCV(BaseSearchCV):
    """Cross-validated search, as `RandomizedSearchCV`, that stops when no further candidate is worth its price.

    >>> search = AutoBCTSearchCV(SVC(), {"C": Float(0.01, 100, log=True)}, price="0.01 per 30s")
    >>> search.fit(X, y).best_params_

    estimator:  what is tuned; its own parameters are the first guess where they lie in the space
    space:      {"C": Float(0.01, 100, log=True)}, with the estimator's names, in a pipeline `step__name`
    price:      what computing time is worth in score: "0.01 per 30s", or score per second; the cost of a candidate
                is the time to fit and score all its folds
    scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score:  as in scikit-learn; with
                several metrics `refit` names the one to tune for
    parallel:   what `n_jobs` is for: "folds" of one candidate, or "candidates", as many as there are jobs together
    min_folds:  2 ends a candidate after two folds if it is not likely to become the best, given what the others would
                cost; its other folds are NaN in `cv_results_`.  None: every candidate sees all folds
    random_state:  seed of the tuner; the default policy draws no random numbers
    score_range, cost_range, score_noise, guess_strength, increases_cost, policy, max_runs, max_cost, deadline:
                as in `tune`, with costs in seconds; score_noise="folds" takes the noise of a mean from its folds
    guess:      values to expect to be good, instead of the estimator's own; {} for none

    After `fit`: all that scikit-learn's searches have, and besides
    result_:     the `Result`, as `tune` returns it;  why_: one sentence, why the search stopped
    cv_results_: with `cost`, with `autobct_expected_gain`, `autobct_expected_cost` and `autobct_price_of_run` as of the
                 decision to evaluate a candidate, and with `autobct_estimated_score`, which counts all candidates
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseSearchCV._parameter_constraints,
        "space": [Mapping, Space],
        "price": [str, Real, Price],
        "random_state": ["random_state"],
        "score_range": _RANGE,
        "cost_range": _RANGE,
        "score_noise": [Real, StrOptions({"exact", "folds"}), None],
        "parallel": [StrOptions({"folds", "candidates"})],
        "min_folds": [Interval(Integral, 2, None, closed="left"), None],
        "guess": [Mapping, None],
        "guess_strength": [Interval(Real, 0, None, closed="left")],
        "increases_cost": [list, tuple],
        "policy": "no_validation",
        "max_runs": [Interval(Integral, 1, None, closed="left"), None],
        "max_cost": [Interval(Real, 0, None, closed="neither"), None],
        "deadline": [Real, str, datetime.datetime, datetime.timedelta, None],
    }

    def __init__(
        self,
        estimator: Any,
        space: Space | Mapping[str, Any],
        *,
        price: float | str | Price,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[[dict[str, Any]], int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        score_range: Any = None,
        cost_range: Any = None,
        score_noise: float | str | None = None,
        parallel: str = "folds",
        min_folds: int | None = None,
        guess: Mapping[str, Any] | None = None,
        guess_strength: float = 1.0,
        increases_cost: tuple[str, ...] | list[str] = (),
        policy: Any = None,
        max_runs: int | None = None,
        max_cost: float | None = None,
        deadline: float | str | datetime.datetime | datetime.timedelta | None = None,
    ) -> None:
        self.space = space
        self.price = price
        self.random_state = random_state
        self.score_range = score_range
        self.cost_range = cost_range
        self.score_noise = score_noise
        self.parallel = parallel
        self.min_folds = min_folds
        self.guess = guess
        self.guess_strength = guess_strength
        self.increases_cost = increases_cost
        self.policy = policy
        self.max_runs = max_runs
        self.max_cost = max_cost
        self.deadline = deadline
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def explain(self) -> Explanation:
        """The full picture of the decision to stop: the value of every candidate, and the price at which it turns."""
        check_is_fitted(self)
        return self.result_.tuner.explain()  # type: ignore[no-any-return]

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one page about the search, with the estimator's own parameters as baseline: report("page.html")."""
        check_is_fitted(self)
        baseline = baseline_of(self.estimator.get_params(), self.result_)
        self.result_.report(path, notes=[baseline] if baseline else [])

    def __getstate__(self) -> dict[str, Any]:
        """Without what only the running `fit` needs: parallel folds get a copy of the search."""
        return {name: value for name, value in super().__getstate__().items() if name != "_evaluation"}

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]], *, callback_ctx: Any) -> None:
        """One candidate at a time, until the tuner stops."""
        if isinstance(self.scoring, list | tuple | set | dict):
            check_metric(self.refit, self.scoring)
        tuner, deadline = self._tuner(), None if self.deadline is None else Deadline.of(self.deadline, perf_counter)
        context = begun(self, callback_ctx, "search", max_subtasks=self.max_runs)
        price = tuner.problem.price.per_cost
        self._evaluation = evaluation = Evaluation(self, evaluate_candidates, context, price)
        together = effective_n_jobs(self.n_jobs) if self.parallel == "candidates" else 1
        try:
            self.result_ = until_it_stops(
                tuner,
                evaluation,
                deadline=deadline,
                heard=Listeners([_say] if self.verbose else []),
                together=together,
                noise_counts=self.score_noise == "folds",
            )
        finally:
            del self._evaluation
        self.why_ = self.result_.why
        found = evaluation.candidates
        with warnings.catch_warnings():
            if self.min_folds is not None:  # a fold that was not seen is no failure
                warnings.filterwarnings("ignore", message="One or more of the (test|train) scores are non-finite")
            whole = super()._format_results(found.params, self.n_splits_, found.measured(self.error_score))
        evaluation.results.update(whole, **columns_of(self.result_))
        context.call_on_fit_task_end(estimator=self)

    def _tuner(self) -> Tuner:
        space = Space.of(self.space)
        guess = guess_of(self.estimator.get_params(), space) if self.guess is None else self.guess
        return Tuner(
            space,
            price=self.price,
            score_range=self.score_range,
            cost_range=self.cost_range,
            score_noise=None if self.score_noise == "folds" else self.score_noise,
            guess=guess,
            guess_strength=self.guess_strength,
            increases_cost=self.increases_cost,
            policy=self.policy,
            max_runs=self.max_runs,
            max_cost=self.max_cost,
            seed=_seed(self.random_state),
        )

    def _format_results(
        self, candidate_params: list[dict[str, Any]], n_splits: int, out: list[Any], more_results: Any = None
    ) -> dict[str, Any]:
        """Nothing yet: results of all candidates are put together at the end, with those that failed."""
        return self._evaluation.take(out)


def _seed(random_state: Any) -> int | None:
    """A seed as it is, and one drawn from a generator."""
    if random_state is None or isinstance(random_state, Integral):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _say(tuner: Tuner, event: Event) -> None:
    """What `verbose` prints: why a candidate is evaluated, and why the search stops."""
    if isinstance(event, Train | Stop):
        print(event.why)
