"""Amounts of memory: a number of bytes, or text with a unit."""

from __future__ import annotations

import math
import re

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
_AMOUNT = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]i?b)\s*", re.IGNORECASE)
LEAST = 1e6
"""Bytes: below it nothing runs, and a unit was probably forgotten."""


def bytes_of(value: object) -> float:
    """Bytes; ValueError, which begins with "must", if it is no amount of memory."""
    amount = value
    if isinstance(value, str) and (found := _AMOUNT.fullmatch(value)) is not None:
        amount = float(found[1]) * _UNITS[found[2].lower()]
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not LEAST <= amount < math.inf:
        raise ValueError(f'must be an amount of memory of at least 1 MB, got {value!r}; write e.g. "4 GB"')
    return float(amount)
