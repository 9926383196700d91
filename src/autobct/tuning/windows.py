"""What tuning uses and does not import: reports and notebook views, storages, and workers for runs side by side.

They are in packages above it.  Each is named here as text, and imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_WINDOWS = {
    "screen": ("autobct.report.live", "live"),
    "report": ("autobct.report.page", "write_report"),
    "result_html": ("autobct.report.notebook", "result_html"),
    "tuner_html": ("autobct.report.notebook", "tuner_html"),
    "isolated": ("autobct.run.isolated", "isolated"),
    "dataframe": ("autobct.report.export", "dataframe_of"),
    "bar": ("autobct.report.live", "Bar"),
    "processes": ("autobct.run.executors", "Processes"),
    "threads": ("autobct.run.executors", "Threads"),
    "folder": ("autobct.run.kept", "in_folder"),
    "database": ("autobct.integrations.storage", "shared"),
    "csv": ("autobct.report.export", "write_csv"),
}
"""What is needed -> the module that has it, and its name there."""


def window(name: str) -> Callable[..., Any]:
    """The function or class, imported now."""
    module, function = _WINDOWS[name]
    drawn: Callable[..., Any] = getattr(import_module(module), function)
    return drawn
