"""A problem as the user states it, which keywords belong to it, and all of it as plain data for JSON."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Unpack

import numpy as np
import scipy

from autobct.belief.arrays import whole_number
from autobct.tuning.decide.policy import Policy
from autobct.tuning.decide.search import THOROUGH
from autobct.tuning.keywords import (
    ENSEMBLE,
    PAPER,
    LimitKeywords,
    ProblemKeywords,
    TunerKeywords,
    all_names,
    check_names,
)
from autobct.tuning.problem import problem_of
from autobct.tuning.space.hints import NOTHING, Hints
from autobct.tuning.space.parameter import tuned_names
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Parameter, Space
from autobct.tuning.units.limits import Limits
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import Direction, ScaledProblem, Stated, is_log
from autobct.version import __version__

_PRICE = "write e.g. price='0.01 per 30s'"
_OF_PROBLEM = tuple(ProblemKeywords.__annotations__)
_OF_LIMITS = tuple(LimitKeywords.__annotations__)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Problem:
    """What is tuned: a space, a price, and everything else that is stated before the first run.

    >>> problem = autobct.Problem({"x": autobct.Float(0, 1)}, price="0.01 per 30s", score_range=(0.5, 1))
    >>> tuner = autobct.Tuner(problem, limits=autobct.Limits(max_runs=20))

    It takes the keywords of `tune`, checks them once, and never changes.

    scaled: the problem in model units, before the first run
    """

    scaled: ScaledProblem = field(repr=False)

    def __init__(
        self, space: Space | Mapping[str, Any], *, price: float | str | Price, **keywords: Unpack[ProblemKeywords]
    ) -> None:
        check_names(keywords, _OF_PROBLEM, "Problem()")
        object.__setattr__(self, "scaled", problem_of(space, price, **keywords))

    @property
    def space(self) -> Space:
        """The search space."""
        return self.scaled.space

    @property
    def price(self) -> Price:
        """What cost is worth in score."""
        return self.scaled.price

    @property
    def direction(self) -> Direction:
        """The direction, "maximize" or "minimize"."""
        return self.scaled.direction

    @property
    def stated(self) -> dict[str, Any]:
        """All settings of the problem, as plain data for JSON."""
        return settings_of(self.scaled)

    def __repr__(self) -> str:
        """What is tuned, at which price."""
        return f"Problem({', '.join(self.space.names)}; price {self.price}, {self.direction})"


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """How a tuning goes about its problem.

    policy: of the user's, None for the default;  seed: of all randomness
    search: how many candidates around the best a search looks at, and how often it is refined
    asks_others: whether decisions ask other surrogates as well; simulated tunings, of which there are many, do not
    """

    policy: Policy | None = None
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    search: tuple[int, int] = THOROUGH
    asks_others: bool = True


def parted(space: Problem | Space | Mapping[str, Any], keywords: TunerKeywords, caller: str) -> tuple[Problem, Plan]:
    """The problem and the plan that were said, in one call or as values of their own."""
    said: dict[str, Any] = dict(keywords)
    check_names(said, all_names(), caller)
    of_problem = {name: said[name] for name in ("price", *_OF_PROBLEM) if name in said}
    of_limits = {name: said[name] for name in _OF_LIMITS if said.get(name) is not None}
    seed = said.get("seed")
    limits = _limits(said.get("limits"), of_limits)
    plan = Plan(said.get("policy"), limits, 0 if seed is None else whole_number(seed, "seed", example=0, least=0))
    if isinstance(space, Problem):
        if of_problem:
            first = next(iter(of_problem))
            raise TypeError(f"{', '.join(of_problem)} must be set in the Problem; write Problem(space, {first}=...)")
        return space, plan
    if "price" not in of_problem:
        raise TypeError(f"{caller} needs a price: what cost is worth in score; {_PRICE}")
    return Problem(space, **of_problem), plan


def _limits(limits: object, named: dict[str, Any]) -> Limits:
    if limits is None:
        return Limits(**named)
    if not isinstance(limits, Limits):
        raise TypeError(f"limits must be Limits, got {limits!r}; write e.g. limits=Limits(max_runs=20)")
    if named:
        raise TypeError(f"{', '.join(named)} cannot be combined with limits; write Limits({next(iter(named))}=...)")
    return limits


def settings_of(problem: ScaledProblem, **others: Any) -> dict[str, Any]:
    """What was said of a problem, and `others` as they are."""
    space, stated = problem.space, problem.stated
    return {
        "space": {name: _parameter(p) for name, p in zip(space.names, space.parameters, strict=True)},
        "price": str(problem.price),
        "direction": problem.direction,
        "score_range": [stated.score_scale.low, stated.score_scale.high] if stated.score_known else None,
        "score_scale": "log" if is_log(stated.score_scale) else "linear",
        "cost_range": _cost_range(stated),
        "prior": _prior(stated),
        "recall": stated.recall,
        "overhead": stated.overhead,
        "score_noise": stated.noise,
        "candidates": len(problem.controls),
        **({"table": space.fingerprint} if isinstance(space, Table) else {}),
        **_hints(stated.hints, problem),
        **others,
    }


def _prior(stated: Stated) -> str:
    if stated.prior is not None:
        return "own"
    return PAPER if not stated.learning else ENSEMBLE if stated.alone else "default"


def planned(plan: Plan) -> dict[str, Any]:
    """What was said of the way to go about it, besides the policy."""
    return {"seed": plan.seed, "max_runs": plan.limits.max_runs, "max_cost": plan.limits.max_cost}


def versions() -> dict[str, str]:
    """Of everything that a decision depends on."""
    return {
        "autobct": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _hints(hints: Hints, problem: ScaledProblem) -> dict[str, Any]:
    """What was said to shape the default belief; nothing if nothing was."""
    if replace(hints, by_name=()) == NOTHING:
        return {}
    names = tuned_names(problem.space.names, problem.space.parameters)
    return {
        "guess": {names[which]: place for which, place in hints.guess},
        "guess_strength": hints.strength,
        "increases_cost": [names[which] for which in hints.growing],
        "expect_usual": hints.usual,
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    told = {field.name: _plain(getattr(parameter, field.name)) for field in fields(parameter) if field.name != "when"}
    when = {name: _plain(values) for name, values in (parameter.when or {}).items()}
    return {"type": type(parameter).__name__, **told, **({"when": when} if when else {})}


def _plain(value: Any) -> Any:
    """Plain data as it is; a choice that is some object by what it calls itself."""
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _cost_range(stated: Stated) -> list[float] | None:
    told = stated.cost_range
    if told is None:
        return None
    return list(told) if isinstance(told, tuple) else [told.low, told.high]
