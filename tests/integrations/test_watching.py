"""MLflow, TensorBoard and Weights & Biases against local stores, read back with their own tools."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from autobct import Float, tune

SPACE: dict[str, Any] = {"x": Float(0, 1), "y": Float(0, 1)}


def train(params: dict[str, Any]) -> tuple[float, float]:
    if params["x"] > 0.8:
        raise ValueError("diverged")
    return 0.9 - (params["x"] - 0.3) ** 2 - (params["y"] - 0.6) ** 2, 1.0 + params["x"]


def watched(callback: Any) -> Any:
    return tune(train, SPACE, price=0.01, callbacks=[callback], guess={"x": 0.9})


@pytest.mark.heavy
def test_mlflow_has_a_nested_run_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow-skinny")
    from autobct.integrations.mlflow import MLflowCallback

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # many seconds quicker to set up than a database
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    mlflow.set_experiment("tuning")
    with mlflow.start_run(run_name="all") as above:
        result = watched(MLflowCallback(tags={"by": "test"}))
    found = mlflow.search_runs(experiment_names=["tuning"], output_format="list")
    below = [run for run in found if run.data.tags.get("mlflow.parentRunId") == above.info.run_id]
    below.sort(key=lambda run: int(run.info.run_name.removeprefix("run ")))
    assert [run.data.metrics.get("score") for run in below] == [run.score for run in result.history]
    assert [run.data.metrics["cost"] for run in below] == [run.cost for run in result.history]
    assert [float(run.data.params["x"]) for run in below] == [run.params["x"] for run in result.history]
    failed = [run.info.status == "FAILED" for run in below]
    assert failed == [run.error is not None for run in result.history]
    assert any(failed)
    [top] = [run for run in found if run.info.run_id == above.info.run_id]
    assert top.data.metrics["best_score"] == result.score
    assert top.data.tags["autobct.why"] == result.why
    assert {run.data.tags["by"] for run in below} == {"test"}


@pytest.mark.heavy
def test_tensorboard_has_the_curves(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from autobct.integrations.tensorboard import TensorBoardCallback

    result = watched(TensorBoardCallback(tmp_path))
    read = EventAccumulator(str(tmp_path)).Reload()
    costs = read.Scalars("cost")
    assert [event.step for event in costs] == list(range(1, len(result.history) + 1))
    assert [event.value for event in costs] == pytest.approx([run.cost for run in result.history])
    scores = [run.score for run in result.history if run.score is not None]
    assert [event.value for event in read.Scalars("score")] == pytest.approx(scores)
    assert read.Scalars("result/best_score")[-1].value == pytest.approx(result.score)
    assert "params/x" in read.Tags()["scalars"]


@pytest.mark.heavy
def test_wandb_offline_has_a_step_for_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb", reason="needs wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    from autobct.integrations.wandb import WandbCallback

    with wandb.init(project="tuning", mode="offline", dir=str(tmp_path)) as run:
        result = watched(WandbCallback())
        assert wandb.run is run  # it was not ours to finish
        assert run.step >= len(result.history)
        assert run.summary["best_score"] == result.score
        assert run.summary["why"] == result.why
        assert run.summary["cost"] == result.history[-1].cost
    assert list(tmp_path.glob("wandb/offline-run-*/*.wandb"))


@pytest.mark.parametrize("name", ["mlflow", "tensorboard", "wandb"])
def test_without_the_library_it_says_what_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (name, "tensorboard.compat.proto.event_pb2"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"autobct.integrations.{name}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'autobct\[{name}\]'"):
        importlib.import_module(f"autobct.integrations.{name}")
