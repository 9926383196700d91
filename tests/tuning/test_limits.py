"""Hard limits: looked at before a run is started, and never counted on by a lookahead."""

import datetime
import math
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, at, hill, play, state_at

from autobct import Affine, Stop, Train, Tuner, gittins, paper_prior, relaxed
from autobct.tuning.decide.feasibility import FIRST_OVER, LATER_OVER, chance_over, costs_at, is_last, tightest
from autobct.tuning.decide.position import assessed
from autobct.tuning.units.limits import Deadline, Left
from autobct.value.lookahead.one_step import one_run_values

LINEAR = {"prior": paper_prior("synthetic"), "cost_range": Affine(1.0, 3.0)}


# ---- the chance that a run costs more


@pytest.mark.parametrize("told", [{}, {"cost_range": (0.5, 2)}, LINEAR], ids=["guessed", "stated", "linear"])
@pytest.mark.parametrize("amount", [0.5, 1.5, 4.0])
def test_the_chance_to_exceed_is_that_of_the_belief(told: dict[str, Any], amount: float) -> None:
    """Against draws of weights and noise."""
    tuner = Tuner(LINE, price=0.01, candidates=5, **told)
    problem, state, rng = tuner.problem, state_at(tuner), np.random.default_rng(0)
    model, belief = problem.prior.model, problem.prior.belief.cost
    weights = belief.draw(rng.standard_normal((40_000, belief.size)))
    seen = weights @ model.cost_basis(problem.controls).T
    seen = seen + np.asarray(model.cost_noise) * rng.standard_normal(seen.shape)
    costs = problem.cost_scale.to_raw(model.cost_model.from_observation(seen))
    np.testing.assert_allclose(chance_over(state, problem, amount), (costs > amount).mean(axis=0), atol=0.012)
    for over in (FIRST_OVER, LATER_OVER):
        quantile = np.maximum(np.quantile(costs, 1 - over, axis=0), 0)
        np.testing.assert_allclose(costs_at(state, problem, over), quantile, rtol=0.06)


def test_nothing_fits_into_nothing_and_all_into_infinity() -> None:
    tuner = Tuner(LINE, price=0.01)
    state = state_at(tuner)
    for amount in (0.0, -1.0):
        assert chance_over(state, tuner.problem, amount).min() == 1.0
    assert chance_over(state, tuner.problem, math.inf).max() == 0.0


# ---- max_cost


@pytest.mark.parametrize("policy", [relaxed(1), relaxed(2), gittins()], ids=["depth 1", "depth 2", "gittins"])
@pytest.mark.parametrize("space", [LINE, SQUARE], ids=["line", "square"])
@pytest.mark.parametrize("most", [0.7, 2.0, 5.0])
def test_a_budget_is_kept_where_costs_are_what_they_seem(policy: Any, space: Any, most: float) -> None:
    tuner = Tuner(space, price=1e-4, cost_range=(0.1, 3), policy=policy, prior="paper", max_cost=most)
    trained, stop = play(tuner)
    assert tuner.total_cost <= most
    assert len(trained) >= 1
    assert stop.reason in ("max_cost", "not worth it")


def test_runs_that_likely_exceed_it_are_not_started() -> None:
    tuner = Tuner(LINE, price=1e-5, cost_range=(1, 1000), max_cost=300)
    while isinstance(tuner.peek(), Train):
        position = tuner.position()
        assert position.left is not None
        over = chance_over(state_at(tuner), tuner.problem, position.left.amount)
        decision = ask_train(tuner)
        chosen = int(np.flatnonzero((tuner.problem.controls == decision.control).all(axis=1))[0])
        assert over[chosen] <= (LATER_OVER if tuner.best else FIRST_OVER)
        tuner.tell(decision, 0.5 + 0.3 * decision.params["x"], float(np.exp(6 * decision.params["x"])))
    assert len(tuner.history) >= 2


def test_when_nothing_fits_it_stops_and_says_so() -> None:
    tuner = Tuner(LINE, price=1e-4, cost_range=(0.5, 2), max_cost=3.0)
    _, stop = play(tuner, lambda params: (0.5 + 0.1 * len(tuner.history), 1.0))
    assert stop.reason == "max_cost"
    assert (stop.runs, stop.left) == (2, 1.0)
    assert stop.cheapest is not None
    assert 1 < stop.cheapest < 2
    assert stop.value is not None
    needed = f"the cheapest next run may cost up to {stop.cheapest:.3g}"
    assert stop.why == f"Stopped after 2 runs: {needed}, and only 1 is left of max_cost."


def test_even_the_first_run_must_fit() -> None:
    stop = Tuner(LINE, price=0.01, cost_range=(10, 20), max_cost=1).ask()
    assert isinstance(stop, Stop)
    assert (stop.reason, stop.runs, stop.value) == ("max_cost", 0, None)


def test_runs_under_way_and_charges_count() -> None:
    tuner = Tuner(LINE, price=1e-5, cost_range=(0.9, 1.1), max_cost=2.5)
    first, second = ask_train(tuner), ask_train(tuner)
    assert tuner.under_way == (first, second)
    assert isinstance(tuner.ask(), Stop)
    tuner.tell(first, 0.5, 0.2)
    tuner.tell(second, 0.6, 0.2)
    assert isinstance(tuner.peek(), Train)
    tuner.charge(1.9)
    assert tuner.total_cost == pytest.approx(2.3)
    stop = tuner.ask()
    assert isinstance(stop, Stop)
    assert stop.left == pytest.approx(0.2)


def test_a_large_budget_changes_nothing() -> None:
    free, limited = Tuner(LINE, price=0.003), Tuner(LINE, price=0.003, max_cost=1e9)
    one, two = play(free), play(limited)
    assert [decision.params for decision in one[0]] == [decision.params for decision in two[0]]
    assert [decision.value for decision in one[0]] == [decision.value for decision in two[0]]


def test_a_lookahead_sees_only_what_fits() -> None:
    """A candidate that does not fit looks like the nearest that does, and has no value of its own."""
    tuner = Tuner(
        LINE, price=1e-4, policy=at(0.0, 0.2), prior="paper", candidates=11, max_cost=25.0, cost_range=(0.01, 100)
    )
    for cost in (0.5, 3.0):
        tuner.tell(ask_train(tuner), 0.5, cost)
    position = tuner.position()
    forbidden = np.flatnonzero(position.excluded)
    assert 0 < forbidden.size < 11
    assert not position.excluded[0]
    last_open = int(np.flatnonzero(~position.excluded).max())
    for index in forbidden[forbidden > last_open]:
        assert position.state.cost.mean[index] == position.state.cost.mean[last_open]
    values = assessed(position, relaxed(2)(tuner.problem.controls, 0)).value
    assert np.all(values[forbidden] == -np.inf)
    assert np.all(np.isfinite(values[~position.excluded]))


def test_a_run_after_which_nothing_fits_is_valued_as_the_last() -> None:
    tuner = Tuner(LINE, price=1e-4, cost_range=(0.9, 1.1), max_cost=2.95)
    tuner.tell(ask_train(tuner), 0.5, 1.0)
    position, policy = tuner.position(), relaxed(2)(tuner.problem.controls, 0)
    assert position.last.all()
    once = one_run_values(position.state, tuner.problem.terms)
    np.testing.assert_array_equal(assessed(position, policy).value, once)
    assert once.max() < policy(position.state, tuner.problem.terms, 1).value.max()
    roomy = is_last(position.state, tuner.problem, 9.0, ~position.excluded)
    assert not roomy.any()


# ---- what the caller says is left


def test_what_is_left_can_be_told_with_every_question() -> None:
    tuner = Tuner(LINE, price=1e-4, cost_range=(0.5, 2))
    stop = tuner.ask(Left(0.1, "deadline"))
    assert isinstance(stop, Stop)
    assert stop.reason == "deadline"
    assert stop.why.endswith("and only 0.1 is left before the deadline.")
    assert isinstance(tuner.ask(Left(50.0, "deadline")), Train)
    assert tightest(Left(2.0, "max_cost"), None, Left(1.0, "deadline")) == Left(1.0, "deadline")
    assert tightest(None) is None


# ---- a deadline


@pytest.mark.parametrize(
    ("told", "seconds"),
    [(90, 90.0), (0.5, 0.5), ("30 min", 1800.0), ("2h", 7200.0), ("1.5 hours", 5400.0), (" 10S ", 10.0)],
)
def test_times_in_words(told: Any, seconds: float) -> None:
    now = [1000.0]
    deadline = Deadline.of(told, clock=lambda: now[0])
    assert deadline.left() == seconds
    now[0] += seconds + 5
    assert deadline.left() == -5.0


def test_a_moment() -> None:
    for zone in (None, datetime.UTC):
        later = datetime.datetime.now(zone) + datetime.timedelta(minutes=10)
        assert 590 < Deadline.of(later).left() <= 600
    assert Deadline.of(datetime.timedelta(hours=1), clock=lambda: 0.0).left() == 3600
    past = datetime.datetime.now() - datetime.timedelta(minutes=1)
    with pytest.raises(ValueError, match=r"^deadline must be later than now"):
        Deadline.of(past)


@pytest.mark.parametrize("told", [0, -5, "0 s", "soon", "5", "5 parsecs", "min", None, True, [5], math.nan, math.inf])
def test_what_is_no_time_is_refused(told: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"(?s)^deadline must be .*; write seconds, a time as"):
        Deadline.of(told)


@pytest.mark.parametrize("told", [0, -1, math.inf, math.nan, "60", True, None])
def test_what_is_no_budget_is_refused(told: Any) -> None:
    if told is None:
        assert isinstance(Tuner(LINE, price=0.01, max_cost=told).ask(), Train)
        return
    with pytest.raises((TypeError, ValueError), match=r"^max_cost must be .*; write e.g. 3600"):
        Tuner(LINE, price=0.01, max_cost=told)
    assert hill({"x": 0.37})[0] == 0.9
