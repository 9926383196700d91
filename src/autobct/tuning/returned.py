"""Reads what a training function returned: its numbers, or an error that says what to return instead.

Imported by the process of every isolated training, so it is quick to import.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from typing import Any

from autobct.belief.arrays import finite_number

RETURN = "return the score as a number, or (score, cost)"
"""What to do instead."""

_SHOWN = 60  # characters of what was returned


class WrongReturnError(TypeError):
    """The training function returned something that is no score: the same for all params, so that no run will do."""


def numbers_of(returned: Any) -> float | tuple[float, float]:
    """What a training returned as plain numbers, finite or not; WrongReturnError if it is none."""
    if isinstance(returned, tuple) and len(returned) != 2:
        raise WrongReturnError(f"train returned {len(returned)} values, {shown(returned)}; {RETURN}")
    if is_pair(returned):
        return _plain(returned[0], "the score that train returned"), _plain(returned[1], "the cost that train returned")
    return _plain(returned, "the score that train returned")


def _plain(value: Any, name: str) -> float:
    try:
        return number_of(value, name)
    except (OverflowError, ValueError):  # not finite, which is for the tuner to say
        with contextlib.suppress(OverflowError):
            return float(value)
        return math.inf


def number_of(value: Any, name: str, *, least: float = -math.inf) -> float:
    """A finite number; ValueError if it is not finite, WrongReturnError if it is no number at all."""
    if hasattr(value, "item") and math.prod(getattr(value, "shape", ())) == 1:
        value = value.item()  # an array or a tensor that holds one number
    try:
        return finite_number(value, name, least=least)
    except ValueError as wrong:
        raise ValueError(f"{wrong}; {RETURN}") from None
    except TypeError:
        raise WrongReturnError(f"{name} must be a number, got {_what(value)}; {_instead(value)}") from None


def is_pair(returned: object) -> bool:
    """Whether it is (score, cost)."""
    return isinstance(returned, tuple) and len(returned) == 2


def _what(value: Any) -> str:
    """What was returned, for a sentence."""
    if value is None:
        return "None"
    shape = getattr(value, "shape", None)
    kind = type(value).__name__
    return f"{kind} of shape {tuple(shape)}" if shape is not None else f"{kind} {shown(value)}"


def _instead(value: Any) -> str:
    """What to write instead."""
    if value is None:
        return f"a return statement seems to be missing: {RETURN}"
    if isinstance(value, Mapping) and value:
        return f"return one of its values, e.g. metrics[{next(iter(value))!r}]"
    if isinstance(value, bool | str):
        return f"return float(...): {RETURN}"
    if hasattr(value, "shape"):
        return "return one number, e.g. float(scores.mean())"
    return RETURN


def shown(value: object) -> str:
    """What was returned, short."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
