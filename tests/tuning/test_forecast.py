"""The forecast: what the policy does where the model holds, and nothing is touched."""

from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, hill, numbers

from autobct import Assessment, Categorical, Float, Train, Tuner, exact, relaxed
from autobct.tuning.decide.forecast import DECISIONS, LEAST_DRAWS, MOST_DRAWS
from autobct.tuning.model.estimate import score_bounds
from autobct.tuning.model.simulated import MOST_CANDIDATES, drawn_truths
from autobct.tuning.units.limits import Left


def test_one_run_is_what_the_first_decision_expects() -> None:
    """With room for one run only, the forecast is the mean and spread of that run."""
    tuner = Tuner(LINE, price=0.01, policy=exact(1), prior="paper", cost_range=(0.5, 2), score_range=(0, 10))
    told, first = tuner.forecast(2000), tuner.peek()
    assert told.stopping == {1: 1.0}
    assert told.expected_score == pytest.approx(first.expected_score, abs=4 * told.score_se)
    assert told.expected_cost == pytest.approx(first.expected_cost, rel=4 * told.costs.std() / 2000**0.5)
    sd = tuner.explain().score_sd
    assert told.scores.std() == pytest.approx(sd, rel=0.06)


@pytest.mark.slow
def test_it_keeps_what_the_value_promises() -> None:
    """V_2 with two runs at most is the expected net score, overheads included."""
    tuner = Tuner(LINE, price=0.05, policy=exact(2), prior="paper", candidates=21, cost_range=(0.5, 2), recall=False)
    told, first = tuner.forecast(1500), tuner.peek()
    nets = told.nets - 0.002 * told.runs
    assert nets.mean() == pytest.approx(first.value, abs=4 * nets.std() / 1500**0.5)


def test_the_same_seed_gives_the_same_forecast_and_the_tuner_is_left_alone() -> None:
    tuner = Tuner(LINE, price=0.02, candidates=21)
    tuner.tell(ask_train(tuner), *hill({"x": 0.1}))
    before = numbers(tuner.peek())
    one, two, other = tuner.forecast(20), tuner.forecast(20), tuner.forecast(20, seed=5)
    np.testing.assert_array_equal(one.scores, two.scores)
    np.testing.assert_array_equal(one.costs, two.costs)
    assert not np.array_equal(one.scores, other.scores)
    assert len(tuner.history) == 1
    assert tuner.under_way == ()
    assert numbers(tuner.peek()) == before


def test_what_is_spent_is_part_of_it() -> None:
    tuner = Tuner(LINE, price=0.02, candidates=21)
    tuner.tell(ask_train(tuner), 0.8, 7.0)
    told = tuner.forecast(20)
    assert told.costs.min() >= 7.0
    assert told.runs.min() >= 1


def test_runs_under_way_are_finished_first() -> None:
    tuner = Tuner(LINE, price=0.2, candidates=21)
    asked = ask_train(tuner), ask_train(tuner)
    told = tuner.forecast(10)
    assert told.runs.min() >= 2
    assert tuner.under_way == asked


def test_limits_hold_in_it() -> None:
    assert max(Tuner(LINE, price=1e-4, candidates=11, max_runs=2).forecast(10).stopping) == 2
    free = Tuner(LINE, price=1e-4, candidates=11, cost_range=(0.9, 1.1))
    assert free.forecast(10).expected_runs > 2
    for limited in (
        Tuner(LINE, price=1e-4, candidates=11, cost_range=(0.9, 1.1), max_cost=2.5).forecast(10),
        free.forecast(10, left=Left(2.5, "deadline")),
    ):
        assert limited.run_quantiles[0.95] <= 3
        assert limited.costs.max() < 3.5


def test_where_no_run_fits_it_says_so() -> None:
    told = Tuner(LINE, price=0.01, cost_range=(10, 20), max_cost=1).forecast(3)
    assert told.stopping == {0: 1.0}
    assert str(told) == "No run would be made."


def test_in_words_and_quantiles() -> None:
    told = Tuner(LINE, price=0.02, candidates=21, direction="minimize", score_range=(0, 100)).forecast(40)
    assert told.draws == 40
    assert sum(told.stopping.values()) == pytest.approx(1.0)
    assert list(told.cost_quantiles) == [0.05, 0.25, 0.5, 0.75, 0.95]
    assert told.score_quantiles[0.5] == pytest.approx(float(np.median(told.scores)))
    text = str(told)
    assert f"Expected final score {told.expected_score:.4g}" in text
    assert "Simulated 40 times" in text
    assert told.nets.mean() > told.scores.mean()  # what is to be minimised gets worse by its price


def test_a_policy_that_never_stops_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autobct.tuning.decide.forecast.LONGEST", 5)

    def endless(controls: Any, seed: int) -> Any:
        return lambda state, terms, runs: Assessment.by_value(np.full(len(controls), 1e9))

    told = Tuner(LINE, price=0.01, candidates=5, policy=endless).forecast(3)
    assert told.capped == 1.0
    assert told.runs.tolist() == [5, 5, 5]
    assert Tuner(LINE, price=0.1, candidates=5, policy=relaxed(1), prior="paper").forecast(3).capped == 0.0


@pytest.mark.parametrize("draws", [0, -1, 2.5, "many", True])
def test_bad_numbers_of_draws(draws: Any) -> None:
    with pytest.raises(ValueError, match=r"^draws must be a whole number of at least 1, got .*; write e.g. 100"):
        Tuner(LINE, price=0.01).forecast(draws)


# ---- bounded work, possible scores


SIX = {f"x{i}": Float(0, 1) for i in range(6)}
CHOICES = {"c": Categorical([f"m{i}" for i in range(1000)])}


@pytest.mark.parametrize("space", [SIX, CHOICES, LINE], ids=["six", "thousand choices", "one"])
@pytest.mark.parametrize("price", ["0.01 per 10min", "0.0001 per 10min"])
def test_work_is_bounded_whatever_the_space(space: Any, price: str) -> None:
    """Counted, not timed: simulated decisions, candidates at each of them, and functions of the surrogate."""
    tuner = Tuner(space, price=price)
    told, inside = tuner.forecast(), tuner.simulation()
    assert told.decisions == told.runs.sum()
    assert LEAST_DRAWS <= told.draws <= MOST_DRAWS
    assert told.decisions <= 2 * DECISIONS
    assert len(inside.problem.controls) <= MOST_CANDIDATES
    assert inside.problem.prior.model.score_basis.size <= 300
    assert np.isfinite(told.scores).all()


@pytest.mark.parametrize(
    ("ranges", "low", "high"),
    [({}, 0.0, 1.0), ({"score_range": (0.8, 1.0)}, 0.8, 1.0), ({"direction": "minimize"}, 0.0, 1.0)],
)
def test_scores_are_ones_that_can_be(ranges: dict[str, Any], low: float, high: float) -> None:
    told = Tuner(SIX, price="0.01 per 10min", **ranges).forecast(12)
    assert told.scores.min() >= low
    assert told.scores.max() <= high
    assert told.scores.std() > 0.0


def test_what_was_seen_bounds_what_is_foreseen() -> None:
    """After runs on a plateau the forecast is of scores like those, compressed or not."""
    tuner = Tuner(SIX, price=1e-4)
    for number in range(8):
        tuner.tell(tuner.ask(), score=0.9 + 0.002 * number if number % 2 else 0.5 - 0.05 * number, cost=1.0)
    told = tuner.forecast(12)
    assert told.runs.min() >= 8
    assert 0.85 < told.expected_score <= 1.0


def test_fewer_candidates_and_functions_change_no_belief() -> None:
    """Functions that are zero at all that is left are left out: every prediction there is the same."""
    tuner = Tuner(CHOICES, price=1e-4)
    for number in range(5):
        tuner.tell(tuner.ask(), score=0.6 + 0.03 * number, cost=1.0 + number)
    inside = tuner.simulation()
    controls = inside.problem.controls
    assert inside.problem.prior.model.score_basis.size < 300 < tuner.problem.prior.model.score_basis.size
    for one in controls[::9]:
        assert inside.estimated_score(one) == pytest.approx(tuner.estimated_score(one), rel=1e-12)
    train = ask_train(inside)
    inside.tell(train, score=0.71, cost=2.0)
    whole = tuner.twin(fixed=True)
    whole.replay([inside.history[-1]])
    for one in controls[::9]:
        assert inside.estimated_score(one) == pytest.approx(whole.estimated_score(one), rel=1e-9)


def test_truths_are_drawn_from_the_posterior() -> None:
    """Without bounds the drawn weights have the mean and the covariance of the belief, that is of all members."""
    tuner = Tuner({"x": Float(0, 1), "c": Categorical(["a", "b"])}, price=1e-4)
    for number in range(4):
        tuner.tell(tuner.ask(), score=30.0 + 5 * number, cost=1.0)
    known = tuner.known
    assert score_bounds(known.problem)[1] == np.inf
    truths = drawn_truths(known, 20_000, rng=np.random.default_rng(0))
    features = known.problem.prior.model.score_basis(known.problem.controls[:20])
    drawn = np.stack([truth.score_weights for truth in truths]) @ features.T
    expected = known.belief.score.at(features)
    sd = np.sqrt(np.diagonal(expected.cov))
    np.testing.assert_allclose(drawn.mean(axis=0), expected.mean, atol=4 * sd.max() / 20_000**0.5)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.06)
    assert np.mean([np.square(truth.noise or 0.0) for truth in truths]) == pytest.approx(
        known.evidence.misfit.total**2, rel=0.1
    )


def test_it_says_how_often_it_was_simulated() -> None:
    told = Tuner(LINE, price=0.01).forecast(3)
    assert "Simulated 3 times from the current model." in str(told)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_nothing_more_is_done_the_final_score_is_that_of_the_best_so_far(seed: int) -> None:
    """As `explain` states it: what was measured there counts besides the surfaces."""
    tuner, rng = Tuner(SQUARE, price=0.1, max_runs=8), np.random.default_rng(seed)
    while isinstance(decision := tuner.ask(), Train):
        score, cost = hill(decision.params)
        tuner.tell(decision, 100 * score + 5 * rng.standard_normal(), cost)
    told, best = tuner.forecast(400), tuner.explain().stop_value
    assert told.decisions == 0
    assert told.expected_score == pytest.approx(best, abs=4 * told.score_se)
    runs, cost = len(tuner.history), tuner.total_cost
    assert str(told).startswith(f"No further run would be made after {runs} runs at a cost of {cost:.4g}. Expected ")
