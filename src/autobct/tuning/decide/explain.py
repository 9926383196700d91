"""Why it continues or stops: both values, the best next run, its uncertainty, and the break-even price."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from autobct.belief.arrays import Array, distinct
from autobct.tuning.decide.position import Position, assessed, picked, position_of, train_at
from autobct.tuning.decide.search import Candidates
from autobct.tuning.history import Decision, Stop, Train, short, what_continuing_is_worth
from autobct.tuning.memory import Memory, place_of
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.model.estimate import score_at
from autobct.tuning.problem import at_price
from autobct.tuning.units.price import Price, rounded
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import Assess, Assessment, by_ei_per_cost, expected_price
from autobct.value.state import score_gains, variance

_STEP, _FARTHEST = 4.0, 1e9  # a break-even price is looked for by factors of 4, up to a billion times off
_HALVINGS = 16  # of a factor of 4: the price to four digits


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """The next decision in full, in the user's units.

    decision:     what `ask` says now
    stop_value:   estimated score of the best so far, with its standard deviation `stop_sd`; None if no run has finished
    best:         the best next run with its expected gain and cost; None if no run is allowed
    score_sd:     standard deviation of the estimated score there
    cost_low, cost_high:  68 % interval of the cost of that run
    improves:     probability that the run replaces the incumbent with a better model, by the estimates after it
    feasibility:  probability that the run finishes; 1 if no run has failed
    break_even:   the price at which the decision would change; None if no price changes it
    controls:     (G, p) all candidates, and for each: params, the value of training there (-inf where no run is
                  allowed), the priority that ranks it (in the policy's own units), the estimated score and its standard
                  deviation, the expected cost, and the price of the run
    direction:    whether scores are maximized or minimized
    """

    decision: Decision
    stop_value: float | None
    stop_sd: float | None
    best: Train | None
    score_sd: float
    cost_low: float
    cost_high: float
    improves: float
    feasibility: float
    price: Price
    break_even: Price | None
    alarm: Alarm | None
    controls: Array
    params: tuple[Mapping[str, Any], ...]
    values: Array
    priorities: Array
    expected_scores: Array
    score_sds: Array
    expected_costs: Array
    prices: Array
    direction: Literal["maximize", "minimize"] = "maximize"

    def __str__(self) -> str:
        """A few lines."""
        lines = [self.decision.why, *self._of_the_run(), self._of_the_price()]
        if self.alarm is not None and self.alarm.text not in lines[0]:
            lines.append(self.alarm.text)
        return "\n".join(lines)

    def _of_the_run(self) -> list[str]:
        if self.best is None:
            return []
        best, better = "No run has finished yet", ""
        if self.stop_value is not None:
            best = f"Best so far: {self.stop_value:.4g} (± {self.stop_sd or 0.0:.2g})"
            better = f"; it improves on the best so far with a probability of {self.improves:.0%}"
        stated = ", ".join(f"{name}={short(value)}" for name, value in self.best.params.items())
        return [
            f"{best}. Continuing is worth {self.best.value:.4g} ({what_continuing_is_worth(self.direction)}).",
            f"Best next run: {stated}, with an estimated score of {self.best.expected_score:.4g} "
            f"(± {self.score_sd:.2g}) and a cost of {self.cost_low:.3g} to {self.cost_high:.3g}{better}.",
            *([f"It finishes with a probability of {self.feasibility:.0%}."] if self.feasibility < 1.0 else []),
        ]

    def _of_the_price(self) -> str:
        stops = isinstance(self.decision, Stop)
        if self.break_even is None:
            return f"It would {'stop' if stops else 'continue'} at any price{self._whatever_it_costs()}."
        now, turn = ("stops", "continue below") if stops else ("continues", "stop above")
        return f"At {rounded(self.price)} it {now}; it would {turn} {rounded(self.break_even)}."

    def _whatever_it_costs(self) -> str:
        weighed = isinstance(self.decision, Stop) and self.decision.reason == "not worth it"
        fixed = self.best is not None and self.best.overhead > 0.0
        return ": a run would gain less than its fixed overhead alone" if weighed and fixed else ""


def explained(
    position: Position, policy: Assess, decision: Decision, alarm: Alarm | None, held: Held | None = None
) -> Explanation:
    """The explanation of a decision that was made in a position.  held: the incumbent; None if there is none."""
    problem, state = position.problem, position.state
    nowhere = Assessment.by_value(np.full(state.size, -np.inf))
    found = nowhere if position.excluded.all() else assessed(position, policy)
    chosen, _ = picked(position, found)
    possible = bool(found.value[chosen] > -np.inf)
    unit, sds = problem.score_scale.unit, _score_sds(position)
    prices = expected_price(state, problem.terms)
    costs = problem.cost_scale.to_raw(np.asarray((prices - problem.terms.overhead) / problem.terms.price))
    low, high = _cost_interval(position, chosen)
    return Explanation(
        decision=decision,
        stop_value=position.incumbent,
        stop_sd=None if held is None else float(sds[held.where]),
        best=train_at(position, chosen, float(found.value[chosen])) if possible else None,
        score_sd=float(sds[chosen]),
        cost_low=low,
        cost_high=high,
        improves=_improves(position, chosen, held) if possible else 0.0,
        feasibility=_feasibility(position, chosen),
        price=problem.price,
        break_even=break_even(position, policy, decision) if possible else None,
        alarm=alarm,
        controls=problem.controls,
        params=tuple(problem.space.params(control) for control in problem.controls),
        values=_raw_values(problem, found.value + position.above),
        priorities=found.priority,
        expected_scores=position.raw_scores(state.score.mean),
        score_sds=sds,
        expected_costs=costs,
        prices=unit * prices,
        direction=problem.direction,
    )


def break_even(position: Position, policy: Assess, decision: Decision) -> Price | None:
    """The price at which continuing and stopping are worth the same, with the same posterior; None if there is none.

    Only decisions that weigh the two have one: the first run is always made, and a limit does not look at the price.
    """
    if position.asked == 0 or (isinstance(decision, Stop) and decision.reason != "not worth it"):
        return None

    def excess(factor: float) -> float:
        problem = at_price(position.problem, _times(position.problem.price, factor))
        return float(assessed(position, policy, problem).value.max()) - position.stop_value

    factor = _turning_point(excess, upwards=isinstance(decision, Train))
    if factor is None:
        return None
    found = _times(position.problem.price, factor)
    return replace(found, score=float(f"{found.score:.4g}"))


def _turning_point(excess: Callable[[float], float], *, upwards: bool) -> float | None:
    """The factor at which a falling function of it turns its sign, looked for in one direction from 1."""
    near, step = 1.0, _STEP if upwards else 1.0 / _STEP
    far = near * step
    while (excess(far) > 0.0) == upwards:
        near, far = far, far * step
        if not 1.0 / _FARTHEST < far < _FARTHEST:
            return None
    low, high = math.log(min(near, far)), math.log(max(near, far))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(math.exp(middle)) > 0.0 else (low, middle)
    return math.exp((low + high) / 2)


def _times(price: Price, factor: float) -> Price:
    return Price(price.score * factor, price.cost, price.unit)


def _raw_values(problem: ScaledProblem, values: Array) -> Array:
    """In the user's units; where there may be no run still -inf, whatever the direction."""
    finite = np.where(values > -np.inf, values, 0.0)
    return np.where(values > -np.inf, problem.score_scale.to_raw(finite), -np.inf)


def _score_sds(position: Position) -> Array:
    """Half the width of the 68 % interval of the score at each candidate, in the user's units.  (G,)."""
    mean, sd = position.state.score.mean, np.sqrt(variance(position.state.score))
    return np.asarray(np.abs(position.raw_scores(mean + sd) - position.raw_scores(mean - sd)) / 2)


@dataclass(frozen=True, slots=True)
class Held:
    """The incumbent, and how much measured scores count besides the surfaces: see `Misfit.weight`.

    where:  its number among the candidates
    score:  its estimated score, as scores are learned
    own, of_one:  weight of what was measured there, and of one run where none was made; zero where surfaces are all
    """

    where: int
    score: float
    own: float = 0.0
    of_one: float = 0.0


def held_of(memory: Memory, candidates: Candidates) -> Held | None:
    """The incumbent of a tuning; None if no run has finished."""
    if (place := memory.returned) is None:
        return None
    control, known = memory.control(place), memory.known
    score = float(known.compression(score_at(known, control[None]))[0])
    where = candidates.places[place]
    if known.evidence is None:
        return Held(where, score)
    runs = known.measured.get(place, (0, 0.0))[0]
    own, of_one = known.evidence.misfit.weight(np.array([runs, 1.0])).tolist()
    return Held(where, score, own, of_one)


def _improves(position: Position, chosen: int, held: Held | None) -> float:
    """P(the run finishes, and its model is then estimated to be better than the incumbent).

    The estimate of a trained model is (1 - w) surface + w measured.  A surprise of z standard deviations moves the
    surfaces by `gains` z, and the score that is measured by its whole standard deviation.
    """
    state, chance = position.state, _feasibility(position, chosen)
    if held is None:
        return chance
    if chosen == held.where:  # the same model once more
        return 0.0
    gains = score_gains(state)[chosen]
    observed = float(variance(state.score)[chosen]) / float(gains[chosen]) if gains[chosen] > 0.0 else 0.0
    its_own = float(gains[chosen]) + held.of_one * max(observed - float(gains[chosen]), 0.0)
    moves = abs(its_own - (1.0 - held.own) * float(gains[held.where]))
    ahead = float(state.score.mean[chosen]) - held.score
    return chance * (float(ndtr(ahead / moves)) if moves > 0.0 else float(ahead > 0.0))


def _feasibility(position: Position, chosen: int) -> float:
    return 1.0 if position.feasibility is None else float(position.feasibility[chosen])


def _cost_interval(position: Position, chosen: int) -> tuple[float, float]:
    problem, state = position.problem, position.state
    sd = math.sqrt(float(variance(state.cost)[chosen] + np.square(state.cost_noise[chosen])))
    ends = np.array([state.cost.mean[chosen] - sd, state.cost.mean[chosen] + sd])
    low, high = np.maximum(problem.cost_scale.to_raw(problem.terms.cost_model.from_observation(ends)), 0.0)
    return float(low), float(high)


def run_at(memory: Memory, control: Array) -> Train:
    """What a run at any control (p,) is expected to gain and to cost, one run ahead, whoever chooses it."""
    finished = [memory.control(place) for place in memory.finished]
    candidates = Candidates.of(replace(memory.problem, controls=distinct([*finished, control])))
    position = position_of(memory, candidates, None)
    where = candidates.places[place_of(control)]
    return train_at(position, where, float(assessed(position, by_ei_per_cost).value[where]))
