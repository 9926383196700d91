"""The TOML file that `autobct init` writes: commented, valid, and it runs."""

from __future__ import annotations

from importlib import resources


def first_file() -> str:
    """Its text."""
    return (resources.files("autobct.run") / "files" / "tune.toml").read_text("utf-8")
