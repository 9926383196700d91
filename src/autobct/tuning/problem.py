"""From the user's settings to the model: scales, price, prior and candidates, validated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from autobct.belief.arrays import Array, finite_number
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.prior import Expectations, Prior
from autobct.tuning.keywords import (
    DEFAULTS,
    ENSEMBLE,
    ProblemKeywords,
    check_flag,
    stated_controls,
    stated_cost_range,
    stated_noise,
    stated_prior,
    stated_score_scale,
)
from autobct.tuning.model.default_prior import first_belief
from autobct.tuning.space.candidates import refinable, spread
from autobct.tuning.space.hints import NOTHING, hints_of
from autobct.tuning.space.parameter import tuned
from autobct.tuning.space.space import Space
from autobct.tuning.space.usual_values import usual_places
from autobct.tuning.units.price import Price, parse_price
from autobct.tuning.units.scale import (
    Affine,
    AffineLog,
    Ranges,
    ScaledProblem,
    Stated,
    stated_ends,
)
from autobct.value.state import Terms

OVERHEAD = 0.002
"""Fixed price of every run, in units of the score range, with a prior of the user's or the paper's: value maps are
made for it, and it ends the paper's loops of runs that cost nothing.  By default there is none."""

_MANY = 2  # parameters from which on the learned surrogate is asked.  docs/decisions/surrogate.md
_TYPICAL_PRICE = 0.02  # without a cost_range: a run is taken to be worth about so much of the score range
UNKNOWN_SPREAD = 1.5  # and this may be off by a factor of e^1.5 = 4.5 either way


def problem_of(
    space: Space | Mapping[str, Any], price: float | str | Price, **keywords: Unpack[ProblemKeywords]
) -> ScaledProblem:
    """The problem a user described, in model units.

    direction:   "maximize" or "minimize" the score
    score_range: lowest and highest score expected; (0, 1) if not given, until a run shows otherwise
    cost_range:  costs expected from the cheapest to the most expensive params; guessed from the price if not given, or
                 (0, 1) with a prior of the user's
    prior:       a first belief of the user's, in model units, or the name of one of the paper's; "paper" for the
                 paper's fixed scale in the stated ranges; otherwise one that learns its scale, together with the
                 learned surrogate, or without it by "ensemble"
    candidates:  controls (G, p) to choose from, or how many; the space's own if not given
    overhead:    a fixed price of every run, in units of the score range; none if not given, or OVERHEAD with a prior
    score_noise: standard deviation of a score when the same training is repeated, in units of score; "exact" for
                 none; learned if not given
    guess, guess_strength, increases_cost, expect_usual:  see `Hints`; not together with a prior

    A range is widened when a run leaves it; a scale (`Affine`, `AffineLog`) or a prior fixes the units.
    """
    told: ProblemKeywords = {**DEFAULTS, **keywords}
    prior, candidates, overhead = told.get("prior"), told.get("candidates"), told.get("overhead")
    score_range, cost_range = told.get("score_range"), told.get("cost_range")
    told_space, score_scale = Space.of(space), stated_score_scale(score_range, told["direction"])
    ends = stated_ends(score_scale, score_range is not None)
    told_price = parse_price(price, ends)
    own, learning = stated_prior(prior, told_space), prior is None or (isinstance(prior, str) and prior == ENSEMBLE)
    check_flag(told["recall"], "recall")
    hints = hints_of(
        told_space, told.get("guess"), told["guess_strength"], told["increases_cost"], told["expect_usual"]
    )
    if not learning and hints != NOTHING:
        raise ValueError(
            "guess, increases_cost and expect_usual are for the default surrogate; leave them out with a prior"
        )
    if learning and hints.usual:
        guessed = dict(hints.guess)
        usual = usual_places(told_space)
        hints = replace(hints, by_name=tuple((which, place) for which, place in usual if which not in guessed))
    fixed = own is not None
    least = 0.0 if learning else OVERHEAD
    stated = Stated(
        score_scale=score_scale,
        score_known=score_range is not None,
        cost_range=stated_cost_range(cost_range),
        cost_guess=_TYPICAL_PRICE / told_price.per_cost,
        prior=own,
        fixed=(
            fixed or isinstance(score_range, Affine | AffineLog),
            fixed or isinstance(cost_range, Affine | AffineLog),
        ),
        recall=bool(told["recall"]),
        overhead=least if overhead is None else finite_number(overhead, "overhead", least=0.0),
        hints=hints,
        learning=learning,
        spreads=learning and candidates is None and refinable(told_space),
        noise=stated_noise(told.get("score_noise"), learning=learning),
        asks_others=prior is None and len(tuned(told_space.parameters)) >= _MANY,
        alone=learning and prior is not None,
        scores=ends,
    )
    controls = spread(told_space, hints) if stated.spreads else stated_controls(told_space, candidates)
    return put(told_space, told_price, controls, stated)


def put(
    space: Space,
    price: Price,
    controls: Array,
    stated: Stated,
    ranges: Ranges | None = None,
    deciding: float = 0.0,
) -> ScaledProblem:
    """The problem in model units, with the stated ranges or with others that runs have shown."""
    score_scale, cost_range, typical = ranges or (stated.score_scale, stated.cost_range, None)
    guessed = stated.cost_guess * score_scale.unit if typical is None else typical
    log_cost = stated.prior is None or stated.prior.model.cost_model is LOG_LINEAR
    cost_scale = _cost_scale(cost_range, 1.0 if stated.prior else guessed, log_cost)
    first = stated.prior or first_belief(space, _expectations(cost_range), stated.hints, learning=stated.learning)
    per_cost, shown = price.per_cost / score_scale.unit, (score_scale, cost_range, typical)
    return ScaledProblem(
        space=space,
        price=price,
        score_scale=score_scale,
        cost_scale=cost_scale,
        prior=first,
        terms=_terms(per_cost, cost_scale, first, stated, deciding),
        controls=controls,
        stated=stated,
        ranges=shown,
        per_cost=per_cost,
        deciding=deciding,
    )


def at_price(problem: ScaledProblem, price: Price) -> ScaledProblem:
    """The same belief and scales at another price."""
    per_cost = price.per_cost / problem.score_scale.unit
    terms = _terms(per_cost, problem.cost_scale, problem.prior, problem.stated, problem.deciding)
    return replace(problem, price=price, per_cost=per_cost, terms=terms)


def deciding_for(problem: ScaledProblem, cost: float) -> ScaledProblem:
    """The same where every run also takes a decision of this cost; units of the user's own have their overhead."""
    if not problem.stated.learning:
        return problem
    return at_price(replace(problem, deciding=cost), problem.price)


def check_control(problem: ScaledProblem, control: Array) -> None:
    """Where candidates are searched for, any control may be one; otherwise it must be among them."""
    if not is_candidate(problem, control):
        raise ValueError(f"no candidate of this tuner is at {np.asarray(control).tolist()}; is it from another space?")


def is_candidate(problem: ScaledProblem, control: Array) -> bool:
    """Whether a control is among the candidates, or may come to be where these are searched for."""
    searched = problem.stated.spreads and np.shape(control) == (problem.space.dim,)
    return searched or bool(np.any(np.all(problem.controls == control, axis=-1)))


def _terms(per_cost: float, cost: Affine | AffineLog, prior: Prior, stated: Stated, deciding: float) -> Terms:
    return Terms(
        price=per_cost * cost.unit,
        cost_model=prior.model.cost_model,
        recall=stated.recall,
        overhead=stated.overhead + _least(cost, per_cost) + per_cost * deciding,
    )


def _cost_scale(
    cost_range: tuple[float, float] | Affine | AffineLog | None, guessed: float, log_cost: bool
) -> Affine | AffineLog:
    """A log scale is for the linear cost model (the price is then per unit of log cost); log-linear has its own."""
    if cost_range is None:
        return Affine(0.0, guessed)
    told = cost_range if isinstance(cost_range, Affine | AffineLog) else Affine(*cost_range)
    return Affine(0.0, told.high) if log_cost else told


def _least(scale: Affine | AffineLog, per_cost: float) -> float:
    """What the cheapest run costs in score: model costs begin at the lower end of an affine scale."""
    return 0.0 if isinstance(scale, AffineLog) else per_cost * scale.low


def _expectations(cost_range: tuple[float, float] | Affine | AffineLog | None) -> Expectations:
    """How the range of costs centres and spreads the prior of the log cost, in units of its upper end."""
    if cost_range is None:
        return Expectations(cost_level=0.0, cost_spread=UNKNOWN_SPREAD)
    low, high = cost_range if isinstance(cost_range, tuple) else (cost_range.low, cost_range.high)
    width = min(math.log(high / max(low, 1e-2 * high)), math.log(100.0))
    return Expectations(cost_level=-width / 2, cost_spread=max(width / 4, 0.1), cost_shape=max(width / 2, 0.1))
