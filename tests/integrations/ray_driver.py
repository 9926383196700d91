"""A driver of Ray Tune in a process of its own, to be killed: python ray_driver.py ADDRESS FOLDER."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune
from tests.integrations.ray_cases import LINE, outcome

from autobct.integrations.ray import AutoBCTSearch

pytestmark = pytest.mark.heavy  # as the tests that import it

BEFORE = 3
"""Trials that end before the driver is killed; the next one waits for a file named go."""


def trainable(config: dict[str, Any]) -> None:
    """Report score and cost; from the fourth trial on, wait for the file."""
    folder = Path(config["folder"])
    while len(list(folder.glob("done-*"))) >= BEFORE and not (folder / "go").exists():
        time.sleep(0.05)
    score, cost = outcome(config)
    tune.report({"score": score, "cost": cost})
    (folder / f"done-{config['x']!r}").touch()


def tuner(folder: Path, search: AutoBCTSearch) -> tune.Tuner:
    """One trial at a time, in a folder."""
    chosen = {"metric": "score", "mode": "max", "num_samples": -1, "max_concurrent_trials": 1, "reuse_actors": True}
    return tune.Tuner(
        trainable,
        param_space={**LINE, "folder": str(folder)},
        tune_config=tune.TuneConfig(search_alg=search, **chosen),
        run_config=tune.RunConfig(name="killed", storage_path=str(folder / "results"), verbose=0),
    )


if __name__ == "__main__":
    ray.init(address=sys.argv[1], log_to_driver=False)
    tuner(Path(sys.argv[2]), AutoBCTSearch(price=1e-4, cost="cost")).fit()
