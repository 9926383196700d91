"""Metrics, weights, routing, callbacks, failing candidates and bad input of AutoBCTSearchCV."""

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

import sklearn
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold
from sklearn.utils._param_validation import InvalidParameterError
from tests.integrations.sklearn_cases import Threshold, X, search, y

from autobct import Categorical, Float, Tuner
from autobct.integrations import _hosts
from autobct.integrations._hosts import Evaluated, until_it_stops
from autobct.tuning.units.limits import Deadline

pytestmark = pytest.mark.filterwarnings("ignore:One or more of the:UserWarning")  # of scores that are NaN

SPACE = {"cut": Float(-2.0, 2.0)}


@pytest.mark.parametrize("refit", ["accuracy", "roc_auc"])
def test_of_several_metrics_refit_names_the_one_to_tune_for(refit: str) -> None:
    found = search(LogisticRegression(), space={"C": Float(1e-3, 10, log=True)}, scoring=["accuracy", "roc_auc"])
    found.set_params(refit=refit).fit(X, y)
    assert found.multimetric_
    assert [run.score for run in found.result_.history] == found.cv_results_[f"mean_test_{refit}"].tolist()
    assert found.best_score_ == found.cv_results_[f"mean_test_{refit}"].max()
    assert {"mean_test_accuracy", "mean_test_roc_auc", "rank_test_roc_auc"} <= set(found.cv_results_)


def both(estimator: Any, X: Any, y: Any) -> dict[str, float]:
    hits = float(np.mean(estimator.predict(X) == y))
    return {"hits": hits, "misses": hits - 1.0}


def test_a_scorer_may_return_several_metrics() -> None:
    found = search(scoring=both, refit="misses").fit(X, y)
    assert [run.score for run in found.result_.history] == found.cv_results_["mean_test_misses"].tolist()


@pytest.mark.parametrize("refit", [False, lambda results: 0])
@pytest.mark.parametrize("scoring", [both, ["accuracy", "f1"]])
def test_several_metrics_need_a_name(scoring: Any, refit: Any) -> None:
    with pytest.raises(ValueError, match="refit must be the name of the metric to tune for, one of"):
        search(scoring=scoring, refit=refit).fit(X, y)


def test_refit_may_choose_or_be_left_out() -> None:
    chosen = search(refit=lambda results: int(results["autobct_estimated_score"].argmax())).fit(X, y)
    assert chosen.best_index_ == chosen.cv_results_["autobct_estimated_score"].argmax()
    plain = search(refit=False).fit(X, y)
    assert not hasattr(plain, "best_estimator_")
    assert plain.best_params_
    assert plain.explain()


def test_sample_weights_reach_the_fits_and_the_scorer() -> None:
    weights = np.linspace(1.0, 2.0, len(y))
    found = search(scoring="accuracy").fit(X, y, sample_weight=weights)
    assert found.best_estimator_.weight_ == pytest.approx(weights.sum())
    cut = found.cv_results_["params"][0]["cut"]
    [(_, test), _] = found._checked_cv_orig.split(X, y)
    hits = found.best_estimator_.classes_[(X[test, 0] > cut).astype(int)] == y[test]
    assert found.cv_results_["split0_test_score"][0] == pytest.approx(np.average(hits, weights=weights[test]))


def test_metadata_is_routed() -> None:
    groups, weights = np.arange(len(y)) % 4, np.ones(len(y))
    assert len(search(cv=GroupKFold(2)).fit(X, y, groups=groups).result_.history) == 4
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = Threshold().set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
        found = search(weighted, cv=GroupKFold(2), scoring=scorer).fit(X, y, groups=groups, sample_weight=weights)
        assert found.best_estimator_.weight_ == len(y)


class Recorder:
    """A callback of scikit-learn 1.9 that counts tasks."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.over: list[str] = []

    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator: Any, context: Any) -> None:
        self.over.append(context.task_name)

    def teardown(self, estimator: Any, context: Any) -> None:
        pass


def test_callbacks_hear_of_every_candidate_and_fold() -> None:
    heard = Recorder()
    search().set_callbacks(heard).fit(X, y)
    assert sorted(heard.begun) == sorted(heard.over)
    counts = {name: heard.over.count(name) for name in heard.over}
    assert counts == {
        "fit": 1,
        "search": 1,
        "candidate": 4,
        "candidate-split-evaluation": 8,
        "refit-with-best-params": 1,
    }


@pytest.mark.parametrize("error_score", [np.nan, -1.0])
def test_a_candidate_that_fails_on_every_fold_is_a_row_as_any_other(error_score: float) -> None:
    space = {"cut": Categorical([-1.0, 0.0, 1.0, 2.0])}
    with pytest.warns(FitFailedWarning, match="RuntimeError: the cut is too high"):
        found = search(Threshold(fails_above=0.5), space=space, error_score=error_score).fit(X, y)
    cuts = np.array([params["cut"] for params in found.cv_results_["params"]])
    scores = found.cv_results_["mean_test_score"]
    assert sorted(cuts) == [-1.0, 0.0, 1.0, 2.0]
    np.testing.assert_array_equal(scores[cuts > 0.5], error_score)
    assert np.all(scores[cuts < 0.5] > 0.3)
    assert (found.cv_results_["rank_test_score"][cuts > 0.5] >= 3).all()
    assert [run.score is None for run in found.result_.history] == (cuts > 0.5).tolist()
    assert found.result_.history[int(np.flatnonzero(cuts > 0.5)[0])].error == "RuntimeError: the cut is too high"
    assert {len(column) for column in found.cv_results_.values()} == {4}
    assert found.best_params_["cut"] < 0.5
    np.testing.assert_allclose(
        found.cv_results_["cost"] / 2, sum(found.cv_results_[f"mean_{k}_time"] for k in ("fit", "score"))
    )


def test_a_failed_candidate_has_every_metric() -> None:
    space = {"cut": Categorical([0.0, 2.0])}
    made = search(
        Threshold(fails_above=0.5), space=space, scoring=both, refit="hits", return_train_score=True, max_runs=2
    )
    with pytest.warns(FitFailedWarning):
        found = made.fit(X, y)
    for name in ("mean_test_hits", "mean_test_misses", "mean_train_hits"):
        assert np.isnan(found.cv_results_[name]).sum() == 1


def test_a_candidate_that_fails_on_some_folds_is_a_failed_run() -> None:
    estimator = Threshold(fails_above=0.5, on_some_folds=True)
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 2"):
        found = search(estimator, space={"cut": Categorical([0.0, 2.0])}, max_runs=2).fit(X, y)
    [failed] = [run for run in found.result_.history if run.score is None]
    assert failed.params == {"cut": 2.0}
    assert "a fold failed or could not be scored" in str(failed.error)
    assert found.best_params_ == {"cut": 0.0}


def test_error_score_raise_raises() -> None:
    with pytest.raises(RuntimeError, match="the cut is too high"):
        search(Threshold(fails_above=-3.0), error_score="raise").fit(X, y)


def test_if_the_first_two_fail_alike_the_search_ends_with_the_error_of_scikit_learn() -> None:
    made = search(Threshold(fails_above=-3.0), max_runs=9)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with pytest.raises(ValueError, match="All the 2 fits failed"):
            made.fit(X, y)
    assert sum(one.category is FitFailedWarning for one in heard) == 2


@pytest.mark.filterwarnings("ignore")
def test_without_any_score_there_is_no_result() -> None:
    with pytest.raises(ValueError, match="No candidate has a finite score"):
        search(scoring=lambda estimator, X, y: np.nan).fit(X, y)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"price": None}, "The 'price' parameter of AutoBCTSearchCV must be"),
        ({"max_runs": 0}, "The 'max_runs' parameter of AutoBCTSearchCV must be"),
        ({"space": [("cut", 1)]}, "The 'space' parameter of AutoBCTSearchCV must be"),
        ({"score_noise": "small"}, "The 'score_noise' parameter of AutoBCTSearchCV must be"),
        ({"error_score": "ignore"}, "The 'error_score' parameter of AutoBCTSearchCV must be"),
    ],
)
def test_bad_arguments_are_named_as_scikit_learn_does(told: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        search(**told).fit(X, y)


@pytest.mark.parametrize(
    ("told", "error", "says"),
    [
        ({"price": "cheap"}, ValueError, "price"),
        ({"space": {"cut": [0, 1]}}, TypeError, r"write e\.g\. Categorical\(\[0, 1\]\)"),
        ({"space": {"size": Float(0, 1)}}, ValueError, "Invalid parameter 'size' for estimator"),
        ({"guess": {"cut": 9.0}}, ValueError, "guess"),
        ({"deadline": 1, "cost_range": (50, 100)}, ValueError, "No candidate was evaluated. Stopped after 0 runs"),
        ({"cv": 90}, ValueError, "Cannot have number of splits n_splits=90 greater"),
    ],
)
def test_bad_input_says_what_to_write(told: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        search(**told).fit(X, y)


def test_before_fit_there_is_nothing_to_explain() -> None:
    for ask in (lambda: search().explain(), lambda: search().report("page.html")):
        with pytest.raises(NotFittedError):
            ask()


def test_a_deadline_counts_the_clock_and_not_the_seconds_of_all_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four folds side by side: four seconds of computing take one on the clock, so that six fit into six seconds."""
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    monkeypatch.setattr(_hosts, "time", clock)

    def evaluate(params: list[dict[str, Any]]) -> list[Evaluated]:
        clock.now += 1.0
        return [Evaluated(4.0, 1.0 - (one["cut"] - 0.3) ** 2 / 10) for one in params]

    tuner = Tuner(SPACE, price="0.000001 per 1h", cost_range=(3.9, 4.1), max_runs=30)
    found = until_it_stops(tuner, evaluate, deadline=Deadline.of(6.5, lambda: clock.now))
    assert 5 <= len(found.history) <= 6
    assert found.decisions[-1].reason == "deadline"
