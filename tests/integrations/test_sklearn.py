"""AutoBCTSearchCV does what users of RandomizedSearchCV rely on, and decides as `tune` does."""

import importlib
import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from tests.integrations.sklearn_cases import Threshold, X, search, y

import autobct
from autobct import Categorical, Float, Int, Stop, Train
from autobct.integrations._candidates import guess_of
from autobct.integrations.sklearn import AutoBCTSearchCV
from autobct.tuning.space.space import Space

ROOT = Path(__file__).parents[2]
OURS = {
    "cost",
    "autobct_expected_gain",
    "autobct_expected_cost",
    "autobct_price_of_run",
    "autobct_estimated_score",
}


def test_cv_results_has_the_columns_of_randomized_search_and_ours() -> None:
    theirs = RandomizedSearchCV(Threshold(), {"cut": [-1.0, 0.0, 1.0, 2.0]}, n_iter=4, cv=2).fit(X, y).cv_results_
    found = search().fit(X, y).cv_results_
    assert set(found) == set(theirs) | OURS
    assert {len(column) for column in found.values()} == {4}
    for name in set(theirs) - {"params"}:
        assert type(found[name]) is type(theirs[name])
        assert found[name].dtype == theirs[name].dtype


def test_each_row_is_what_grid_search_finds_for_the_same_params() -> None:
    ours = search(return_train_score=True).fit(X, y).cv_results_
    grid = [{name: [value] for name, value in params.items()} for params in ours["params"]]
    theirs = GridSearchCV(Threshold(), grid, cv=2, return_train_score=True).fit(X, y).cv_results_
    for name in (name for name in theirs if "_time" not in name):
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_the_best_is_the_one_with_the_highest_mean_test_score() -> None:
    found = search().fit(X, y)
    scores = found.cv_results_["mean_test_score"]
    assert found.best_index_ == found.cv_results_["rank_test_score"].argmin() == scores.argmax()
    assert found.best_score_ == scores.max()
    assert found.best_params_ == found.cv_results_["params"][found.best_index_]
    assert found.best_estimator_.cut == found.best_params_["cut"]
    np.testing.assert_array_equal(found.predict(X), found.best_estimator_.predict(X))
    assert found.score(X, y) == np.mean(found.predict(X) == y)
    assert (found.n_splits_, found.multimetric_, found.n_features_in_) == (2, False, 5)
    assert found.refit_time_ >= 0.0


def test_our_columns_are_those_of_the_decisions_and_runs() -> None:
    found = search().fit(X, y)
    result, columns = found.result_, found.cv_results_
    trains = [decision for decision in result.decisions if isinstance(decision, Train)]
    assert isinstance(result.decisions[-1], Stop)
    assert [run.params for run in result.history] == columns["params"]
    assert [run.score for run in result.history] == columns["mean_test_score"].tolist()
    assert [train.expected_gain for train in trains] == columns["autobct_expected_gain"].tolist()
    assert [train.price_of_run for train in trains] == columns["autobct_price_of_run"].tolist()
    seconds = 2 * (columns["mean_fit_time"] + columns["mean_score_time"])
    np.testing.assert_array_equal(columns["cost"], seconds)
    assert result.cost == pytest.approx(seconds.sum())
    assert result.charged > 0.0  # the time of deciding is part of the cost, as in tune
    assert columns["autobct_estimated_score"][-1] == result.tuner.estimated_score(result.history[-1].control)


def test_it_stops_by_itself_and_says_why(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    found = search(price=1.0, max_runs=None).fit(X, y)  # a second of computing is worth a whole unit of score
    assert isinstance(found.result_.decisions[-1], Stop)
    assert found.why_ == found.result_.why
    assert found.why_.startswith(f"Stopped after {len(found.cv_results_['params'])} run")
    assert "Best so far" in str(found.explain())
    found.report(tmp_path / "page.html")
    assert found.why_.split(":")[0] in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("told", [{}, {"guess": {}}, {"guess": {"C": 5.0}, "score_noise": "exact"}])
def test_it_decides_as_tune_does(monkeypatch: pytest.MonkeyPatch, told: dict[str, Any]) -> None:
    """Twelve runs with the same costs, which are sums of powers of two, so that no rounding tells them apart."""
    model = LogisticRegression(C=0.25)
    clock = SimpleNamespace(now=0.0, perf_counter=lambda: clock.now)
    for name in ("tuning.training", "tuning.tune", "integrations._hosts", "integrations._evaluation"):
        monkeypatch.setattr(importlib.import_module(f"autobct.{name}"), "time", clock)

    def seconds(params: dict[str, Any]) -> float:
        return (1 + int(4 * params["C"]) % 7) / 32

    from sklearn.model_selection import _search

    measure = _search._fit_and_score

    def timed(*given: Any, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
        clock.now += seconds(parameters)
        return {**measure(*given, parameters=parameters, **more), "fit_time": seconds(parameters), "score_time": 0.0}

    def train(params: dict[str, Any]) -> float:
        clock.now += 2 * seconds(params)
        return float(cross_val_score(clone(model).set_params(**params), X, y, cv=2).mean())

    space = {"C": Float(1e-3, 10, log=True), "fit_intercept": Categorical([True, False]), "max_iter": Int(50, 100)}
    common = {"price": "0.0001 per 100s", "max_runs": 12, "score_range": (0.5, 1.0), **told}
    expected = autobct.tune(train, space, **{"guess": {"C": 0.25, "fit_intercept": True, "max_iter": 100}, **common})
    monkeypatch.setattr(_search, "_fit_and_score", timed)
    found = AutoBCTSearchCV(model, space, cv=2, random_state=0, **common).fit(X, y)
    assert found.why_ == expected.why
    assert len(expected.history) == 12
    for ours, theirs in zip(found.result_.history, expected.history, strict=True):
        assert (ours.params, ours.score, ours.cost) == (theirs.params, theirs.score, theirs.cost)
    for ours, theirs in zip(found.result_.decisions[:-1], expected.decisions[:-1], strict=True):
        assert (ours.expected_gain, ours.price_of_run) == (theirs.expected_gain, theirs.price_of_run)


def test_the_parameters_of_the_estimator_are_the_guess_where_they_lie_in_the_space() -> None:
    space = Space.of(
        {
            "C": Float(0.1, 10, log=True),
            "gamma": Float(1e-4, 1, log=True),
            "kernel": Categorical(["rbf", "poly"]),
            "degree": Int(5, 9),
            "shrinking": Categorical([False]),
        }
    )
    known = {"C": 1.0, "gamma": "scale", "kernel": "rbf", "degree": 3, "shrinking": True, "tol": 1e-3}
    assert guess_of(known, space) == {"C": 1.0, "kernel": "rbf"}


def test_clones_pickles_and_copies() -> None:
    made = search(guess={"cut": 0.5})
    assert clone(made).get_params(deep=False).keys() == made.get_params(deep=False).keys()
    assert not hasattr(clone(made.fit(X, y)), "result_")
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.predict(X), made.predict(X))
    assert again.why_ == made.why_
    assert again.cv_results_["params"] == made.cv_results_["params"]
    assert not [name for name in vars(made) if name.startswith("_") and "checked_cv" not in name]


class Sending(KFold):
    """Pickles a search whenever its folds are asked for."""

    search: ClassVar[Any] = None
    sent: ClassVar[list[Any]] = []

    def split(self, *given: Any, **more: Any) -> Any:
        self.sent.append(pickle.loads(pickle.dumps(Sending.search)))
        return super().split(*given, **more)


def test_it_pickles_during_fit_as_parallel_folds_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sending, "search", search(cv=Sending(2)))
    Sending.search.fit(X, y)
    [sent] = Sending.sent
    assert sent.n_splits_ == 2
    assert not hasattr(sent, "_evaluation")


def test_it_nests_in_pipelines_and_other_searches() -> None:
    steps = Pipeline([("scale", StandardScaler()), ("clf", LogisticRegression())])
    inner = search(steps, space={"clf__C": Float(0.01, 100, log=True), "scale": Categorical([StandardScaler(), None])})
    found = Pipeline([("outer", inner)]).fit(X, y)
    assert set(found["outer"].best_params_) == {"clf__C", "scale"}
    assert np.isfinite(cross_val_score(inner, X, y, cv=2)).all()
    assert set(inner.get_params()) >= {"estimator__clf__C", "space", "price"}


def test_all_candidates_see_the_same_folds() -> None:
    class Counted(ShuffleSplit):
        calls = 0

        def split(self, *given: Any, **more: Any) -> Any:
            type(self).calls += 1
            return super().split(*given, **more)

    found = search(cv=Counted(2, test_size=0.5), space={"cut": Categorical([0.0, 1e-9])}, max_runs=2).fit(X, y)
    assert Counted.calls == 1
    first, second = (found.cv_results_[f"split{fold}_test_score"] for fold in (0, 1))
    assert (first[0], second[0]) == (first[1], second[1])  # both cut alike


@pytest.mark.slow
def test_folds_may_run_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    made = search(LogisticRegression(), space={"C": Float(0.1, 10, log=True)}, n_jobs=2, verbose=1)
    found = made.set_params(deadline="1h", cost_range=(0.001, 1)).fit(X, y)
    assert len(found.result_.history) == 4
    printed = capsys.readouterr().out
    assert "Fitting 2 folds for each of 1 candidates" in printed
    assert "Train C=" in printed
    assert found.why_ in printed


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_data_frames_and_set_output(frames: str) -> None:
    if importlib.util.find_spec(frames) is None:
        pytest.skip(f"{frames} is not installed")
    library = importlib.import_module(frames)
    table = library.DataFrame({f"feature{k}": X[:, k] for k in range(X.shape[1])})
    steps = Pipeline([("scale", StandardScaler().set_output(transform=frames)), ("clf", LogisticRegression())])
    found = search(steps, space={"clf__C": Float(0.01, 100, log=True)}).fit(table, y)
    assert list(found.feature_names_in_) == list(table.columns)
    assert found.predict(table).shape == (80,)
    scaled = search(StandardScaler().set_output(transform=frames), space={"with_mean": Categorical([True, False])})
    scaled.set_params(scoring=lambda estimator, X, y=None: 0.5).fit(table)
    assert isinstance(scaled.transform(table), library.DataFrame)


def test_the_seed_may_be_a_random_state() -> None:
    draw = np.random.RandomState(3).randint(2**31 - 1)
    assert search(random_state=np.random.RandomState(3)).fit(X, y).result_.plan.seed == draw
    assert search(random_state=5).fit(X, y).result_.plan.seed == 5
    assert search().fit(X, y).result_.plan.seed == 0


def test_without_scikit_learn_the_error_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = None\nimport autobct\nimport autobct.integrations.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError" in done.stderr
    assert "pip install 'autobct[sklearn]'" in done.stderr


def test_an_older_scikit_learn_is_refused() -> None:
    code = "import sklearn; sklearn.__version__ = '1.8.2'\nimport autobct.integrations.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "needs scikit-learn 1.9 or newer, found 1.8.2" in done.stderr


def test_the_example_runs() -> None:
    path = ROOT / "examples" / "sklearn_search.py"
    assert len(path.read_text("utf-8").splitlines()) < 40
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, check=True)
    assert "Stopped after" in done.stdout
