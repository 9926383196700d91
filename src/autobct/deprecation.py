"""How a name goes away: it works, with a warning, until the version that the warning states.  docs/public-api.md."""

from __future__ import annotations

import warnings


def renamed(old: str, new: str, *, removed_in: str) -> None:
    """Warn the caller of a deprecated attribute or method.

    old, new:   both names, with their class;  removed_in: the first version without the old one
    """
    warnings.warn(
        f"{old} is deprecated and will be removed in autobct {removed_in}; use {new}", DeprecationWarning, stacklevel=3
    )
