"""The Optuna sampler decides as `tune` does, stops by itself, and shares nothing but the storage with other workers."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import autobct
from autobct import Categorical, Float, Int, Stop, Tuner
from autobct.integrations.optuna import AutoBCTSampler

optuna.logging.set_verbosity(optuna.logging.ERROR)

LINE: dict[str, Any] = {"x": Float(0, 1)}
PLANE: dict[str, Any] = {"x": Float(0, 1), "rate": Float(1e-4, 1, log=True)}
MIXED: dict[str, Any] = {
    "x": Float(0, 1),
    "rate": Float(1e-4, 1, log=True),
    "trees": Int(1, 300, log=True),
    "kind": Categorical(["a", "b", "c"]),
    "drop": Float(0, 0.9, step=0.1, when={"kind": "b"}),
}
Trained = tuple[float, float]


def outcome(params: Mapping[str, Any]) -> Trained:
    """Score and cost, best near x = 0.3, rate = 0.01."""
    score = 0.9 - (params["x"] - 0.3) ** 2
    score -= 0.03 * (math.log10(params.get("rate", 0.01)) + 2) ** 2
    score += {"a": 0.0, "b": 0.03, "c": -0.05}[params.get("kind", "a")] + 0.02 * params.get("drop", 0.0)
    return score, 1.0 + params["x"] + params.get("trees", 0) / 100


def suggested(trial: optuna.Trial, space: Mapping[str, Any]) -> dict[str, Any]:
    """What an objective asks for, parameter by parameter."""
    params: dict[str, Any] = {}
    for name, parameter in space.items():
        if any(params[other] not in values for other, values in (parameter.when or {}).items()):
            continue
        if isinstance(parameter, Categorical):
            params[name] = trial.suggest_categorical(name, parameter.choices)
        elif isinstance(parameter, Int):
            params[name] = trial.suggest_int(name, parameter.low, parameter.high, log=parameter.log)
        else:
            low, high = parameter.low, parameter.high
            params[name] = trial.suggest_float(name, low, high, log=parameter.log, step=parameter.step)
    return params


def objective(space: Mapping[str, Any], sign: float = 1.0) -> Callable[[optuna.Trial], float]:
    def trained(trial: optuna.Trial) -> float:
        score, cost = outcome(suggested(trial, space))
        trial.set_user_attr("cost", cost)
        return sign * score

    return trained


def study_of(sampler: optuna.samplers.BaseSampler, direction: str = "maximize", **more: Any) -> optuna.Study:
    return optuna.create_study(sampler=sampler, direction=direction, **more)


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return [trial for trial in study.trials if trial.state == TrialState.COMPLETE]


@pytest.mark.parametrize("space", [LINE, PLANE, MIXED], ids=["line", "plane", "mixed"])
def test_twelve_trials_are_the_decisions_of_tune(space: dict[str, Any]) -> None:
    told = autobct.tune(outcome, space, price=1e-5, seed=3, max_runs=12)
    study = study_of(AutoBCTSampler(space, price=1e-5, seed=3, max_runs=12))
    study.optimize(objective(space))
    assert [trial.params for trial in study.trials] == [dict(run.params) for run in told.history]
    assert [trial.user_attrs["autobct:why"] for trial in study.trials] == [d.why for d in told.decisions[:-1]]
    assert study.user_attrs["autobct:why"] == told.why
    assert len(told.history) == 12 or told.decisions[-1].reason != "max_runs"  # type: ignore[union-attr]


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_stops_by_itself_as_tune_does(direction: Any) -> None:
    sign = 1.0 if direction == "maximize" else -1.0
    told = autobct.tune(
        lambda params: (sign * outcome(params)[0], outcome(params)[1]), MIXED, price=0.002, direction=direction
    )
    study = study_of(AutoBCTSampler(MIXED, price=0.002), direction)
    study.optimize(objective(MIXED, sign))
    assert [trial.params for trial in study.trials] == [dict(run.params) for run in told.history]
    stopped = study.user_attrs["autobct:stopped"]
    assert stopped["why"] == told.why
    assert stopped["reason"] == told.decisions[-1].reason  # type: ignore[union-attr]
    assert study.user_attrs["autobct:best_estimated_score"] == told.decisions[-1].value  # type: ignore[union-attr]


def test_a_space_that_is_not_given_is_inferred_from_the_trials() -> None:
    study = study_of(AutoBCTSampler(price=0.002))
    study.optimize(objective(PLANE))
    first, second = study.trials[:2]
    assert "autobct:expected_score" not in first.user_attrs  # nothing was known of the space
    tuner = Tuner(dict(sorted(PLANE.items())), price=0.002)  # Optuna sorts names
    control = tuner.problem.space.control(first.params)
    tuner.admit(control)
    tuner.replay([autobct.Run(0, first.params, control, first.value, first.user_attrs["cost"], None, math.nan)])
    decision = tuner.ask()
    assert isinstance(decision, autobct.Train)
    assert second.params == decision.params
    assert second.user_attrs["autobct:expected_cost"] == decision.expected_cost
    assert "autobct:stopped" in study.user_attrs


def test_optunas_distributions_are_a_space() -> None:
    distributions = {
        "x": FloatDistribution(0, 1),
        "rate": FloatDistribution(1e-4, 1, log=True),
        "trees": IntDistribution(1, 300, log=True),
        "kind": CategoricalDistribution(["a", "b", "c"]),
    }
    ours = {name: parameter for name, parameter in MIXED.items() if name != "drop"}
    studies = [study_of(AutoBCTSampler(space, price=1e-4, max_runs=4)) for space in (distributions, ours)]
    for study in studies:
        study.optimize(objective(ours))
    assert [trial.params for trial in studies[0].trials] == [trial.params for trial in studies[1].trials]


def test_conditional_parameters_are_sampled_at_random_where_the_space_is_inferred() -> None:
    study = study_of(AutoBCTSampler(price=1e-6, seed=1))
    study.optimize(objective(MIXED), n_trials=12)
    drops = [trial.params["drop"] for trial in study.trials if "drop" in trial.params]
    assert len(drops) == sum(trial.params["kind"] == "b" for trial in study.trials)
    tuned = study.sampler.infer_relative_search_space(study, study.trials[-1])
    assert sorted(tuned) == ["kind", "rate", "trees", "x"]


def test_under_ask_and_tell_it_says_when_to_stop() -> None:
    sampler = AutoBCTSampler(PLANE, price=0.002)
    study, told = study_of(sampler), autobct.tune(outcome, PLANE, price=0.002)
    while not sampler.should_stop(study):
        trial = study.ask()
        study.tell(trial, objective(PLANE)(trial))
    assert [trial.params for trial in study.trials] == [dict(run.params) for run in told.history]
    decision = sampler.decision(study)
    assert isinstance(decision, Stop)
    assert decision.why == told.why
    trial = study.ask()  # whoever asks all the same gets the best alternative
    assert decision.best_alternative is not None
    assert suggested(trial, PLANE) == decision.best_alternative.params


def test_its_callback_stops_a_study_whose_sampler_only_suggests() -> None:
    sampler = AutoBCTSampler(PLANE, price=0.002, stop=False)
    study = study_of(sampler)
    study.optimize(objective(PLANE), callbacks=[sampler.stop_when_done])
    assert len(study.trials) == len(autobct.tune(outcome, PLANE, price=0.002).history)


def test_running_trials_are_pending() -> None:
    study, tuner = study_of(AutoBCTSampler(MIXED, price=1e-4)), Tuner(MIXED, price=1e-4)
    for expected in (tuner.ask(), tuner.ask(), tuner.ask()):
        assert isinstance(expected, autobct.Train)
        trial = study.ask()
        assert suggested(trial, MIXED) == expected.params
        assert trial.storage.get_trial(trial._trial_id).user_attrs["autobct:expected_gain"] == expected.expected_gain


def test_a_suggestion_is_pending_before_the_objective_has_asked_for_all_of_it() -> None:
    studies = [study_of(AutoBCTSampler(PLANE, price=1e-4)) for _ in range(2)]
    for study, names in zip(studies, (["x"], ["x", "rate"]), strict=True):
        first = study.ask()
        suggested(first, {name: PLANE[name] for name in names})
        second = study.ask()
        suggested(second, PLANE)
    assert studies[0].trials[1].params == studies[1].trials[1].params != studies[1].trials[0].params


def test_a_pending_trial_of_another_sampler_counts_once_its_values_are_known() -> None:
    study = study_of(optuna.samplers.RandomSampler(seed=0))
    other = study.ask()
    suggested(other, PLANE)
    study.sampler = AutoBCTSampler(PLANE, price=1e-4)
    alone = study_of(AutoBCTSampler(PLANE, price=1e-4))
    mine, without = study.ask(), alone.ask()
    tuner = Tuner(PLANE, price=1e-4)
    tuner.admit(control := tuner.problem.space.control(other.params))
    tuner.adopt(autobct.Train(0, other.params, control, 0.0, 0.0, 0.0, 0.0, 0.0, None))
    expected = tuner.ask()
    assert isinstance(expected, autobct.Train)
    assert suggested(mine, PLANE) == expected.params
    suggested(without, PLANE)


def test_two_jobs_in_one_process() -> None:
    study = study_of(AutoBCTSampler(MIXED, price=0.0005))
    study.optimize(objective(MIXED), n_jobs=2)
    assert "autobct:stopped" in study.user_attrs
    places = [tuple(sorted(trial.params.items())) for trial in finished(study)]
    assert len(set(places[:4])) == 4


def test_the_seed_makes_a_study_repeatable_and_reseeding_changes_nothing() -> None:
    def params(seed: int, *, reseed: bool = False) -> list[dict[str, Any]]:
        sampler = AutoBCTSampler(price=1e-6, seed=seed)
        study = study_of(sampler)
        for _ in range(6):
            if reseed:
                sampler.reseed_rng()
            study.optimize(objective(MIXED), n_trials=1)
        return [trial.params for trial in study.trials]

    assert params(1) == params(1) == params(1, reseed=True)
    assert params(1) != params(2)


def test_random_values_differ_from_trial_to_trial_and_name_to_name() -> None:
    study = study_of(AutoBCTSampler(price=1.0))
    trials = [study.ask() for _ in range(20)]
    values = [trial.suggest_float(name, 0, 1) for trial in trials for name in ("x", "y")]
    assert len(set(values)) == 40
    assert 0.3 < np.mean(values) < 0.7


def test_a_guess_is_the_first_trial_where_the_space_is_inferred() -> None:
    study = study_of(AutoBCTSampler(price=1e-4, guess={"rate": 0.01, "elsewhere": 1}))
    study.optimize(objective(PLANE), n_trials=3)
    assert study.trials[0].params["rate"] == 0.01


def test_a_copy_decides_alike() -> None:
    sampler = AutoBCTSampler(PLANE, price=1e-4)
    study = study_of(sampler)
    study.optimize(objective(PLANE), n_trials=4)
    whys = [made.decision(study).why for made in (sampler, copy.deepcopy(sampler), pickle.loads(pickle.dumps(sampler)))]
    assert len(set(whys)) == 1


def test_nan_and_infinity_are_failed_runs_and_tuning_goes_on() -> None:
    def sometimes(trial: optuna.Trial) -> float:
        score = objective(PLANE)(trial)
        return {1: math.nan, 2: -math.inf}.get(trial.number, score)

    study = study_of(AutoBCTSampler(PLANE, price=1e-4))
    study.optimize(sometimes, n_trials=6)
    assert study.trials[1].state == TrialState.FAIL
    tuner = Tuner(PLANE, price=1e-4)
    for trial in study.trials:
        decision = tuner.ask()
        assert isinstance(decision, autobct.Train)
        assert decision.params == trial.params
        score, cost = outcome(trial.params)
        failed = trial.number in (1, 2)
        tuner.tell(decision, None if failed else score, cost, error="no number" if failed else None)


def test_trials_that_always_fail_end_the_loop_whether_or_not_they_have_parameters() -> None:
    def broken(trial: optuna.Trial) -> float:
        raise RuntimeError("no data")

    study = study_of(AutoBCTSampler(PLANE, price=1e-4))
    study.optimize(broken, catch=(RuntimeError,))
    assert len(study.trials) == 10
    assert "the last ten runs all failed" in study.user_attrs["autobct:why"]
    study.optimize(objective(PLANE), n_trials=2)  # mended: it goes on
    assert len(finished(study)) == 2


def test_a_pruned_trial_scores_what_it_reported_last() -> None:
    def pruned(trial: optuna.Trial) -> float:
        score = objective(PLANE)(trial)
        if trial.number == 1:
            trial.report(score, step=0)
            raise optuna.TrialPruned
        return score

    study, whole = (study_of(AutoBCTSampler(PLANE, price=1e-4)) for _ in range(2))
    study.optimize(pruned, n_trials=5)
    whole.optimize(objective(PLANE), n_trials=5)
    assert study.trials[1].state == TrialState.PRUNED
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]


def test_a_trial_that_is_pruned_without_a_value_is_not_suggested_again() -> None:
    def infeasible(trial: optuna.Trial) -> float:
        score = objective(PLANE)(trial)
        if trial.number < 4:
            raise optuna.TrialPruned
        return score

    study = study_of(AutoBCTSampler(PLANE, price=1e-4))
    study.optimize(infeasible, n_trials=5)
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 5


def test_the_cost_is_the_duration_unless_it_is_stated() -> None:
    study = study_of(AutoBCTSampler(PLANE, price="0.01 per 1s"))
    study.optimize(lambda trial: outcome(suggested(trial, PLANE))[0], n_trials=2)
    for trial in study.trials:
        assert trial.duration is not None
        assert 0.0 < trial.user_attrs["autobct:cost"] <= trial.duration.total_seconds()


def test_a_failed_trial_that_could_not_state_its_cost_is_charged_what_was_expected() -> None:
    def failing(trial: optuna.Trial) -> float:
        if trial.number == 2:
            suggested(trial, PLANE)
            raise RuntimeError("out of memory")
        return objective(PLANE)(trial)

    study = study_of(AutoBCTSampler(PLANE, price=1e-4))
    study.optimize(failing, n_trials=4, catch=(RuntimeError,))
    tuner = Tuner(PLANE, price=1e-4)
    for trial in study.trials:
        decision = tuner.ask()
        assert isinstance(decision, autobct.Train)
        assert decision.params == trial.params
        if trial.number == 2:
            tuner.tell(decision, error="out of memory", cost=decision.expected_cost)
        else:
            tuner.tell(decision, *outcome(trial.params))


def test_an_enqueued_trial_is_learned_from() -> None:
    study = study_of(AutoBCTSampler(MIXED, price=1e-4))
    study.enqueue_trial({"kind": "b", "x": 0.123})
    study.optimize(objective(MIXED), n_trials=3)
    assert study.trials[0].params["x"] == 0.123
    assert "drop" in study.trials[0].params
    decision = study.sampler.decision(study)  # type: ignore[attr-defined]
    assert decision.trial == 3


def test_it_works_under_hyperband_and_stops() -> None:
    study = study_of(AutoBCTSampler(PLANE, price=0.002), pruner=optuna.pruners.HyperbandPruner())
    study.optimize(objective(PLANE))
    assert len(study.trials) == len(autobct.tune(outcome, PLANE, price=0.002).history)
