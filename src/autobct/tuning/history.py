"""Decisions that say why, and runs, as frozen records in the user's units."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autobct.belief.arrays import Array
from autobct.deprecation import renamed
from autobct.tuning.visible import visible

_NOTHING = 1e-4  # of the price of a run: what is less is nothing beside it, or rounding of a map's single precision


@dataclass(frozen=True, slots=True, eq=False)
class Train:
    """Train a model with these params next, then report the outcome with `tell`.

    trial:          number of this run, from 0; `tell` takes it back
    control:        (p,) the params in the unit cube   (u)
    expected_gain:  what this run, and the runs that may follow it, are expected to add to the final score, weighted
                    with the probability that the run finishes
    expected_cost:  expected cost of this run
    price_of_run:   what that cost is worth in score, including the fixed overhead of a run; also spent if it fails
    expected_score: estimated score of a model with these params
    value:          value of continuing: expected final score minus the price of all further runs, plus it for a loss
                    (V); if no other run is under way, stop_value + expected_gain - price_of_run, or for a loss
                    stop_value - expected_gain + price_of_run
    stop_value:     estimated score of the best so far, the value of stopping now; None until a run has finished
    overhead:       the fixed part of price_of_run, independent of the cost of the run
    note:           a message shown once: a score or cost outside its range, or a model alarm
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
        """The reason in one sentence with its numbers, followed by the note if there is one."""
        return f"{self._sentence} {self.note}".rstrip()

    @property
    def _sentence(self) -> str:
        stated = ", ".join(f"{name}={short(value)}" for name, value in self.params.items())
        if self.stop_value is None:
            return (
                f"Train {stated}: no run has finished yet, and this one is expected to score "
                f"{self.expected_score:.3g} at a cost of {self.expected_cost:.3g}."
            )
        return (
            f"Train {stated}: it is expected to gain {self.expected_gain:.3g} for a cost worth {self.price_of_run:.3g}."
        )


@dataclass(frozen=True, slots=True, eq=False)
class Stop:
    """Stop tuning.

    reason:           "not worth it", "nothing to gain", "max_runs", "max_cost", "deadline", "horizon", "failing",
                      "nothing left"; for programs also "same failure", "no score" and "not started"
    runs:             number of runs so far   (tau)
    value:            estimated score of the best so far; None if no run has finished
    best_alternative: the next run with the highest priority, which is not worth its price or gains nothing
    left, cheapest:   at a cost limit: the cost that is left, and what the cheapest next run is likely to cost at most
    note:             a message shown once
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
        """The reason in one sentence with its numbers, followed by the note if there is one."""
        return f"{self._sentence} {self.note}".rstrip()

    @property
    def _sentence(self) -> str:
        head = f"Stopped after {self.runs} run{'s' if self.runs != 1 else ''}: "
        if self.reason == "not worth it" and self.best_alternative is not None:
            best = self.best_alternative
            fixed = (
                f", including a fixed overhead of {best.overhead:.3g}" if best.overhead > best.price_of_run / 2 else ""
            )
            return f"{head}the best next run would {_gains(best)} and cost {best.price_of_run:.3g}{fixed}."
        if self.reason == "nothing to gain" and self.best_alternative is not None:
            gain = max(self.best_alternative.expected_gain, 0.0)
            return f"{head}there is nothing more to gain; the best next run would add {gain:.1g} to the score."
        if self.left is not None and self.cheapest is not None:
            of = "before the deadline" if self.reason == "deadline" else f"of {self.reason}"
            left = f"only {max(self.left, 0.0):.3g} is left {of}"
            return f"{head}the cheapest next run may cost up to {self.cheapest:.3g}, and {left}."
        return head + REASONS[self.reason]


REASONS = {
    "not worth it": "no further run is worth its price.",
    "nothing to gain": "there is nothing more to gain.",
    "max_runs": "max_runs is reached.",
    "max_cost": "max_cost is used up.",
    "deadline": "the deadline has passed.",
    "horizon": "the horizon of the exact method is reached.",
    "failing": "the last ten runs all failed, so the params are probably not the cause.",
    "nothing left": "every candidate has failed.",
    "same failure": "the first runs failed with the same error, so the bug is probably in the program.",
    "not started": "the program could not be started; run the same command when it is back.",
    "no score": "the program ended normally but printed no score.",
}

Decision = Train | Stop


def run_if_continued(decision: Decision | None) -> Train | None:
    """The run with which the tuning goes on, or would: the best alternative to a stop; None if there is none."""
    return decision.best_alternative if isinstance(decision, Stop) else decision


def value_of_continuing(decision: Decision | None) -> float | None:
    """V: the value of continuing, whether or not that was decided; None where it is not known."""
    run = run_if_continued(decision)
    return None if run is None else run.value


def what_continuing_is_worth(direction: str) -> str:
    """The value of continuing in words; a price makes a loss larger."""
    return f"expected final score {'plus' if direction == 'minimize' else 'minus'} the price of all further runs"


def _gains(run: Train) -> str:
    """Without recall the next model replaces the incumbent, so a run may be expected to lose score."""
    gain = run.expected_gain
    if abs(gain) < max(1e-12, _NOTHING * run.price_of_run):
        return "gain nothing"
    return f"gain {gain:.3g}" if gain > 0 else f"lose {-gain:.3g}"


def short(value: object) -> str:
    """A parameter's value as a person would write it."""
    return f"{value:.4g}" if isinstance(value, float) else visible(str(value))


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
