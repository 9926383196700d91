"""Ranges that runs leave: the scale follows what is seen, once, in either direction, and whatever the units."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tuning.cases import LINE, hill, numbers, play, replayed

from autobct import Affine, AffineLog, Float, Run, Stop, Train, Tuner, paper_prior
from autobct.tuning.model.alarm import notes_of
from autobct.tuning.problem import problem_of
from autobct.tuning.units.ranges import FEW, shown


def runs(*scores: float | None, cost: float = 1.0, at: tuple[float, ...] = ()) -> list[Run]:
    """Runs with these scores at controls spread over the line, or at those given."""
    places = at or tuple(round(k / max(len(scores) - 1, 1), 2) for k in range(len(scores)))
    return [
        Run(k, {"x": x}, np.array([x]), score, cost, None if score is not None else "failed", math.nan)
        for k, (x, score) in enumerate(zip(places, scores, strict=True))
    ]


def ends(problem: Any) -> tuple[float, float]:
    return problem.score_scale.low, problem.score_scale.high


# ---- a stated range


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ((0.5, 0.9), (0.0, 1.0)),
        ((0.0, 1.0), (0.0, 1.0)),
        ((0.5, 1.25), (0.0, 1.25)),
        ((0.5, -0.25), (-0.25, 1.0)),
        ((0.5, 80.0), (0.0, 80.0)),
        ((-1.0, -0.5), (-1.0, 1.0)),
        ((1.5,), (0.0, 1.5)),
        ((0.5, -1e30), (0.0, 1.0)),  # diverged: more than two ranges below the best
        ((0.5, -1.4), (-1.4, 1.0)),
        ((-1e30,), (0.0, 1.0)),  # nothing but divergence
        ((None, 0.5), (0.0, 1.0)),
    ],
)
def test_a_stated_range_grows_by_what_is_seen(scores: Any, found: Any) -> None:
    problem = problem_of(LINE, 0.01, score_range=(0, 1))
    assert ends(shown(problem, runs(*scores))) == pytest.approx(found)
    mirrored = problem_of(LINE, 0.01, score_range=(0, 1), direction="minimize")
    flipped = [None if score is None else 1.0 - score for score in scores]
    assert ends(shown(mirrored, runs(*flipped))) == pytest.approx((1 - found[1], 1 - found[0]))


def test_scores_far_better_than_a_range_are_in_other_units() -> None:
    stated, unstated = problem_of(LINE, 0.01, score_range=(0, 1)), problem_of(LINE, 0.01)
    assert ends(shown(stated, runs(57.0, 80.0))) == ends(shown(unstated, runs(57.0, 80.0)))


@pytest.mark.parametrize(
    ("stated", "scores"),
    [((0.8, 1.0), (0.098,)), ((0.99, 1.0), (0.098, 0.1)), ((0, 1), (-3.0, -2.0, -2.5)), ((0, 1), (2.5,))],
    ids=str,
)
def test_a_range_that_no_score_is_near_is_widened_and_not_thrown_away(stated: Any, scores: Any) -> None:
    low, high = ends(shown(problem_of(LINE, 0.01, score_range=stated), runs(*scores)))
    assert low <= min(*scores, stated[0])
    assert high >= max(*scores, stated[1])
    assert high - low < 1.1 * (max(*scores, stated[1]) - min(*scores, stated[0]))


def test_a_poor_first_score_no_longer_stretches_the_range_once_better_ones_have_come() -> None:
    problem = problem_of(LINE, 0.01, score_range=(0.8, 1.0))
    assert ends(shown(problem, runs(0.098, 0.93))) == (0.8, 1.0)


ACCURACIES = (0.71, 0.83, 0.92, 0.88, 0.9)


@pytest.mark.parametrize("stated", [(0, 1e6), (0, 1000), (-1e6, 1e6)], ids=str)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_range_a_thousand_times_too_wide_is_noticed_after_a_few_runs(stated: Any, sign: int) -> None:
    told = sorted(sign * end for end in stated)
    problem = problem_of(LINE, 0.01, score_range=told, direction="maximize" if sign > 0 else "minimize")
    history = runs(*(sign * score for score in ACCURACIES))
    assert ends(shown(problem, history[:4])) == tuple(told)
    found = shown(problem, history)
    assert 0.2 < found.score_scale.unit < 10
    (note,) = (note for note in notes_of(found, history[-1], 4, ()) if note.about == "width")
    assert "is far too wide for the scores so far: the range is now (" in note.text
    assert f"score_range=({told[0]:.4g}, {told[1]:.4g})" in note.text


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("diverged", [(-30.0,), (-500.0, -60.0), (-300.0, -1e9)], ids=str)
def test_trainings_that_went_wrong_do_not_make_a_range_look_right(diverged: Any, sign: int) -> None:
    """They lie inside the range that is far too wide, or below it; what the others differ by is what tells."""
    problem = problem_of(LINE, 0.01, score_range=(-1e3, 1e3), direction="maximize" if sign > 0 else "minimize")
    scores, at = (*ACCURACIES, 0.87, *diverged), tuple(k / 10 for k in range(6 + len(diverged)))
    found = shown(problem, runs(*(sign * score for score in scores), at=at))
    others = shown(problem, runs(*(sign * score for score in scores[:6]), at=at[:6]))
    assert others.score_scale.unit < 10
    assert ends(found) == ends(others)


def test_one_training_that_went_wrong_does_not_set_the_scale_of_other_units() -> None:
    problem = problem_of(LINE, 0.01)
    scores, at = (12345.1, 12345.9, 12344.8, 12345.4, 12345.6), (0.0, 0.2, 0.4, 0.6, 0.8)
    assert ends(shown(problem, runs(*scores, 11000.0, at=(*at, 1.0)))) == ends(shown(problem, runs(*scores, at=at)))


@pytest.mark.parametrize(
    "scores",
    [
        (0.9, 0.9004, 0.9001, 0.9003, 0.9002, 0.1, 0.2),  # too many for trainings that went wrong
        (0.9, 0.9004, 0.9001, 0.9003, 0.9002, 0.889),  # not far enough below
        (0.9, 0.9, 0.9, 0.9, 0.9, 0.1),  # alike: they tell nothing
        (0.9, 0.9004, 0.9001, 0.9003, 0.1),  # too few
    ],
    ids=str,
)
def test_a_range_is_kept_where_scores_may_differ_by_more(scores: Any) -> None:
    problem = problem_of(LINE, 0.01, score_range=(0, 1))
    assert shown(problem, runs(*scores)) is problem


def test_a_right_range_and_equal_scores_are_not_taken_for_too_wide() -> None:
    for scores in (ACCURACIES, (0.9,) * 6, (0.9, 0.9, 0.9, 0.9, 0.902)):
        problem = problem_of(LINE, 0.01, score_range=(0, 1))
        assert shown(problem, runs(*scores)) is problem


def test_a_range_far_too_wide_no_longer_makes_a_tuning_run_on() -> None:
    tuner = Tuner(LINE, price=0.003, score_range=(0, 1e6), max_runs=40)
    trained, stop = play(tuner)
    assert FEW <= len(trained) <= 15
    assert stop.reason == "not worth it"
    assert [note.about for note in tuner.notes].count("width") == 1
    assert tuner.best is not None
    assert hill(tuner.best.params)[0] > 0.85


def test_nothing_changes_while_runs_keep_to_their_ranges() -> None:
    problem = problem_of(LINE, 0.01, score_range=(0, 1), cost_range=(0.5, 2))
    assert shown(problem, runs(0.2, 0.9, None)) is problem
    assert shown(problem, []) is problem


def test_the_order_of_runs_does_not_matter_to_a_range() -> None:
    problem = problem_of(LINE, 0.01)
    for scores in ((57.0, 80.0, -1e6, 12.0), (0.4, -0.3, 3.0), (-3.0, 0.5, -9.0)):
        there = shown(problem, runs(*scores, at=(0.0, 0.3, 0.6, 1.0)[: len(scores)]))
        back = shown(problem, runs(*scores, at=(0.0, 0.3, 0.6, 1.0)[: len(scores)])[::-1])
        assert ends(back) == pytest.approx(ends(there), rel=1e-9)


@pytest.mark.parametrize(
    "fixing", [{"score_range": Affine(0, 1)}, {"prior": paper_prior("synthetic")}], ids=["scale", "prior"]
)
def test_units_of_the_users_own_stay(fixing: dict[str, Any]) -> None:
    problem = problem_of(LINE, 0.01, **fixing)
    assert ends(shown(problem, runs(57.0, -3.0))) == (0.0, 1.0)
    assert not [note for note in notes_of(problem, runs(57.0)[0], 0, ()) if note.about == "score"]


def test_a_log_scale_stays() -> None:
    problem = problem_of(LINE, 0.01, score_range=AffineLog(0.1, 1), direction="minimize")
    assert shown(problem, runs(5.0, 0.01)) is problem


# ---- no range


def test_without_a_range_the_best_score_says_whether_it_is_the_unit_range() -> None:
    problem = problem_of(LINE, 0.01)
    assert ends(shown(problem, runs(0.3, 0.9))) == (0.0, 1.0)
    assert ends(shown(problem, runs(-0.5, 0.9))) == (-0.5, 1.0)
    assert ends(shown(problem, runs(-1e4, 0.9))) == (0.0, 1.0)
    history = runs(570.0)
    low, high = ends(shown(problem, history))
    assert high - low == pytest.approx(1140.0)
    typical = problem.prior.model.score_basis(history[0].control) @ problem.prior.belief.score.mean
    assert low + typical * 1140.0 == pytest.approx(570.0)  # as far as one score can tell


@pytest.mark.parametrize(
    ("scores", "percentages"),
    [
        ((57.0,), True),
        ((9.8, 83.0), True),
        ((57.0, 80.0, 70.0, -1e9), True),  # one has diverged
        ((57.0, 100.00000001), True),
        ((9.8,), False),  # too little to tell
        ((57.0, 101.0), False),
    ],
    ids=str,
)
def test_scores_that_look_like_percentages_have_their_range(scores: Any, percentages: bool) -> None:
    history = runs(*scores, at=(0.0, 0.5, 1.0, 0.3)[: len(scores)])
    assert (ends(shown(problem_of(LINE, 0.01), history)) == (0.0, 100.0)) is percentages
    assert ends(shown(problem_of(LINE, 0.01, direction="minimize"), history)) != (0.0, 100.0)


@pytest.mark.parametrize(
    ("direction", "scores", "expected"),
    [
        ("maximize", (0.3, 0.9), (0.0, 1.0)),
        ("maximize", (-0.5, 0.9), (0.0, 1.0)),
        ("minimize", (0.3, 1.9), (0.0, 1.0)),
        ("maximize", (57.0, 83.0), (0.0, 100.0)),
        ("maximize", (570.0, 830.0), None),
        ("minimize", (57.0, 83.0), None),
        ("maximize", (-3.0, -2.5), None),
    ],
    ids=str,
)
def test_fractions_and_percentages_have_ends_that_nobody_stated(direction: Any, scores: Any, expected: Any) -> None:
    assert shown(problem_of(LINE, 0.01, direction=direction), runs(*scores)).score_ends == expected
    stated = problem_of(LINE, 0.01, direction=direction, score_range=(-5, 2000))
    assert shown(stated, runs(*scores)).score_ends == (-5.0, 2000.0)


@pytest.mark.parametrize("stated", [(0, 1), (0.5, 1), (0.1, 0.3), (0.1, 0.4)], ids=str)
def test_percentages_where_fractions_were_stated_have_exactly_their_range(stated: Any) -> None:
    found = shown(problem_of(LINE, 0.01, score_range=stated), runs(86.0, 88.0, 90.0, at=(0.0, 0.5, 1.0)))
    assert ends(found) == found.score_ends == (0.0, 100.0)


@pytest.mark.parametrize(("worse", "low"), [(-1e-9, -1e-9), (-5.0, -5.0), (-1e6, 0.0)])
def test_a_worse_score_widens_the_range_of_percentages(worse: float, low: float) -> None:
    found = shown(problem_of(LINE, 0.01), runs(86.0, 90.0, worse, at=(0.0, 0.5, 1.0)))
    assert ends(found) == (low, 100.0)
    assert found.score_ends == (0.0, 100.0)


def test_a_note_says_that_scores_were_taken_for_percentages() -> None:
    problem, history = problem_of(LINE, 0.01), runs(57.0)
    (note,) = (note for note in notes_of(shown(problem, history), history[0], 0, ()) if note.about == "score")
    assert note.text == ("Run 1 scored 57, outside (0, 1): scores look like percentages, so the range is now (0, 100).")


def test_percentages_of_a_tiny_spread_show_their_own_scale() -> None:
    scores, at = (97.01, 97.04, 97.02, 97.05, 97.03), (0.0, 0.2, 0.4, 0.6, 0.8)
    low, high = ends(shown(problem_of(LINE, 0.01), runs(*scores, at=at)))
    assert high - low < 10.0


def test_percentages_are_tuned_like_the_fractions_that_they_are() -> None:
    """Decisions are the same as with the range stated, and as for fractions at the same price."""
    space = {"x": Float(0, 1), "y": Float(0, 1)}

    def played(unit: float, **told: Any) -> list[Any]:
        def train(params: Any) -> tuple[float, float]:
            return unit * (0.9 - (params["x"] - 0.3) ** 2 - 0.5 * (params["y"] - 0.6) ** 2), 1.0

        return [trial.params for trial in play(Tuner(space, price=0.003 * unit, seed=4, **told), train)[0]]

    untold = played(100.0)
    assert len(untold) > 2
    assert untold == played(100.0, score_range=(0, 100)) == played(1.0)


@given(
    scores=st.lists(st.floats(1.5, 9.0), min_size=2, max_size=6, unique=True),
    unit=st.floats(100.0, 1e6),
)
@settings(max_examples=40, deadline=None)
def test_a_learned_scale_follows_the_unit(scores: list[float], unit: float) -> None:
    problem = problem_of(LINE, 0.01)
    plain, scaled = (ends(shown(problem, runs(*(b * score for score in scores)))) for b in (1.0, unit))
    assert scaled == pytest.approx(tuple(unit * end for end in plain), rel=1e-6, abs=1e-6 * unit)


def test_a_learned_scale_is_where_its_posterior_is_highest() -> None:
    """Against a search on a grid, with the contrasts by an orthonormal basis instead of a projection."""
    problem, history = problem_of(LINE, 0.01), runs(310.0, 370.0, 350.0, 335.0)
    features = problem.prior.model.score_basis(np.stack([run.control for run in history]))
    cov = features @ problem.prior.belief.score.cov @ features.T
    contrasts = np.linalg.qr(np.column_stack([np.ones(4), np.eye(4)[:, :3]]))[0][:, 1:].T
    inverse = np.linalg.inv(contrasts @ (cov + 0.01 * np.eye(4)) @ contrasts.T)
    seen = contrasts @ np.array([run.score for run in history])
    spread, told = seen @ inverse @ seen, np.trace(inverse @ contrasts @ cov @ contrasts.T) - 0.5
    logs = np.linspace(-6, 6, 200_001)
    posterior = -told * logs - spread / (2 * 740.0**2) * np.exp(-2 * logs) - logs**2 / (2 * 3.0**2)
    low, high = ends(shown(problem, history))
    assert math.log((high - low) / 740.0) == pytest.approx(logs[posterior.argmax()], abs=1e-3)


def test_a_diverged_score_is_no_part_of_a_learned_scale() -> None:
    problem = problem_of(LINE, 0.01)
    clean = ends(shown(problem, runs(570.0, 800.0, 700.0, at=(0.0, 0.5, 1.0))))
    assert ends(shown(problem, runs(570.0, 800.0, 700.0, -1e9, at=(0.0, 0.5, 1.0, 0.3)))) == clean


@pytest.mark.parametrize("score", [1e308, -1e308, 1e30])
def test_absurd_scores_are_survived(score: float) -> None:
    for stated in ({}, {"score_range": (0, 1)}):
        tuner = Tuner(LINE, price=0.01, max_runs=8, **stated)
        play(tuner, lambda params, s=score: (s, 1.0))
        assert np.all(np.isfinite(tuner.belief.score.mean))


SHIFTS = {
    "percent": (0.0, 100.0),
    "negative loss": (-3.5, 1.0),
    "RMSE in thousands": (5000.0, -3000.0),
    "log likelihood": (-12395.0, 100.0),
    "tiny": (-0.01, 0.001),
}


@pytest.mark.parametrize(("shift", "unit"), SHIFTS.values(), ids=list(SHIFTS))
def test_units_that_nobody_stated_neither_stop_it_at_once_nor_keep_it_going(shift: float, unit: float) -> None:
    tuner = Tuner(LINE, price=0.003 * abs(unit), direction="minimize" if unit < 0 else "maximize", max_runs=40)
    trained, stop = play(tuner, lambda params: (shift + unit * hill(params)[0], hill(params)[1]))
    assert 3 <= len(trained) <= 12
    assert stop.reason == "not worth it"
    assert tuner.best is not None
    assert hill(tuner.best.params)[0] > 0.85


# ---- costs


def test_a_stated_range_of_costs_grows_by_what_is_seen() -> None:
    problem = problem_of(LINE, 0.01, cost_range=(1, 10))
    expensive = shown(problem, runs(0.5, cost=1000.0))
    assert expensive.cost_scale.high == 1000.0
    again = problem_of(LINE, 0.01, cost_range=(1, 1000))
    np.testing.assert_array_equal(expensive.prior.belief.cost.mean, again.prior.belief.cost.mean)
    assert expensive.terms == again.terms
    cheap = shown(problem, runs(0.5, cost=0.1))
    np.testing.assert_array_equal(
        cheap.prior.belief.cost.mean, problem_of(LINE, 0.01, cost_range=(0.1, 10)).prior.belief.cost.mean
    )


def test_the_cost_of_a_failure_moves_no_range() -> None:
    problem = problem_of(LINE, 0.01, cost_range=(1, 10))
    assert shown(problem, runs(None, cost=1e6)) is problem


@pytest.mark.parametrize("factor", [1e4, 1e-4])
def test_a_wrong_guess_of_the_cost_is_moved_to_where_it_is_no_longer_far(factor: float) -> None:
    problem = problem_of(LINE, 0.01)
    guess = problem.cost_scale.high
    moved = shown(problem, runs(0.5, 0.6, cost=factor * guess)).cost_scale.high
    assert abs(math.log(factor * guess / moved)) == pytest.approx(4.5)
    assert shown(problem, runs(0.5, 0.6, cost=80 * guess)) is problem


def test_costs_far_from_the_guess_are_believed_soon() -> None:
    for cost in (1e5, 1e-5):
        tuner = Tuner(LINE, price=0.02, max_runs=3)
        trained, _ = play(tuner, lambda params, c=cost: (0.5 + 0.1 * params["x"], c))
        assert len(trained) == (1 if cost > 1 else 3)
        assert tuner.explain().expected_costs.min() / cost < 30
        assert cost / tuner.explain().expected_costs.max() < 30


# ---- the tuner


def percent(params: Any) -> tuple[float, float]:
    return 100 * hill(params)[0] + (60 if params["x"] > 0.6 else 0), hill(params)[1]


@pytest.mark.parametrize("told", [{}, {"score_range": (0, 50)}, {"cost_range": (0.5, 0.6)}], ids=str)
def test_a_replayed_history_decides_the_same_where_ranges_were_left(told: dict[str, Any]) -> None:
    tuner = Tuner(LINE, price=0.3, **told)
    trained, stop = play(tuner, percent)
    assert len(trained) > 2
    again, adopted = Tuner(LINE, price=0.3, **told), Tuner(LINE, price=0.3, **told)
    assert [numbers(d) for d in replayed(again, tuner.history)] == [numbers(d) for d in trained]
    assert numbers(again.ask()) == numbers(stop)
    adopted.replay(tuner.history)
    assert numbers(adopted.ask()) == numbers(stop)
    assert [run.estimated_score for run in adopted.history] == [run.estimated_score for run in tuner.history]


def test_a_range_that_was_left_is_told_once() -> None:
    tuner = Tuner(LINE, price=0.003, score_range=(0, 0.6), cost_range=(2, 3))
    trained, stop = play(tuner)
    assert [note.about for note in tuner.notes] == ["score", "cost"]
    assert "Run 1 scored" in trained[1].why
    assert "outside score_range=(0, 0.6): the range is now (0, 0.8831)" in trained[1].why
    assert "outside cost_range=(2, 3)" in trained[1].why
    for later in [*trained[2:], stop]:
        assert "outside" not in later.why


def test_a_note_after_the_last_run_is_in_the_stop() -> None:
    scores = iter([0.5, 1.7])
    tuner = Tuner(LINE, price=0.001, max_runs=2)
    _, stop = play(tuner, lambda params: (next(scores), 1.0))
    assert stop.why.startswith("Stopped after 2 runs: max_runs is reached. Run 2 scored 1.7, outside (0, 1)")
    assert numbers(tuner.ask()) == numbers(stop)


def test_notes_of_runs_told_together_are_all_told() -> None:
    tuner = Tuner(LINE, price=0.0001, cost_range=(0.5, 2))
    first, second = tuner.ask(), tuner.ask()
    assert isinstance(first, Train)
    assert isinstance(second, Train)
    tuner.tell(first, 1.5, 1.0)
    tuner.tell(second, 0.5, 3.0)
    decision = tuner.ask()
    assert "scored 1.5" in decision.note
    assert "cost 3" in decision.note
    assert isinstance(decision, Train | Stop)


def test_a_note_says_what_became_of_the_range() -> None:
    said = {}
    for name, scores in {"widened": (0.5, 1.5), "learned": (570.0, 800.0), "diverged": (0.5, -1e9)}.items():
        history = runs(*scores)
        notes = notes_of(shown(problem_of(LINE, 0.01), history), history[-1], 1, ())
        (said[name],) = (note.text for note in notes if note.about == "score")
    assert said["widened"].startswith("Run 2 scored 1.5, outside (0, 1): the range is now (")
    assert "Run 2 scored 800, outside (0, 1): the range is now (" in said["learned"]
    assert said["diverged"] == "Run 2 scored -1e+09, far from all others; it only counts as a bad score."


def test_a_score_that_rounding_puts_outside_is_no_news() -> None:
    tuner = Tuner(LINE, price=0.01, score_range=(0.5, 1.0))
    decision: Any = tuner.ask()
    tuner.tell(decision, 0.95 - 0.45, 1.0)  # 0.49999999999999994
    assert tuner.notes == ()


def test_a_kind_of_note_is_not_told_twice() -> None:
    problem, (one, two) = problem_of(LINE, 0.01), runs(57.0, 80.0)
    told = notes_of(problem, one, 0, ())
    assert [note.about for note in told] == ["score"]
    assert notes_of(problem, two, 1, told) == []
