"""Candidates together, folds as evidence, and the estimator's own parameters as the baseline of the page."""

from __future__ import annotations

import itertools
import math
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import joblib
import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import cross_val_score
from tests.integrations.sklearn_cases import Threshold, X, search, y

from autobct import Train
from autobct.integrations._evaluation import FoldScores

RNG = np.random.default_rng(0)


def two_way(candidates: int, folds: int, noise: float) -> np.ndarray:
    levels, easy = RNG.normal(0.8, 0.05, (candidates, 1)), RNG.normal(0.0, 0.1, folds)
    return levels + easy + noise * RNG.standard_normal((candidates, folds))


def of(table: Any) -> FoldScores:
    scores = FoldScores()
    for row in table:
        scores.add(row)
    return scores


def test_the_noise_is_what_neither_candidate_nor_fold_explains() -> None:
    """Easy and hard folds are the same for all, and do not count: the spread within rows alone would be 0.1."""
    scores = of(two_way(400, 5, 0.02))
    assert scores.spread == pytest.approx(0.02, rel=0.1)
    assert scores.noise == pytest.approx(0.02 / math.sqrt(5), rel=0.1)
    assert FoldScores().noise is None
    assert of(two_way(1, 5, 0.02)).noise is None
    scores.add([0.5, float("nan"), 0.5, 0.5, 0.5])
    assert len(scores.rows) == 400


def test_the_final_lead_is_foretold_by_the_first_folds() -> None:
    """Against simulated folds: the lead after five is around that after two, as far away as the formula says."""
    noise, first, folds = 0.03, 2, 5
    draws = noise * RNG.standard_normal((200_000, 2, folds))
    lead = draws[:, 0] - draws[:, 1]
    rest = lead.mean(axis=1) - lead[:, :first].mean(axis=1)
    assert rest.std() == pytest.approx(noise * math.sqrt(2 * (1 / first - 1 / folds)), rel=0.01)


def test_a_candidate_is_given_up_where_its_other_folds_cost_more_than_they_may_gain() -> None:
    scores = of(two_way(6, 5, 0.01))
    best = max(scores.rows, key=np.mean)
    assert scores.given_up(best[:2] - 0.2, price_of_rest=1e-3) == pytest.approx(best.mean() - 0.2)
    assert scores.given_up(best[:2] + 0.01, price_of_rest=1e-3) is None
    assert scores.given_up(best[:2] - 0.2, price_of_rest=0.0) is None  # for nothing one may as well look
    assert scores.given_up(best[:2] - 0.005, price_of_rest=1.0) is not None
    assert scores.given_up([0.1, float("nan")], price_of_rest=1.0) is None
    assert of(two_way(1, 5, 0.01)).given_up([0.1, 0.1], price_of_rest=1.0) is None


@pytest.mark.usefixtures("one_millisecond")
def test_hopeless_candidates_see_two_folds_and_the_best_is_the_same() -> None:
    whole = search(cv=5, max_runs=8, price="0.05 per 1ms").fit(X, y)
    early = search(cv=5, max_runs=8, price="0.05 per 1ms", min_folds=2).fit(X, y)
    scores = np.stack([early.cv_results_[f"split{fold}_test_score"] for fold in range(5)])
    seen = np.isfinite(scores).sum(axis=0)
    assert set(seen) <= {2, 5}
    assert all(seen[:2] == 5)  # before there is anything to compare with
    assert np.isnan(early.cv_results_["mean_test_score"][seen < 5]).all()
    assert np.isfinite(early.best_score_)
    assert whole.n_splits_ == early.n_splits_ == 5
    assert len(early.result_.history) == len(early.cv_results_["params"])


@pytest.fixture
def one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fitting takes a millisecond of scikit-learn's clock, and scoring another one, however busy the machine is."""
    clock = SimpleNamespace(time=map((0.001).__mul__, itertools.count()).__next__)
    monkeypatch.setattr("sklearn.model_selection._validation.time", clock)


@pytest.mark.usefixtures("one_millisecond")
def test_with_a_price_that_makes_folds_expensive_some_are_given_up() -> None:
    found = search(cv=5, max_runs=8, price="0.000001 per 1h", min_folds=2)
    found.fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()  # folds cost nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # folds that were not seen are no failure
        expensive = search(cv=5, max_runs=6, price=200.0, score_range=(0, 100), min_folds=2).fit(X, y)
    assert np.isnan(expensive.cv_results_["mean_test_score"][2:]).any()


def test_candidates_together_are_those_that_are_asked_for_together() -> None:
    with joblib.parallel_config(backend="threading"):
        one, again = (search(max_runs=6, cv=3, n_jobs=3, parallel="candidates").fit(X, y) for _ in range(2))
    assert one.cv_results_["params"] == again.cv_results_["params"]
    assert one.result_.n_jobs == 3
    trains = [made for made in one.result_.decisions if isinstance(made, Train)]
    assert trains[0].stop_value is None  # the first shows what a candidate costs
    assert trains[1].stop_value == trains[2].stop_value == trains[3].stop_value  # none of the three knew the others
    assert len({train.params["cut"] for train in trains[1:4]}) == 3
    single = search(max_runs=6, cv=3).fit(X, y)
    assert one.best_score_ >= single.best_score_ - 0.05
    rows = {
        params["cut"]: score
        for params, score in zip(one.cv_results_["params"], one.cv_results_["mean_test_score"], strict=True)
    }
    for cut, score in rows.items():
        assert cross_val_score(Threshold(cut), X, y, cv=3).mean() == pytest.approx(score)


def test_of_candidates_together_one_may_fail() -> None:
    with pytest.warns(FitFailedWarning, match="fits failed"), joblib.parallel_config(backend="threading"):
        found = search(
            estimator=Threshold(fails_above=0.3), max_runs=6, n_jobs=2, parallel="candidates", error_score=0.0
        ).fit(X, y)
    failed = [run.error is not None for run in found.result_.history]
    assert any(failed)
    assert failed == [params["cut"] > 0.3 for params in found.cv_results_["params"]]


def test_the_noise_of_the_folds_is_the_noise_of_the_score() -> None:
    found = search(cv=5, max_runs=5, score_noise="folds").fit(X, y)
    table = np.stack([found.cv_results_[f"split{fold}_test_score"] for fold in range(5)], axis=1)
    assert found.result_.problem.stated.noise == pytest.approx(of(table).noise)
    assert search(cv=5, max_runs=5).fit(X, y).result_.problem.stated.noise is None


def test_the_page_compares_with_the_estimators_own_parameters(tmp_path: Path) -> None:
    found = search(max_runs=5).fit(X, y)
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Baseline: the estimator" in page
    assert "own parameters (cut=0)" in page
    elsewhere = search(estimator=Threshold(cut=9.0), max_runs=3).fit(X, y)
    elsewhere.report(tmp_path / "other.html")
    assert "Baseline:" not in (tmp_path / "other.html").read_text("utf-8")
