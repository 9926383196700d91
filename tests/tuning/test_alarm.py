"""The model alarm: silent where the model holds, at the rate that is stated, and loud where it does not."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student_t
from tests.tuning.cases import LINE, SQUARE, at, play

from autobct import Affine, Alarm, Train, Tuner, relaxed
from autobct.tuning.history import Run
from autobct.tuning.model.alarm import FALSE_ALARMS, Surprise, Watch, surprise, watched
from autobct.tuning.model.alarm import raised as raised_by
from autobct.tuning.model.posterior import beliefs, learned
from autobct.tuning.problem import problem_of
from autobct.tuning.units.scale import ScaledProblem


def seen(score: float | None, cost: float = 0.0) -> Surprise:
    return Surprise(score, cost, 0.0, 0.0)


def test_the_evidence_is_the_average_over_all_beginnings() -> None:
    """Against the definition: sum over k of w_k times the product of ratios from run k on."""
    surprises = np.array([0.3, -2.0, 4.0, 0.1, -1.0])
    watch = Watch()
    for z in surprises:
        watch = watched(watch, seen(float(z), float(z)))
    ratios = student_t.pdf(surprises, 8, scale=3) / student_t.pdf(surprises, 8)
    begun = sum(ratios[k:].prod() / ((k + 1) * (k + 2)) for k in range(5))
    not_begun = 1 - sum(1 / ((k + 1) * (k + 2)) for k in range(5))
    assert watch.evidence == pytest.approx((begun + not_begun,) * 2)


@pytest.mark.parametrize("freedom", [8.0, 1e9], ids=["the outliers that are allowed for", "normal"])
def test_false_alarms_are_as_rare_as_stated(freedom: float) -> None:
    """20,000 tunings of 60 runs for which the model holds, and for which there are as many outliers as allowed for."""
    rng = np.random.default_rng(0)
    games, length = 20_000, 60
    z = rng.standard_t(freedom, (length, 2, games))
    ratio, worst = np.zeros((2, games)), np.zeros(games)
    for n in range(1, length + 1):
        likelihood = student_t.pdf(z[n - 1], 8, scale=3) / student_t.pdf(z[n - 1], 8)
        ratio = (ratio + 1 / (n * (n + 1))) * likelihood
        worst = np.maximum(worst, (ratio + 1 / (n + 1)).mean(axis=0))
    rate = float(np.mean(worst >= 1 / FALSE_ALARMS))
    assert rate <= FALSE_ALARMS  # Ville's bound
    assert freedom > 8.0 or rate > 0.0005  # and the test is not asleep


def test_surprises_are_standard_normals_where_the_model_holds() -> None:
    tuner, found = Tuner(LINE, price=0.001, candidates=21, policy=relaxed(depth=2), prior="paper"), []
    rng = np.random.default_rng(1)
    model, belief = tuner.problem.prior.model, tuner.problem.prior.belief
    for _ in range(60):
        game = tuner.twin(fixed=True)
        alpha, beta = (b.draw(rng.standard_normal((1, b.size)))[0] for b in (belief.score, belief.cost))
        for _ in range(4):
            decision: Any = game.ask()
            if not hasattr(decision, "control"):
                break
            u = decision.control
            score = model.score_basis(u) @ alpha + 0.02 * rng.standard_normal()
            cost = np.exp(model.cost_basis(u) @ beta + 0.1 * rng.standard_normal())
            game.tell(decision, float(score), float(game.problem.cost_scale.to_raw(float(cost))))
        past = beliefs(game.problem, game.history)
        found += [surprise(before, run) for before, run in zip(past, game.history, strict=False)]
    scores = np.array([z.score for z in found if z.score is not None])
    costs = np.array([z.cost for z in found if z.cost is not None])
    for z in (scores, costs):
        assert abs(z.mean()) < 4 / math.sqrt(len(z))
        assert abs(z.var() - 1) < 4 * math.sqrt(2 / len(z))


PLACES = (0.5, 0.0, 1.0, 0.3, 0.7, 0.1, 0.9, 0.2)


def jagged(params: Any) -> tuple[float, float]:
    return 0.9 if round(10 * params["x"]) % 2 else 0.2, 1.0


def raised(tuner: Tuner) -> Alarm:
    assert tuner.alarm is not None
    return tuner.alarm


def test_a_surface_that_is_nothing_like_the_model_raises_it_once() -> None:
    tuner = Tuner(LINE, price=1e-4, policy=at(*PLACES), prior="paper", candidates=11)
    trained, stop = play(tuner, jagged)
    alarm = raised(tuner)
    assert alarm.what == "score"
    run = tuner.history[alarm.run]
    assert alarm.observed == run.score
    assert abs(alarm.surprise) > 1
    assert (
        f"Model alarm: run {alarm.run + 1} scored {run.score:.4g}; the model expected {alarm.expected:.4g}"
        in alarm.text
    )
    assert "Set score_range if you know it, or give a prior of your own." in alarm.text
    told = [decision.why.count("Model alarm") for decision in [*trained, stop]]
    assert sum(told) == 1
    assert told[alarm.run + 1] == 1


def alarm_of(problem: ScaledProblem, history: Sequence[Run]) -> Alarm | None:
    """The first alarm of a history: a pure function, the same as `Tuner.alarm`."""
    watch = Watch()
    for number, run in enumerate(history):
        before = learned(problem, history[: number + 1]).problem
        seen = surprise(beliefs(before, history[: number + 1])[-2], run)
        watch = watched(watch, seen)
        if alarm := raised_by(watch, seen, run, number):
            return alarm
    return None


def test_it_is_a_pure_function_of_the_history() -> None:
    for told in ({}, {"score_range": (0.2, 0.4)}):
        tuner = Tuner(LINE, price=1e-4, policy=at(*PLACES), prior="paper", candidates=11, **told)
        play(tuner, jagged)
        assert tuner.alarm is not None
        assert alarm_of(problem_of(LINE, 1e-4, candidates=11, prior="paper", **told), tuner.history) == tuner.alarm
        learning = Tuner(LINE, price=1e-4, candidates=11, **told)
        learning.replay(tuner.history)
        assert alarm_of(problem_of(LINE, 1e-4, candidates=11, **told), tuner.history) == learning.alarm


def test_costs_that_jump_raise_it() -> None:
    costs = iter([1.0, 1.0, 1.0, 500.0, 1.0, 1.0, 1.0, 1.0])
    tuner = Tuner(LINE, price=1e-5, cost_range=(0.5, 600), max_runs=8, policy=relaxed(depth=2), prior="paper")
    play(tuner, lambda params: (0.8 - (params["x"] - 0.4) ** 2, next(costs)))
    alarm = raised(tuner)
    assert (alarm.what, alarm.run, alarm.observed) == ("cost", 3, 500.0)
    assert "standard deviations of log cost away" in alarm.text


def test_a_quiet_tuning_a_failure_and_a_divergence_raise_nothing() -> None:
    tuner = Tuner(LINE, price=1e-4, policy=at(*PLACES), prior="paper", candidates=11)
    for number, score in enumerate((0.5, 0.55, None, 0.5, -1e30)):
        decision: Any = tuner.ask()
        tuner.tell(decision, score, 1.0, error="failed" if score is None else None)
        assert len(tuner.history) == number + 1
    assert tuner.alarm is None


def test_other_units_alone_raise_nothing() -> None:
    for unit in (100.0, 1e6):
        tuner = Tuner(LINE, price=0.003 * unit)
        play(tuner, lambda params, b=unit: (b * (0.9 - (params["x"] - 0.4) ** 2), 1.0))
        assert tuner.notes
        assert tuner.alarm is None


@pytest.mark.parametrize("told", [{}, {"cost_range": (10, 60)}, {"score_range": (0.5, 1.0)}], ids=str)
def test_a_program_that_crashes_at_once_raises_nothing(told: dict[str, Any]) -> None:
    for space in (LINE, SQUARE):
        tuner = Tuner(space, price=0.01 / 30, **told)
        while isinstance(decision := tuner.ask(), Train):
            tuner.tell(decision, cost=0.02, error="ended with exit code 1")
        assert tuner.history
        assert tuner.alarm is None


@pytest.mark.parametrize("fails", [0.02, 300.0], ids=["at once", "late"])
def test_a_region_that_fails_raises_nothing(fails: float) -> None:
    tuner = Tuner(SQUARE, price=0.001 / 300, score_range=(0, 1), max_runs=15)
    while isinstance(decision := tuner.ask(), Train):
        if decision.params["x"] > 0.6:
            tuner.tell(decision, cost=fails, error="out of memory")
        else:
            tuner.tell(decision, 0.9 - (decision.params["x"] - 0.3) ** 2, 30.0)
    assert any(run.error for run in tuner.history)
    assert tuner.alarm is None


@pytest.mark.parametrize("cost", [1e-4, 1e4])
def test_the_first_cost_sets_a_range_that_nobody_stated(cost: float) -> None:
    """What the price suggests is a guess of ours, and being far from it says nothing against the model."""
    tuner = Tuner(LINE, price=0.01)
    play(tuner, lambda params: (0.9 - (params["x"] - 0.4) ** 2, cost))
    assert tuner.alarm is None
    stated = Tuner(LINE, price=0.01, cost_range=Affine(1.0, 1.01))
    play(stated, lambda params: (0.9 - (params["x"] - 0.4) ** 2, cost))
    assert raised(stated).what == "cost"
    assert "Check cost_range, or give a prior of your own." in raised(stated).text


def test_a_scale_that_is_far_too_narrow_raises_it_at_the_first_run() -> None:
    tuner = Tuner(LINE, price=0.01, score_range=Affine(0.1, 0.11))
    play(tuner, lambda params: (0.9 - (params["x"] - 0.4) ** 2, 1.0))
    assert (raised(tuner).what, raised(tuner).run) == ("score", 0)
    assert "Check score_range" in raised(tuner).text


def test_one_outlier_is_none_and_a_few_are() -> None:
    """Real scores have a cliff here and there: a single surprise of six standard deviations is no alarm."""
    quiet = (0.4, -0.9, 0.2, 1.1)
    for outliers, alarmed in (((6.0,), False), ((6.0, -5.0), True)):
        watch = Watch()
        for z in (*quiet, *outliers):
            watch = watched(watch, seen(z, 0.3))
        assert watch.alarmed is alarmed, outliers


@pytest.mark.parametrize("chance", [0.1, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("told", [{}, {"score_range": (0, 1)}], ids=str)
def test_accuracies_that_leave_a_plateau_raise_nothing(chance: float, told: dict[str, Any]) -> None:
    """Four runs at chance, then one that learns: the best news there is, and no fault of a range."""
    tuner = Tuner(LINE, price=1e-4, policy=at(0.5, 0.6, 0.4, 0.7, 0.1), candidates=11, max_runs=5, **told)
    play(tuner, lambda params: (chance + 0.001 * params["x"] if params["x"] > 0.25 else 0.97, 30.0))
    assert [run.score for run in tuner.history][-1] == 0.97
    assert tuner.alarm is None


def test_where_the_spread_is_learned_no_single_score_raises_it_and_two_do() -> None:
    watch = Watch()
    for z in (0.4, -0.9, 0.2, 1.1):
        watch = watched(watch, Surprise(z, 0.3, 0.0, 0.0, learned=True))
    once = watched(watch, Surprise(1e6, 0.3, 0.0, 0.0, learned=True))
    assert not once.alarmed
    assert watched(watch, Surprise(1e6, 0.3, 0.0, 0.0)).alarmed
    assert watched(once, Surprise(-1e6, 0.3, 0.0, 0.0, learned=True)).alarmed
