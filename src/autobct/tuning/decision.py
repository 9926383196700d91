"""What to do next, as data that says why.  All numbers are in the user's own units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from autobct.belief.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Train:
    """Train a model with these params next, and `tell` what came of it.

    trial:          number of this run, from 0; what `tell` wants back
    control:        (p,) the params in the unit cube   (u)
    expected_gain:  what this run, and what may follow from it, is expected to add to the final score; the chance that
                    it finishes included
    expected_cost:  expected cost of this run
    price_of_run:   what that cost is worth in score, the fixed overhead of a run included; spent if it fails, too
    expected_score: believed score of a model with these params
    value:          expected final score minus the price of all further runs when going on   (V); where no other run
                    is under way it is stop_value + expected_gain - price_of_run (minus and plus for a loss)
    stop_value:     the best alternative: the score in hand when stopping now; None before the first finished run
    overhead:       the part of price_of_run that is fixed, whatever the run costs
    note:           what else there is to know, told once: a range that was left, a model alarm
    """

    trial: int
    params: Mapping[str, Any]
    control: Array
    expected_gain: float
    expected_cost: float
    price_of_run: float
    expected_score: float
    value: float
    stop_value: float | None
    overhead: float = 0.0
    note: str = ""

    @property
    def why(self) -> str:
        """One sentence with numbers, and the note if there is one."""
        return f"{self._sentence} {self.note}".rstrip()

    @property
    def _sentence(self) -> str:
        stated = ", ".join(f"{name}={short(value)}" for name, value in self.params.items())
        if self.stop_value is None:
            return (
                f"Train {stated}: nothing is in hand yet, and this run is expected to score "
                f"{self.expected_score:.3g} for a cost of {self.expected_cost:.3g}."
            )
        return (
            f"Train {stated}: it is expected to gain {self.expected_gain:.3g} for a cost worth {self.price_of_run:.3g}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """Stop tuning.

    reason:           "not worth it", "nothing to gain", "max_runs", "max_cost", "deadline", "horizon", "failing",
                      "nothing left"; of programs also "same failure" and "no score"
    runs:             runs made so far   (tau)
    value:            the estimated score of the best model so far; None if no run finished
    best_alternative: the next run with the highest priority, which is not worth its price or gains nothing
    left, cheapest:   at a limit of cost: what is left, and what the cheapest next run may well cost
    note:             what else there is to know, told once
    """

    reason: str
    runs: int
    value: float | None
    best_alternative: Train | None = None
    left: float | None = None
    cheapest: float | None = None
    note: str = ""

    @property
    def why(self) -> str:
        """One sentence with numbers, and the note if there is one."""
        return f"{self._sentence} {self.note}".rstrip()

    @property
    def _sentence(self) -> str:
        head = f"Stopped after {self.runs} run{'s' if self.runs != 1 else ''}: "
        if self.reason == "not worth it" and self.best_alternative is not None:
            best = self.best_alternative
            fixed = f", {best.overhead:.3g} of it fixed" if best.overhead > best.price_of_run / 2 else ""
            return f"{head}the best next run would {_gains(best)} and cost {best.price_of_run:.3g}{fixed}."
        if self.reason == "nothing to gain" and self.best_alternative is not None:
            gain = max(self.best_alternative.expected_gain, 0.0)
            return f"{head}there is nothing more to gain; the best next run would add {gain:.1g} to the score."
        if self.left is not None and self.cheapest is not None:
            of = "until the deadline" if self.reason == "deadline" else f"of {self.reason}"
            left = f"{max(self.left, 0.0):.3g} is left {of}"
            return f"{head}the cheapest next run may well cost {self.cheapest:.3g}, and {left}."
        return head + _REASONS[self.reason]


_REASONS = {
    "not worth it": "no further run is worth its price.",
    "nothing to gain": "there is nothing more to gain.",
    "max_runs": "that is as many as max_runs allows.",
    "max_cost": "nothing is left of max_cost.",
    "deadline": "the deadline has come.",
    "horizon": "that is as many as the exact method's horizon allows.",
    "failing": "the last ten all failed, so the fault is likely not in the params.",
    "nothing left": "every candidate has failed.",
    "same failure": "the first runs failed with the same error, so the bug is probably in the program.",
    "no score": "the program ended normally but printed no score.",
}

Decision = Train | Stop

_NOTHING = 1e-4  # of the price of a run: what is less is nothing beside it, or rounding of a map's single precision


def _gains(run: Train) -> str:
    """Without recall the next model replaces the one in hand, so that a run may be expected to lose score."""
    gain = run.expected_gain
    if abs(gain) < max(1e-12, _NOTHING * run.price_of_run):
        return "gain nothing"
    return f"gain {gain:.3g}" if gain > 0 else f"lose {-gain:.3g}"


def short(value: object) -> str:
    """A parameter's value as a person would write it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
