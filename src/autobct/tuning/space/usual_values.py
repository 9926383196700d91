"""Usual values of well-known hyperparameters, by name, as places in a user's ranges: where a tuning begins.

Kinds of models and their values are in `kinds_of_models`.  docs/decisions/usual-values.md says what this is worth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from autobct.tuning.space.kinds_of_models import FEATURES, LENGTHS, RATES, AtMost, Usual, kind_of
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter, tuned, tuned_names
from autobct.tuning.space.space import Space

_PATH = re.compile(r"__|[./]")
_NUMBER = re.compile(r"_?\d+$")  # n_units_1

_INNER = 0.1  # how far from the end of its range a value is put that lies beyond it
_LOWEST = 0.2  # of a logarithmic range of rates: below it, a rate is of another kind of training
_FINE = 1e-3  # no rate above it: a trained network is trained further
_LARGEST = 1e300  # a whole number beyond it cannot be divided
_ALIKE = 2.0  # among choices a number counts as the usual one up to this ratio
_LONGER, _SHORTER = 0.25, 2.0  # bounds of what many or few rounds or epochs change in a usual rate


def usual_places(space: Space) -> tuple[tuple[int, float], ...]:
    """(parameter, place) of those with a usual value: the parameter's position among those tuned, and its coordinate
    in [0, 1] or the position of its choice."""
    all_names = {plain for name in space.names for plain in _plain(name)}
    pairs = list(zip(tuned_names(space.names, space.parameters), tuned(space.parameters), strict=True))
    kind = kind_of(all_names)
    known, length = kind.values, _length(space)
    if kind.fine_tuned is not None and any(_is_fine(p, _plain(name)) for name, p in pairs):
        known = kind.fine_tuned
    elif kind.steps is not None and length is not None:
        known = _slowed(known, length / kind.steps)
    found = ((which, _place(p, _plain(name), known)) for which, (name, p) in enumerate(pairs))
    return tuple((which, place) for which, place in found if place is not None)


def _slowed(known: Mapping[str, Usual], longer: float) -> Mapping[str, Usual]:
    """With a rate for a training so many times as long: the smaller, as a square root."""
    change = min(max(1.0 / math.sqrt(longer), _LONGER), _SHORTER)
    return {name: usual * change if name in RATES else usual for name, usual in known.items()}  # type: ignore[operator]


def _length(space: Space) -> float | None:
    """The middle of the range of rounds or epochs; None where they are no parameter, or it is not positive."""
    for name, parameter in zip(space.names, space.parameters, strict=True):
        if isinstance(parameter, Int) and not LENGTHS.isdisjoint(_plain(name)):
            low, high = parameter.low, parameter.high
            middle = math.sqrt(low * high) if parameter.log else (low + high) / 2
            return middle if middle > 0 else None
    return None


def _plain(name: str) -> tuple[str, ...]:
    """`clf__Learning-Rate` -> `clflearningrate`, `learningrate`: without what it belongs to, without a number."""
    parts = [part for part in _PATH.split(name.lower().replace("-", "_")) if part]
    whole = ["_".join(parts[start:]) for start in range(len(parts))]
    return tuple(plain.replace("_", "") for text in whole for plain in (text, _NUMBER.sub("", text)))


def _is_fine(parameter: Parameter, names: tuple[str, ...]) -> bool:
    """Whether it is a rate that is always as small as for a network that was trained before."""
    if RATES.isdisjoint(names):
        return False
    if not isinstance(parameter, Categorical):
        return parameter.high <= _FINE
    return all(isinstance(choice, float) and choice <= _FINE for choice in parameter.choices)


def _place(parameter: Parameter, names: tuple[str, ...], known: Mapping[str, Usual]) -> float | None:
    """Where the usual value lies in a parameter's range; None if it has none, or does not lie there.

    A rate beyond its range is of another kind of training, a count of a fraction is in other units; of other values
    what is nearest is still a good place.
    """
    name = next((name for name in names if name in known), "")
    usual = known.get(name)
    number, choices = usual if isinstance(usual, tuple) else (usual, usual)
    if isinstance(parameter, Categorical):
        return _choice(parameter, choices)
    if isinstance(number, AtMost):
        limit = _in_range(parameter, name, number.limit)
        return limit if limit is not None and limit < 0.5 else None
    if number is None or isinstance(number, str):
        return None
    share = isinstance(parameter, Int) and name in FEATURES
    return _in_range(parameter, name, number * parameter.high if share else number)


def _in_range(parameter: Float | Int, name: str, value: float) -> float | None:
    """The coordinate of a value, near the end of the range that it is beyond."""
    if isinstance(value, int) and isinstance(parameter, Float) and parameter.high <= 1.0:
        return None
    if name in RATES and not _fits(parameter, value):
        return None
    if parameter.low <= value <= parameter.high:
        return _coordinate(parameter, value)
    if math.isinf(value):
        return 1.0
    return _INNER if value < parameter.low else 1.0 - _INNER


def _fits(parameter: Float | Int, rate: float) -> bool:
    """Neither beyond the range nor, where that is logarithmic, close to its low end."""
    if not parameter.low <= rate <= parameter.high:
        return False
    return not parameter.log or parameter.to_unit(rate) >= _LOWEST  # type: ignore[arg-type]


def _choice(parameter: Categorical, usual: Usual | None) -> float | None:
    """The position of the choice that has one of these names, the first first, or comes close to this number."""
    if isinstance(usual, str):
        named = [str(choice) if isinstance(choice, str | bool) else "" for choice in parameter.choices]
        plain = [text.lower().replace("_", "") for text in named]
        return next((float(plain.index(name)) for name in usual.replace("_", "").split() if name in plain), None)
    if not isinstance(usual, int | float):
        return None
    away = [_ratio(choice, usual) for choice in parameter.choices]
    nearest = min(range(len(away)), key=away.__getitem__)
    return float(nearest) if away[nearest] <= _ALIKE else None


def _ratio(choice: object, usual: float) -> float:
    """How many times as large as the other the larger one is; inf where that says nothing."""
    if isinstance(choice, bool) or not isinstance(choice, int | float):
        return math.inf
    if choice == usual:
        return 1.0
    if usual <= 0 or not 0 < choice <= _LARGEST:
        return math.inf
    return max(choice / usual, usual / choice)


def _coordinate(parameter: Float | Int, value: float) -> float:
    """Of the nearest value that the parameter can have."""
    if parameter.step is not None and parameter.count is not None:
        value = parameter.value(min(round((value - parameter.low) / parameter.step), parameter.count - 1))
    return parameter.to_unit(value)  # type: ignore[arg-type]  # a whole number where it has to be one
