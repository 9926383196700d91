"""Which foresight each policy uses."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, ask_train, hill, state_at

import autobct
from autobct import Stop, Tuner, ei_per_cost, exact, frugal, gittins, paper_prior, relaxed, sampled
from autobct.belief.arrays import Array
from autobct.belief.gaussian import Gaussian
from autobct.tuning.decide.policy import Policy
from autobct.value.acquisition import gittins_index
from autobct.value.lookahead.on_the_fly import on_the_fly, promising
from autobct.value.state import State, Terms, keep, stop_value, view

GRID = np.linspace(0, 1, 21)[:, None]
PRIOR = paper_prior("synthetic")
TERMS = Terms(0.16)
STATE = view(PRIOR.belief, PRIOR.model, GRID)


def values(policy: Policy, *, state: State = STATE, terms: Terms = TERMS, runs: int = 0, seed: int = 0) -> Array:
    return policy(GRID, seed)(state, terms, runs).value


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("runs", [0, 7])
def test_relaxed_looks_equally_far_at_every_decision(depth: int, runs: int) -> None:
    expected = on_the_fly(STATE, TERMS, depth=depth)
    np.testing.assert_array_equal(values(relaxed(depth), runs=runs), expected)


def test_relaxed_looks_two_runs_ahead_by_default() -> None:
    np.testing.assert_array_equal(values(relaxed()), values(relaxed(2)))


def test_relaxed_takes_a_value_of_going_on() -> None:
    def rich(state: State, terms: Terms) -> Array:
        return np.full(state.score.mean.shape[:-1], 5.0)

    one_more = values(relaxed(1, terminal=rich))
    assert np.all(one_more > 2.0)  # whatever is tried, 5 follows, less the price of one run
    assert np.all(values(relaxed(1)) < 2.0)


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_exact_looks_through_to_the_last_run(horizon: int) -> None:
    policy = exact(horizon)
    for runs in range(horizon):
        expected = on_the_fly(STATE, TERMS, depth=horizon - runs)
        np.testing.assert_array_equal(values(policy, runs=runs), expected)
    for runs in (horizon, horizon + 1):
        np.testing.assert_array_equal(values(policy, runs=runs), np.full(21, -np.inf))


# Damping multiplies, as in the paper: it marks values down where they are positive, so the scores are raised here.
_RAISED = Gaussian(PRIOR.belief.score.mean + np.array([9.0, 0, 0, 0]), PRIOR.belief.score.cov)
HIGH = view(replace(PRIOR.belief, score=_RAISED), PRIOR.model, GRID)


@pytest.mark.parametrize("policy", [relaxed, exact])
def test_damping_marks_down_the_value_of_going_on(policy: Callable[..., Policy]) -> None:
    free, damped = values(policy(2), state=HIGH), values(policy(2, damping=0.1), state=HIGH)
    assert np.all(damped <= free + 1e-9)
    assert np.any(damped < free - 0.01)
    np.testing.assert_array_equal(damped, on_the_fly(HIGH, TERMS, depth=2, damping=0.1))


def test_damping_of_sampled_values() -> None:
    free, damped = (values(sampled(2, samples=200, damping=damping), state=HIGH) for damping in (0.0, 0.1))
    assert damped.max() < free.max() - 0.01


def test_sampled_draws_from_seed_and_runs() -> None:
    policy = sampled(2, samples=20)
    first = values(policy, runs=3, seed=5)
    np.testing.assert_array_equal(first, values(policy, runs=3, seed=5))
    assert np.any(first != values(policy, runs=4, seed=5))
    assert np.any(first != values(policy, runs=3, seed=6))


def test_sampled_is_near_the_deterministic_values() -> None:
    drawn = np.mean([values(sampled(2, samples=500), seed=seed).max() for seed in range(5)])
    assert drawn == pytest.approx(values(relaxed(2)).max(), abs=0.04)


def test_sampled_smooths_over_the_controls() -> None:
    rough = np.abs(np.diff(values(sampled(1, samples=30)), 2)).max()  # with one run left nothing is drawn
    drawn = values(sampled(2, samples=30))
    assert np.abs(np.diff(drawn, 2)).max() < 0.1
    assert rough < 0.1


def test_gittins_is_the_index_of_the_same_belief() -> None:
    state = keep(STATE, np.array([3]))
    found = gittins()(GRID, 0)(state, TERMS, 2)
    np.testing.assert_array_equal(found.priority, gittins_index(state, TERMS))
    np.testing.assert_array_equal(found.value > stop_value(state), found.priority > stop_value(state))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: relaxed(0), "depth must be a whole number of at least 1, got 0; write e.g. 2"),
        (lambda: relaxed(1.5), "depth must be a whole number"),  # type: ignore[arg-type]
        (lambda: relaxed(True), "depth must be a whole number"),
        (lambda: relaxed(2, damping=1.0), "damping must be at least 0 and below 1, got 1.0; the paper uses 0 and 0.02"),
        (lambda: relaxed(2, damping=-0.1), "damping must be at least 0"),
        (lambda: relaxed(2, damping=float("nan")), "damping must be"),
        (lambda: relaxed(2, damping="0.1"), "damping must be a number, got '0.1'"),  # type: ignore[arg-type]
        (lambda: exact(0), "horizon must be a whole number of at least 1, got 0; write e.g. 3"),
        (lambda: exact(5), r"horizon must be at most 4 on the fly, got 5; use relaxed\(depth=2\)"),
        (lambda: exact(2, damping=2), "damping must be at least 0"),
        (lambda: sampled("2"), "depth must be a whole number"),  # type: ignore[arg-type]
        (lambda: sampled(samples=0), "samples must be a whole number of at least 1, got 0; write e.g. 1000"),
        (lambda: sampled(damping=1), "damping must be at least 0"),
    ],
)
def test_bad_arguments(build: Callable[[], Policy], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        build()


@pytest.mark.parametrize("policy", [relaxed, exact, sampled, gittins, ei_per_cost, frugal, "relaxed", 2])
def test_a_policy_comes_from_a_call(policy: Any) -> None:
    with pytest.raises(TypeError, match=r"^policy must come from a call, got .*; write e.g. policy=relaxed\(depth=2\)"):
        Tuner(LINE, price=0.1, policy=policy)


def test_the_paper_smooths_in_one_and_two_dimensions_only() -> None:
    cube = {name: autobct.Float(0, 1) for name in "xyz"}
    with pytest.raises(ValueError, match="smoothing is defined for controls with one or two coordinates, got 3"):
        Tuner(cube, price=0.1, policy=sampled())
    assert ask_train(Tuner({"x": cube["x"], "y": cube["y"]}, price=0.1, policy=sampled(2, samples=5), candidates=16))


@pytest.mark.parametrize("damping", [0.02, 0.2])
@pytest.mark.parametrize("price", [0.003, 0.03])
def test_on_the_same_history_damping_lowers_every_value_and_never_turns_a_stop_into_a_run(
    price: float, damping: float
) -> None:
    """Scores are positive, so (1 - epsilon) V <= V; asked about one and the same belief."""
    plain = Tuner(LINE, price=price, policy=relaxed(2), prior="paper")
    cautious = relaxed(2, damping=damping)(plain.problem.controls, 0)
    while True:
        state = state_at(plain)
        lowered = cautious(state, plain.problem.terms, len(plain.history)).value
        decision = plain.ask()
        if isinstance(decision, Stop):
            assert lowered.max() <= stop_value(state)
            break
        assert plain.problem.score_scale.to_raw(float(lowered.max())) <= decision.value
        plain.tell(decision, *hill(dict(decision.params)))
    assert len(plain.history) > 1


@pytest.mark.parametrize("recall", [True, False])
def test_damping_stops_no_later_on_the_same_history(recall: bool) -> None:
    tuner = Tuner(LINE, price=0.003, recall=recall)
    looking = {damping: relaxed(2, damping=damping)(tuner.problem.controls, 0) for damping in (0.0, 0.02)}
    margins = []
    while isinstance(decision := tuner.ask(), autobct.Train):
        tuner.tell(decision, *hill(decision.params))
        state = state_at(tuner)
        best = {damping: assess(state, tuner.problem.terms, 0).value.max() for damping, assess in looking.items()}
        margins.append(best[0.0] - best[0.02])
    assert len(margins) > 1
    assert min(margins) >= 0.0
    assert max(margins) > 0.0


@pytest.mark.parametrize("recall", [True, False])
def test_beyond_two_coordinates_later_runs_may_come_back_to_the_incumbent(recall: bool) -> None:
    """A very good first run and cheap runs: exploring is worth it because one can come back."""
    cube = {name: autobct.Float(0, 1) for name in "xyz"}
    tuner = Tuner(cube, price=0.001, score_range=(0.6, 1.0), cost_range=(0.05, 0.5), recall=recall)
    first = ask_train(tuner)
    tuner.tell(first, 0.97, 0.2)
    state, terms = state_at(tuner), tuner.problem.terms
    chosen = promising(state)
    assert set(state.kept) <= set(chosen)
    assert int(state.score.mean.argmax()) in chosen
    assert len(chosen) <= 24 + state.kept.size
    found = relaxed(2)(tuner.problem.controls, 0)(state, terms, 1).value.max()
    evenly = on_the_fly(state, terms, depth=2).max()
    assert found >= evenly - 1e-3
    assert found > stop_value(state)


def test_promising_of_few_candidates_is_all_of_them() -> None:
    state = state_at(Tuner(LINE, price=0.1, candidates=20))
    np.testing.assert_array_equal(promising(state), np.arange(20))


def test_sampling_without_smoothing_takes_any_candidates() -> None:
    cube = {name: autobct.Float(0, 1) for name in "xyz"}
    assert ask_train(Tuner(cube, price=0.1, policy=sampled(2, samples=3, smooth=False), candidates=10))
    with pytest.raises(ValueError, match=r"write sampled\(smooth=False\)"):
        Tuner(cube, price=0.1, policy=sampled())
