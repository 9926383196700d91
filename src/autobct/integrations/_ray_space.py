"""Ray Tune's search-space vocabulary as a space of autobct, and a space as JSON and back for restoring it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ray.tune.search.sample import Categorical as RayCategorical
from ray.tune.search.sample import Domain, Integer, LogUniform, Quantized, Uniform
from ray.tune.search.sample import Float as RayFloat
from ray.tune.search.variant_generator import parse_spec_vars
from ray.tune.utils import flatten_dict

from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space.row_table import Table
from autobct.tuning.space.space import Space

__all__ = ["nested", "searched_in", "space_in", "space_json", "space_of"]

_DOMAINS = "tune.uniform, loguniform, quniform, randint, lograndint, qrandint or choice"


def space_of(given: Space | Mapping[str, Any]) -> Space:
    """The space of parameters of autobct, Ray's domains or Optuna's distributions; ValueError for anything else."""
    if isinstance(given, Table):
        raise ValueError("space cannot be a Table here; write a dict of parameters or of Ray's domains")
    if isinstance(given, Mapping):
        _refuse_grids(given)
        flat = flatten_dict(dict(given))
        given = {name: _converted(name, kind) if isinstance(kind, Domain) else kind for name, kind in flat.items()}
    try:
        return Space.of(given)
    except TypeError as wrong:
        raise ValueError(str(wrong)) from None


def searched_in(config: Mapping[str, Any]) -> Space | None:
    """The space of a `param_space`, whose constants are Ray's to fill in; None if nothing in it is to be tuned.

    Nested names are joined as Ray does it: {"model": {"depth": ...}} is "model/depth".
    """
    _refuse_grids(config)
    flat = flatten_dict(dict(config), prevent_delimiter=True)
    if ours := [name for name, value in flat.items() if isinstance(value, Float | Int | Categorical)]:
        raise ValueError(
            f"`param_space` has a parameter of autobct, {ours[0]!r}: {flat[ours[0]]!r}; "
            "pass it to AutoBCTSearch(space=...), or write Ray's own domains here."
        )
    _, domains, _ = parse_spec_vars(dict(config))
    named = {"/".join(map(str, path)): (path, domain) for path, domain in domains}
    if listed := [name for name, (path, _) in named.items() if not all(isinstance(part, str) for part in path)]:
        raise ValueError(f"AutoBCTSearch does not support domains in a list, as {listed[0]!r}; give each a name.")
    found = {name: _converted(name, domain) for name, (_, domain) in named.items()}
    return Space.of(found) if found else None


def nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their joined names as Ray's configuration has them: "model/depth" is {"model": {"depth": ...}}."""
    config: dict[str, Any] = {}
    for name, value in params.items():
        *path, last = name.split("/")
        inner = config
        for part in path:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return config


def _refuse_grids(config: Mapping[str, Any]) -> None:
    _, _, grids = parse_spec_vars(dict(config))
    if grids:
        raise ValueError(
            "Grid search parameters cannot be automatically converted to an autobct search space; "
            f"write tune.choice([...]) for {'/'.join(grids[0][0])!r}."
        )


def _converted(name: str, domain: Domain) -> Parameter:
    """One domain; a bound that cannot be is refused with its name."""
    sampler = domain.get_sampler()
    step = sampler.q if isinstance(sampler, Quantized) else None
    inner = sampler.sampler if isinstance(sampler, Quantized) else sampler
    log = isinstance(inner, LogUniform)
    try:
        if isinstance(inner, Uniform | LogUniform) and not (log and step not in (None, 1)):
            if isinstance(domain, RayFloat) and not (log and step):
                return _float(domain, log, step)
            if isinstance(domain, Integer):
                return _int(domain, log, step)
            if isinstance(domain, RayCategorical):
                return Categorical(domain.categories)
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"space[{name!r}]: {wrong}") from None
    raise ValueError(
        f"AutoBCTSearch does not support parameters of type `{type(domain).__name__}` with samplers of type "
        f"`{_called(sampler)}`, as {name!r} has; write {_DOMAINS}"
        f"{', and round the value in the trainable' if step else ''}."
    )


def _float(domain: RayFloat, log: bool, step: float | None) -> Float:
    if step is None:
        return Float(domain.lower, domain.upper, log=log)
    first, last = _multiples(domain, step)
    return Float(first * step, last * step, step=step)


def _int(domain: Integer, log: bool, step: Any) -> Int:
    """Ray leaves the upper end out, except of multiples of a step above 1."""
    if step in (None, 1):
        return Int(domain.lower, domain.upper - 1, log=log)
    first, last = _multiples(domain, step)
    return Int(first * step, last * step, step=step)


def _multiples(domain: Any, step: float) -> tuple[int, int]:
    """The first and last multiple of a step between two bounds, with Ray's allowance for rounding."""
    low, high = domain.lower / step, domain.upper / step
    first = round(low) if math.isclose(low, round(low)) else math.ceil(low)
    last = round(high) if math.isclose(high, round(high)) else math.floor(high)
    if last < first:
        raise ValueError(f"no multiple of {step!r} lies between {domain.lower!r} and {domain.upper!r}")
    return first, last


def _called(sampler: object) -> str:
    inner = f" {type(sampler.sampler).__name__.lstrip('_')}" if isinstance(sampler, Quantized) else ""
    return f"{type(sampler).__name__.lstrip('_')}{inner}"


_KINDS: dict[str, type[Float] | type[Int] | type[Categorical]] = {
    "Float": Float,
    "Int": Int,
    "Categorical": Categorical,
}
_DEEPEST = 20  # lists in lists of a choice


def space_json(space: Space) -> dict[str, Any]:
    """A space as plain data."""
    return {name: _parameter_json(p) for name, p in zip(space.names, space.parameters, strict=True)}


def space_in(data: Any, known: Space | None) -> Space:
    """The space in plain data.  known: the one that was given, which must be the same; it may have any choices."""
    if known is not None:
        if data != space_json(known):
            raise ValueError(f"the space has changed: it was {_named(data)}, and is {_named(space_json(known))} now")
        return known
    if not isinstance(data, dict):
        raise ValueError("space must be an object")
    return Space.of({name: _parameter(name, told) for name, told in data.items()})


def _named(data: Any) -> str:
    shown = str(data)
    return shown if len(shown) <= 400 else f"{shown[:400]}..."


def _parameter_json(parameter: Parameter) -> dict[str, Any]:
    told = {part.name: getattr(parameter, part.name) for part in fields(parameter)}
    when = {name: _plain(values) for name, values in (told.pop("when") or {}).items()}
    return {"type": type(parameter).__name__, **{name: _plain(value) for name, value in told.items()}, "when": when}


def _parameter(name: str, data: Any) -> Parameter:
    if not isinstance(data, dict) or data.get("type") not in _KINDS:
        raise ValueError(f"space[{name!r}] is not a Float, Int or Categorical")
    kind, given = _KINDS[data["type"]], {key: value for key, value in data.items() if key != "type"}
    if set(given) != {part.name for part in fields(kind)} or not isinstance(given["when"], dict):
        raise ValueError(f"space[{name!r}] must have exactly {', '.join(part.name for part in fields(kind))}")
    try:
        when = {other: _value(values) for other, values in given.pop("when").items()}
        return kind(**{key: _value(value) for key, value in given.items()}, when=when or None)
    except (TypeError, ValueError) as wrong:
        raise ValueError(f"space[{name!r}]: {wrong}") from None


def _plain(value: Any) -> Any:
    """Plain values as they are; what JSON cannot hold is named, so that a change is noticed."""
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_plain(part) for part in value]}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    plain = value is None or isinstance(value, bool | int | float | str)
    return value if plain else {"object": _lasting_name(value)}


def _lasting_name(value: object) -> str:
    """A name that is the same in the next process, as a repr with an address is not."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _value(data: Any, depth: int = 0) -> Any:
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if not isinstance(data, dict) or len(data) != 1 or depth > _DEEPEST:
        raise ValueError("a value is missing")
    [(kind, inner)] = data.items()
    if kind in ("list", "tuple") and isinstance(inner, list):
        parts = [_value(part, depth + 1) for part in inner]
        return parts if kind == "list" else tuple(parts)
    if kind == "float" and inner in ("nan", "inf", "-inf"):
        return float(inner)
    if kind == "object":
        raise ValueError(
            f"the choice {inner} cannot be stored as JSON; pass the space to AutoBCTSearch(space=...), "
            "or choose among names and look the object up in the trainable"
        )
    raise ValueError("a value is missing")
