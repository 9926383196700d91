"""Runs that a host has made, as a tuner can learn from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autobct.belief.arrays import Array
from autobct.tuning.history import Run
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner

__all__ = ["control_of", "learnable"]


def control_of(space: Space, params: Mapping[str, Any]) -> Array | None:
    """The control of a host's values; None if they do not make a point of the space."""
    constants = {n: p.value(0) for n, p in zip(space.names, space.parameters, strict=True) if p.count == 1}
    try:
        return space.control({name: params[name] for name in space.names if name in params} | constants)
    except (TypeError, ValueError):
        return None


def learnable(tuner: Tuner, run: Run) -> Run:
    """The run, or a failed one where a score cannot be on the scale: zero on a log scale."""
    if run.score is None:
        return run
    try:
        tuner.memory.problem.score_observed(run.score)
    except ValueError as wrong:
        return Run(
            trial=run.trial,
            params=run.params,
            control=run.control,
            score=None,
            cost=run.cost,
            error=str(wrong),
            estimated_score=run.estimated_score,
        )
    return run
