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
    believed: the estimated score at its params after this run
    """

    trial: int
    params: Mapping[str, Any]
    control: Array
    score: float | None
    cost: float
    error: str | None
    believed: float


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know about a run, told once.

    run:    its place in the history, from 0
    about:  "score" or "cost", whichever left its range; "width" of a score range that is far too wide; "price", where a
            percent may not be 0.01
    """

    run: int
    about: str
    text: str
