"""Small searches for the tests of the scikit-learn adapter."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification

from autobct import Float
from autobct.integrations.sklearn import AutoBCTSearchCV

X, y = make_classification(n_samples=80, n_features=5, n_informative=3, flip_y=0.1, random_state=0)


class Threshold(ClassifierMixin, BaseEstimator):
    """Predicts by one feature; fails above `fails_above`, on every fold or on those that lack the first sample."""

    def __init__(self, cut: float = 0.0, fails_above: float = np.inf, on_some_folds: bool = False) -> None:
        self.cut = cut
        self.fails_above = fails_above
        self.on_some_folds = on_some_folds

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Threshold":
        if self.cut > self.fails_above and not (self.on_some_folds and X[0, 0] == FIRST):
            raise RuntimeError("the cut is too high")
        self.classes_, self.n_features_in_ = np.unique(y), X.shape[1]
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        return self

    def predict(self, X: Any) -> Any:
        return self.classes_[(np.asarray(X)[:, 0] > self.cut).astype(int)]


FIRST = float(X[0, 0])


def search(estimator: Any = None, **told: Any) -> AutoBCTSearchCV:
    """Four candidates of a threshold, whatever they cost."""
    said = {"price": "0.0001 per 1h", "cv": 2, "max_runs": 4, **told}
    space = said.pop("space", {"cut": Float(-2.0, 2.0)})
    return AutoBCTSearchCV(Threshold() if estimator is None else estimator, space, **said)
