"""What it takes to do the same again, as plain data that JSON can hold."""

from __future__ import annotations

import platform
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from autobct.tuning.keywords import ENSEMBLE, PAPER
from autobct.tuning.space.hints import NOTHING, Hints
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Parameter
from autobct.tuning.units.scale import ScaledProblem, Stated, is_log
from autobct.version import __version__

if TYPE_CHECKING:
    from autobct.tuning.statement import Plan


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
    names = [name for name, p in zip(problem.space.names, problem.space.parameters, strict=True) if p.count != 1]
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
