"""The keywords of `Problem`, `Tuner` and `tune`, defined and validated once; `tune` documents them."""

from __future__ import annotations

import datetime
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import numpy as np

from autobct.belief.arrays import Array, distinct, finite_array, finite_number, whole_number
from autobct.belief.prior import PAPER_PRIORS, Prior
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Space
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import Affine, AffineLog, Descending, Direction, Scale, affine

if TYPE_CHECKING:
    from autobct.tuning.decide.policy import Policy
    from autobct.tuning.units.limits import Limits

_Function = TypeVar("_Function", bound=Callable[..., Any])

DEFAULTS: ProblemKeywords = {
    "direction": "maximize",
    "recall": True,
    "guess_strength": 1.0,
    "increases_cost": (),
    "expect_usual": True,
}
"""Of those keywords whose default is not None."""

PAPER = "paper"
"""As a prior: the paper's bases and fixed scale, in ranges that may still be widened."""

ENSEMBLE = "ensemble"
"""As a prior: the default without the learned surrogate, the ensemble of response surfaces alone."""


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


def stated_prior(told: object, space: Space) -> Prior | None:
    """A prior of the user's; None where it comes from the space: for `PAPER`, `ENSEMBLE` and if nothing was said."""
    if told is None or (isinstance(told, str) and told in (PAPER, ENSEMBLE)):
        return None
    prior = PAPER_PRIORS.get(told) if isinstance(told, str) else told
    if not isinstance(prior, Prior):
        names = ", ".join(map(repr, [PAPER, ENSEMBLE, *PAPER_PRIORS]))
        raise (ValueError if isinstance(told, str) else TypeError)(
            f"prior must be a Prior or one of {names}, got {told!r}; write e.g. prior='paper'"
        )
    if prior.dim != space.dim:
        raise ValueError(
            f"prior is for {prior.dim} coordinate{'s' if prior.dim != 1 else ''} but the space has {space.dim}; "
            f"use bases with dim={space.dim}"
        )
    return prior


def check_flag(flag: object, name: str) -> None:
    """True or False, and nothing that is taken for one of them."""
    if not isinstance(flag, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {flag!r}; write {name}=True")


def stated_noise(score_noise: object, *, learning: bool) -> float | None:
    """The standard deviation of a score that was stated; None if it is to be learned."""
    if score_noise is None:
        return None
    if not learning:
        raise ValueError("score_noise is for the default surrogate; leave it out with a prior")
    if isinstance(score_noise, str):
        if score_noise != "exact":
            raise ValueError(f"score_noise must be a number or 'exact', got {score_noise!r}; write score_noise='exact'")
        return 0.0
    return finite_number(score_noise, "score_noise", least=0.0)


def stated_controls(space: Space, candidates: Array | int | None) -> Array:
    """The candidates (G, p) that were stated, as rows or by their number; those of the space if they were not."""
    if candidates is not None and isinstance(space, Table):
        raise ValueError("candidates cannot be combined with a Table, whose rows are the candidates; leave them out")
    if candidates is None:
        return space.candidates()
    if np.ndim(candidates) == 0:
        return space.candidates(whole_number(candidates, "candidates", example=101, least=2))
    controls = np.array(finite_array(candidates, "candidates"))
    if controls.shape != (len(controls), space.dim) or controls.size == 0 or np.any((controls < 0) | (controls > 1)):
        raise ValueError(
            f"candidates must be rows of {space.dim} numbers between 0 and 1, got an array of shape "
            f"{controls.shape}; write e.g. np.linspace(0, 1, 101)[:, None]"
        )
    return distinct(space.canonical(controls)) if space.conditional else controls


def stated_score_scale(score_range: Sequence[float] | Affine | AffineLog | None, direction: object) -> Scale:
    """The scale of scores, of the range or of (0, 1), on which higher is better."""
    if direction not in ("maximize", "minimize"):
        raise ValueError(f"direction must be 'maximize' or 'minimize', got {direction!r}")
    if isinstance(score_range, Affine | AffineLog):
        scale: Affine | AffineLog = score_range
    else:
        scale = affine((0.0, 1.0) if score_range is None else score_range, name="score_range")
    return Descending(scale) if direction == "minimize" else scale


def stated_cost_range(
    cost_range: Sequence[float] | Affine | AffineLog | None,
) -> tuple[float, float] | Affine | AffineLog | None:
    """The range of costs, or the scale that was given instead; None if nothing was said."""
    if cost_range is None:
        return None
    told = cost_range if isinstance(cost_range, Affine | AffineLog) else affine(cost_range, name="cost_range")
    if told.low < 0:
        raise ValueError(f"cost_range must not be negative, got {(told.low, told.high)!r}; write e.g. (1, 60)")
    return told if told is cost_range else (told.low, told.high)
