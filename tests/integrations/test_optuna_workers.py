"""Several workers on one storage, and studies that another sampler began or makes."""

from __future__ import annotations

import math
import threading
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

import autobct
from autobct import Float, Stop, Tuner
from autobct.integrations.optuna import AutoBCTSampler, AutoBCTTerminator

optuna.logging.set_verbosity(optuna.logging.ERROR)

SPACE: dict[str, Any] = {"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)}


def score_at(trial: optuna.Trial) -> float:
    x, y, z = (trial.suggest_float(name, 0, 1) for name in "xyz")
    trial.set_user_attr("cost", 1.0 + x)
    return 0.9 - (x - 0.3) ** 2 - (y - 0.6) ** 2 - 0.1 * (z - 0.5) ** 2


def stored(path: Path, sampler: optuna.samplers.BaseSampler | None = None) -> optuna.Study:
    return optuna.create_study(
        study_name="shared", storage=f"sqlite:///{path}", direction="maximize", sampler=sampler, load_if_exists=True
    )


def test_two_workers_take_turns_and_decide_as_one(tmp_path: Path) -> None:
    workers = [stored(tmp_path / "a.db", AutoBCTSampler(SPACE, price=0.02)) for _ in range(2)]
    alone = optuna.create_study(direction="maximize", sampler=AutoBCTSampler(SPACE, price=0.02))
    alone.optimize(score_at)
    for turn in range(100):
        workers[turn % 2].optimize(score_at, n_trials=1)
        if "autobct:stopped" in workers[0].user_attrs:
            break
    assert [trial.params for trial in workers[0].trials] == [trial.params for trial in alone.trials]
    assert workers[1].user_attrs["autobct:stopped"] == alone.user_attrs["autobct:stopped"]


def test_two_workers_at_once_stop_together(tmp_path: Path) -> None:
    trained: list[int] = []

    def training(trial: optuna.Trial) -> float:
        score = score_at(trial)
        trained.append(trial.number)
        return score

    def work() -> None:
        stored(tmp_path / "b.db", AutoBCTSampler(SPACE, price=0.02)).optimize(training)

    stored(tmp_path / "b.db")
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    study = stored(tmp_path / "b.db")
    assert "autobct:stopped" in study.user_attrs
    assert not [trial for trial in study.trials if trial.state == TrialState.RUNNING]
    assert sorted(trained) == [trial.number for trial in study.trials if trial.state == TrialState.COMPLETE]


def test_a_worker_that_finds_the_study_stopped_trains_nothing(tmp_path: Path) -> None:
    first = stored(tmp_path / "c.db", AutoBCTSampler(SPACE, price=0.02))
    first.optimize(score_at)
    trained: list[int] = []

    def training(trial: optuna.Trial) -> float:
        score = score_at(trial)
        trained.append(trial.number)
        return score

    second = stored(tmp_path / "c.db", AutoBCTSampler(SPACE, price=0.02))
    second.optimize(training)
    assert trained == []
    assert second.trials[-1].state == TrialState.PRUNED
    assert second.trials[-1].params == {}
    assert second.sampler.should_stop(second)  # type: ignore[attr-defined]
    cheaper = stored(tmp_path / "c.db", AutoBCTSampler(SPACE, price=1e-4))
    cheaper.optimize(training, n_trials=1)
    assert len(trained) == 1


def test_every_worker_reaches_the_same_decision_from_the_same_history(tmp_path: Path) -> None:
    study = stored(tmp_path / "d.db", AutoBCTSampler(SPACE, price=1e-4))
    open_trials = [study.ask() for _ in range(3)]
    values = [score_at(trial) for trial in open_trials]
    study.tell(open_trials[2], values[2])  # out of order
    study.tell(open_trials[0], values[0])
    fresh = AutoBCTSampler(SPACE, price=1e-4)
    whys = [sampler.decision(stored(tmp_path / "d.db")).why for sampler in (study.sampler, fresh)]  # type: ignore[attr-defined]
    assert whys[0] == whys[1]
    study.tell(open_trials[1], values[1])
    again = [sampler.decision(study).why for sampler in (study.sampler, fresh, AutoBCTSampler(SPACE, price=1e-4))]  # type: ignore[attr-defined]
    assert len(set(again)) == 1
    assert again[0] != whys[0]


def history_of(tuner: Tuner, trials: list[FrozenTrial]) -> None:
    """The same trials, told to a tuner by hand."""
    for trial in trials:
        control = tuner.problem.space.control(trial.params)
        tuner.admit(control)
        cost = trial.user_attrs["cost"]
        tuner.replay([autobct.Run(trial.number, trial.params, control, trial.value, cost, None, math.nan)])


@pytest.mark.parametrize("sampler", [optuna.samplers.TPESampler, optuna.samplers.RandomSampler])
def test_the_terminator_stops_when_the_last_suggestions_were_not_worth_their_price(sampler: Any) -> None:
    """Or earlier, when a tuner would not go on at all.  `explain` says what improvement less price is worth."""
    plane = {name: SPACE[name] for name in "xy"}

    def flat(trial: optuna.Trial) -> float:
        x, y = (trial.suggest_float(name, 0, 1) for name in "xy")
        trial.set_user_attr("cost", 1.0 + x)
        return 0.9 - (x - 0.3) ** 2 - (y - 0.6) ** 2

    study = optuna.create_study(direction="maximize", sampler=sampler(seed=0))
    study.optimize(flat, n_trials=60, callbacks=[AutoBCTTerminator(plane, price=0.001)])
    worth: list[float] = []
    tuner, one_ahead = Tuner(plane, price=0.001), Tuner(plane, price=0.001, policy=autobct.ei_per_cost())
    for number, trial in enumerate(study.trials, start=1):
        if number > 1:
            one_ahead.admit(control := tuner.problem.space.control(trial.params))
            said = one_ahead.explain()
            [where] = np.flatnonzero((said.controls == control).all(axis=1))
            assert said.stop_value is not None
            worth.append(said.values[where] - said.stop_value)
        history_of(tuner, [trial])
        history_of(one_ahead, [trial])
        tired = len(worth) >= 3 and np.mean(worth[-3:]) <= 0.0
        assert (isinstance(tuner.peek(), Stop) or tired) == (number == len(study.trials))
    assert number < 60


def test_the_terminator_infers_the_space_and_needs_no_loop() -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    terminator = AutoBCTTerminator(price=0.02)
    while not terminator.should_stop(study):
        trial = study.ask()
        study.tell(trial, score_at(trial))
        assert len(study.trials) < 100
    terminator(study, study.trials[-1])
    assert study.user_attrs["autobct:stopped"]["reason"] in ("not worth it", "nothing to gain")


def test_it_goes_on_from_a_study_of_another_sampler() -> None:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(score_at, n_trials=8)
    study.sampler = AutoBCTSampler.from_study(study, price=1e-4)
    study.optimize(score_at, n_trials=1)
    tuner = Tuner(SPACE, price=1e-4)
    history_of(tuner, study.trials[:8])
    decision = tuner.peek()
    assert isinstance(decision, autobct.Train)
    assert study.trials[8].params == decision.params
    assert study.trials[8].user_attrs["autobct:why"] == decision.why
