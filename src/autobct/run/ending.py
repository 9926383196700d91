"""How a tuning of a program ended: its exit code, and the summary that scripts read."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from autobct.run.process import NOT_STARTED
from autobct.tuning.history import Decision, Stop
from autobct.tuning.statement import versions
from autobct.tuning.tuner import Tuner

RESULT = "result.json"
"""The file with the summary, in the folder of the tuning."""

CAPS = ("max_runs", "max_cost", "deadline")
"""Reasons to stop that are limits."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a tuning ended, for now.  stop: None if it was interrupted."""

    tuner: Tuner
    decisions: tuple[Decision, ...]
    stop: Stop | None

    @property
    def code(self) -> int:
        """The exit code: 0 not worth it, 1 gave up or could not start, 3 no run finished, 4 a cap, 130 interrupted."""
        if self.stop is None:
            return 130
        if self.tuner.best is None:
            return 3
        if self.stop.reason in CAPS:
            return 4
        return 1 if self.stop.reason in ("failing", NOT_STARTED) else 0

    @property
    def summary(self) -> bytes:
        """result.json: what a script wants to know."""
        best, stop = self.tuner.best, self.stop
        summary = {
            "params": None if best is None else dict(best.params),
            "score": None if best is None else best.score,
            "run": None if best is None else best.trial + 1,
            "runs": len(self.tuner.history),
            "cost": math.fsum(run.cost for run in self.tuner.history),
            "total_cost": self.tuner.total_cost,
            "reason": None if stop is None else stop.reason,
            "why": None if stop is None else stop.why,
            "exit_code": self.code,
            "versions": versions(),
        }
        return (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()
