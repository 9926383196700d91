"""The keywords of `Problem`, `Tuner` and `tune`, written once; what each means is told by `tune`."""

from __future__ import annotations

import datetime
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

if TYPE_CHECKING:
    from autobct.belief.arrays import Array
    from autobct.belief.prior import Prior
    from autobct.tuning.decide.policy import Policy
    from autobct.tuning.units.limits import Limits
    from autobct.tuning.units.price import Price
    from autobct.tuning.units.scale import Affine, AffineLog

Direction = Literal["maximize", "minimize"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ProblemKeywords(TypedDict, total=False):
    """What may be said of a problem besides its space and price."""

    direction: Direction
    score_range: Sequence[float] | Affine | AffineLog | None
    cost_range: Sequence[float] | Affine | AffineLog | None
    prior: Prior | str | None
    recall: bool
    candidates: Array | int | None
    overhead: float | None
    score_noise: float | str | None
    guess: Mapping[str, Any] | None
    guess_strength: float
    increases_cost: Sequence[str]
    expect_usual: bool


class LimitKeywords(TypedDict, total=False):
    """Hard limits; those of `Limits`."""

    max_runs: int | None
    max_cost: float | None
    deadline: float | str | datetime.datetime | datetime.timedelta | None


class PriceKeyword(TypedDict, total=False):
    """What every problem needs."""

    price: float | str | Price


class TunerKeywords(LimitKeywords, ProblemKeywords, PriceKeyword, total=False):
    """What may be said of a tuning besides its space."""

    policy: Policy | None
    limits: Limits | None
    seed: int | None


DEFAULTS: ProblemKeywords = {
    "direction": "maximize",
    "recall": True,
    "guess_strength": 1.0,
    "increases_cost": (),
    "expect_usual": True,
}
"""Of those keywords whose default is not None."""


def check_names(given: Iterable[str], allowed: Sequence[str], caller: str) -> None:
    """TypeError for a keyword that does not exist, with the one that was probably meant."""
    for name in given:
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
            meant = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(allowed)}"
            raise TypeError(f"{caller} got an unexpected keyword argument {name!r}; {meant}")


def spelled_out(function: _Function) -> _Function:
    """The same function, with its keywords by name in its signature, for `help` and for completion."""
    told = inspect.signature(function)
    own = [p for p in told.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    more = [_parameter(name) for name in all_names() if name not in told.parameters]
    function.__signature__ = told.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
    return function


def all_names() -> tuple[str, ...]:
    """All keywords of `Tuner`, the price first."""
    kinds = (PriceKeyword, ProblemKeywords, LimitKeywords, TunerKeywords)
    return tuple(dict.fromkeys(name for kind in kinds for name in kind.__annotations__))


def _parameter(name: str) -> inspect.Parameter:
    default = inspect.Parameter.empty if name == "price" else dict(DEFAULTS).get(name)
    told = TunerKeywords.__annotations__[name]
    annotation = getattr(told, "__forward_arg__", told)  # as it is written
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
