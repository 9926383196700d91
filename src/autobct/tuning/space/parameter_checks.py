"""Validation of parameters, conditions and values: errors say what to write."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from autobct.belief.arrays import as_float

__all__ = [
    "MOST",
    "When",
    "check_range",
    "check_step",
    "equal",
    "inside",
    "real",
    "same",
    "twice",
    "when_of",
    "when_text",
    "whole",
]

Number = TypeVar("Number", int, float)

MOST = 2**40
"""Values of a discrete parameter, at most: a float in [0, 1] tells so many apart, with room."""

When = dict[str, list[Any]]
"""Names of other parameters and the values of each under which this one exists; all must agree."""

_WHEN = "write e.g. when={'booster': 'dart'}, or a list of values"
_MOST_VALUES = 10_000  # values of one condition
_LARGEST = 2**63  # value of a discrete parameter


def real(name: str, value: object) -> float:
    """A finite float."""
    try:
        number = as_float(value, name)
    except TypeError as wrong:
        raise TypeError(f"{wrong}; write e.g. 0.5") from None
    except ValueError as wrong:
        raise ValueError(f"{wrong}; write a number below 1e308") from None
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}; write a finite number")
    return number


def whole(name: str, value: object) -> int:
    """A whole number; one that is written as a float is one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a whole number, got {value!r}; write e.g. 10")
    if isinstance(value, Integral):
        if abs(int(value)) > _LARGEST:
            raise ValueError(f"{name} is too large; write a number of at most 2**63 in size")
        return int(value)
    if not float(value).is_integer():  # NaN and infinity are not
        raise ValueError(f"{name} must be a whole number, got {value!r}; write e.g. 10, or use Float")
    return int(float(value))


def inside(value: Number, low: Number, high: Number, slack: float = 0) -> Number:
    """The value, which must be in the range.  slack: what printing may do to an end; the integer 0 keeps ints exact."""
    if not low - slack * abs(low) <= value <= high + slack * abs(high):
        raise ValueError(f"value must be between {low!r} and {high!r}, got {value!r}; write a value in this range")
    return min(max(value, low), high)


def check_range(kind: str, low: float, high: float, log: object) -> None:
    """The ends of a Float or an Int."""
    if not isinstance(log, bool):
        raise TypeError(f"{kind}: log must be True or False, got {log!r}; write log=True")
    if low > high:
        raise ValueError(f"{kind}: low is above high, got {low!r}, {high!r}; write {kind}({high!r}, {low!r})")
    if log and low <= 0:
        raise ValueError(f"{kind}: low must be positive with log=True, got {low!r}; write one above zero")
    if kind == "Float" and not (math.isfinite(high - low) and (not log or math.isfinite(high / low))):
        raise ValueError(f"{kind}: low and high are too far apart, got {low!r}, {high!r}; write a closer pair")


def check_step(kind: str, low: float, high: float, step: float | None, *, log: bool) -> None:
    """The step of a Float or an Int; log: whether there is a logarithm as well."""
    if step is None:
        return
    if step <= 0:
        raise ValueError(f"{kind}: step must be positive, got {step!r}; write e.g. {1 if kind == 'Int' else 0.1}")
    if log:
        raise ValueError(f"{kind}: step cannot be combined with log=True, got step={step!r}; write one of the two")
    if low < high and step > (high - low) * (1 + 1e-9):
        raise ValueError(f"{kind}: step is wider than the range, got {step!r}; write at most {high - low!r}")
    if high - low > step * MOST or (kind == "Float" and step < 8 * math.ulp(max(abs(low), abs(high)))):
        raise ValueError(f"{kind}: step is too small for the range, got {step!r}; write a larger one")


def twice(choices: tuple[Any, ...]) -> tuple[Any] | None:
    """A choice that is there twice, in a tuple; those that can be hashed are not compared with all others."""
    seen: set[tuple[type, Any]] = set()
    others: list[Any] = []
    for choice in choices:
        try:
            known = (type(choice), choice) in seen
            seen.add((type(choice), choice))
            lonely = bool(choice != choice)  # NaN
        except (TypeError, ValueError):
            known, lonely = False, True
        if known or (lonely and any(same(other, choice) for other in others)):
            return (choice,)
        if lonely:
            others.append(choice)
    return None


def same(first: object, second: object) -> bool:
    """Equal and of one type."""
    return type(first) is type(second) and equal(first, second)


def equal(first: object, second: object) -> bool:
    """Whether two choices are one, whatever their type."""
    try:
        if first is second or bool(first == second):
            return True
        return bool(first != first and second != second)  # two NaN are one choice
    except (TypeError, ValueError):  # arrays and the like, which do not compare to one truth
        return False


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
    if isinstance(told, range) and len(told) > _MOST_VALUES:
        raise ValueError(f"{kind}: when has {len(told)} values for {name!r}; write at most {_MOST_VALUES}")
    if isinstance(told, set | frozenset):
        told = sorted(told, key=repr)  # a set has another order in every process
    values = list(told) if isinstance(told, list | range) else [told]
    if not values:
        raise ValueError(f"{kind}: when has no value for {name!r}, so the condition can never hold; {_WHEN}")
    return values


def _listed(words: list[str]) -> str:
    if len(words) > 6:
        words = [*words[:3], f"{len(words) - 4} more", words[-1]]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
