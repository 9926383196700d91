"""What experiment trackers record at the end of a tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autobct.tuning.history import Stop
from autobct.tuning.progress import Event
from autobct.tuning.tuner import Tuner


@dataclass(frozen=True, slots=True)
class Last:
    """The result.  params: of the best run;  numbers: its score, how many runs, what they cost;  why: it stopped."""

    params: Mapping[str, Any]
    numbers: dict[str, float]
    why: str


def logged(tuner: Tuner, event: Event) -> Last | None:
    """The result, if the event is the stop and a run has finished."""
    best = tuner.best
    if not isinstance(event, Stop) or best is None or best.score is None:
        return None
    numbers = {"best_score": best.score, "runs": float(len(tuner.history)), "total_cost": tuner.total_cost}
    return Last(dict(best.params), numbers, event.why)
