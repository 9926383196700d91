"""Where conditional parameters exist: all that must hold of the parameters above them, checked once.

A value of a discrete parameter is known by its rank, the k of `value(k)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autobct.tuning.space.parameter import Categorical, Float, Parameter
from autobct.tuning.space.parameter_checks import when_text

Needs = Mapping[int, frozenset[int]]
"""Position of a parameter -> ranks of the values it must have; those of all parameters above, not only of the next."""


def needs_of(names: Sequence[str], parameters: Sequence[Parameter]) -> tuple[Needs, ...]:
    """What each parameter needs to exist, nothing where it always does; one sentence for what cannot be meant."""
    own = [_own(name, parameter, names, parameters) for name, parameter in zip(names, parameters, strict=True)]
    return tuple(_with_above(which, own, names, parameters, ()) for which in range(len(names)))


def rank(parameter: Parameter, value: Any) -> int:
    """The k of a value of a discrete parameter; ValueError or TypeError if it is none of its values."""
    if isinstance(parameter, Categorical):
        return parameter.index(value)
    unit = parameter.to_unit(value)
    if isinstance(parameter, Float):
        return round(unit * ((parameter.count or 1) - 1))
    return (int(value) - parameter.low) // parameter.step


def _own(name: str, parameter: Parameter, names: Sequence[str], parameters: Sequence[Parameter]) -> dict[int, Any]:
    found: dict[int, frozenset[int]] = {}
    for other, values in (parameter.when or {}).items():
        if other == name:
            raise ValueError(f"space[{name!r}]: when refers to {name!r} itself; name another parameter")
        if other not in names:
            there = [known for known in names if known != name]
            raise ValueError(f"space[{name!r}]: when refers to {other!r}, which is not in the space; there are {there}")
        which = list(names).index(other)
        found[which] = frozenset(_rank_told(name, other, parameters[which], value) for value in values)
    return found


def _rank_told(name: str, other: str, above: Parameter, value: Any) -> int:
    if above.count is None:
        raise ValueError(
            f"space[{name!r}]: when refers to {other!r}, which is continuous; "
            f"use a Categorical, an Int or a Float with a step"
        )
    try:
        return rank(above, value)
    except (TypeError, ValueError) as error:
        hint = f"; write several values as a list, {list(value)!r}" if isinstance(value, tuple) else ""
        raise type(error)(f"space[{name!r}]: when[{other!r}]: {error}{hint}") from None


def _with_above(
    which: int,
    own: Sequence[Mapping[int, frozenset[int]]],
    names: Sequence[str],
    parameters: Sequence[Parameter],
    path: tuple[int, ...],
) -> Needs:
    if which in path:
        circle = " -> ".join(names[i] for i in (*path[path.index(which) :], which))
        raise ValueError(
            f"space[{names[which]!r}]: the conditions in when form a cycle, {circle}; one of these must always exist"
        )
    found = dict(own[which])
    for above in own[which]:
        for other, ranks in _with_above(above, own, names, parameters, (*path, which)).items():
            found[other] = found.get(other, ranks) & ranks
    for other, ranks in found.items():
        if not ranks:
            raise ValueError(
                f"space[{names[which]!r}]: exists when {when_text(parameters[which].when or {})}, which no value of "
                f"{names[other]!r} allows, so it never exists; change one of the conditions"
            )
    return found
