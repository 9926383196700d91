"""On a real Ray: a local one with two workers, a driver that is killed, and a cluster that loses one of two nodes."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray.tune", reason="Ray is not installed: pip install 'autobct[ray]'")

import ray
from ray import tune
from ray.cluster_utils import Cluster
from ray.tune.error import TuneError
from ray.tune.search import Searcher
from tests.integrations import ray_driver
from tests.integrations.ray_cases import LINE, MIXED, SAME, flat, outcome

import autobct
from autobct import Float
from autobct.integrations.ray import AutoBCTSearch, tune_on_ray

pytestmark = [pytest.mark.heavy, pytest.mark.xdist_group("ray")]

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join([str(ROOT), str(ROOT / "src")])
QUIET: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
SOON = {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500}  # notice early that a node is dead
PATIENCE = 60.0  # seconds until something that never comes is given up


@pytest.fixture(scope="module", autouse=True)
def surroundings() -> Iterator[None]:
    """Workers find the tests; state is written often; nothing is sent anywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", PATHS)
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("TUNE_GLOBAL_CHECKPOINT_S", "0.1")
        patch.delenv("RAY_ADDRESS", raising=False)
        yield
        ray.shutdown()


@pytest.fixture
def address() -> str:
    """Of a Ray with two workers, which the tests of this file share."""
    if not ray.is_initialized():
        ray.init(address="local", num_cpus=2, **QUIET)
    return str(ray.get_runtime_context().gcs_address)


def wait_for(what: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def mixed(config: dict[str, Any]) -> None:
    """Score and cost of MIXED; no number, and an error, at some places."""
    score, cost = outcome(flat(config))
    if config["kind"] == "c":
        score = float("nan")
    tune.report({"score": score, "cost": cost})


def fitted(
    search: AutoBCTSearch, trainable: Any, space: dict[str, Any], folder: Path, failures: int = 0, **more: Any
) -> tune.ResultGrid:
    """The whole experiment.  failures: how often a trial is started again."""
    chosen = {"metric": "score", "mode": "max", "num_samples": -1, "reuse_actors": True}
    return tune.Tuner(
        trainable,
        param_space=space,
        tune_config=tune.TuneConfig(search_alg=search, **{**chosen, **more}),
        run_config=tune.RunConfig(
            name="run", storage_path=str(folder), failure_config=tune.FailureConfig(max_failures=failures), verbose=0
        ),
    ).fit()


def test_twelve_trials_on_ray_are_the_decisions_of_tune(address: str, tmp_path: Path) -> None:
    """Also where some of them report NaN."""

    def train(params: dict[str, Any]) -> tuple[float, float]:
        score, cost = outcome(params)
        return (float("nan") if params["kind"] == "c" else score), cost

    told = autobct.tune(train, SAME, price=1e-5, seed=3, max_runs=12)
    search = AutoBCTSearch(price=1e-5, seed=3, max_runs=12, cost="cost")
    grid = fitted(search, mixed, MIXED, tmp_path, max_concurrent_trials=1)
    assert len(grid) == 12
    assert [dict(run.params) for run in search.result().history] == [dict(run.params) for run in told.history]
    assert search.result().why == told.why
    assert any(run.score is None for run in told.history)
    assert all(result.config is not None and result.config["batch"] == 32 for result in grid)

    again = AutoBCTSearch(price=1e-5, seed=3, cost="cost")  # and another search learns from the experiment
    again.set_search_properties("score", "max", dict(MIXED))
    again.add_evaluated_trials(tune.ExperimentAnalysis(str(tmp_path / "run")), "score")
    known = {(run.params["x"], run.score, run.cost) for run in told.history}
    assert {(run.params["x"], run.score, run.cost) for run in again.result().history} == known


def test_the_same_tune_on_ray(address: str) -> None:
    told = autobct.tune(outcome, SAME, price=1e-5, seed=3, max_runs=12)
    found = tune_on_ray(outcome, SAME, price=1e-5, seed=3, max_runs=12, concurrent=1)
    assert [dict(run.params) for run in found.history] == [dict(run.params) for run in told.history]
    assert [made.why for made in found.decisions] == [made.why for made in told.decisions]
    assert (found.params, found.score, found.why) == (told.params, told.score, told.why)


def test_runs_side_by_side_are_timed_on_their_workers(address: str) -> None:
    def slow(params: dict[str, Any]) -> float:
        time.sleep(0.2)
        return outcome(params)[0]

    events: list[Any] = []
    told: Any = {"price": "0.002 per 1s", "cost_range": (0.1, 1.0)}  # without a range, one comes first
    found = tune_on_ray(slow, {"x": Float(0, 1)}, callbacks=[lambda t, event: events.append(event)], **told)
    begun = [isinstance(event, autobct.Train) for event in events if isinstance(event, autobct.Train | autobct.Run)]
    assert begun[:3] == [True, True, False]  # the cluster has room for two
    assert all(run.cost >= 0.2 for run in found.history)
    assert isinstance(found.decisions[-1], autobct.Stop)
    assert events[-1] is found.decisions[-1]


def test_errors_in_a_worker_are_those_of_tune(address: str) -> None:
    class UnsendableError(Exception):
        def __init__(self, first: str, second: str) -> None:
            super().__init__(first)

    def broken(params: dict[str, Any]) -> float:
        raise UnsendableError("no such file", "")

    def sometimes(params: dict[str, Any]) -> tuple[float, float]:
        if params["x"] > 0.6:
            raise ValueError("too large")
        return outcome(params)

    with pytest.raises(autobct.TuningError, match="both failed with UnsendableError: no such file") as refused:
        tune_on_ray(broken, {"x": Float(0, 1)}, price=0.01, concurrent=1)
    assert "no such file" in str(refused.value.__cause__)
    found = tune_on_ray(sometimes, {"x": Float(0, 1)}, price=1e-4, concurrent=1)
    told = autobct.tune(sometimes, {"x": Float(0, 1)}, price=1e-4)
    assert [(run.params["x"], run.score, run.error) for run in found.history] == [
        (run.params["x"], run.score, run.error) for run in told.history
    ]
    assert any(run.error == "ValueError: too large" for run in found.history)


def silent(config: dict[str, Any]) -> None:
    """Reports nothing."""


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (tune.uniform(0, 1), "No trial has reported the metric `score` so far"),
        (tune.randn(0, 1), "does not support parameters of type `Float` with samplers of type `Normal`"),
    ],
)
def test_what_cannot_be_ends_the_experiment_with_a_sentence(
    domain: Any, words: str, address: str, tmp_path: Path
) -> None:
    with pytest.raises((ValueError, TuneError)) as ended:
        fitted(AutoBCTSearch(price=1e-4), silent, {"x": domain}, tmp_path, max_concurrent_trials=1)
    assert words in f"{ended.value} {ended.value.__cause__}"


def known_to_ray(folder: Path) -> int:
    """How many trials Ray would restore; it writes them down from time to time, and later than the searcher."""
    states = sorted(folder.glob("experiment_state-*.json"))
    return len(json.loads(states[-1].read_text() or "{}").get("trial_data", ())) if states else 0


def test_a_driver_that_is_killed_is_restored_and_decides_the_same(address: str, tmp_path: Path) -> None:
    told = autobct.tune(outcome, {"x": Float(0, 1)}, price=1e-4)
    assert len(told.history) > ray_driver.BEFORE + 1
    process = subprocess.Popen([sys.executable, ray_driver.__file__, address, str(tmp_path)], cwd=ROOT)
    states = tmp_path / "results" / "killed"

    def saved() -> bool:
        assert process.poll() is None
        for path in states.glob("searcher-state-*.json"):
            state = json.loads(path.read_text() or "{}")
            return len(state.get("runs", ())) == ray_driver.BEFORE and len(state["pending"]) == 1
        return False

    wait_for(saved)
    process.send_signal(signal.SIGKILL)
    process.wait()
    (tmp_path / "go").touch()
    restored = tune.Tuner.restore(str(states), ray_driver.trainable)
    grid = restored.fit()
    search = AutoBCTSearch(price=1e-4, cost="cost")
    search.restore_from_dir(str(states))
    assert search.suggest("one more") == Searcher.FINISHED
    history = search.result().history
    assert [run.params for run in history] == [run.params for run in told.history]
    assert [run.score for run in history] == [run.score for run in told.history]
    assert search.result().why == told.why
    assert len(grid) == len(told.history)


def test_the_example_runs(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ROOT / "examples" / "ray_tune.py"
    assert len(path.read_text("utf-8").splitlines()) < 40
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert "Stopped after" in capsys.readouterr().out


class Doomed:
    """Two nodes; the second is killed as soon as something trains there."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.node = cluster, cluster.add_node(num_cpus=1)
        self.node_id, self.begun = self.node.node_id, folder / f"begun-{self.node.node_id}"
        cluster.wait_for_nodes()
        self.killer = threading.Thread(target=self.kill)
        self.killer.start()

    def kill(self) -> None:
        wait_for(self.begun.exists)
        self.cluster.remove_node(self.node, allow_graceful=False)

    @property
    def training(self) -> Any:
        """A function that trains for ever on that node; on the other one it waits until that has begun."""
        node_id, begun = self.node_id, self.begun

        def trained(params: dict[str, Any]) -> tuple[float, float]:
            if ray.get_runtime_context().get_node_id() == node_id:
                begun.touch()
                time.sleep(600)
            wait_for(begun.exists)
            return outcome(params)

        return trained


def test_a_cluster_that_loses_a_node_mid_run(tmp_path: Path) -> None:
    """The run of the node that is killed starts again on the other one, in Ray Tune and in tune_on_ray."""
    ray.shutdown()
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False, "_system_config": SOON}
    )
    try:
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        doomed = Doomed(cluster, tmp_path)
        training = doomed.training

        def trainable(config: dict[str, Any]) -> None:
            score, cost = training(config)
            tune.report({"score": score, "cost": cost})

        search = AutoBCTSearch(price=1e-3, cost="cost")
        grid = fitted(search, trainable, dict(LINE), tmp_path / "results", 2, max_concurrent_trials=2)
        doomed.killer.join()
        assert doomed.begun.exists()
        assert isinstance(search.decision, autobct.Stop)
        assert grid.num_errors == 0
        assert [run.error for run in search.result().history] == [None] * len(grid)

        doomed = Doomed(cluster, tmp_path)
        told: Any = {"price": 1e-3, "cost_range": (0.5, 5.0)}  # so that both nodes train from the beginning
        found = tune_on_ray(doomed.training, {"x": Float(0, 1)}, concurrent=2, **told)
        doomed.killer.join()
        assert doomed.begun.exists()
        assert [run.error for run in found.history] == [None] * len(found.history)
        assert isinstance(found.decisions[-1], autobct.Stop)
    finally:
        ray.shutdown()
        cluster.shutdown()
