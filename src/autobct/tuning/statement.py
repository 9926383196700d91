"""A problem as a user states it, and what belongs to it of the keywords of a tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Unpack

from autobct.belief.arrays import whole_number
from autobct.tuning.decide.policy import Policy
from autobct.tuning.decide.search import THOROUGH
from autobct.tuning.keywords import LimitKeywords, ProblemKeywords, TunerKeywords, all_names, check_names
from autobct.tuning.problem import problem_of
from autobct.tuning.settings import settings_of
from autobct.tuning.space.space import Space
from autobct.tuning.units.limits import Limits
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import Direction, ScaledProblem

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
