"""What happened: one run as a frozen record, and all of them as a table."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autobct.belief.arrays import Array
from autobct.deprecation import renamed


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One finished or failed run, in the user's units.

    score:   the observed score; None if the run failed
    cost:    what it cost, failed or not
    error:   why it failed; None if it did not
    estimated_score: the estimated score at its params after this run
    """

    trial: int
    params: Mapping[str, Any]
    control: Array
    score: float | None
    cost: float
    error: str | None
    estimated_score: float

    @property
    def believed(self) -> float:
        """Deprecated name of `estimated_score`."""
        renamed("Run.believed", "Run.estimated_score", removed_in="0.3")
        return self.estimated_score


@dataclass(frozen=True, slots=True)
class Note:
    """A remark about a run, given once.

    run:    its index in the history, from 0
    about:  "score" or "cost" if it is outside its range; "width" if the score range is far too wide; "price" if a
            percent may not mean 0.01
    """

    run: int
    about: str
    text: str


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
