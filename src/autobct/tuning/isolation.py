"""How a training is kept in a process of its own, as a value."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass

from autobct.tuning.units.price import seconds_of

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
_AMOUNT = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]i?b)\s*", re.IGNORECASE)
LEAST = 1e6
"""Bytes: below it nothing runs, and a unit was probably forgotten."""

_TIME = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]+)\s*", re.IGNORECASE)


def bytes_of(value: object) -> float:
    """Bytes; ValueError, which begins with "must", if it is no amount of memory."""
    amount = value
    if isinstance(value, str) and (found := _AMOUNT.fullmatch(value)) is not None:
        amount = float(found[1]) * _UNITS[found[2].lower()]
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not LEAST <= amount < math.inf:
        raise ValueError(f'must be an amount of memory of at least 1 MB, got {value!r}; write e.g. "4 GB"')
    return float(amount)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits of every single training, which runs in a process of its own; a training that exceeds one has failed.

    >>> autobct.tune(train, space, price=0.01, isolate=autobct.Isolation(timeout="10 min", memory="4 GB"))

    timeout: the longest a training may take: seconds, "10 min", "2h"; no limit by default
    memory:  the most memory it may use, with all processes it starts: bytes, "512 MB", "4 GB"; no limit by default
    output:  a folder for what it prints, one folder in it for each training; by default that is kept only until the
             training has ended, and the last lines of stderr are part of the error of a failed run
    """

    timeout: float | str | None = None
    memory: float | str | None = None
    output: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Check everything now, not when the first training has begun."""
        _ = self.seconds, self.bytes
        if self.output is not None and not isinstance(self.output, str | os.PathLike):
            raise TypeError(f"output must be a folder, got {self.output!r}; write e.g. output='outputs'")

    @property
    def seconds(self) -> float | None:
        """The timeout in seconds."""
        return None if self.timeout is None else _seconds(self.timeout)

    @property
    def bytes(self) -> float | None:
        """The memory limit in bytes."""
        try:
            return None if self.memory is None else bytes_of(self.memory)
        except ValueError as wrong:
            raise ValueError(f"memory {wrong}") from None


def isolation_of(given: object) -> Isolation | None:
    """The isolation that was given, True for one without limits; None for none."""
    if given is False or given is None:
        return None
    if given is True:
        return Isolation()
    if not isinstance(given, Isolation):
        raise TypeError(
            f"isolate must be True, False or an Isolation, got {given!r}; write e.g. isolate=Isolation(timeout='1h')"
        )
    return given


def _seconds(timeout: object) -> float:
    seconds = timeout
    if isinstance(timeout, str) and (found := _TIME.fullmatch(timeout)) is not None:
        unit = seconds_of(found[2])
        seconds = None if unit is None else float(found[1]) * unit
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.0 < seconds < math.inf:
        raise ValueError(f"timeout must be a time, got {timeout!r}; write seconds, '10 min' or '2h'")
    return float(seconds)
