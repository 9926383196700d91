"""What cannot be meant is refused with a sentence, as Optuna refuses it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState

from autobct import Categorical, Float, Table
from autobct.integrations.optuna import AutoBCTSampler, AutoBCTTerminator

optuna.logging.set_verbosity(optuna.logging.ERROR)

LINE: dict[str, Any] = {"x": Float(0, 1)}
EXAMPLE = Path(__file__).parents[2] / "examples" / "optuna_study.py"


def parabola(trial: optuna.Trial) -> float:
    return (trial.suggest_float("x", 0, 1) - 0.3) ** 2


class Strange(BaseDistribution):
    """A distribution that nobody knows."""

    def to_external_repr(self, param_value_in_internal_repr: float) -> Any:
        return param_value_in_internal_repr

    def to_internal_repr(self, param_value_in_external_repr: Any) -> float:
        return float(param_value_in_external_repr)

    def single(self) -> bool:
        return False

    def _contains(self, param_value_in_internal_repr: float) -> bool:
        return True


def test_without_optuna_the_install_line_is_shown() -> None:
    code = """
        import sys
        sys.modules["optuna"] = None
        try:
            import autobct.integrations.optuna
        except ImportError as missing:
            print(missing)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert "pip install 'autobct[optuna]'" in done.stdout


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=AutoBCTSampler(LINE, price=1.0))
    with pytest.raises(ValueError, match="multi-objective"):
        study.optimize(lambda trial: (parabola(trial), 0.0), n_trials=1)
    for refused in (AutoBCTTerminator(price=1.0).should_stop, AutoBCTSampler(price=1.0).should_stop):
        with pytest.raises(ValueError, match="multi-objective"):
            refused(study)
    with pytest.raises(ValueError, match="multi-objective"):
        AutoBCTSampler.from_study(study, price=1.0)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (Table([{"x": 1}, {"x": 2}]), "cannot be a Table"),
        ({"x": Strange()}, "must be an Int, Float, Categorical or Optuna distribution"),
        ({"x": (0, 1)}, "write e.g. Int"),
        ({}, "no parameter"),
        ({"x": CategoricalDistribution(["a", "a"])}, "twice"),
    ],
)
def test_a_space_that_is_none(space: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        AutoBCTSampler(space, price=1.0)


@pytest.mark.parametrize(
    ("keywords", "kind", "words"),
    [
        ({}, TypeError, "needs a price"),
        ({"price": -1.0}, ValueError, "price must be positive"),
        ({"price": 1.0, "direction": "minimize"}, TypeError, "create_study"),
        ({"price": 1.0, "deadline": "1h"}, TypeError, "timeout"),
        ({"price": 1.0, "max_run": 3}, TypeError, "did you mean 'max_runs'"),
        ({"price": 1.0, "seed": -1}, ValueError, "seed"),
    ],
)
@pytest.mark.parametrize("space", [None, LINE])
@pytest.mark.parametrize("made", [AutoBCTSampler, AutoBCTTerminator])
def test_keywords_are_checked_when_it_is_made(made: Any, space: Any, keywords: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        made(space, **keywords)


def test_a_range_in_the_objective_that_is_not_that_of_the_space() -> None:
    study = optuna.create_study(sampler=AutoBCTSampler(LINE, price=1e-6))
    study.optimize(parabola, n_trials=1)
    with pytest.raises(ValueError, match=r"suggests 'x' from FloatDistribution.*write the same in both"):
        study.optimize(lambda trial: trial.suggest_float("x", 5, 6), n_trials=1)


def test_a_condition_in_the_objective_that_is_not_that_of_the_space() -> None:
    space = {"kind": Categorical(["a", "b"]), "drop": Float(0, 1, when={"kind": "b"})}
    sampler = AutoBCTSampler(space, price=1e-6)
    study = optuna.create_study(sampler=sampler)
    kind = {"kind": CategoricalDistribution(["a", "b"])}
    trial = optuna.create_trial(state=TrialState.RUNNING, params={"kind": "a"}, distributions=kind)
    with pytest.raises(ValueError, match="'drop', which exists only when kind is 'b'"):
        sampler.sample_independent(study, trial, "drop", FloatDistribution(0, 1))


def test_a_space_that_changes_leaves_what_all_trials_have_in_common() -> None:
    study = optuna.create_study(sampler=AutoBCTSampler(price=1e-6))
    study.optimize(parabola, n_trials=2)
    with pytest.warns(UserWarning, match="No parameter has the same range in all finished trials"):
        study.optimize(lambda trial: trial.suggest_float("x", 5, 6), n_trials=2)
    assert study.sampler.decision(study) is None  # type: ignore[attr-defined]


def test_trials_outside_the_given_space_are_left_out_with_a_warning() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 5, 6), n_trials=2)
    study.sampler = AutoBCTSampler(LINE, price=1e-6)
    with pytest.warns(UserWarning, match="2 finished trial"):
        study.optimize(parabola, n_trials=2)


def added(**more: Any) -> optuna.trial.FrozenTrial:
    return optuna.create_trial(params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}, value=0.1, **more)


def test_past_trials_without_a_duration() -> None:
    study = optuna.create_study()
    study.add_trial(added())
    with pytest.raises(ValueError, match="Trial 0 has no duration"):
        AutoBCTSampler.from_study(study, price=1.0)
    with pytest.raises(ValueError, match="Trial 0 has no duration"):
        AutoBCTTerminator(LINE, price=1.0).should_stop(study)
    with_cost = optuna.create_study()
    with_cost.add_trial(added(user_attrs={"cost": 2.0}))
    assert AutoBCTSampler.from_study(with_cost, price=1e-6).decision(with_cost) is not None


def test_costs_that_only_some_trials_state() -> None:
    study = optuna.create_study()
    study.add_trial(added(user_attrs={"cost": 2.0}))
    study.optimize(parabola, n_trials=1)
    with pytest.raises(ValueError, match=r"Trial 1 has no user attribute 'cost', but other trials"):
        AutoBCTSampler.from_study(study, price=1.0)


@pytest.mark.parametrize("cost", ["much", -1.0, float("nan"), None])
def test_a_cost_that_is_none(cost: Any) -> None:
    study = optuna.create_study()
    study.add_trial(added(user_attrs={"cost": cost}))
    with pytest.raises(ValueError, match="Trial 0: user attribute cost must be"):
        AutoBCTSampler.from_study(study, price=1.0)


@pytest.mark.slow
def test_the_example_runs_and_is_short() -> None:
    text = EXAMPLE.read_text("utf-8")
    assert len(text.splitlines()) < 40
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert "Stopped after" in done.stdout
