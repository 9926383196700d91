"""What came of a Ray trial: its score, its cost, or why it has none."""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ray.tune.utils import flatten_dict

from autobct.tuning.space.space import Space

__all__ = ["ENDED", "Reported", "outcome_of", "params_in", "ray_trials"]

ENDED = ("TERMINATED", "ERROR")
"""What Ray calls the state of a trial that will not go on."""


@dataclass(frozen=True, slots=True)
class Reported:
    """score: None if there is none;  cost: None if none was reported;  error: why there is no score."""

    score: float | None
    cost: float | None
    error: str | None = None
    reported: bool = True  # whether the metric was there at all


def outcome_of(result: Mapping[str, Any], metric: str, cost: str) -> Reported:
    """Of a result as Ray flattens it."""
    spent: Any = result.get(cost)
    taken = float(spent) if _is_number(spent) and math.isfinite(spent) and spent >= 0 else None
    if metric not in result:
        return Reported(None, taken, f"the trial reported no `{metric}`", reported=False)
    value = result[metric]
    if not _is_number(value) or not math.isfinite(value):
        return Reported(None, taken, f"`{metric}` was {value!r}")
    return Reported(float(value), taken)


def params_in(result: Mapping[str, Any], space: Space) -> dict[str, Any]:
    """The values of a trial in its result, which repeats its configuration."""
    return {name: result[f"config/{name}"] for name in space.names if f"config/{name}" in result}


def ray_trials(folder: str) -> dict[str, tuple[str, dict[str, Any]]] | None:
    """What Ray has written of its trials beside a search: id -> (status, last result); None if it cannot be read."""
    found = glob.glob(os.path.join(folder, "experiment_state-*.json"))
    if not found:
        return None
    try:
        with open(max(found), encoding="utf-8") as file:
            pairs = json.load(file)["trial_data"]
        states = [(json.loads(state), json.loads(metadata)) for state, metadata in pairs]
        return {s["trial_id"]: (s["status"], flatten_dict(dict(m.get("last_result") or {}))) for s, m in states}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
