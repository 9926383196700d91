"""The contract of every policy, shipped ones included: whatever the foresight, the reward and the belief."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, hill, numbers, play, replayed, state_at
from tests.value.map_cases import random_map

from autobct import Affine, Stop, Train, Tuner, ei_per_cost, exact, gittins, paper_prior, relaxed, sampled
from autobct.belief.gaussian import Gaussian
from autobct.tuning.decide.policy import Policy, mapped

POLICIES = {
    **{f"relaxed-{depth}": relaxed(depth) for depth in (1, 2, 3)},
    **{f"exact-{horizon}": exact(horizon) for horizon in (1, 2, 3)},
    "damped": relaxed(2, damping=0.02),
    "sampled": sampled(2, samples=40),
    "gittins": gittins(),
    "ei-per-cost": ei_per_cost(),
    "default": None,
}
ON_MAPS = {"mapped": mapped, "exact-map-3": lambda value_map: exact(3, value_map=value_map)}
COSTS: dict[str, dict[str, Any]] = {
    "linear": {"prior": paper_prior("synthetic"), "cost_range": Affine(0.0, 1.0)},
    "log-linear": {"prior": "paper"},
    "learned": {},
}
PRICE, CANDIDATES = 0.01, 11
MOST_RUNS = 40  # far more than any of them needs

Case = tuple[str, bool, str]
LEARNED = ("default", "ei-per-cost", "gittins", "relaxed-2")  # those that are also played where the scale is learned
CASES = [
    (name, recall, cost)
    for name in [*POLICIES, *ON_MAPS]
    for recall in (True, False)
    for cost in COSTS
    if cost != "learned" or name in LEARNED
]
SINGLE = {*ON_MAPS, "default"}  # a map is float32 inside


@pytest.fixture(params=CASES, ids=["-".join((name, "recall" if r else "last", cost)) for name, r, cost in CASES])
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def tuner_for(case: Case, **changed: Any) -> Tuner:
    _, recall, cost = case
    told = {"price": PRICE, "candidates": CANDIDATES, "max_runs": MOST_RUNS, "seed": 7, **COSTS[cost], **changed}
    return Tuner(LINE, policy=policy_of(case), recall=recall, **told)


def policy_of(case: Case) -> Policy | None:
    """A map is for one game: one with random networks for each."""
    name, recall, cost = case
    return ON_MAPS[name](random_map((1, cost, recall))) if name in ON_MAPS else POLICIES[name]


@cache
def played(case: Case) -> tuple[Tuner, list[Train], Stop]:
    tuner = tuner_for(case)
    return tuner, *play(tuner)


def test_it_stops_by_itself(case: Case) -> None:
    tuner, trained, stop = played(case)
    assert 1 <= len(trained) == stop.runs == len(tuner.history) < MOST_RUNS
    assert stop.reason in ("not worth it", "horizon")


def test_it_trains_for_a_gain_above_the_price_and_stops_for_one_below(case: Case) -> None:
    _, trained, stop = played(case)
    for decision in trained[1:]:
        assert decision.expected_gain > decision.price_of_run
    if stop.reason == "not worth it":
        assert stop.best_alternative is not None
        assert stop.best_alternative.expected_gain <= stop.best_alternative.price_of_run
    else:
        assert case[0].startswith("exact-")
        assert len(trained) == int(case[0][-1])


def test_the_numbers_of_a_decision_agree(case: Case) -> None:
    tuner, trained, stop = played(case)
    for decision in [*trained, *([stop.best_alternative] if stop.best_alternative else [])]:
        incumbent = decision.stop_value or 0.0
        assert decision.expected_gain - decision.price_of_run == pytest.approx(decision.value - incumbent, abs=1e-9)
        assert decision.price_of_run == pytest.approx(PRICE * decision.expected_cost + decision.overhead, rel=1e-9)
        assert decision.params == tuner.problem.space.params(decision.control)
    assert [decision.trial for decision in trained] == list(range(len(trained)))
    assert [decision.stop_value is None for decision in trained] == [True] + [False] * (len(trained) - 1)


def test_values_are_numbers_and_leave_the_state_alone(case: Case) -> None:
    tuner = tuner_for(case)
    for _ in range(3):
        state, terms = state_at(tuner), tuner.problem.terms
        before = [array.copy() for array in _arrays(state.score, state.cost)]
        for runs in (0, 1, 5):
            found = tuner.assess(state, terms, runs)
            for part in (found.value, found.priority):
                assert part.shape == (CANDIDATES,)
                assert part.dtype == np.float64
                assert not np.isnan(part).any()
                assert np.all(np.isfinite(part)) or np.all(part == -np.inf)
        for array, old in zip(_arrays(state.score, state.cost), before, strict=True):
            np.testing.assert_array_equal(array, old)
        if isinstance(decision := tuner.ask(), Train):
            tuner.tell(decision, *hill(decision.params))


def test_the_same_seed_gives_the_same_run_bit_for_bit(case: Case) -> None:
    _, trained, stop = played(case)
    again, stop_again = play(tuner_for(case))
    assert [numbers(decision) for decision in again] == [numbers(decision) for decision in trained]
    assert numbers(stop_again) == numbers(stop)


def test_a_resumed_run_decides_as_an_uninterrupted_one(case: Case) -> None:
    tuner, trained, stop = played(case)
    for made in range(len(trained) + 1):
        resumed = tuner_for(case)
        replayed(resumed, tuner.history[:made])
        following = [*trained, stop][made]
        assert numbers(resumed.ask()) == numbers(following)


def test_what_is_returned_was_trained(case: Case) -> None:
    tuner, _, stop = played(case)
    best, believed = tuner.best, [tuner.estimated_score(run.control) for run in tuner.history]
    assert best in tuner.history
    assert best is not None
    assert stop.value == tuner.estimated_score(best.control)
    if case[1]:
        assert stop.value == max(believed)
    else:
        assert best is tuner.history[-1]


def test_a_control_that_failed_is_never_tried_again(case: Case) -> None:
    tuner = tuner_for(case)
    tried = []
    while isinstance(decision := tuner.ask(), Train):
        tried.append(decision.control[0])
        if len(tried) % 2:
            tuner.tell(decision, error="out of memory", cost=0.3)
        else:
            tuner.tell(decision, *hill(decision.params))
    failed = [(n, run.control[0]) for n, run in enumerate(tuner.history) if run.error]
    assert failed
    assert len(tried) < MOST_RUNS
    for n, control in failed:
        assert control not in tried[n + 1 :]


def test_max_runs_is_the_most(case: Case) -> None:
    for most in (1, 2):
        trained, stop = play(tuner_for(case, max_runs=most))
        assert len(trained) == min(most, len(played(case)[1]))
        if len(played(case)[1]) > most:
            assert stop.reason == "max_runs"


def test_units_do_not_matter(case: Case) -> None:
    """Scores times a, costs times b, price times a / b: the same run, with every number in the new units."""
    a, b = 50.0, 3600.0
    trained, stop = play(tuner_for(case, score_range=(0.0, 1.0)))
    tuner = tuner_for(
        case,
        price=PRICE * a / b,
        score_range=(0.0, a),
        **({"cost_range": (0.0, b)} if case[2] == "linear" else {}),
    )
    rescaled, stop_rescaled = play(tuner, lambda params: (a * hill(params)[0], b * hill(params)[1]))
    assert [decision.params for decision in rescaled] == [decision.params for decision in trained]
    assert stop_rescaled.reason == stop.reason
    exactly, nearly = (1e-9, 1e-7) if case[0] not in SINGLE and case[2] != "learned" else (1e-6, 1e-5)
    for new, old in zip(rescaled, trained, strict=True):
        assert new.value == pytest.approx(a * old.value, rel=exactly)
        assert new.expected_gain == pytest.approx(a * old.expected_gain, rel=nearly, abs=1e-9)
        assert new.price_of_run == pytest.approx(a * old.price_of_run, rel=exactly)
        assert new.expected_cost == pytest.approx(b * old.expected_cost, rel=exactly)


def test_several_runs_may_be_under_way(case: Case) -> None:
    tuner = tuner_for(case)
    asked = []
    while len(asked) < 3 and isinstance(decision := tuner.ask(), Train):
        asked.append(decision)
    for decision in reversed(asked):
        tuner.tell(decision, *hill(decision.params))
    assert sorted(run.trial for run in tuner.history) == list(range(len(asked)))
    assert tuner.best in tuner.history
    _, stop = play(tuner)
    assert stop.runs < MOST_RUNS


def _arrays(*beliefs: Gaussian) -> Iterator[np.ndarray]:
    for belief in beliefs:
        yield from (belief.mean, belief.cov)


def test_the_other_direction_is_the_mirror_image(case: Case) -> None:
    """1 - score, to be minimised: the same run, every score upside down, every gain and price the same."""
    _, trained, stop = played(case)
    mirrored, stop_mirrored = play(
        tuner_for(case, direction="minimize"), lambda params: (1 - hill(params)[0], hill(params)[1])
    )
    assert [decision.params for decision in mirrored] == [decision.params for decision in trained]
    assert (stop_mirrored.reason, stop_mirrored.runs) == (stop.reason, stop.runs)
    exactly = 1e-9 if case[0] not in SINGLE else 1e-5
    for new, old in zip(mirrored, trained, strict=True):
        assert new.value == pytest.approx(1 - old.value, abs=exactly)
        assert new.expected_gain == pytest.approx(old.expected_gain, abs=exactly)
        assert new.price_of_run == pytest.approx(old.price_of_run, abs=exactly)
        assert new.why.split(":")[0] == old.why.split(":")[0]


def test_a_budget_is_kept(case: Case) -> None:
    """Where every run costs the same and that is known, to the last run that fits."""
    tuner = tuner_for(case, max_cost=2.5, **({} if case[2] == "linear" else {"cost_range": (0.9, 1.1)}))
    trained, stop = play(tuner, lambda params: (hill(params)[0], 1.0))
    assert len(trained) <= 2
    assert tuner.total_cost <= 2.5
    if stop.reason == "max_cost":
        assert stop.left == 2.5 - len(trained)


def test_it_can_be_asked_what_it_would_do_and_what_another_price_would(case: Case) -> None:
    tuner, trained, stop = played(case)
    assert numbers(tuner.explain().decision) == numbers(stop)
    told = tuner.result(stop.why, [*trained, stop]).what_if([1e-9, PRICE, 1e3])
    assert [what.runs for what in told[:2]] == [len(trained)] * 2
    assert told[1].known
    assert told[2].runs <= told[1].runs
    assert told[2].known


def test_ranges_are_left_and_replayed_to_the_last_bit(case: Case) -> None:
    tuner, again = tuner_for(case), tuner_for(case)
    trained, stop = play(tuner, lambda params: (3 * hill(params)[0] - 1.2, 50 * hill(params)[1]))
    assert 1 <= len(trained) < MOST_RUNS
    assert [numbers(decision) for decision in replayed(again, tuner.history)] == [numbers(d) for d in trained]
    assert numbers(again.ask()) == numbers(stop)
