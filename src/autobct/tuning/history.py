"""What happened: one run as a frozen record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autobct.belief.arrays import Array


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
