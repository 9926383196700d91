"""The explanation: the same numbers as the decision, sure as the belief is, and a price at which it really turns."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from tests.tuning.cases import LINE, SQUARE, ask_train, at, hill, numbers, play

from autobct import Explanation, Price, Stop, Train, Tuner, exact, gittins, relaxed


def after(runs: int, price: Any = 0.01, **told: Any) -> Tuner:
    tuner = Tuner(LINE, price=price, **told)
    for _ in range(runs):
        decision = ask_train(tuner)
        tuner.tell(decision, *hill(decision.params))
    return tuner


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_it_says_what_the_decision_says_and_starts_nothing(runs: int) -> None:
    tuner = after(runs)
    told = tuner.explain()
    assert tuner.under_way == ()
    decision = tuner.ask()
    assert numbers(told.decision) == numbers(decision)
    assert isinstance(decision, Train)
    assert told.best is not None
    assert numbers(told.best) == numbers(replace(decision, note=""))
    assert told.stop_value == decision.stop_value
    chosen = int(told.priorities.argmax())
    assert told.params[chosen] == decision.params
    assert told.values[chosen] == pytest.approx(decision.value)
    assert told.expected_scores[chosen] == pytest.approx(decision.expected_score)
    assert told.expected_costs[chosen] == pytest.approx(decision.expected_cost)
    assert told.prices[chosen] == pytest.approx(decision.price_of_run)
    assert told.score_sds[chosen] == told.score_sd
    assert told.cost_low < told.cost_high


@pytest.mark.parametrize("policy", [relaxed(2), relaxed(1), gittins()], ids=["depth 2", "depth 1", "gittins"])
@pytest.mark.parametrize("price", [0.003, "0.02 per 3 s", 0.1])
def test_the_decision_turns_at_the_break_even_price(policy: Any, price: Any) -> None:
    tuner = after(1, price, policy=policy, prior="paper", cost_range=(0.1, 2))
    told = tuner.explain()
    turning = told.break_even
    assert turning is not None
    assert (turning.unit, turning.cost) == (told.price.unit, told.price.cost)
    for factor, kind in ((0.995, Train), (1.005, Stop)):
        other = tuner.twin(Price(turning.score * factor, turning.cost, turning.unit))
        assert isinstance(other.peek(), kind)
    goes_on = isinstance(told.decision, Train)
    assert (turning.per_cost > told.price.per_cost) == goes_on


def test_what_has_no_price_has_no_break_even() -> None:
    assert after(0).explain().break_even is None  # the first run is always made
    limited = after(2, max_runs=2).explain()
    assert limited.break_even is None
    assert str(limited).endswith("It would stop at any price.")
    settled = after(0, policy=at(0.0, 0.5, 1.0), prior="paper", candidates=5)
    for _ in range(3):
        settled.tell(ask_train(settled), 0.5, 1.0)
    told = settled.explain()
    assert told.break_even is None  # worthless at any price
    assert str(told).endswith("It would stop at any price: a run would gain less than its fixed overhead alone.")


def test_the_probability_of_an_improvement_is_that_of_the_belief() -> None:
    """Against drawn outcomes of the run and the Kalman filter."""
    tuner = after(2, 0.003, prior="paper")
    told, rng = tuner.explain(), np.random.default_rng(0)
    assert told.best is not None
    assert tuner.best is not None
    model, belief, control = tuner.problem.prior.model, tuner.belief, told.best.control
    features, held = model.score_basis(control), model.score_basis(tuner.best.control)
    sd = math.sqrt(features @ belief.score.cov @ features + model.score_noise**2)
    draws = features @ belief.score.mean + sd * rng.standard_normal(4000)
    better = 0
    for score in draws:
        later = model.observe(belief, control, score=float(score), cost=1.0).score.mean
        better += features @ later > held @ later
    assert told.improves == pytest.approx(better / 4000, abs=0.03)


@pytest.mark.parametrize("seed", [3, 4])
def test_the_probability_of_an_improvement_agrees_with_the_scores_beside_it(seed: int) -> None:
    """Measured scores count as well as surfaces: against drawn outcomes of the run, each told to a twin."""
    tuner, rng = Tuner(SQUARE, price=0.0005), np.random.default_rng(seed)
    for _ in range(8):
        decision = ask_train(tuner)
        score, cost = hill(decision.params)
        tuner.tell(decision, score + 0.05 * rng.standard_normal(), cost)
    told, state = tuner.explain(), tuner.position().state
    assert told.best is not None
    assert told.stop_value is not None
    if abs(told.best.expected_score - told.stop_value) > 1e-3:
        assert (told.improves > 0.5) == (told.best.expected_score > told.stop_value)
    chosen = int(np.flatnonzero(np.all(told.controls == told.best.control, axis=1))[0])
    sd = math.sqrt(float(state.score.cov[chosen, chosen]) + float(state.score_noise[chosen]) ** 2)
    scores = tuner.position().raw_scores(state.score.mean[chosen] + sd * ndtri((np.arange(100) + 0.5) / 100))
    better = 0
    for score in scores.tolist():
        later = tuner.twin()
        later.adopt(told.best)
        later.tell(told.best, score, told.best.expected_cost)
        assert later.best is not None
        better += later.best.trial == told.best.trial
    assert told.improves == pytest.approx(better / 100, abs=0.1)


def test_the_cost_lies_in_its_interval_as_often_as_it_should() -> None:
    tuner = after(1, cost_range=(0.1, 2))
    told, rng = tuner.explain(), np.random.default_rng(0)
    assert told.best is not None
    model, belief = tuner.problem.prior.model, tuner.belief.cost
    weights = belief.draw(rng.standard_normal((20_000, belief.size)))
    seen = np.exp(weights @ model.cost_basis(told.best.control) + model.cost_noise * rng.standard_normal(20_000))
    costs = tuner.problem.cost_scale.to_raw(seen)
    assert np.mean((told.cost_low < costs) & (costs < told.cost_high)) == pytest.approx(0.683, abs=0.01)


def test_after_the_stop() -> None:
    tuner = Tuner(LINE, price=0.01)
    _, stop = play(tuner)
    told = tuner.explain()
    assert numbers(told.decision) == numbers(stop)
    lines = str(told).split("\n")
    assert lines[0] == stop.why
    assert lines[1].startswith(f"Best so far: {told.stop_value:.4g} (± ")
    assert lines[-1] == f"At 0.01 per unit of cost it stops; it would continue below {told.break_even}."
    assert f"with a probability of {told.improves:.0%}." in lines[2]


def test_before_the_first_run_nothing_is_said_of_a_best() -> None:
    lines = str(Tuner(LINE, price=0.01).explain()).split("\n")
    assert lines[1].startswith("No run has finished yet. Continuing is worth ")
    assert "best so far" not in lines[2]


@pytest.mark.parametrize(("direction", "sign", "word"), [("maximize", 1.0, "minus"), ("minimize", -1.0, "plus")])
def test_the_value_of_continuing_is_said_as_it_is_computed(direction: str, sign: float, word: str) -> None:
    """Estimated best + gain - price; for a loss the gain lowers it, and the price is added."""
    told = after(2, direction=direction).explain()
    assert told.best is not None
    assert told.stop_value is not None
    net = told.stop_value + sign * (told.best.expected_gain - told.best.price_of_run)
    assert told.best.value == pytest.approx(net)
    assert f"(expected final score {word} the price of all further runs)" in str(told)


def test_a_price_is_stated_with_four_digits() -> None:
    text = str(after(2, 0.01 / 60).explain())
    assert "At 0.0001667 per unit of cost it" in text
    assert "0.000166666" not in text


def test_where_no_run_is_possible() -> None:
    spent = Tuner(LINE, price=0.01, cost_range=(1, 2), max_cost=2)
    spent.tell(ask_train(spent), 0.5, 1.5)
    for tuner in (after(2, policy=exact(2), prior="paper", candidates=11), spent):
        told = tuner.explain()
        assert isinstance(told, Explanation)
        assert isinstance(told.decision, Stop)
        assert told.best is None
        assert np.all(told.values == -np.inf)
        assert told.improves == 0.0
        assert str(told)


def test_the_other_direction_is_the_mirror_image() -> None:
    up, down = Tuner(SQUARE, price=0.01), Tuner(SQUARE, price=0.01, direction="minimize")
    for score in (0.6, 0.7):
        up.tell(ask_train(up), score, 1.0)
        down.tell(ask_train(down), 1.0 - score, 1.0)
    one, two = up.explain(), down.explain()
    np.testing.assert_allclose(two.values, 1.0 - one.values, rtol=1e-9)
    np.testing.assert_allclose(two.expected_scores, 1.0 - one.expected_scores, rtol=1e-9)
    np.testing.assert_allclose(two.score_sds, one.score_sds, rtol=1e-9)
    assert two.improves == pytest.approx(one.improves)
    assert one.best is not None
    assert two.best is not None
    assert two.best.expected_gain == pytest.approx(one.best.expected_gain)


def test_an_alarm_is_part_of_it() -> None:
    tuner = Tuner(LINE, price=1e-4, policy=at(0.0, 0.1, 0.2, 0.3, 0.4, 0.5), prior="paper", candidates=11)
    for k in range(6):
        tuner.tell(ask_train(tuner), 0.9 if k % 2 else 0.1, 1.0)
    assert tuner.alarm is not None
    assert tuner.explain().alarm is tuner.alarm
    assert str(tuner.explain()).count("Model alarm") == 1
