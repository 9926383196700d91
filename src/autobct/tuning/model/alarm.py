"""Notes about runs that leave a range, and the model alarm, whose rate of false alarms is known.

The alarm is about observations that are implausible under the belief.

Under the model the standardised surprise of every run, z = (observed - predicted) / standard deviation, is a standard
normal, independent of all before.  Real surfaces have more outliers, so the alarm allows for those of Student's t with
8 degrees of freedom.  Against it stands "from some run k on, three times as wide".  The likelihood ratio, averaged over
k with weights 1 / (k (k + 1)), is a martingale of mean one for surprises of that distribution, and a supermartingale
for smaller ones, such as the normal's; it ever exceeds 1 / a with a probability of at most a (Ville's inequality),
whenever one looks and however many runs there are.

Left out, as they say nothing of the model of finished runs: runs that failed; costs after one that failed late, from
which costs were learned, too; scores that diverged; and the first finished run, if no range was stated, because that
run sets it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from autobct.belief.basis import noise_at
from autobct.belief.normal import predict
from autobct.deprecation import renamed
from autobct.tuning.history import Decision, Note, Run, Stop
from autobct.tuning.model.estimate import Learned, to_scores
from autobct.tuning.model.posterior import score_learned
from autobct.tuning.space.hints import begins_at
from autobct.tuning.units.price_sides import PERCENTAGE
from autobct.tuning.units.ranges import DIVERGED, FAR_OFF, TELLING
from autobct.tuning.units.scale import PERCENTAGES, Descending, Scale, ScaledProblem

FALSE_ALARMS = 0.01
"""Probability of an alarm, ever, in a tuning for which the model holds."""

_WIDER = 3.0  # surprises so many times as large are what the test looks for
_FREEDOM = 8.0  # degrees of freedom of the surprises that are allowed for, see docs/decisions/model-alarm.md
_MOST = 30.0  # a surprise beyond is "very far"
_ONE_RUN = 200.0  # likelihood ratio of one score at most, where runs tell how far scores differ: a hill after a plateau

_NARROWER = 0.1  # of the stated unit: a scale so much smaller was learned as the range was too wide


@dataclass(frozen=True, slots=True)
class Alarm:
    """The observations are implausible under the model, so its estimates may be wrong.

    run:       index in the history, from 0, of the run that raised the alarm
    what:      "score" or "cost"
    observed, expected:  of that run, in the user's units;  surprise: in standard deviations (of log cost for a cost)
    """

    run: int
    what: Literal["score", "cost"]
    observed: float
    expected: float
    surprise: float
    text: str

    @property
    def believed(self) -> float:
        """Deprecated name of `expected`."""
        renamed("Alarm.believed", "Alarm.expected", removed_in="0.3")
        return self.expected


@dataclass(frozen=True, slots=True)
class Surprise:
    """One run against the prediction before it.  None: nothing to compare, as the run failed or diverged.

    stated:  whether the user has stated the range of scores, and of costs
    learned: whether earlier runs told how far scores differ: then no single one raises an alarm
    """

    score: float | None
    cost: float | None
    believed_score: float
    believed_cost: float
    stated: tuple[bool, bool] = (True, True)
    learned: bool = False


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
    (runs_of_score, ratio_of_score), (runs_of_cost, ratio_of_cost) = zip(watch.runs, watch.ratios, strict=True)
    n, score = _step(runs_of_score, ratio_of_score, seen.score, _ONE_RUN if seen.learned else math.inf)
    m, cost = _step(runs_of_cost, ratio_of_cost, seen.cost, math.inf)
    return replace(watch, runs=(n, m), ratios=(score, cost))


def _step(runs: int, ratio: float, z: float | None, most: float) -> tuple[int, float]:
    if z is None:
        return runs, ratio
    n = runs + 1
    return n, min((ratio + 1.0 / (n * (n + 1))) * min(_likelihood(z), most), 1e300)


def _likelihood(z: float) -> float:
    """Ratio of the densities at a surprise: three times as wide, over as wide as it should be."""
    square = z * z / _FREEDOM
    return math.pow((1.0 + square) / (1.0 + square / _WIDER**2), (_FREEDOM + 1.0) / 2.0) / _WIDER


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
    stated = ranges_stated(problem)
    sets_score, sets_cost = (before.finished == 0 and not known for known in stated)
    no_cost = run.score is None or sets_cost or before.failed_late
    no_score = learned_score is None or diverged or sets_score
    return Surprise(
        score=None if no_score else (float(learned_score or 0.0) - float(score.mean)) / _sd(score.var),
        cost=None if no_cost else (observed - float(cost.mean)) / _sd(cost.var),
        believed_score=float(to_scores(before, np.asarray(score.mean))),
        believed_cost=float(problem.cost_scale.to_raw(float(model.cost_model.from_observation(cost.mean)))),
        stated=stated,
        learned=before.evidence is not None,
    )


def ranges_stated(problem: ScaledProblem) -> tuple[bool, bool]:
    """Whether the user has stated the range of scores, and of costs; a prior or a scale states them too."""
    stated = problem.stated
    return stated.score_known or stated.fixed[0], stated.cost_range is not None or stated.fixed[1]


def _only_bad(before: Learned, score: float) -> bool:
    """Whether a belief that learns its scale takes a score for bad and no more: it is in the lower half."""
    return before.evidence is not None and score < float(np.median(before.evidence.scores))


def raised(watch: Watch, seen: Surprise, run: Run, number: int) -> Alarm | None:
    """The alarm after this run, if the evidence has just become enough.  number: the run's place in the history."""
    if not watch.alarmed:
        return None
    score, cost = watch.evidence
    if seen.score is not None and run.score is not None and (score >= cost or seen.cost is None):
        return _alarm(number, "score", run.score, seen.believed_score, seen.score, stated=seen.stated[0])
    if seen.cost is not None:
        return _alarm(number, "cost", run.cost, seen.believed_cost, seen.cost, stated=seen.stated[1])
    return None


def _alarm(
    number: int, what: Literal["score", "cost"], observed: float, expected: float, z: float, *, stated: bool
) -> Alarm:
    does, units = ("scored", "") if what == "score" else ("cost", " of log cost")
    gap = f"{abs(z):.1f} standard deviations{units} away" if abs(z) < _MOST else "very far away"
    advice = f"Check {what}_range" if stated else f"Set {what}_range if you know it"
    text = (
        f"Model alarm: run {number + 1} {does} {observed:.4g}; the model expected {expected:.4g}, {gap}. "
        f"Together with the earlier runs this is very unlikely (less than {FALSE_ALARMS:.0%}) if the model holds, so "
        f"its estimates may be wrong. {advice}, or give a prior of your own."
    )
    return Alarm(run=number, what=what, observed=observed, expected=expected, surprise=z, text=text)


def _sd(var: object) -> float:
    return math.sqrt(float(var))  # type: ignore[arg-type]  # a NumPy scalar


def notes_of(problem: ScaledProblem, run: Run, number: int, told: Sequence[Note]) -> list[Note]:
    """What there is to say of ranges that this run has left, the first time only.

    problem: with the ranges that this run shows;  number: the run's place in the history;  told: notes before
    """
    said = {note.about for note in told}
    found = {"score": _of_score(problem, run), "width": _of_width(problem, run), "cost": _of_cost(problem, run)}
    found["price"] = _of_price(problem, run)
    return [
        Note(number, about, f"Run {run.trial + 1} {text}.")
        for about, text in found.items()
        if text and about not in said
    ]


def first_notes(problem: ScaledProblem, decision: Decision) -> list[str]:
    """What the first decision rests on: guessed ranges, and usual values of parameters."""
    score, cost = ranges_stated(problem)
    if isinstance(decision, Stop):
        return ["No cost_range is stated, so this cost is a guess."] if decision.cheapest and not cost else []
    guessed = [name for name, stated in (("score", score), ("cost", cost)) if not stated]
    names = " or ".join(f"{name}_range" for name in guessed)
    are = "are guesses" if len(guessed) > 1 else "is a guess"
    texts = [f"No {names} is stated, so the expected {' and '.join(guessed)} {are}."] if guessed else []
    usual = begins_at(problem.space, problem.stated.hints)
    return [*texts, usual] if usual else texts


def _of_score(problem: ScaledProblem, run: Run) -> str:
    """What to say of a score outside the range that was stated or is usual; nothing if it is inside."""
    stated, scale = problem.stated, problem.stated.score_scale
    if run.score is None or stated.fixed[0] or 0.0 <= round(scale.to_model(run.score), 9) <= 1.0:
        return ""
    now = round(problem.score_scale.to_model(run.score), 9)
    if now < 1.0 - DIVERGED:
        return f"scored {run.score:.4g}, far from all others; it only counts as a bad score"
    if not 0.0 <= now <= 1.0:
        return (
            f"scored {run.score:.4g}, outside {_ends(problem.score_scale)}, the range found in the first {TELLING} runs"
        )
    name = "score_range=" if stated.score_known else ""
    return f"scored {run.score:.4g}, outside {name}{_ends(scale)}: {_now(problem.score_scale)}"


def _of_width(problem: ScaledProblem, run: Run) -> str:
    """What to say where the scores have shown that the range is much too wide; nothing otherwise."""
    stated, now = problem.stated, problem.score_scale
    if run.score is None or stated.fixed[0] or now.unit > _NARROWER * stated.score_scale.unit:
        return ""
    if not 0.0 <= float(stated.score_scale.to_model(run.score)) <= 1.0:
        return ""
    name = "score_range=" if stated.score_known else "the default range "
    wide = f"{name}{_ends(stated.score_scale)} is far too wide for the scores so far"
    return f"scored {run.score:.4g}, and {wide}: {_now(now)}"


def _of_price(problem: ScaledProblem, run: Run) -> str:
    """What to say of a price in percent when a score looks like a percentage; nothing otherwise."""
    if run.score is None or problem.stated.score_known:
        return ""
    if not (problem.price.percent and abs(run.score) >= PERCENTAGE):
        return ""
    points = replace(problem.price, score=100.0 * problem.price.score)
    return f"scored {run.score:.4g}, but the price counts 1% as 0.01; write '{points}' if scores are percentages"


def _of_cost(problem: ScaledProblem, run: Run) -> str:
    """What to say of a cost outside the range that was stated or far from the guess; nothing if it is neither."""
    stated = problem.stated
    if run.score is None or stated.fixed[1]:
        return ""
    if isinstance(stated.cost_range, tuple):
        low, high = stated.cost_range
        wider = f"({min(low, run.cost):.4g}, {max(high, run.cost):.4g})"
        left = f"cost {run.cost:.4g}, outside cost_range=({low:g}, {high:g}): the range is now {wider}"
        return "" if low <= run.cost <= high else left
    guess = stated.cost_guess * problem.score_scale.unit
    if abs(math.log(max(run.cost, 1e-300)) - math.log(guess)) <= FAR_OFF:  # their quotient may be zero
        return ""
    return f"cost {run.cost:.4g}, far from what was guessed from the price. Set cost_range if you know it"


def _ends(scale: Scale) -> str:
    return f"({scale.low:.4g}, {scale.high:.4g})"


def _now(scale: Scale) -> str:
    if scale.high == PERCENTAGES[1] and scale.low <= PERCENTAGES[0] and not isinstance(scale, Descending):
        return f"scores look like percentages, so the range is now {_ends(scale)}"
    return f"the range is now {_ends(scale)} and adapts to the observed scores"
