"""SMAC3's random forest (its facade for hyperparameters, as it comes) as a peer; trained to the cap."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ConfigSpace import Categorical, ConfigurationSpace, Float, Integer
from peer_pipe import serve
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue


def hyperparameter(parameter: Mapping[str, Any]) -> Any:
    if parameter["kind"] == "choice":
        return Categorical(parameter["name"], parameter["choices"])
    kind = Integer if parameter["kind"] == "int" else Float
    return kind(parameter["name"], (parameter["low"], parameter["high"]), log=parameter["log"])


def play(question: dict[str, Any], train: Callable[[Mapping[str, Any]], tuple[float, float]]) -> int:
    space = ConfigurationSpace(seed=question["seed"])
    space.add([hyperparameter(parameter) for parameter in question["space"]])
    high = question["score_range"][1]  # it minimises, and its logarithms want what is positive
    seen: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space,
            deterministic=True,  # a configuration is trained once
            n_trials=question["cap"],
            seed=question["seed"],
            output_directory=Path(folder),
            **question["settings"],
        )
        tuner = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, logging_level=False, overwrite=True
        )
        for _ in range(question["cap"]):
            info = tuner.ask()
            score, cost = train(dict(info.config))
            seen.append(score)
            tuner.tell(info, TrialValue(cost=high - score, time=cost), save=False)
    return seen.index(max(seen))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    serve(play)
