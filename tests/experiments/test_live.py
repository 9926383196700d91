"""Training for real, on small generated data of the shape of the paper's: from data to summary."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.experiments import paper_data
from typer.testing import CliRunner, Result

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

from experiments.paper.live import live_factor, live_trainer, median_of, training
from experiments.paper.reproduce import app

from autobct.paper import synthetic_forest as synthetic
from autobct.paper.experiment import Experiment, TrainingOutcome
from autobct.paper.experiments import EXPERIMENTS
from autobct.paper.play import opening, paper_player
from autobct.tuning.space.parameter import Int

TORCH = ("cnn", "intel", "fraud")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As few images as there can be: a run is five trainings, and the scenes' networks are large."""
    made, rng = paper_data.write_all(tmp_path_factory.mktemp("data")), np.random.default_rng(1)
    np.savez(made / "idc_50x50.npz", **paper_data.patches(rng, patients=20, each=3))
    np.savez(made / "intel_32x32.npz", **paper_data.scenes(rng, count=12))
    return made


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = synthetic.draw_data
    monkeypatch.setattr(synthetic, "draw_data", lambda seed: whole(seed, (300, 200)))


def short(one: Experiment) -> Experiment:
    """Two epochs at most, and where each takes a second, at a price at which one run is enough."""
    if not one.table.startswith("intel"):
        return one
    high = 5.0 if one.table == "intel-resnet50" else one.price
    return replace(one, space={"epochs": Int(1, 2)}, price=high)


def on_numpy(one: Experiment) -> bool:
    return not one.table.startswith(TORCH)


@pytest.mark.parametrize("one", [*filter(on_numpy, EXPERIMENTS.values())], ids=lambda one: one.name)
def test_every_experiment_trains_and_stops(one: Experiment, folder: Path) -> None:
    trains_and_stops(one, folder)


@pytest.mark.heavy
@pytest.mark.parametrize("one", [*itertools.filterfalse(on_numpy, EXPERIMENTS.values())], ids=lambda one: one.name)
def test_every_experiment_with_networks_trains_and_stops(one: Experiment, folder: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    trains_and_stops(one, folder)


def trains_and_stops(one: Experiment, folder: Path) -> None:
    one = short(one)
    train = training(one.table, folder, "cpu")
    factor = live_factor(one, train)
    played, _ = opening(one, paper_player(one.method, one.dim)).play(live_trainer(one, train, 0), factor)
    assert played.lines
    assert all(np.isfinite([line.score, line.cost]).all() and line.outcome.seconds > 0 for line in played.lines)
    assert played.why.startswith("Stopped after")


def test_seed_run_and_training_decide_the_result(folder: Path) -> None:
    one = EXPERIMENTS["higgs"]
    train = training("higgs", folder, "cpu")
    params = {"share": 0.05}

    def scores(seed: int, run: int) -> float:
        return live_trainer(one, train, seed)(np.array([0.5]), params, run).score

    assert scores(0, 1) == scores(0, 1)
    assert len({scores(seed, run) for seed in (0, 1) for run in (0, 1)}) > 1


def test_the_median_score_and_the_total_time() -> None:
    outcomes = [TrainingOutcome(score, 2.0, {"recall": 1 - score}) for score in (0.3, 0.9, 0.5)]
    assert median_of(outcomes) == TrainingOutcome(0.5, 6.0, {"recall": 0.5})


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_live_on_the_command_line(folder: Path, tmp_path: Path) -> None:
    done = run("higgs", "--data", folder, "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    assert "Trained now, on cpu." in done.stdout
    assert "paper, one run" in done.stdout
    assert (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("name", "spoil", "words"),
    [
        ("higgs", lambda folder: (folder / "HIGGS.csv.gz").unlink(), "HIGGS.csv.gz"),
        ("higgs", lambda folder: (folder / "HIGGS.csv.gz").write_bytes(b"half"), "HIGGS.csv.gz"),
    ],
)
def test_data_that_cannot_be_used_is_one_sentence(tmp_path: Path, name: str, spoil: object, words: str) -> None:
    paper_data.write_all(tmp_path)
    spoil(tmp_path)  # type: ignore[operator]
    done = run(name, "--data", tmp_path, "--json", tmp_path / "out.json")
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output
    assert not (tmp_path / "out.json").exists()


def test_live_runs_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def forest(params: dict[str, int], seed: int) -> TrainingOutcome:
        return TrainingOutcome(1.0 - 0.1 / params["n_estimators"], 0.01 * params["n_estimators"])

    monkeypatch.setattr("experiments.paper.live.training", lambda table, data, device: forest)
    done = run("synthetic-otf", "--seeds", 2, "--device", "cuda")
    assert done.exit_code == 0, done.output
    assert "Trained now, on cpu." in done.stdout  # forests know no other place
    told = done.stderr.splitlines()
    assert re.fullmatch(r"seed 0, run 1: n_estimators \d+: score 0\.9\d+ in 0\.\d+ s", told[0])
    assert {line.split(",")[0] for line in told} == {"seed 0", "seed 1"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("higgs", "--data", "nowhere"), "the data folder 'nowhere' does not exist"),
        (("higgs", "--data", "nowhere"), "download https://archive.ics.uci.edu/dataset/280/higgs"),
        (("higgs", "--device", "tpu"), "device must be 'cpu' or 'cuda', got 'tpu'"),
        (("iris",), "no experiment is called 'iris'; there are: synthetic-map-2"),
    ],
)
def test_bad_arguments_end_with_two(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output
