"""A value map where it fits the present belief, and another policy where it does not.

Where the scale of the score is learned nobody knows before the first run whether a map will fit.  A map errs by about
one percent of lambda, the largest standard deviation of a score: where a run costs not much more than that, an error
looks like something to be learned, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.policy import Frugal
from autobct.value.map_spec import MapSpec, units_of_lambda
from autobct.value.simulate import ControlValues, rows
from autobct.value.state import State, Terms

DEAR = 5.0
"""Price of a run from which a map decides, in lowest prices that it is for.  docs/decisions/one-two-numbers.md."""


@dataclass(frozen=True, slots=True, eq=False)
class WhereItFits:
    """Control values of a map, or of another policy; the first run is where one run alone is worth most.

    That is near the centre or what was guessed.  Deeper foresight would begin in a corner, where a polynomial has most
    to tell and real scores are poor.

    spec: of the map; None if there is no map
    """

    spec: MapSpec | None
    on_map: ControlValues
    otherwise: ControlValues

    def __call__(self, state: State, terms: Terms, runs: int) -> Array:
        """As any policy; every state of a batch by itself."""
        if state.score.mean.ndim == 1:
            return self.at(state, terms, runs)(state, terms, runs)
        count = len(state.score.mean)
        return np.stack([self(rows(state, np.asarray(i)), terms, runs) for i in range(count)])

    def at(self, state: State, terms: Terms, runs: int) -> ControlValues:
        """Which policy decides in a state."""
        if runs == 0:
            return Frugal()
        if self.spec is None:
            return self.otherwise
        price, noise = units_of_lambda(state, terms)
        low, high = self.spec.noises
        dear = DEAR * self.spec.prices[0] <= price <= self.spec.prices[1]
        return self.on_map if dear and low <= noise <= high else self.otherwise
