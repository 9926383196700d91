"""Deprecation: an old name works, with a warning, until the version that the warning states.  docs/public-api.md."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent)


def renamed(old: str, new: str, *, removed_in: str) -> None:
    """Warn the caller of a deprecated attribute or method.

    old, new:   both names, with their class;  removed_in: the first version without the old one
    """
    text = f"{old} is deprecated and will be removed in autobct {removed_in}; use {new}"
    warnings.warn(text, DeprecationWarning, stacklevel=_outside())


def _outside() -> int:
    """How far up the caller outside of the package is, as `warnings.warn` counts."""
    frame, level = sys._getframe(2), 3
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return level - 1
