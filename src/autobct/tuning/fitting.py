"""Policies made of others: a value map where it fits the present belief, and one run of foresight where less is known.

Where the scale of the score is learned nobody knows before the first run whether a map will fit.  A map errs by about
one percent of lambda, the largest standard deviation of a score: where a run costs not much more than that, an error
looks like something to be learned, again and again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.value.assessment import Assess, Assessment, by_ei_per_cost
from autobct.value.map_spec import MapSpec, units_of_lambda
from autobct.value.simulate import rows
from autobct.value.state import State, Terms

DEAR = 5.0
"""Price of a run from which a map decides, in lowest prices that it is for.  docs/decisions/one-two-numbers.md."""


@dataclass(frozen=True, slots=True, eq=False)
class WhereItFits:
    """A map where it fits the present belief, else another policy.  spec: of the map."""

    spec: MapSpec
    on_map: Assess
    otherwise: Assess

    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        """As any policy; every state of a batch by itself."""
        if state.score.mean.ndim == 1:
            return self.at(state, terms)(state, terms, runs)
        found = [self(rows(state, np.asarray(i)), terms, runs) for i in range(len(state.score.mean))]
        return Assessment(np.stack([one.value for one in found]), np.stack([one.priority for one in found]))

    def at(self, state: State, terms: Terms) -> Assess:
        """Which policy decides in a state."""
        price, noise = units_of_lambda(state, terms)
        low, high = self.spec.noises
        dear = DEAR * self.spec.prices[0] <= price <= self.spec.prices[1]
        return self.on_map if dear and low <= noise <= high else self.otherwise


@dataclass(frozen=True, slots=True, eq=False)
class OneRunFirst:
    """One run of foresight, by expected improvement per cost, for the first run and once a run has failed; else more.

    The first run is then near the centre or what was guessed: deeper foresight would begin in a corner, where a
    polynomial has most to tell and real scores are poor.  After a failure deeper foresight would count on runs that
    are not likely to finish, and go on preparing for them.
    """

    later: Assess

    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        """As any policy."""
        return self.at(state, runs)(state, terms, runs)

    def at(self, state: State, runs: int) -> Assess:
        """Which policy decides in a state."""
        return by_ei_per_cost if runs == 0 or state.feasibility is not None else self.later
