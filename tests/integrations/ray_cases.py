"""What the tests of the Ray adapter tune."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest
from ray import tune
from ray.tune.search import Searcher

from autobct import Categorical, Float, Int
from autobct.integrations.ray import AutoBCTSearch

pytestmark = pytest.mark.heavy  # as the tests that import it

LINE: dict[str, Any] = {"x": tune.uniform(0, 1)}
MIXED: dict[str, Any] = {
    "x": tune.uniform(0, 1),
    "model": {"rate": tune.loguniform(1e-4, 1), "trees": tune.lograndint(1, 301)},
    "kind": tune.choice(["a", "b", "c"]),
    "batch": 32,
}
SAME: dict[str, Any] = {  # MIXED in autobct's own words
    "x": Float(0, 1),
    "model/rate": Float(1e-4, 1, log=True),
    "model/trees": Int(1, 300, log=True),
    "kind": Categorical(["a", "b", "c"]),
}


def outcome(params: Mapping[str, Any]) -> tuple[float, float]:
    """Score and cost, best near x = 0.3, rate = 0.01; params by their joined names."""
    score = 0.9 - (params["x"] - 0.3) ** 2 - 0.03 * (math.log10(params.get("model/rate", 0.01)) + 2) ** 2
    score += {"a": 0.0, "b": 0.03, "c": -0.05}[params.get("kind", "a")]
    return score, 1.0 + params["x"] + params.get("model/trees", 0) / 100


def flat(config: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration of Ray by joined names."""
    inner = {f"model/{name}": value for name, value in config.get("model", {}).items()}
    return {**{name: value for name, value in config.items() if name != "model"}, **inner}


def ready(space: Mapping[str, Any] | None = None, mode: str = "max", **keywords: Any) -> AutoBCTSearch:
    """A search that Ray has told what to tune."""
    search = AutoBCTSearch(**{"price": 0.002, "cost": "cost", **keywords})
    assert search.set_search_properties("score", mode, dict(LINE if space is None else space))
    return search


def complete(search: Searcher, trial_id: str, config: Mapping[str, Any], sign: float = 1.0) -> None:
    """Train as a trial of Ray would, and report it."""
    score, cost = outcome(flat(config))
    search.on_trial_complete(trial_id, {"score": sign * score, "cost": cost})


def played(search: Searcher, trials: int = 100, start: int = 0, sign: float = 1.0) -> list[dict[str, Any]]:
    """One trial at a time until it is finished, or so many; what was suggested."""
    configs: list[dict[str, Any]] = []
    while len(configs) < trials:
        trial_id = f"trial-{start + len(configs)}"
        config = search.suggest(trial_id)
        if config == Searcher.FINISHED:
            break
        assert isinstance(config, dict)
        configs.append(config)
        complete(search, trial_id, config, sign)
    return configs
