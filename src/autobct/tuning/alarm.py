"""The model alarm: observations that are implausible under the belief, with a known rate of false alarms.

Under the model the standardised surprise of every run, z = (observed - predicted) / standard deviation, is a standard
normal, independent of all before.  Against it stands "from some run k on, three times as wide".  The likelihood ratio,
averaged over k with weights 1 / (k (k + 1)), is a martingale of mean one; it ever exceeds 1 / a with a probability of
at most a (Ville's inequality), whenever one looks and however many runs there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from autobct.belief.kalman import predict
from autobct.belief.model import noise_at
from autobct.tuning.fold import Learned, beliefs, learned, score_learned
from autobct.tuning.history import Run
from autobct.tuning.problem import Problem

FALSE_ALARMS = 0.01
"""Probability of an alarm, ever, in a tuning for which the model holds."""

_WIDER = 3.0  # surprises so many times as large are what the test looks for
_MOST = 30.0  # a surprise beyond counts as that


@dataclass(frozen=True, slots=True)
class Alarm:
    """What was seen is implausible under what was believed: every promise is conditional on the belief.

    run:       place in the history, from 0, of the run that raised it
    what:      "score" or "cost"
    observed, believed:  of that run, in the user's units;  surprise: in standard deviations, of log cost for a cost
    """

    run: int
    what: Literal["score", "cost"]
    observed: float
    believed: float
    surprise: float
    text: str


@dataclass(frozen=True, slots=True)
class Surprise:
    """One run against the prediction before it.  None: nothing to compare, as the run failed or diverged."""

    score: float | None
    cost: float
    believed_score: float
    believed_cost: float


@dataclass(frozen=True, slots=True)
class Watch:
    """The evidence against the model so far: for score and cost, how many were seen and the ratio of those begun."""

    runs: tuple[int, int] = (0, 0)
    ratios: tuple[float, float] = (0.0, 0.0)

    @property
    def evidence(self) -> tuple[float, float]:
        """The averaged likelihood ratio of each; those k that are not yet begun count one."""
        one, two = (ratio + 1.0 / (n + 1) for n, ratio in zip(self.runs, self.ratios, strict=True))
        return one, two

    @property
    def alarmed(self) -> bool:
        """Whether the model has become implausible."""
        return sum(self.evidence) / 2 >= 1.0 / FALSE_ALARMS


def watched(watch: Watch, seen: Surprise) -> Watch:
    """The evidence after one more run."""
    pairs = zip(watch.runs, watch.ratios, (seen.score, seen.cost), strict=True)
    (n, score), (m, cost) = (_step(runs, ratio, z) for runs, ratio, z in pairs)
    return replace(watch, runs=(n, m), ratios=(score, cost))


def _step(runs: int, ratio: float, z: float | None) -> tuple[int, float]:
    if z is None:
        return runs, ratio
    n, size = runs + 1, min(abs(z), _MOST)
    likelihood = math.exp(0.5 * size * size * (1.0 - _WIDER**-2)) / _WIDER
    return n, min((ratio + 1.0 / (n * (n + 1))) * likelihood, 1e300)


def surprise(before: Learned, run: Run) -> Surprise:
    """How far a run is from what was predicted.  before: what was known, on the scales that this run shows."""
    problem, belief, model = before.problem, before.belief, before.problem.prior.model
    noise = noise_at(model.score_noise, run.control) if before.evidence is None else before.evidence.misfit.total
    score = predict(belief.score, model.score_basis(run.control), noise)
    cost = predict(belief.cost, model.cost_basis(run.control), noise_at(model.cost_noise, run.control))
    learned_score = score_learned(before, run)
    diverged = learned_score is not None and (
        learned_score != problem.score_observed(run.score or 0.0) or _only_bad(before, learned_score)
    )
    observed = float(model.cost_model.to_observation(np.asarray(problem.cost_observed(run.cost))))
    z_score = None if learned_score is None or diverged else (learned_score - float(score.mean)) / _sd(score.var)
    return Surprise(
        score=z_score,
        cost=(observed - float(cost.mean)) / _sd(cost.var),
        believed_score=float(problem.score_scale.to_raw(float(score.mean))),
        believed_cost=float(problem.cost_scale.to_raw(float(model.cost_model.from_observation(cost.mean)))),
    )


def _only_bad(before: Learned, score: float) -> bool:
    """Whether a belief that learns its scale takes a score for bad and no more: it is in the lower half."""
    return before.evidence is not None and score < float(np.median(before.evidence.scores))


def raised(watch: Watch, seen: Surprise, run: Run, number: int) -> Alarm | None:
    """The alarm after this run, if the evidence has just become enough.  number: the run's place in the history."""
    if not watch.alarmed:
        return None
    score, cost = watch.evidence
    if score >= cost and seen.score is not None and run.score is not None:
        return _alarm(number, "score", run.score, seen.believed_score, seen.score)
    return _alarm(number, "cost", run.cost, seen.believed_cost, seen.cost)


def alarm_of(problem: Problem, history: Sequence[Run]) -> Alarm | None:
    """The first alarm of a history: a pure function, the same as `Tuner.alarm`."""
    watch = Watch()
    for number, run in enumerate(history):
        before = learned(problem, history[: number + 1]).problem
        seen = surprise(beliefs(before, history[: number + 1])[-2], run)
        watch = watched(watch, seen)
        if alarm := raised(watch, seen, run, number):
            return alarm
    return None


def _alarm(number: int, what: Literal["score", "cost"], observed: float, believed: float, z: float) -> Alarm:
    does, units = ("scored", "") if what == "score" else ("cost", " of log cost")
    gap = f"{abs(z):.1f} standard deviations{units}" if abs(z) < _MOST else "very far"
    text = (
        f"Model alarm: run {number + 1} {does} {observed:.4g} where {believed:.4g} was believed, {gap} away; "
        f"together with the runs before it this has a probability below {FALSE_ALARMS:.0%} under the belief, so "
        f"that its promises may not hold. State a wider {what}_range, or a prior of your own."
    )
    return Alarm(number, what, observed, believed, z, text)


def _sd(var: object) -> float:
    return math.sqrt(float(var))  # type: ignore[arg-type]  # a NumPy scalar
