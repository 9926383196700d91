"""What a user reads is written in plain, idiomatic words: messages, templates, and the docstrings of public names."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import autobct
import autobct.plot
import autobct.run
from autobct.cli import app

SOURCE = Path(autobct.__file__).parent
BANNED = re.compile(
    r"\b(told|dear|dearer|in hand|luck|parcels?|rooms?|games?|believed|barred|"
    r"go on|goes on|going on|gone on|went on|of it fixed|would tell it)\b",
    re.IGNORECASE,
)
ALLOWED = {
    "told",  # a kind of record in journals; and the former value of cost.measure, still accepted
    "Run.believed",  # deprecated
    "Alarm.believed",
}
NOT_PYTHON = sorted(path for path in SOURCE.rglob("files/*") if path.suffix in (".html", ".toml"))
FURTHER = ("belief.prior.Expectations", "belief.prior.default_prior", "belief.basis.cubic")


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """All texts of a module but for docstrings: the words of messages, titles, labels and help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def documented() -> dict[str, str]:
    """The docstrings of all public names and of their public members, and the help of every command."""
    named = {f"autobct.{name}": getattr(autobct, name) for name in autobct.__all__}
    named |= {f"autobct.run.{name}": getattr(autobct.run, name) for name in autobct.run.__all__}
    named |= {f"autobct.plot.{name}": getattr(autobct.plot, name) for name in autobct.plot.__all__}
    for path in FURTHER:
        module, _, name = path.rpartition(".")
        named[f"autobct.{path}"] = getattr(importlib.import_module(f"autobct.{module}"), name)
    found = {"autobct": autobct.__doc__ or "", "autobct.plot": autobct.plot.__doc__ or ""}
    for name, thing in named.items():
        found[name] = inspect.getdoc(thing) or ""
        if inspect.isclass(thing):
            members = {key: value for key, value in vars(thing).items() if not key.startswith("_")}
            found |= {f"{name}.{key}": inspect.getdoc(getattr(thing, key)) or "" for key in members}
    return found | dict(helps(get_command(app), "autobct"))


def helps(command: Any, name: str) -> Iterator[tuple[str, str]]:
    texts = [command.help, command.epilog, *(getattr(parameter, "help", None) for parameter in command.params)]
    yield f"command {name}", "\n".join(filter(None, texts))
    for key, inner in getattr(command, "commands", {}).items():
        yield from helps(inner, f"{name} {key}")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages_use_plain_words(path: Path) -> None:
    found = [(line, text) for line, text in literals(path) if BANNED.search(text) and text not in ALLOWED]
    assert not found


@pytest.mark.parametrize("path", NOT_PYTHON, ids=lambda path: path.name)
def test_templates_use_plain_words(path: Path) -> None:
    assert not BANNED.findall(path.read_text(encoding="utf-8"))


def test_public_docstrings_use_plain_words() -> None:
    texts = documented()
    assert len(texts) > 100
    assert {"autobct.tune", "autobct.Train.why", "autobct.plot.history", "command autobct maps build"} <= set(texts)
    assert not {name: BANNED.findall(text) for name, text in texts.items() if BANNED.search(text)}


def test_the_scan_sees_words() -> None:
    assert [word for word in ("told", "goes on", "in hand", "a dear run") if not BANNED.search(word)] == []
    assert not BANNED.search("retold in handy bedrooms")
