"""scikit-learn's own checks, on the estimators and values with which it checks its searches.

The expected failures are those that scikit-learn declares for `GridSearchCV` and `RandomizedSearchCV`.
"""

from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.9")

from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils._test_common.instance_generator import INIT_PARAMS, PER_ESTIMATOR_XFAIL_CHECKS
from sklearn.utils._testing import ignore_warnings
from sklearn.utils.estimator_checks import parametrize_with_checks

from autobct import Categorical
from autobct.integrations.sklearn import AutoBCTSearchCV

EXPECTED = {
    "check_supervised_y_2d": "DataConversionWarning not caught",
    "check_requires_y_none": "Doesn't fail gracefully",
}


def search(estimator: Any, name: str) -> AutoBCTSearchCV:
    """Both values are tried whatever they cost: what is measured must not decide what a check compares."""
    space = {name: Categorical([0.1, 1.0])}
    return AutoBCTSearchCV(
        estimator, space, price="0.0001 per 1h", cv=2, error_score="raise", max_runs=2, random_state=0
    )


SEARCHES = [
    search(Ridge(), "alpha"),
    search(LogisticRegression(), "C"),
    search(Pipeline(steps=[("pca", PCA()), ("ridge", Ridge())]), "ridge__alpha"),
    search(Pipeline(steps=[("pca", PCA()), ("logisticregression", LogisticRegression())]), "logisticregression__C"),
]


PLAIN, PIPELINES = SEARCHES[:2], SEARCHES[2:]


def checks(searches: list[AutoBCTSearchCV]) -> Any:
    """As scikit-learn runs them; for some of its estimators an expected failure passes."""
    return parametrize_with_checks(searches, expected_failed_checks=lambda search: EXPECTED, xfail_strict=False)


@checks(PLAIN)
def test_it_passes_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    with ignore_warnings(category=(FutureWarning, UserWarning)):
        check(estimator)


@pytest.mark.slow
@checks(PIPELINES)
def test_it_passes_them_with_pipelines(estimator: Any, check: Any) -> None:
    with ignore_warnings(category=(FutureWarning, UserWarning)):
        check(estimator)


@pytest.mark.parametrize("theirs", [GridSearchCV, RandomizedSearchCV])
def test_the_configurations_and_expected_failures_are_theirs(theirs: type) -> None:
    assert PER_ESTIMATOR_XFAIL_CHECKS[theirs] == EXPECTED
    for ours, told in zip(SEARCHES, INIT_PARAMS[theirs], strict=True):
        values = told.get("param_grid") or told["param_distributions"]
        assert str(ours.estimator) == str(told["estimator"])
        assert {name: list(parameter.choices) for name, parameter in ours.space.items()} == values
        assert (ours.cv, ours.error_score) == (told["cv"], told["error_score"])
