"""The searcher for Ray Tune, by itself: it decides as `tune` does, waits, ends, saves and restores."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune", reason="Ray is not installed: pip install 'autobct[ray]'")

from ray import tune
from ray.tune.search import ConcurrencyLimiter, Searcher
from tests.integrations.ray_cases import LINE, MIXED, SAME, complete, flat, outcome, played, ready

import autobct
from autobct import Categorical, Float, Int, Stop, Train
from autobct.integrations._ray_space import searched_in
from autobct.integrations.ray import AutoBCTSearch

pytestmark = pytest.mark.heavy


def history(search: AutoBCTSearch) -> list[tuple[Any, ...]]:
    return [(dict(run.params), run.score, run.cost, run.error) for run in search.result().history]


@pytest.mark.parametrize("mode", ["max", "min"])
def test_twelve_trials_are_the_decisions_of_tune(mode: str) -> None:
    sign = 1.0 if mode == "max" else -1.0
    direction: Any = "maximize" if mode == "max" else "minimize"

    def train(params: dict[str, Any]) -> tuple[float, float]:
        return sign * outcome(params)[0], outcome(params)[1]

    told = autobct.tune(train, SAME, price=1e-5, seed=3, max_runs=12, direction=direction)
    search = ready(MIXED, mode, price=1e-5, seed=3, max_runs=12)
    configs = played(search, sign=sign)
    assert [flat(config) for config in configs] == [dict(run.params) for run in told.history]
    assert [made.why for made in search.result().decisions] == [made.why for made in told.decisions]
    assert len(configs) == 12
    assert search.result().params == told.params


def test_it_finishes_by_itself_and_says_why() -> None:
    told = autobct.tune(outcome, {"x": Float(0, 1)}, price=0.002)
    search = ready()
    configs = played(search)
    assert [config["x"] for config in configs] == [run.params["x"] for run in told.history]
    assert isinstance(search.decision, Stop)
    assert search.decision.why == search.result().why == told.why
    assert search.suggest("one more") == Searcher.FINISHED


def test_it_waits_for_trials_that_may_change_its_mind() -> None:
    search = ready(max_runs=3)
    first, second, third = (search.suggest(name) for name in "abc")
    assert len({config["x"] for config in (first, second, third)}) == 3  # each takes the others into account
    assert search.suggest("d") is None
    complete(search, "a", first)
    complete(search, "c", third)
    assert search.suggest("d") is None
    complete(search, "b", second)
    assert search.suggest("d") == Searcher.FINISHED


def test_pending_trials_are_those_of_a_tuner() -> None:
    search, tuner = ready(MIXED), autobct.Tuner(SAME, price=0.002)
    for name in "abc":
        train = tuner.ask()
        assert isinstance(train, Train)
        assert flat(search.suggest(name)) == dict(train.params)
    trains = {train.trial: train for train in tuner.under_way}
    for name, trial in (("b", 1), ("a", 0)):
        complete(search, name, dict(trains[trial].params))
        tuner.tell(trial, *outcome(trains[trial].params))
    assert flat(search.suggest("d")) == dict(tuner.ask().params)  # type: ignore[union-attr]


def test_the_same_trial_is_suggested_once() -> None:
    search = ready()
    assert search.suggest("a") == search.suggest("a")
    assert list(search._history.pending) == ["a"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "high", True])
def test_values_that_are_no_score_are_failed_runs(value: Any) -> None:
    search = ready()
    config = search.suggest("a")
    search.on_trial_result("a", {"score": value, "cost": 1.0})
    search.on_trial_complete("a", {"score": value, "cost": 1.0})
    assert played(search, 1, start=1) != [config]  # not tried again
    assert history(search)[0][1::2] == (None, f"`score` was {value!r}")


def test_a_trial_that_fails_is_charged_and_not_tried_again() -> None:
    search = ready()
    config = search.suggest("a")
    expected = search.decision
    assert isinstance(expected, Train)
    search.on_trial_complete("a", error=True)
    search.suggest("b")
    search.on_trial_result("b", {"score": 0.5, "cost": 4.5})
    search.on_trial_complete("b", error=True)
    assert config not in played(search)
    assert [run[1:] for run in history(search)[:2]] == [
        (None, expected.expected_cost, "the trial failed"),
        (None, 4.5, "the trial failed"),
    ]


def test_a_trial_that_is_stopped_early_counts_with_what_it_reported_and_one_that_never_ran_not_at_all() -> None:
    search = ready()
    search.suggest("a")
    search.on_trial_complete("a")
    config = search.suggest("b")
    search.on_trial_result("b", {"score": 0.7, "cost": 2.0})
    search.on_trial_complete("b")
    assert history(search) == [({"x": config["x"]}, 0.7, 2.0, None)]


def test_ten_failures_in_a_row_end_it() -> None:
    search = ready()
    for n in range(10):
        assert isinstance(search.suggest(f"{n}"), dict)
        search.on_trial_complete(f"{n}", error=True)
    assert search.suggest("last") == Searcher.FINISHED
    assert search.decision.reason == "failing"  # type: ignore[union-attr]


def test_time_total_s_is_the_cost_unless_another_metric_is_named() -> None:
    search = AutoBCTSearch(price=0.002, metric="score", mode="max", space=LINE)
    search.suggest("a")
    search.on_trial_complete("a", {"score": 0.5, "time_total_s": 7.5})
    assert history(search)[0][2] == 7.5


def test_evaluated_points_are_runs() -> None:
    """The pattern of Ray's own test of searchers: a value, an error, a pruned trial, a point in a nested space."""
    search = ready(MIXED)
    point = {"x": 0.3, "model": {"rate": 0.01, "trees": 20}, "kind": "b"}
    search.add_evaluated_point(point, 0.8, cost=2.0)
    search.add_evaluated_point({**point, "x": 0.4}, 0.8, error=True, cost=2.0)
    search.add_evaluated_point({**point, "x": 0.5}, 0.8, pruned=True, cost=2.0, intermediate_values=[0.1, 0.8])
    search.add_evaluated_point({**point, "x": 0.6}, math.nan, cost=2.0)
    assert [(params["x"], score, error) for params, score, _, error in history(search)] == [
        (0.3, 0.8, None),
        (0.4, None, "the trial failed"),
        (0.5, 0.8, None),
        (0.6, None, "`value` was nan"),
    ]
    tuner = autobct.Tuner(SAME, price=0.002)
    for run in search.result().history:
        tuner.admit(run.control)
        tuner.replay([run])
    assert flat(search.suggest("next")) == dict(tuner.ask().params)  # type: ignore[union-attr]


def test_a_concurrency_limiter_wraps_it() -> None:
    search = ready(max_runs=3)
    limited = ConcurrencyLimiter(search, 1)
    first = limited.suggest("a")
    assert limited.suggest("b") is None
    complete(limited, "a", first)
    assert len(played(limited, start=1)) == 2


@pytest.mark.parametrize("ended", range(5))
def test_saved_mid_run_and_restored_it_decides_the_same(ended: int, tmp_path: Path) -> None:
    whole = ready(MIXED)
    configs = played(whole, 6)
    search = ready(MIXED)
    assert played(search, ended) == configs[:ended]
    assert search.suggest("pending") == configs[ended]
    search.save(str(tmp_path / "state"))
    again = AutoBCTSearch(price=0.002, cost="cost")
    again.restore(str(tmp_path / "state"))  # Ray does not say the space again
    complete(again, "pending", configs[ended])
    assert played(again, 5 - ended, start=10) == configs[ended + 1 :]
    assert [made.why for made in again.result().decisions] == [made.why for made in whole.result().decisions]


def test_the_folder_of_an_experiment_holds_json_only(tmp_path: Path) -> None:
    search = ready(MIXED)
    played(search, 3)
    search.save_to_dir(str(tmp_path), "now")
    [file] = tmp_path.iterdir()
    assert file.name == "searcher-state-now.json"
    saved = json.loads(file.read_text())
    assert [run["score"] for run in saved["runs"]] == [run[1] for run in history(search)]
    again = AutoBCTSearch(price=0.002, cost="cost")
    again.restore_from_dir(str(tmp_path))
    assert played(again, 1, start=3) == played(search, 1, start=3)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda search: pickle.loads(pickle.dumps(search))])
def test_a_copy_continues_by_itself(copied: Any) -> None:
    search = ready(MIXED)
    played(search, 3)
    search.suggest("pending")
    other = copied(search)
    complete(other, "pending", SAMPLE)
    assert len(other.result().history) == 4
    assert len(search.result().history) == 3
    complete(search, "pending", SAMPLE)
    assert played(other, 1, start=5) == played(search, 1, start=5)


def test_a_copy_has_choices_that_json_cannot_hold() -> None:
    search = ready({"kind": tune.choice([print, len]), "x": tune.uniform(0, 1)})
    assert copy.deepcopy(search).suggest("a") == search.suggest("a")


SAMPLE: dict[str, Any] = {"x": 0.5, "model": {"rate": 0.01, "trees": 10}, "kind": "a"}


@pytest.mark.parametrize(
    ("domain", "parameter"),
    [
        (tune.uniform(-1, 2.5), Float(-1, 2.5)),
        (tune.loguniform(1e-5, 0.1), Float(1e-5, 0.1, log=True)),
        (tune.quniform(0.5, 3.0, 0.5), Float(0.5, 3, step=0.5)),
        (tune.randint(1, 9), Int(1, 8)),
        (tune.lograndint(1, 101), Int(1, 100, log=True)),
        (tune.qrandint(2, 12, 5), Int(5, 10, step=5)),
        (tune.qrandint(0, 12, 1), Int(0, 11)),
        (tune.choice([1, "a", None, (1, 2), [3]]), Categorical([1, "a", None, (1, 2), [3]])),
    ],
)
def test_every_domain_is_the_parameter_that_has_its_values(domain: Any, parameter: Any) -> None:
    space = searched_in({"p": domain, "constant": 3})
    assert space is not None
    assert space.parameters == (parameter,)
    drawn = [domain.sample() for _ in range(300)]  # Ray's own sampler
    for value in drawn:
        space.control({"p": value})  # none of them is outside
    if parameter.count is not None and parameter.count < 20:
        seen = {repr(value) for value in drawn}
        assert seen == {repr(parameter.value(k)) for k in range(parameter.count)}
