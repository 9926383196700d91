"""What cannot be meant is refused with a sentence, as Ray refuses it; a file that was damaged, too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune", reason="Ray is not installed: pip install 'autobct[ray]'")

from ray import tune
from tests.integrations.ray_cases import LINE, MIXED, played, ready

from autobct import Categorical, Float, Table
from autobct.integrations.ray import AutoBCTSearch

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (tune.grid_search([1, 2]), "Grid search parameters cannot be automatically converted"),
        (tune.randn(0, 1), "`Float` with samplers of type `Normal`"),
        (tune.qrandn(0, 1, 0.1), "`Quantized Normal`"),
        (tune.sample_from(lambda: 3), "`Function` with samplers of type `CallSampler`"),
        (tune.qloguniform(0.1, 1, 0.1), "`Quantized LogUniform`.*round the value in the trainable"),
        (tune.qlograndint(1, 100, 5), "`Quantized LogUniform`"),
        (tune.choice([1, 1]), r"space\['p'\].*twice"),
        (tune.randint(3, 3), r"space\['p'\].*low is above high"),
        ([tune.uniform(0, 1)], "domains in a list, as 'p/0'"),
        (Float(0, 1), r"pass it to AutoBCTSearch\(space=...\)"),
    ],
)
def test_unsupported_domains(domain: Any, words: str) -> None:
    search = AutoBCTSearch(price=0.01)
    with pytest.raises(ValueError, match=words):
        search.set_search_properties("score", "max", {"p": domain})


@pytest.mark.parametrize(
    ("keywords", "kind", "words"),
    [
        ({}, TypeError, "needs a price"),
        ({"price": -1.0}, ValueError, "price must be positive"),
        ({"price": 1.0, "direction": "minimize"}, TypeError, "mode="),
        ({"price": 1.0, "deadline": "1h"}, TypeError, "time_budget_s"),
        ({"price": 1.0, "max_run": 3}, TypeError, "did you mean 'max_runs'"),
        ({"price": 1.0, "metric": ["a", "b"], "mode": ["max", "min"]}, ValueError, "multi-objective"),
        ({"price": 1.0, "space": Table([{"x": 1}, {"x": 2}])}, ValueError, "cannot be a Table"),
        ({"price": 1.0, "space": {"x": (0, 1)}}, ValueError, "write e.g. Int"),
        ({"price": 1.0, "space": LINE, "guess": {"y": 1}}, ValueError, "y"),
    ],
)
def test_keywords_are_checked_when_it_is_made(keywords: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        AutoBCTSearch(**keywords)


def test_two_metrics_of_the_tuner_are_refused() -> None:
    with pytest.raises(ValueError, match="multi-objective"):
        AutoBCTSearch(price=1.0).set_search_properties(["a", "b"], ["min", "max"], dict(LINE))  # type: ignore[arg-type]


def test_a_search_that_was_not_told_what_to_tune() -> None:
    with pytest.raises(RuntimeError, match="no search space has been defined"):
        AutoBCTSearch(price=1.0, metric="a", mode="max").suggest("a")
    with pytest.raises(RuntimeError, match="`metric`"):
        AutoBCTSearch(LINE, price=1.0).suggest("a")
    with pytest.raises(RuntimeError, match="no search space"):
        AutoBCTSearch(price=1.0).add_evaluated_point({"x": 0.5}, 1.0, cost=1.0)


def test_a_space_that_is_given_twice() -> None:
    search = AutoBCTSearch(LINE, price=1.0)
    assert not search.set_search_properties("score", "max", dict(LINE))
    assert search.set_search_properties("score", "max", {"constant": 3})
    assert isinstance(search.suggest("a"), dict)


@pytest.mark.parametrize(
    ("metric", "mode", "space"),
    [("score", "max", {"x": tune.uniform(0, 2)}), ("score", "min", LINE), ("loss", "max", LINE)],
)
def test_a_space_or_metric_that_changes_mid_run(metric: str, mode: str, space: dict[str, Any]) -> None:
    search = ready()
    played(search, 2)
    assert search.set_search_properties("score", "max", dict(LINE))  # the same is no change
    with pytest.raises(ValueError, match="has changed"):
        search.set_search_properties(metric, mode, dict(space))


def test_points_outside_the_space_and_without_a_cost() -> None:
    search = ready()
    with pytest.raises(ValueError, match=r"cost of an evaluated point is unknown.*cost="):
        search.add_evaluated_point({"x": 0.5}, 1.0)
    with pytest.raises(ValueError, match="not in the search space"):
        search.add_evaluated_point({"x": 1.5}, 1.0, cost=1.0)
    with pytest.raises(ValueError, match="cost must be"):
        search.add_evaluated_point({"x": 0.5}, 1.0, cost=-1.0)


def test_a_metric_that_never_appears() -> None:
    search = ready()
    for trial_id in ("a", "b"):
        search.suggest(trial_id)
        search.on_trial_complete(trial_id, {"accuracy": 0.5, "cost": 1.0})
    with pytest.raises(ValueError, match="No trial has reported the metric `score`"):
        search.suggest("c")


def test_a_metric_that_one_trial_lacks() -> None:
    search = ready()
    played(search, 1)
    for trial_id in ("a", "b"):
        search.suggest(trial_id)
        search.on_trial_complete(trial_id, {"accuracy": 0.5, "cost": 1.0})
    assert isinstance(search.suggest("c"), dict)


def test_a_cost_that_is_not_reported() -> None:
    search = ready()
    search.suggest("a")
    search.on_trial_complete("a", {"score": 0.5})
    with pytest.raises(ValueError, match="reported no cost `cost`"):
        search.suggest("b")


def test_a_trial_of_somebody_else_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    search = ready()
    played(search, 1)
    search.on_trial_complete("unknown", {"score": 0.5, "cost": 1.0})
    search.on_trial_complete("trial-0", {"score": 0.5, "cost": 1.0})
    assert len(search.result().history) == 1
    assert caplog.text.count("ignored") == 2


def test_a_trial_that_the_saved_state_lost_is_known_by_its_configuration() -> None:
    """The driver was killed after Ray wrote its trials and before the searcher wrote its own state."""
    search = ready()
    search.on_trial_complete("lost", {"score": 0.5, "cost": 1.0, "config/x": 0.25})
    assert [(run.params, run.score) for run in search.result().history] == [({"x": 0.25}, 0.5)]


def experiment(folder: Path, **trials: tuple[str, dict[str, Any]]) -> None:
    """What Ray writes of its trials beside a searcher's state."""
    data = [
        [json.dumps({"trial_id": trial_id, "status": status}), json.dumps({"last_result": last})]
        for trial_id, (status, last) in trials.items()
    ]
    (folder / "experiment_state-now.json").write_text(json.dumps({"trial_data": data}))


def test_trials_that_ray_no_longer_runs_are_not_waited_for(tmp_path: Path) -> None:
    search = ready()
    for trial_id in ("ended", "failed", "running", "lost"):
        search.suggest(trial_id)
    search.save_to_dir(str(tmp_path), "now")
    done = {"score": 0.5, "cost": 2.0}
    late = {"cost": 3.0}  # without a score
    experiment(tmp_path, ended=("TERMINATED", done), failed=("ERROR", late), running=("RUNNING", {}))
    again = AutoBCTSearch(price=0.002, cost="cost")
    again.restore_from_dir(str(tmp_path))
    told = [(run.score, run.cost, run.error) for run in again.result().history]
    assert told == [(0.5, 2.0, None), (None, 3.0, "the trial failed")]
    assert list(again._history.pending) == ["running"]


def changed(text: str, *path: Any, to: Any) -> str:
    data = json.loads(text)
    inner = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return json.dumps(data)


DAMAGED: dict[str, Any] = {
    "cut off": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "not JSON": lambda text: "\x80\x04}q\x00.",
    "a list": lambda text: "[]",
    "deep": lambda text: "[" * 100_000,
    "NaN": lambda text: text.replace('"score": 0', '"score": NaN, "x": 0', 1),
    "another format": lambda text: changed(text, "format", to="autobct.ray 2"),
    "one more key": lambda text: changed(text, "code", to="import os"),
    "a mode": lambda text: changed(text, "mode", to="best"),
    "a negative cost": lambda text: changed(text, "runs", 0, "cost", to=-1.0),
    "a cost of text": lambda text: changed(text, "runs", 0, "cost", to="1"),
    "a huge score": lambda text: changed(text, "runs", 0, "score", to=10**400),
    "a score and an error": lambda text: changed(text, "runs", 0, "error", to="failed"),
    "a control outside": lambda text: changed(text, "runs", 0, "control", 0, to=1.5),
    "a short control": lambda text: changed(text, "runs", 0, "control", to=[0.5]),
    "a trial twice": lambda text: changed(text, "runs", 0, "trial", to=1),
    "an id twice": lambda text: changed(text, "runs", 0, "trial_id", to="trial-1"),
    "a trial that is none": lambda text: changed(text, "runs", 0, "trial", to=True),
    "a pending one without id": lambda text: changed(text, "pending", 0, "trial_id", to=""),
    "a decision of text": lambda text: changed(text, "decisions", 0, "value", to="high"),
    "a parameter that is none": lambda text: changed(text, "space", "x", "type", to="Popen"),
    "a parameter with more": lambda text: changed(text, "space", "x", "code", to=1),
    "no space": lambda text: changed(text, "space", to=None),
    "a space of text": lambda text: changed(text, "space", to="x"),
    "a low above high": lambda text: changed(text, "space", "x", "low", to=5.0),
    "a choice that is no value": lambda text: changed(text, "space", "kind", "choices", to={"list": [{"eval": 1}]}),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_saved_file_that_was_damaged(damage: str, tmp_path: Path) -> None:
    path, search = tmp_path / "state.json", ready(MIXED)
    played(search, 2)
    search.suggest("pending")
    search.save(str(path))
    path.write_bytes(DAMAGED[damage](path.read_text()).encode("latin-1"))
    again = AutoBCTSearch(price=0.002, cost="cost")
    with pytest.raises(ValueError, match="is not a saved state of AutoBCTSearch") as refused:
        again.restore(str(path))
    assert "start the search anew" in str(refused.value)
    assert again.decision is None  # nothing of it was taken over


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"space": {"x": tune.uniform(0, 2)}}, "the space has changed"),
        ({"metric": "loss"}, "metric 'score', and this one 'loss'"),
        ({"mode": "min"}, "mode 'max', and this one 'min'"),
        ({"cost": "time_total_s"}, "cost 'cost', and this one 'time_total_s'"),
    ],
)
def test_a_saved_file_of_another_search(other: dict[str, Any], words: str, tmp_path: Path) -> None:
    search = ready()
    played(search, 2)
    search.save(str(tmp_path / "state"))
    with pytest.raises(ValueError, match=words):
        AutoBCTSearch(**{"price": 0.002, "cost": "cost", **other}).restore(str(tmp_path / "state"))


def test_choices_that_json_cannot_hold_come_from_the_given_space(tmp_path: Path) -> None:
    space = {"kind": Categorical([print, len]), "x": Float(0, 1)}
    search = AutoBCTSearch(space, price=0.002, metric="score", mode="max", cost="cost")
    assert search.suggest("a")["kind"] in (print, len)
    search.save(str(tmp_path / "state"))
    again = AutoBCTSearch(space, price=0.002, cost="cost")
    again.restore(str(tmp_path / "state"))
    assert again.suggest("a") == search.suggest("a")
    with pytest.raises(ValueError, match=r"choice \w+ cannot be stored as JSON.*AutoBCTSearch\(space=...\)"):
        AutoBCTSearch(price=0.002, cost="cost").restore(str(tmp_path / "state"))
