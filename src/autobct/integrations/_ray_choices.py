"""A space as JSON and back: Ray restores a search without saying again what is tuned."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space.space import Space

__all__ = ["space_in", "space_json"]

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
    return value if plain else {"object": _called(value)}


def _called(value: object) -> str:
    """A name that is the same in the next process, as a repr with an address is not."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _value(data: Any, depth: int = 0) -> Any:
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if not isinstance(data, dict) or len(data) != 1 or depth > _DEEPEST:
        raise ValueError("it has a value that is none")
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
    raise ValueError("it has a value that is none")
