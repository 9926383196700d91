"""Units of time in their usual spellings."""

from __future__ import annotations

__all__ = ["SECONDS", "SPELLINGS", "spelled"]

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in one of each."""

SPELLINGS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
"""How people write them."""


def spelled(unit: str) -> str | None:
    """The short name of a unit of time in any usual spelling; None if it is none."""
    return SPELLINGS.get(" ".join(unit.lower().split()))
