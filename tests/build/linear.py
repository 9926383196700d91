"""The plainest regression for value iteration, on a linear basis: what tests can follow by hand."""

from collections.abc import Callable

import numpy as np

from autobct.belief.arrays import Array
from autobct.build.forests.iteration import Fit
from autobct.value.lookahead.one_step import Continuation
from autobct.value.state import State


def linear_fit(features: Callable[[State], Array], *, ridge: float = 1e-8) -> Fit:
    """Regression on a linear basis of functions of the state: features (..., F).  The paper's plainest choice."""

    def fit(cloud: State, values: Array) -> Continuation:
        basis = features(cloud)
        gram = basis.T @ basis + ridge * np.eye(basis.shape[-1])
        weights = np.linalg.solve(gram, basis.T @ values)
        return lambda state, terms: np.asarray(features(state) @ weights)

    return fit
