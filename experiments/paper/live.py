"""Training for real: the model of each experiment on its data, as `--live` and the recorded tables have it."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autobct.paper.experiment import Experiment, TrainingOutcome
from autobct.paper.play import Trainer
from autobct.tuning.space.space import Space

Training = Callable[[Mapping[str, Any], int], TrainingOutcome]
"""(params, seed) -> what one training came to."""


def training(table: str, data: Path | None, device: str) -> Training:
    """The model behind a table, with its data loaded; FileNotFoundError or DataError, in one sentence, if it cannot be.

    data: the folder, or None for AUTOBCT_DATA;  device: of torch
    """
    kinds = {"synthetic": _forest, "higgs": _collisions, "cnn": _patches, "intel": _scenes, "fraud": _transactions}
    return kinds[table.partition("-")[0]](data, device)


def place_of(table: str, device: str) -> str:
    """Where a model is trained: networks on the device of torch, forests on the processor; ValueError for no device."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    return "cpu" if table in ("synthetic", "higgs") else device


def live_trainer(experiment: Experiment, train: Training, seed: int) -> Trainer:
    """Median score and total seconds of all trainings of a run; same seed, run and training, same result."""

    def run(control: object, params: Mapping[str, Any], number: int) -> TrainingOutcome:
        draws = np.random.SeedSequence((seed, number)).generate_state(experiment.trainings)
        return median_of([train(params, int(draw)) for draw in draws])

    return run


def median_of(outcomes: list[TrainingOutcome]) -> TrainingOutcome:
    """The median score, the total time, the medians of the other columns."""
    names = outcomes[0].extra
    return TrainingOutcome(
        statistics.median(outcome.score for outcome in outcomes),
        math.fsum(outcome.seconds for outcome in outcomes),
        {name: statistics.median(outcome.extra[name] for outcome in outcomes) for name in names},
    )


def live_factor(experiment: Experiment, train: Training) -> float:
    """The paper's minutes per minute of this machine, from one run at the control whose cost the paper tells.

    A training before it is not timed: the first also pays for waking the library up.
    """
    control = np.array(experiment.cost.control)
    params = {**experiment.fixed, **Space.of(experiment.space).params(control)}
    train(params, 0)
    return experiment.cost.factor(live_trainer(experiment, train, 0)(control, params, 0).seconds)


def _forest(data: Path | None, device: str) -> Training:
    from autobct.paper import synthetic_forest as synthetic

    points = synthetic.draw_data(0)
    return lambda params, seed: TrainingOutcome(*synthetic.forest_trainer(points, seed=seed)(dict(params), 0))


def _collisions(data: Path | None, device: str) -> Training:
    from experiments.paper import higgs
    from experiments.paper.data.files import data_folder
    from experiments.paper.data.higgs import HOW, load_collisions

    collisions = load_collisions(data_folder(data, HOW))
    return lambda params, seed: higgs.train(params, seed, collisions)


def _patches(data: Path | None, device: str) -> Training:
    from experiments.paper import cnn
    from experiments.paper.data.files import data_folder
    from experiments.paper.data.patches import HOW, load_patches
    from experiments.paper.device import device_named

    place = device_named(device)
    loaded = cnn.load(load_patches(data_folder(data, HOW)), place)
    return lambda params, seed: cnn.train(params, seed, loaded, place)


def _scenes(data: Path | None, device: str) -> Training:
    from experiments.paper import scenes
    from experiments.paper.data.files import data_folder
    from experiments.paper.data.scenes import HOW, load_scenes
    from experiments.paper.device import device_named

    place = device_named(device)
    loaded = scenes.load(load_scenes(data_folder(data, HOW)), place)
    return lambda params, seed: scenes.train(dict(params), seed, loaded, place)


def _transactions(data: Path | None, device: str) -> Training:
    from experiments.paper import autoencoder
    from experiments.paper.data.files import data_folder
    from experiments.paper.data.fraud import HOW, load_transactions
    from experiments.paper.device import device_named

    place = device_named(device)
    loaded = autoencoder.load(load_transactions(data_folder(data, HOW)), place)

    def train(params: Mapping[str, Any], seed: int) -> TrainingOutcome:
        whole = {**params, "code": math.floor(params["code"] + 0.5)}  # round(9 u_2 + 1)
        return autoencoder.train(whole, seed, loaded, place)

    return train
