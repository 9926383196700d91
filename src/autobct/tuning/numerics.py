"""NumPy's own rules for rounding and overflow inside the package, whatever the user has set with `np.seterr`.

Far from the data a probability underflows to zero, and that is the right number: with np.seterr(all="raise") it would
end a tuning.  The user's training function runs under the user's rules.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def usual_errors(function: Decorated) -> Decorated:
    """The function under NumPy's default rules: warn, and say nothing of underflow."""

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **keywords)

    return called  # type: ignore[return-value]  # the same signature


def usual_errors_in(kind: Class) -> Class:
    """The same for the constructor, the public methods and the properties of a class."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, property):
            assert member.fget is not None
            setattr(kind, name, property(usual_errors(member.fget), doc=member.__doc__))
        elif callable(member) and not isinstance(member, type):
            setattr(kind, name, usual_errors(member))
    return kind
