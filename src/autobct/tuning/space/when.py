"""What `when` of a parameter says: under which values of others it exists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

When = dict[str, list[Any]]
"""Names of other parameters and the values of each under which this one exists; all must agree."""

_WHEN = "write e.g. when={'booster': 'dart'}, or a list of values"
_MOST = 10_000  # values of one condition


def when_of(kind: str, when: object) -> When | None:
    """What was said, with the values of each name in a list; None if nothing was.  kind: for the error sentence.

    A list, set or range is several values, anything else is one.
    """
    if when is None:
        return None
    if not isinstance(when, Mapping) or not when:
        raise TypeError(f"{kind}: when must be a dict of names and values, got {when!r}; {_WHEN}")
    return {_name(kind, name): _values(kind, name, told) for name, told in when.items()}


def when_text(when: Mapping[str, list[Any]]) -> str:
    """A condition in words: booster is 'dart' and depth is 3, 4 or 5."""
    return " and ".join(f"{name} is {_listed([repr(value) for value in values])}" for name, values in when.items())


def _name(kind: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"{kind}: when must name another parameter, got {name!r}; {_WHEN}")
    return name


def _values(kind: str, name: str, told: object) -> list[Any]:
    if isinstance(told, range) and len(told) > _MOST:
        raise ValueError(f"{kind}: when has {len(told)} values for {name!r}; write at most {_MOST}")
    if isinstance(told, set | frozenset):
        told = sorted(told, key=repr)  # a set has another order in every process
    values = list(told) if isinstance(told, list | range) else [told]
    if not values:
        raise ValueError(f"{kind}: when has no value for {name!r}, so that nothing would meet it; {_WHEN}")
    return values


def _listed(words: list[str]) -> str:
    if len(words) > 6:
        words = [*words[:3], f"{len(words) - 4} more", words[-1]]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
