"""Where a tuning stands, and the decision there: pure functions, for the tuner and for everyone who asks "what if".

| paper | here |
|---|---|
| Lambda(u; x) for every u | `control_values` |
| stop if the models in hand are worth as much | `decide` |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.decision import Decision, Stop, Train
from autobct.tuning.fitting import WhereItFits
from autobct.tuning.limits import Left, Mask
from autobct.tuning.policy import Frugal
from autobct.tuning.problem import Problem
from autobct.value.lookahead import one_run_values
from autobct.value.simulate import ControlValues
from autobct.value.state import State, Terms, run_price, stop_value


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """All that a decision depends on, besides the policy.

    state:     the belief at the candidates; those that may not be tried look like their nearest neighbours
    untried:   (G,) candidates that may not be tried, as they failed or would exceed a limit
    last:      (G,) where a run would be the last, as nothing fits after it
    asked:     runs asked for so far, those under way included;  runs: those told
    in_hand:   the believed score of the model that would be returned now, in the user's units; None if none
    left:      what the next run may cost;  cheapest: what the cheapest would, if it is too much
    finishes:  (G,) probability that a run finishes; None where that is no question
    """

    problem: Problem
    state: State
    untried: Mask
    last: Mask
    asked: int
    runs: int
    in_hand: float | None
    left: Left | None = None
    cheapest: float | None = None
    finishes: Array | None = None

    @property
    def stop_value(self) -> float:
        """Model units.  With nothing in hand stopping is worth the bottom of the score range: zero."""
        return float(stop_value(self.state)) if self.state.kept.size else 0.0


def control_values(position: Position, policy: ControlValues, problem: Problem | None = None) -> Array:
    """The value of training at each candidate, in model units; -inf where there may be no run.  (G,).

    problem: the same at another price, if not the position's own
    """
    terms = (problem or position.problem).terms
    policy = deciding(position, policy, terms)
    values = policy(position.state, terms, position.asked)
    if position.last.any():
        once = one_run_values(position.state, terms)
        values = np.where(position.last & (values > -np.inf), once, values)
    values = _if_it_finishes(values, position, policy, terms)
    values[position.untried] = -np.inf
    return values


def deciding(position: Position, policy: ControlValues, terms: Terms) -> ControlValues:
    """The policy itself, or the one that it leaves the decision to.

    Once a run has failed that is one run of foresight: more would count on runs that are not likely to finish, and go
    on preparing for them.
    """
    if not isinstance(policy, WhereItFits):
        return policy
    return policy.at(position.state, terms, position.asked) if position.finishes is None else Frugal()


def _if_it_finishes(values: Array, position: Position, policy: ControlValues, terms: Terms) -> Array:
    """A run that fails leaves what was in hand, and its price is spent all the same.  (G,)."""
    if position.finishes is None:
        return values
    stop, prices = position.stop_value, run_price(position.state, terms)
    spent = prices.min() if isinstance(policy, Frugal) else prices  # in the units of its values
    return np.asarray(stop + position.finishes * (values - stop) - (1.0 - position.finishes) * spent)


def decide(position: Position, policy: ControlValues) -> tuple[Decision, int]:
    """Train where the value is highest, or stop; and which candidate that is."""
    if position.untried.all() and position.left is not None:
        left, needed = position.left, position.cheapest
        return Stop(left.reason, position.runs, position.in_hand, left=left.amount, cheapest=needed), -1
    policy = deciding(position, policy, position.problem.terms)
    values = control_values(position, policy)
    chosen = int(values.argmax())
    if values[chosen] == -np.inf:
        return Stop("horizon", position.runs, position.in_hand), chosen
    train = train_at(position, chosen, float(values[chosen]), policy)
    if position.asked > 0 and values[chosen] <= position.stop_value:
        return Stop("not worth it", position.runs, train.stop_value, train), chosen
    return train, chosen


def train_at(position: Position, chosen: int, value: float, policy: ControlValues) -> Train:
    """The run at a candidate in the user's units.  value: of it, in model units."""
    problem, state = position.problem, position.state
    policy = deciding(position, policy, problem.terms)
    net = float(policy.net(state, problem.terms)[chosen]) if isinstance(policy, Frugal) else value
    price = float(run_price(state, problem.terms)[chosen])
    cost = (price - problem.terms.overhead) / problem.terms.price
    return Train(
        trial=position.asked,
        params=problem.space.params(problem.controls[chosen]),
        control=problem.controls[chosen],
        expected_gain=problem.raw_gain(round(net + price - position.stop_value, 12) + 0.0),  # no dust, no minus zero
        expected_cost=float(problem.cost_scale.to_raw(cost)),
        price_of_run=problem.raw_gain(price),
        overhead=problem.raw_gain(problem.terms.overhead),
        expected_score=float(problem.score_scale.to_raw(float(state.score.mean[chosen]))),
        value=float(problem.score_scale.to_raw(value)),
        stop_value=position.in_hand,
    )
