"""Windows that others put in: tables, pages and notebook displays are drawn by rooms that tuning does not know.

`autobct/__init__.py` says who draws each, as a function that imports it when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_WINDOWS: dict[str, Callable[..., Any]] = {}


def register(name: str, draw: Callable[..., Any]) -> None:
    """Put a window in.  name: "screen", "report", "result_html", "tuner_html" or "dataframe"."""
    _WINDOWS[name] = draw


def window(name: str) -> Callable[..., Any]:
    """The function that draws it."""
    if name not in _WINDOWS:
        raise RuntimeError(f"nothing is registered to draw {name!r}; import autobct first")
    return _WINDOWS[name]
