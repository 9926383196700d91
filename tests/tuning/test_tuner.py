"""Ask and tell: the protocol, what is remembered, and what is believed."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.tuning.cases import LINE, SQUARE, ask_train, at, hill, numbers, play, replayed, state_at

import autobct
from autobct import (
    Affine,
    AffineLog,
    Assessment,
    Categorical,
    Float,
    Int,
    Stop,
    Train,
    Tuner,
    exact,
    gittins,
    paper_prior,
    relaxed,
)
from autobct.belief.arrays import Array
from autobct.value.simulate import KEPT
from autobct.value.state import State, Terms, score_gains, variance

MIXED = {
    "layers": Int(1, 8),
    "rate": Float(1e-4, 1, log=True),
    "width": Int(8, 512, log=True),
    "kind": Categorical(["relu", "tanh", "gelu"]),
}


# ---- the paper's numbers


def test_the_value_at_the_papers_prior() -> None:
    tuner = Tuner(LINE, price=0.16, prior=paper_prior("synthetic"), recall=False, overhead=0.0, candidates=101)
    first = ask_train(tuner)
    assert first.value == pytest.approx(0.2430, abs=1e-3)  # V_2
    assert first.params == {"x": 0.0}
    assert first.control.tolist() == [0.0]


@pytest.mark.parametrize(
    ("policy", "value"), [(relaxed(1), 0.2341), (exact(1), 0.2341), (exact(2), 0.2430), (exact(3), 0.3080)]
)
def test_values_of_other_depths_at_the_papers_prior(policy: Any, value: float) -> None:
    tuner = Tuner(LINE, price=0.16, prior=paper_prior("synthetic"), recall=False, overhead=0.0, policy=policy)
    assert ask_train(tuner).value == pytest.approx(value, abs=5e-3)


def test_values_are_told_in_the_users_units() -> None:
    tuner = Tuner(
        LINE,
        price=0.16 * 0.5 / 0.6,
        prior=paper_prior("synthetic"),
        score_range=(0.5, 1.0),
        cost_range=(0.0, 0.6),
        recall=False,
        overhead=0.0,
    )
    first = ask_train(tuner)
    assert first.value == pytest.approx(0.5 + 0.5 * 0.2430, abs=1e-3)
    assert first.expected_score == pytest.approx(0.5 + 0.5 * (0.4 - 0.05 - 0.05 - 0.0125))
    assert first.price_of_run == pytest.approx(first.expected_cost * 0.16 * 0.5 / 0.6)


# ---- the protocol


def test_what_was_told_is_remembered() -> None:
    tuner = Tuner(LINE, price=0.01)
    assert (tuner.history, tuner.best, tuner.total_cost) == ((), None, 0.0)
    first = ask_train(tuner)
    run = tuner.tell(first, score=0.7, cost=2.0)
    assert (run.trial, run.score, run.cost, run.error) == (0, 0.7, 2.0, None)
    assert run.params == first.params
    assert run.control.tolist() == first.control.tolist()
    assert run.estimated_score == tuner.estimated_score(first.control)
    assert tuner.best is run
    failed = tuner.tell(ask_train(tuner), error="out of memory", cost=0.5)
    assert (failed.trial, failed.score, failed.cost, failed.error) == (1, None, 0.5, "out of memory")
    assert tuner.history == (run, failed)
    assert tuner.total_cost == 2.5
    assert tuner.best is run


def test_a_trial_may_be_told_by_its_number() -> None:
    one, two = Tuner(LINE, price=0.01), Tuner(LINE, price=0.01)
    one.tell(ask_train(one), 0.7, 2.0)
    two.tell(ask_train(two).trial, 0.7, 2.0)
    np.testing.assert_array_equal(one.belief.score.mean, two.belief.score.mean)


@pytest.mark.parametrize("trial", [1, -1, 99, "0", None, [0]])
def test_a_trial_must_be_under_way(trial: Any) -> None:
    tuner = Tuner(LINE, price=0.01)
    tuner.ask()
    with pytest.raises(
        ValueError, match=r"^trial .* is not under way; call tell\(\) once for each trial that ask\(\) returned"
    ):
        tuner.tell(trial, 0.7, 2.0)


def test_a_trial_is_told_once() -> None:
    tuner = Tuner(LINE, price=0.01)
    first = ask_train(tuner)
    tuner.tell(first, 0.7, 2.0)
    for trial in (first, first.trial):
        with pytest.raises(ValueError, match="trial 0 is not under way"):
            tuner.tell(trial, 0.7, 2.0)
    assert len(tuner.history) == 1


@pytest.mark.parametrize(
    ("told", "kind", "message"),
    [
        ({}, ValueError, "tell either a score or an error"),
        ({"score": None, "cost": 3.0}, ValueError, "tell either a score or an error"),
        ({"score": 0.5, "error": "both"}, ValueError, "tell either a score or an error"),
        ({"score": math.nan, "cost": 1.0}, ValueError, "score must be finite, got nan"),
        ({"score": math.inf, "cost": 1.0}, ValueError, "score must be finite, got inf"),
        ({"score": "0.5", "cost": 1.0}, TypeError, "score must be a number, got '0.5'"),
        ({"score": True, "cost": 1.0}, TypeError, "score must be a number, got True"),
        ({"score": [0.5], "cost": 1.0}, TypeError, "score must be a number"),
        ({"score": 0.5, "cost": -1.0}, ValueError, "cost must be at least 0, got -1.0"),
        ({"score": 0.5, "cost": math.nan}, ValueError, "cost must be finite, got nan"),
        ({"score": 0.5, "cost": math.inf}, ValueError, "cost must be finite, got inf"),
        ({"score": 0.5, "cost": "3s"}, TypeError, "cost must be a number, got '3s'"),
        ({"score": 0.5, "cost": True}, TypeError, "cost must be a number, got True"),
        ({"score": 0.5}, ValueError, "tell the cost of the run as well"),
        ({"error": "failed"}, ValueError, "tell the cost of the run as well"),
        ({"error": "failed", "cost": -1.0}, ValueError, "cost must be at least 0, got -1.0"),
    ],
)
def test_what_cannot_be_learned_from_changes_nothing(told: dict[str, Any], kind: type[Exception], message: str) -> None:
    tuner = Tuner(LINE, price=0.01)
    first, before = ask_train(tuner), tuner.belief
    with pytest.raises(kind, match=rf"^{message}.*; write e.g. tuner.tell\(trial, score=0.9, cost=12.0\)"):
        tuner.tell(first, **told)
    assert tuner.belief is before
    assert tuner.history == ()
    tuner.tell(first, 0.5, 1.0)  # still under way


def test_a_score_without_a_logarithm_is_refused_on_a_log_scale() -> None:
    tuner = Tuner(LINE, price=0.01, score_range=AffineLog(0.1, 10))
    first = ask_train(tuner)
    with pytest.raises(ValueError, match=r"^score must be positive on the log scale.*got 0.0; write e.g."):
        tuner.tell(first, 0.0, 1.0)
    tuner.tell(first, 0.5, 1.0)


@pytest.mark.parametrize("number", [np.float64, np.float32, np.int64, int])
def test_numbers_of_any_kind(number: Any) -> None:
    tuner = Tuner(LINE, price=0.01)
    run = tuner.tell(ask_train(tuner), number(1), number(2))
    assert (run.score, run.cost) == (1.0, 2.0)
    assert type(run.score) is type(run.cost) is float


def test_asking_after_a_stop_gives_the_same_stop() -> None:
    tuner = Tuner(LINE, price=0.1)
    _, stop = play(tuner)
    assert numbers(tuner.ask()) == numbers(stop)


# ---- belief and replay


def test_the_belief_is_the_kalman_filter_of_prior_and_history() -> None:
    tuner = Tuner(LINE, price=0.003, score_range=(0.4, 1), cost_range=(0.1, 2), policy=relaxed(depth=2), prior="paper")
    play(tuner)
    assert len(tuner.history) > 1
    model, belief = tuner.problem.prior.model, tuner.problem.prior.belief
    for run in tuner.history:
        assert run.score is not None
        belief = model.observe(belief, run.control, score=(run.score - 0.4) / 0.6, cost=run.cost / 2)
    np.testing.assert_allclose(tuner.belief.score.mean, belief.score.mean, atol=1e-12)
    np.testing.assert_allclose(tuner.belief.cost.cov, belief.cost.cov, atol=1e-12)


def test_a_failure_is_weak_evidence_of_a_low_score_and_full_evidence_of_its_cost() -> None:
    tuner, other = (Tuner(LINE, price=0.01, policy=relaxed(depth=2), prior="paper") for _ in range(2))
    first = ask_train(tuner)
    before = tuner.estimated_score(first.control)
    tuner.tell(first, error="out of memory", cost=1.5)
    other.tell(ask_train(other), score=0.0, cost=1.5)
    full, weak = (before - told.estimated_score(first.control) for told in (other, tuner))
    assert 0.05 < weak < 0.7 * full
    np.testing.assert_array_equal(tuner.belief.cost.mean, other.belief.cost.mean)
    np.testing.assert_array_equal(tuner.belief.cost.cov, other.belief.cost.cov)


@pytest.mark.parametrize("space", [LINE, SQUARE, MIXED], ids=["line", "square", "mixed"])
def test_a_replayed_history_asks_for_the_same_and_goes_on_the_same(space: dict[str, Any]) -> None:
    def train(params: Any) -> tuple[float, float]:
        u = tuner.problem.space.control(params)
        return float(0.8 - np.square(u - 0.4).mean()), float(1 + u.sum())

    tuner = Tuner(space, price=0.0005)
    trained, stop = play(tuner, train)
    assert len(trained) > 2
    again = Tuner(space, price=0.0005)
    assert [numbers(decision) for decision in replayed(again, tuner.history)] == [numbers(d) for d in trained]
    assert numbers(again.ask()) == numbers(stop)
    np.testing.assert_array_equal(again.belief.score.cov, tuner.belief.score.cov)


# ---- several runs under way


@pytest.mark.parametrize("recall", [True, False])
def test_the_order_of_telling_does_not_matter_to_the_belief(recall: bool) -> None:
    beliefs = []
    for order in itertools.permutations(range(4)):
        tuner = Tuner(SQUARE, price=0.001, recall=recall)
        asked = [ask_train(tuner) for _ in range(4)]
        for n in order:
            if n == 2:
                tuner.tell(asked[n], error="out of memory", cost=0.4)
            else:
                tuner.tell(asked[n], 0.5 + 0.1 * n, 1.0 + n)
        assert [run.trial for run in tuner.history] == list(order)
        beliefs.append(tuner.belief)
    for belief in beliefs[1:]:
        for one, two in ((belief.score, beliefs[0].score), (belief.cost, beliefs[0].cost)):
            np.testing.assert_allclose(one.mean, two.mean, rtol=0, atol=1e-10)
            np.testing.assert_allclose(one.cov, two.cov, rtol=0, atol=1e-10)


def test_runs_under_way_shrink_uncertainty_and_move_no_mean() -> None:
    tuner = Tuner(LINE, price=0.001)
    tuner.tell(ask_train(tuner), 0.6, 1.0)
    before = state_at(tuner)
    decision, belief = ask_train(tuner), tuner.belief
    after = state_at(tuner)
    np.testing.assert_allclose(after.score.mean, before.score.mean, atol=1e-12)
    np.testing.assert_allclose(after.cost.mean, before.cost.mean, atol=1e-12)
    chosen = int(np.flatnonzero(tuner.problem.controls[:, 0] == decision.control[0])[0])
    assert np.all(variance(after.score) <= variance(before.score) + 1e-12)
    assert variance(after.score)[chosen] < 0.5 * variance(before.score)[chosen]
    assert variance(after.cost)[chosen] < 0.5 * variance(before.cost)[chosen]
    assert chosen in after.kept
    assert tuner.belief is belief  # nothing is known of it yet


def test_runs_under_way_are_not_asked_for_twice_over() -> None:
    """The second of two runs looks elsewhere: what the first will show is taken into account."""
    tuner = Tuner(LINE, price=0.001)
    asked = [ask_train(tuner) for _ in range(3)]
    assert len({decision.params["x"] for decision in asked}) == 3
    assert [decision.trial for decision in asked] == [0, 1, 2]
    assert all(decision.stop_value is None for decision in asked)  # nothing has finished


def test_runs_under_way_count_towards_max_runs() -> None:
    tuner = Tuner(LINE, price=1e-6, max_runs=2)
    asked = [ask_train(tuner), ask_train(tuner)]
    stop = tuner.ask()
    assert isinstance(stop, Stop)
    assert (stop.reason, stop.runs, stop.value) == ("max_runs", 2, None)
    tuner.tell(asked[1], 0.7, 1.0)
    tuner.tell(asked[0], 0.6, 1.0)
    stop = tuner.ask()
    assert isinstance(stop, Stop)
    assert (stop.reason, stop.runs) == ("max_runs", 2)
    assert stop.value is not None


def test_runs_under_way_count_towards_the_horizon() -> None:
    tuner = Tuner(LINE, price=1e-6, policy=exact(2), prior="paper", candidates=21)
    first, second = ask_train(tuner), ask_train(tuner)
    assert isinstance(tuner.ask(), Stop)
    tuner.tell(second, 0.5, 1.0)
    tuner.tell(first, 0.5, 1.0)
    stop = tuner.ask()
    assert isinstance(stop, Stop)
    assert stop.reason == "horizon"


def test_retraining_the_first_model_makes_it_the_last() -> None:
    tuner = Tuner(LINE, price=0.01, recall=False, policy=at(0.2, 0.8, 0.2), prior="paper", candidates=11)
    for score in (0.5, 0.9):
        tuner.tell(ask_train(tuner), score, 1.0)
    again = ask_train(tuner)
    assert state_at(tuner).kept.tolist() == [2]
    tuner.tell(again, 0.4, 1.0)
    assert tuner.best is tuner.history[-1]


# ---- what is returned


def test_recall_returns_the_best_believed_and_the_paper_the_last() -> None:
    scores = {0.2: 0.5, 0.5: 0.9, 0.8: 0.3}
    for recall, best in ((True, 0.5), (False, 0.8)):
        tuner = Tuner(LINE, price=0.01, recall=recall, policy=at(*scores), prior="paper", candidates=11)
        trained, stop = play(tuner, lambda params: (scores[params["x"]], 1.0))
        assert [decision.params["x"] for decision in trained] == [0.2, 0.5, 0.8]
        assert tuner.best is not None
        assert tuner.best.params == {"x": best}
        assert stop.value == tuner.estimated_score(tuner.best.control)


def test_recall_believes_all_runs_and_not_one_high_score() -> None:
    scores = iter([0.9, 0.55, 0.5, 0.85, 0.85, 0.85])
    tuner = Tuner(LINE, price=0.01, policy=at(0.2, 0.2, 0.2, 0.8, 0.8, 0.8), prior="paper", candidates=11)
    play(tuner, lambda params: (next(scores), 1.0))
    assert max(tuner.history, key=lambda run: run.score or 0.0).params == {"x": 0.2}
    assert tuner.best is tuner.history[-1]


def test_an_early_model_whose_retraining_failed_can_be_returned() -> None:
    for recall in (True, False):
        tuner = Tuner(LINE, price=0.01, recall=recall, policy=at(0.3, 0.3, 0.8), prior="paper", candidates=11)
        good = tuner.tell(ask_train(tuner), 0.9, 1.0)
        tuner.tell(ask_train(tuner), error="out of memory", cost=1.0)
        assert tuner.best is good
        stop_value = float(state_at(tuner).score.mean[state_at(tuner).kept].max())
        assert stop_value == pytest.approx(tuner.estimated_score(good.control))
        tuner.tell(ask_train(tuner), 0.2, 1.0)
        assert (tuner.best is good) is recall


# ---- failures


def test_lookahead_does_not_count_on_a_control_that_failed() -> None:
    """With a best control that fails, preparing for it for ever was once worth more than stopping."""
    tuner = Tuner(LINE, price=0.001, max_runs=60)
    while isinstance(decision := tuner.ask(), Train):
        x = decision.params["x"]
        if x > 0.9:
            tuner.tell(decision, error="out of memory", cost=1.0)
        else:
            tuner.tell(decision, 0.5 + 0.5 * x, 1.0)
    assert decision.reason == "not worth it"
    assert len(tuner.history) < 30


def test_a_failed_control_looks_like_its_nearest_neighbour() -> None:
    tuner = Tuner(LINE, price=0.01, policy=at(0.5, 0.6), prior="paper", candidates=11)
    for _ in range(2):
        tuner.tell(ask_train(tuner), error="out of memory", cost=1.0)
    state = state_at(tuner)
    np.testing.assert_array_equal(state.score.mean[[5, 6]], state.score.mean[[4, 7]])
    np.testing.assert_array_equal(state.score.cov[5], state.score.cov[4])
    np.testing.assert_array_equal(state.cost.mean[[5, 6]], state.cost.mean[[4, 7]])


def test_nothing_more_is_to_be_learned_at_an_incumbent_that_failed() -> None:
    tuner = Tuner(LINE, price=0.01, policy=at(0.3, 0.3), prior="paper", candidates=11)
    tuner.tell(ask_train(tuner), 0.9, 1.0)
    tuner.tell(ask_train(tuner), error="out of memory", cost=1.0)
    state = state_at(tuner)
    assert state.kept.tolist() == [3]
    assert score_gains(state)[3].tolist() == score_gains(state)[:, 3].tolist() == [0.0] * 11
    assert np.all(np.delete(np.diag(state.score.cov), 3) > 0)


def test_when_every_candidate_failed_nothing_is_left() -> None:
    tuner = Tuner({"n": Int(1, 3)}, price=1e-6)
    for _ in range(3):
        tuner.tell(ask_train(tuner), error="no", cost=1.0)
    stop = tuner.ask()
    assert isinstance(stop, Stop)
    assert (stop.reason, stop.runs, stop.value, stop.best_alternative) == ("nothing left", 3, None, None)


# ---- the limits


def test_max_runs() -> None:
    trained, stop = play(Tuner(LINE, price=1e-6, max_runs=3))
    assert len(trained) == 3
    assert stop.reason == "max_runs"
    assert stop.value is not None
    assert "max_runs" in stop.why


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_the_horizon_of_the_exact_method(horizon: int) -> None:
    trained, stop = play(Tuner(LINE, price=1e-6, policy=exact(horizon), prior="paper", candidates=21))
    assert len(trained) == horizon
    assert stop.reason == "horizon"


@pytest.mark.slow
def test_a_decision_needs_no_more_after_many_runs_than_after_few() -> None:
    """Time per decision is that of the arrays it works on: their sizes do not grow with the history."""
    sizes = {}
    seen: list[tuple[int, ...]] = []

    def wandering(candidates: Array, seed: int) -> Any:
        def values(state: State, terms: Terms, runs: int) -> Assessment:
            seen.append((*state.score.cov.shape, *state.cost.cov.shape, *state.kept.shape))
            return Assessment.by_value(1e3 + np.random.default_rng(runs).random(len(candidates)))

        return values

    tuner = Tuner(LINE, price=1e-6, policy=wandering, prior="paper")
    for told in range(300):
        if told in (10, 299):
            before = len(seen)
            sizes[told] = (tuner.memory.asked - len(tuner.history), *state_at(tuner).kept.shape)
            decision = ask_train(tuner)
            assert len(seen) == before + 1
        else:
            decision = ask_train(tuner)
        tuner.tell(decision, *hill(decision.params))
    assert sizes[10] == sizes[299] == (0, KEPT)
    assert set(seen[KEPT:]) == {(101, 101, 101, 101, KEPT)}
    assert len(tuner.memory.finished) <= 101
    assert not tuner.memory.pending
    assert tuner.belief.score.cov.shape == (4, 4)
    assert np.linalg.eigvalsh(tuner.belief.score.cov).min() > 0  # and it is still a covariance


# ---- spaces and scales


@pytest.mark.parametrize("policy", [relaxed(1), relaxed(2), gittins()], ids=["depth 1", "depth 2", "gittins"])
def test_categories_and_many_parameters(policy: Any) -> None:
    def train(params: Any) -> tuple[float, float]:
        bonus = {"relu": 0.1, "tanh": 0.0, "gelu": 0.25}[params["kind"]]
        return 0.5 + bonus - 0.02 * abs(math.log10(params["rate"]) + 2), 0.1 * params["layers"]

    tuner = Tuner(MIXED, price=0.002, policy=policy)
    trained, stop = play(tuner, train)
    assert 3 <= len(trained) <= 40
    assert stop.reason == "not worth it"
    assert tuner.best is not None
    assert tuner.best.params["kind"] == "gelu"
    for decision in trained:
        assert list(decision.params) == list(MIXED)
        assert tuner.problem.space.control(decision.params).tolist() == decision.control.tolist()


def test_only_categories() -> None:
    scores = {"a": 0.4, "b": 0.6, "c": 0.8}
    tuner = Tuner({"c": Categorical(list(scores))}, price=0.001)
    trained, _ = play(tuner, lambda params: (scores[params["c"]], 1.0))
    assert {decision.params["c"] for decision in trained} == set(scores)
    assert tuner.best is not None
    assert tuner.best.params == {"c": "c"}


def test_a_log_scale_of_scores_is_the_affine_scale_of_their_logarithms() -> None:
    log, plain = (
        Tuner(LINE, price=0.02, score_range=scale, cost_range=(0.1, 2), prior="ensemble")  # in double precision
        for scale in (AffineLog(0.01, 1.0), Affine(math.log(0.01), 0.0))
    )
    trained, stop = play(log, lambda params: (math.exp(-3 + 2 * hill(params)[0]), hill(params)[1]))
    same, stop_same = play(plain, lambda params: (-3 + 2 * hill(params)[0], hill(params)[1]))
    assert [decision.params for decision in trained] == [decision.params for decision in same]
    for one, two in zip(trained, same, strict=True):
        assert one.value == pytest.approx(math.exp(two.value))
        assert one.expected_score == pytest.approx(math.exp(two.expected_score))
        assert one.expected_gain == pytest.approx(two.expected_gain)
    assert stop.value is not None
    assert stop_same.value is not None
    assert stop.value == pytest.approx(math.exp(stop_same.value))


def test_scores_far_outside_their_range_do_not_keep_it_going() -> None:
    """Beside such scores a run costs nothing, so that only what there is to gain ends it."""
    for score in (-1e30, 1e30, -1e12):
        tuner = Tuner(LINE, price=0.01, max_runs=400)
        while isinstance(decision := tuner.ask(), Train):
            tuner.tell(decision, score, 1.0)
        assert decision.reason == "nothing to gain"


def test_free_runs_end_all_the_same() -> None:
    for prior, reason in ((None, "nothing to gain"), (paper_prior("synthetic"), "not worth it")):
        _, stop = play(Tuner(LINE, price=0.01, prior=prior, max_runs=60), lambda params: (hill(params)[0], 0.0))
        assert stop.reason == reason


def test_the_example_in_the_documentation() -> None:
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01)
    while isinstance(decision := tuner.ask(), autobct.Train):
        x = decision.params["x"]
        tuner.tell(decision, score=1 - (x - 0.3) ** 2, cost=1 + x)
    assert tuner.best is not None


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("diverged", [-1e30, -1e4])
def test_one_diverged_score_does_not_bend_the_belief_elsewhere(first: bool, diverged: float) -> None:
    """Told first or later, it counts as bad, no more: the best of the others is returned and believed."""
    tuner = Tuner(LINE, price=1e-4, max_runs=8)
    bad = 0 if first else 2
    while isinstance(decision := tuner.ask(), Train):
        number = len(tuner.history)
        tuner.tell(decision, diverged if number == bad else hill(decision.params)[0], 1.0)
    assert len(tuner.history) > bad
    assert tuner.best is not None
    assert tuner.best.score == pytest.approx(max(r.score for r in tuner.history if r.score is not None), abs=0.05)
    assert tuner.estimated_score(tuner.best.control) == pytest.approx(tuner.best.score, abs=0.2)


def test_a_run_chosen_elsewhere_counts_once_its_control_is_admitted() -> None:
    tuner = Tuner(LINE, price=0.01)
    control = np.array([0.12345])
    run = autobct.Run(0, {"x": 0.12345}, control, *hill({"x": 0.12345}), None, float("nan"))
    with pytest.raises(ValueError, match="no candidate of this tuner"):
        tuner.replay([run])
    tuner.admit(control)
    tuner.replay([run])
    other = Tuner(LINE, price=0.01, candidates=np.concatenate([Tuner(LINE, price=0.01).problem.controls, [control]]))
    other.replay([run])
    assert numbers(tuner.ask()) == numbers(other.ask())
    before = tuner.memory
    tuner.admit(control)
    assert tuner.memory is before
    with pytest.raises(ValueError, match="no candidate of this tuner"):
        tuner.admit(np.array([0.1, 0.2]))


def test_a_row_that_is_not_in_the_table_is_not_admitted() -> None:
    tuner = Tuner(autobct.Table([{"x": 0.0}, {"x": 1.0}]), price=0.01)
    with pytest.raises(ValueError, match="no candidate of this tuner"):
        tuner.admit(np.array([0.5]))
