"""The paper's regression (line 6 of algorithm 3), a `Fit` for `value_iteration`, on scikit-learn.

    value_iteration(cloud, terms, runs=4, nodes=nodes, inner=inner, fit=forest_fit(features))
    value_iteration(cloud, terms, ..., fit=above(lower, terms, forest_fit(features)))

`above` turns it into a regression of the *residual* over a lower bound.  A tree cannot follow the slope of a
value that simply shifts with the mean score; what lookahead adds to V_1 is small, bounded and local, and it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.build.forests.features import Features
from autobct.build.forests.iteration import Fit
from autobct.value.lookahead.one_step import Continuation
from autobct.value.state import State, Terms

_ROWS = 1 << 17  # rows predicted at a time: a quadratic basis of 28 numbers is 3.5 KB each


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A continuation read off an estimator with a `predict` method."""

    features: Features
    estimator: Any

    def __call__(self, state: State, terms: Terms) -> Array:
        """Predicted values, in the batch shape of the state.  (...)."""
        numbers = self.features(state)
        flat = numbers.reshape(-1, numbers.shape[-1])
        found = np.empty(len(flat))
        for first in range(0, len(flat), _ROWS):
            found[first : first + _ROWS] = self.estimator.predict(flat[first : first + _ROWS])
        return found.reshape(numbers.shape[:-1])


@dataclass(frozen=True, slots=True, eq=False)
class Above:
    """lower + max(excess, 0): a value that is never below its lower bound."""

    lower: Continuation
    excess: Continuation

    def __call__(self, state: State, terms: Terms) -> Array:
        """The value at the states.  (...)."""
        return np.asarray(self.lower(state, terms) + np.maximum(self.excess(state, terms), 0.0))


def above(lower: Continuation, terms: Terms, fit: Fit) -> Fit:
    """Regress what a value is above `lower`, e.g. V_1, instead of the value."""
    return lambda cloud, values: Above(lower, fit(cloud, values - lower(cloud, terms)))


def forest_fit(features: Features, *, trees: int = 100, leaf: int = 1, seed: int = 0, jobs: int | None = None) -> Fit:
    """Random forest, the paper's choice with its 100 trees.

    leaf: least number of states in a leaf.   jobs: threads, as scikit-learn counts them (-1: all)
    """

    def estimator() -> Any:
        from sklearn.ensemble import RandomForestRegressor

        return RandomForestRegressor(trees, min_samples_leaf=leaf, random_state=seed, n_jobs=jobs)

    return _fit(features, estimator)


def _fit(features: Features, estimator: Callable[[], Any]) -> Fit:
    def fit(cloud: State, values: Array) -> Continuation:
        try:
            unfitted = estimator()
        except ImportError:
            raise ImportError("the paper's regressions need scikit-learn: pip install 'autobct[build]'") from None
        return Fitted(features, unfitted.fit(features(cloud), values))

    return fit
