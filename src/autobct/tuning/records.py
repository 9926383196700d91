"""The runs as a table of plain records."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from autobct.tuning.history import Run

__all__ = ["records_of"]


def records_of(history: Sequence[Run], names: Sequence[str]) -> list[dict[str, Any]]:
    """One record for each run, in order.

    run (from 1), score, cost, total_cost (of all runs so far), estimated_score (right after the run), error, and
    `params_NAME` for every parameter; None for what a run does not have
    """
    totals = itertools.accumulate(run.cost for run in history)
    return [
        {
            "run": run.trial + 1,
            "score": run.score,
            "cost": run.cost,
            "total_cost": total,
            "estimated_score": run.estimated_score,
            "error": run.error,
            **{f"params_{name}": run.params.get(name) for name in names},
        }
        for run, total in zip(history, totals, strict=True)
    ]
