"""What a page tells, whoever tells it: a result, a tuner that is still asking, or the journal of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.report.axis import number
from autobct.report.estimated import LEVELS, Dial, dials, swept
from autobct.tuning.decide.decision import Decision, Train, value_of_continuing
from autobct.tuning.history import Run
from autobct.tuning.model.estimate import Learned, estimated_score, importance, score_quantiles, to_scores
from autobct.tuning.result import WhatIf
from autobct.tuning.units.scale import ScaledProblem

__all__ = ["Story", "run_text"]


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """One tuning, in the user's units where nothing else is said.

    decisions:  what was decided after 0, 1, 2, ... runs, None where nobody wrote it down; the last may be a Stop
    best:       the run whose model to use; None if none finished
    past:       what was known after 0, 1, 2, ... runs, in model units
    unfinished: a sentence where the tuning has not ended
    alarm:      a sentence where the observations are implausible under the belief
    notes:      what else to know, e.g. that a score left its range
    what_if:    what other prices would have done, the lowest first
    charged:    cost that belongs to no run: deciding and launching
    settings:   (name, value) to repeat it
    waited:     seconds on the clock, where the price is one of waiting; None where it pays for all computing
    """

    title: str
    problem: ScaledProblem
    history: tuple[Run, ...]
    decisions: tuple[Decision | None, ...]
    best: Run | None
    past: tuple[Learned, ...]
    why: str
    unfinished: str | None = None
    alarm: str | None = None
    notes: tuple[str, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    charged: float = 0.0
    settings: tuple[tuple[str, str], ...] = ()
    waited: float | None = None

    @property
    def prior(self) -> Learned:
        """What was known before the first run."""
        return self.past[0]

    @property
    def posterior(self) -> Learned:
        """What is known now."""
        return self.past[-1]

    @property
    def sign(self) -> float:
        """1 where a higher score is better, -1 where a lower one is."""
        return -1.0 if self.problem.direction == "minimize" else 1.0

    @property
    def unit(self) -> str:
        """ "s" where the cost is time in seconds, as the price says; "" for units of the user's own."""
        return "s" if self.problem.price.unit else ""

    @property
    def cost_title(self) -> str:
        """The cost on an axis."""
        return f"cost, {self.unit}" if self.unit else "cost"

    @property
    def total_title(self) -> str:
        """The cost so far on an axis."""
        return f"cost so far, {self.unit}" if self.unit else "cost so far"

    def spent(self, cost: float, digits: int = 4) -> str:
        """A cost with its unit."""
        return f"{number(cost, digits)} {self.unit}".rstrip()

    @property
    def scores(self) -> Array:
        """Observed scores (n,), NaN where a run failed."""
        return np.array([np.nan if run.score is None else run.score for run in self.history], dtype=float)

    @property
    def costs(self) -> Array:
        """Costs (n,) of the runs."""
        return np.array([run.cost for run in self.history], dtype=float)

    @property
    def totals(self) -> Array:
        """Costs so far, (n + 1,): before the first run and after each."""
        return np.concatenate([[0.0], np.cumsum(self.costs)])

    @property
    def centre(self) -> Array:
        """The control (p,) through which slices go: that of the model to use, or the candidate thought best."""
        if self.best is not None:
            return self.best.control
        model = self.problem.prior.model
        means = model.score_basis(self.problem.controls) @ self.posterior.belief.score.mean
        return np.asarray(self.problem.controls[int(means.argmax())])

    @property
    def dials(self) -> list[Dial]:
        """The parameters that can be turned there: those that exist."""
        space = self.problem.space
        exists = dict(zip(space.names, space.existing(self.centre[None])[0], strict=True))
        return [dial for dial in dials(space) if exists[dial.name]]

    @property
    def importance(self) -> dict[str, float]:
        """How much each parameter matters, the most important first; nothing before a run has finished."""
        return importance(self.posterior) if self.best is not None else {}

    @property
    def ranked(self) -> list[Dial]:
        """The dials, the most important first."""
        shares = self.importance
        return sorted(self.dials, key=lambda dial: -shares.get(dial.name, 0.0))

    def swept(self, turned: Sequence[Dial], points: int) -> Array:
        """Controls (n, p) through it with one or two dials turned, as `swept` has them; what exists may change."""
        return self.problem.space.canonical(swept(self.centre, turned, points))

    @property
    def estimated_best(self) -> str:
        """The estimated score of the model to use, as the result has it, and half the width of its 68 % interval."""
        low, _, high = score_quantiles(self.posterior, self.centre[None], LEVELS[1:4], noise=False)[:, 0]
        middle = estimated_score(self.posterior, self.centre)
        return f"{number(middle)} ± {number(abs(float(high - low)) / 2, 2)}"

    @property
    def going_on(self) -> Array:
        """Value of continuing after 0, 1, 2, ... runs; NaN where it is not known."""
        return self._of_decisions(value_of_continuing)

    @property
    def incumbent(self) -> Array:
        """The estimated score of the best so far after 0, 1, 2, ... runs; NaN where there is none."""
        decided = self._of_decisions(_incumbent)
        return np.where(np.isfinite(decided), decided, [self._best_of(runs) for runs in range(len(self.past))])

    def _best_of(self, runs: int) -> float:
        """The estimated score of the best of so many runs, or of the last one that finished."""
        finished = [run.control for run in self.history[:runs] if run.score is not None]
        if not finished:
            return float("nan")
        kept = np.stack(finished if self.problem.terms.recall else finished[-1:])
        means = self.problem.prior.model.score_basis(kept) @ self.past[runs].belief.score.mean
        return float(to_scores(self.past[runs], np.asarray(means.max())))

    def _of_decisions(self, read: Any) -> Array:
        told = [read(decision) for decision in self.decisions[: len(self.history) + 1]]
        told += [None] * (len(self.history) + 1 - len(told))
        return np.array([np.nan if value is None else value for value in told], dtype=float)


def _incumbent(decision: Decision | None) -> float | None:
    if decision is None:
        return None
    return decision.stop_value if isinstance(decision, Train) else decision.value


def run_text(run: Run) -> str:
    """A run in a few words, for whoever points at it; the table has the rest."""
    outcome = "failed" if run.score is None else f"score {number(run.score)}"
    return f"Run {run.trial + 1}: {outcome}, cost {number(run.cost)}"
