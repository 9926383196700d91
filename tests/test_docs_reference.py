"""The reference has every public name, every command and every option of it."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec
from typing import Any

import pytest
from tests.docs_pages import ROOT
from tools.docstrings import listed
from typer.main import get_command

import autobct
import autobct.integrations.optuna
import autobct.plot
import autobct.run
from autobct.cli import app

REFERENCE = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")}
NAMED = [name for page in REFERENCE.values() for name in re.findall(r"^::: (\S+)$", page, flags=re.MULTILINE)]


def test_every_public_name_is_in_the_reference_once() -> None:
    public = [f"autobct.{name}" for name in autobct.__all__] + [f"autobct.run.{name}" for name in autobct.run.__all__]
    others = ("autobct.belief.", "autobct.plot", "autobct.integrations.")
    assert sorted(public) == sorted(name for name in NAMED if not name.startswith(others))
    hosts = [f"autobct.integrations.optuna.{name}" for name in autobct.integrations.optuna.__all__]
    assert hosts == [name for name in NAMED if name.startswith("autobct.integrations.optuna.")]
    assert len(NAMED) == len(set(NAMED))


HEAVY = [["ray"], ["mlflow"], ["tensorboard"], ["wandb"]]


def needing_ray(name: str) -> Any:
    """Ray and the trackers are installed for the heavy tests only."""
    return pytest.param(name, marks=pytest.mark.heavy) if name.split(".")[2:3] in HEAVY else name


@pytest.mark.parametrize("name", [needing_ray(name) for name in NAMED])
def test_what_the_reference_names_is_there_and_documented(name: str) -> None:
    path, _, last = name.rpartition(".")
    library = name.split(".")[2:3]
    if library in HEAVY and find_spec(library[0]) is None:
        pytest.skip(f"{library[0]} is not installed: pip install 'autobct[{library[0]}]'")
    thing = autobct.plot if name == "autobct.plot" else getattr(importlib.import_module(path), last)
    assert thing.__doc__


def commands() -> list[tuple[str, Any]]:
    top: Any = get_command(app)
    return [(name, command) for name, command in top.commands.items() if name != "maps"]  # which has a page of its own


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value if isinstance(value, str) else "")
def test_every_command_and_option_is_in_the_reference(name: str, command: Any) -> None:
    page = REFERENCE["command-line.md"]
    assert f"`autobct {name}" in page
    for option in (option for parameter in command.params for option in parameter.opts if option.startswith("--")):
        assert f"`{option}" in page


def test_fields_of_a_docstring_become_a_list() -> None:
    text = "One line.\n\nlow, high: the ends\nlog:  even on\n      the logarithm\n\nAfter: all.\n\n>>> a = 1\n... b\n"
    assert listed(text) == (
        "One line.\n\n- `low`, `high`: the ends\n- `log`: even on\n    the logarithm\n\n- `After`: all.\n\n"
        "```python\na = 1\nb\n```\n"
    )
