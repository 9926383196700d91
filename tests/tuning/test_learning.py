"""Tuning with a belief that learns its scale: decisions repeat, resume, stay flat, and keep their promises."""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import numbers, play, state_at

from autobct import Categorical, Float, Int, Stop, Train, Tuner
from autobct.belief.surrogate.ensemble import MOST
from autobct.tuning.decide.search import AROUND, PROMISING, promising
from autobct.tuning.model.default_prior import growth_of
from autobct.value.acquisition import CHEAP, by_ei_per_cost
from autobct.value.lookahead.one_step import one_run_values
from autobct.value.state import run_price, stop_value

SPACE = {
    "rate": Float(1e-4, 1, log=True),
    "size": Int(4, 400, log=True),
    "drop": Float(0, 1),
    "kind": Categorical(["a", "b"]),
}


def train(params: Mapping[str, Any]) -> tuple[float, float]:
    """Best at rate 0.02, large sizes and kind b; the cost is that of the size."""
    rate = np.log10(params["rate"] / 0.02)
    score = 0.85 - 0.05 * rate**2 + 0.04 * np.log10(params["size"] / 40) - 0.1 * params["drop"] ** 2
    return float(score + 0.02 * (params["kind"] == "b")), 0.1 * params["size"] ** 0.7


def tuner(price: float = 0.001, **settings: Any) -> Tuner:
    return Tuner(SPACE, price=price, score_range=(0, 1), **settings)


def test_it_finds_a_good_model_and_stops() -> None:
    made = tuner()
    trained, stop = play(made, train)
    assert stop.reason == "not worth it"
    assert 3 <= len(trained) <= 25
    assert made.best is not None
    assert train(made.best.params)[0] > 0.84


def test_a_more_expensive_run_means_fewer_of_them() -> None:
    counts = [len(play(tuner(price), train)[0]) for price in (1e-4, 1e-3, 1e-1)]
    assert counts[0] >= counts[1] > counts[2] >= 1


def test_the_first_run_is_near_the_centre_and_not_large() -> None:
    decision = tuner().ask()
    assert isinstance(decision, Train)
    assert 1e-3 < decision.params["rate"] < 0.1
    assert decision.params["size"] <= 40


def test_the_same_seed_and_history_decide_the_same() -> None:
    one, two = (play(tuner(seed=3), train)[0] for _ in range(2))
    assert [numbers(a) for a in one] == [numbers(b) for b in two]


def test_a_replayed_tuner_goes_on_as_if_nothing_had_happened() -> None:
    whole = tuner()
    trained, _ = play(whole, train)
    again = tuner()
    again.replay(whole.history[:3])
    assert numbers(again.ask()) == numbers(trained[3])


def test_a_run_under_way_in_another_process_is_taken_over() -> None:
    whole = tuner()
    trained, _ = play(whole, train)
    again = tuner()
    again.replay(whole.history[:4])
    again.adopt(trained[4])
    again.tell(trained[4], *train(trained[4].params))
    assert numbers(again.ask()) == numbers(trained[5])


def test_candidates_around_the_promising_ones_promise_more() -> None:
    made = tuner()
    for _ in range(5):
        decision = made.ask()
        assert isinstance(decision, Train)
        made.tell(decision, *train(decision.params))
    values = by_ei_per_cost(state_at(made), made.problem.terms, 4).priority
    spread = len(made.memory.problem.controls)
    even, near = values[:spread].max(), values[spread : spread + 4 + AROUND].max()
    assert values[spread + 4 + AROUND :].max() > max(even, near)
    best = promising(made.memory, made.candidates, PROMISING)
    np.testing.assert_allclose(values[best], np.sort(values)[::-1][:PROMISING])


def test_a_resumed_tuner_has_the_candidates_of_one_with_runs_under_way() -> None:
    live = tuner()
    one, two, three = (live.ask() for _ in range(3))
    assert isinstance(one, Train)
    assert isinstance(two, Train)
    assert isinstance(three, Train)
    live.tell(one, *train(one.params))
    resumed = tuner()
    resumed.replay(live.history)
    resumed.adopt(two)
    resumed.adopt(three)
    assert numbers(resumed.ask()) == numbers(live.ask())


def asked(made: Tuner) -> Train:
    decision = made.ask()
    assert isinstance(decision, Train)
    return decision


def test_a_candidate_of_the_search_that_is_under_way_does_not_steer_it() -> None:
    """Two runs at a time, the older one told first: at every step a resumed tuner would ask for the same."""
    told_range = {"cost_range": (0.1, 10.0)}
    live = tuner(1e-4, **told_range)
    under_way = [asked(live)]
    for _ in range(8):
        under_way.append(asked(live))
        told = under_way.pop(0)
        live.tell(told, *train(told.params))
        resumed = tuner(1e-4, **told_range)
        resumed.replay(live.history)
        for one in live.under_way:
            resumed.adopt(one)
        assert {c.tobytes() for c in resumed.problem.controls} == {c.tobytes() for c in live.problem.controls}
        assert numbers(resumed.peek()) == numbers(live.peek())


def test_a_control_that_failed_is_not_tried_again_while_it_is_also_under_way() -> None:
    live = tuner(1e-5)
    for _ in range(3):
        decision = asked(live)
        live.tell(decision, *train(decision.params))
    control = live.problem.controls[-1]  # found by the search, which finds others after every run
    params = live.problem.space.params(control)
    first = asked(live)
    for trial in (10, 11):
        live.adopt(replace(first, trial=trial, params=params, control=control))
    live.tell(10, error="out of memory", cost=1.0)
    assert [live.problem.controls[at].tolist() for at in live.candidates.excluded(live.memory)] == [control.tolist()]


def test_scale_and_noise_are_learned() -> None:
    made = tuner()
    before = made.belief.score
    play(made, train)
    evidence = made.memory.known.evidence
    assert evidence is not None
    assert evidence.misfit.total < 0.03
    spread = np.sqrt(np.trace(made.belief.score.cov[1:, 1:]))
    assert spread < 0.7 * np.sqrt(np.trace(before.cov[1:, 1:]))


def test_the_score_range_may_be_far_wider_than_the_scores() -> None:
    """The natural range (0, 100) of scores between 80 and 90: the unit is learned within the run."""

    def percent(params: Mapping[str, Any]) -> tuple[float, float]:
        score, cost = train(params)
        return 100 * score, cost

    fine = tuner()
    coarse = Tuner(SPACE, price=0.1, score_range=(0, 100))
    assert [dict(t.params) for t in play(fine, train)[0]] == [dict(t.params) for t in play(coarse, percent)[0]]


def test_one_terrible_run_does_not_make_everything_uncertain() -> None:
    def cliff(params: Mapping[str, Any]) -> tuple[float, float]:
        score, cost = train(params)
        return (score if params["drop"] < 0.8 else 0.01), cost

    made = tuner()
    play(made, cliff)
    assert made.best is not None
    assert train(made.best.params)[0] > 0.83
    assert len(made.history) <= 30


def test_failed_runs_are_left_alone_and_their_region_avoided() -> None:
    made = tuner()
    failed = 0
    while isinstance(decision := made.ask(), Train):
        assert len(made.history) < 40
        if decision.params["kind"] == "a":
            made.tell(decision, error="no such kind", cost=0.1)
            failed += 1
        else:
            made.tell(decision, *train(decision.params))
    assert made.best is not None
    assert failed <= 6


def test_a_plateau_ends_it() -> None:
    made = tuner(price=0.001)
    trained, _ = play(made, lambda params: (0.5, 0.1 * params["size"] ** 0.7))
    assert 2 <= len(trained) <= 60


@pytest.mark.slow
def test_time_and_memory_stay_the_same_after_many_runs() -> None:
    made = tuner(price=1e-9, overhead=0.0)
    rng = np.random.default_rng(0)
    sizes = {}
    for told in range(2 * MOST):
        decision = made.ask()
        if isinstance(decision, Stop):
            pytest.skip("nothing left to learn")
        score, cost = train(decision.params)
        made.tell(decision, score + 0.01 * rng.standard_normal(), cost)
        evidence = made.memory.known.evidence
        assert evidence is not None
        sizes[told] = len(evidence.scores), len(made.problem.controls), len(made.memory.finished)
    assert max(size[0] for size in sizes.values()) == MOST
    assert max(size[1] for size in sizes.values()) < 404 + 3 * AROUND + MOST + 2
    assert max(size[2] for size in sizes.values()) <= MOST + 1


def test_improvement_per_price_ranks_and_the_net_improvement_decides() -> None:
    made = tuner(prior="ensemble")
    for _ in range(2):
        decision = made.ask()
        assert isinstance(decision, Train)
        made.tell(decision, *train(decision.params))
    state, terms = state_at(made), made.problem.terms
    found, net = by_ei_per_cost(state, terms, 2), one_run_values(state, terms)
    stop, prices = float(stop_value(state)), run_price(state, terms)
    np.testing.assert_allclose(found.value, net, atol=1e-12)
    np.testing.assert_allclose(found.priority, (net + prices - stop) / (prices + CHEAP))
    decision = made.ask()
    assert isinstance(decision, Train)
    chosen = np.where(net > stop, found.priority, -np.inf).argmax()
    assert decision.expected_gain == pytest.approx(float(net[chosen] + prices[chosen] - stop), abs=1e-9)
    assert decision.stop_value is not None
    gained = decision.expected_gain - decision.price_of_run
    assert decision.value == pytest.approx(decision.stop_value + gained, abs=1e-9)


def test_everything_that_explains_a_decision_works() -> None:
    made = tuner()
    play(made, train)
    result = made.result("done")
    assert "run" in str(made.explain())
    assert result.what_if([0.01, 0.1])[1].runs <= len(made.history)
    assert made.forecast(draws=3).expected_runs >= len(made.history)


def test_costs_of_whole_numbers_are_expected_to_grow() -> None:
    growths = [growth_of(p) for p in (Int(1, 100), Int(1, 1000, log=True), Float(0, 1), Int(0, 1), Int(-5, 5))]
    assert growths[0].mean > 0 < growths[1].mean
    assert [g.mean for g in growths[2:4]] == [0.0, 0.0]
    assert all(g.sd > 0 for g in growths)


def test_parallel_runs_are_apart() -> None:
    made = tuner()
    first = [made.ask() for _ in range(4)]
    assert all(isinstance(decision, Train) for decision in first)
    assert all(a.params != b.params for a, b in itertools.combinations(first, 2))  # type: ignore[union-attr]
