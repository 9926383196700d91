"""docs/architecture.md is true: its files exist, a decision goes through those of its diagram; names mean one thing."""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType

import pytest
from tools.touched import SPACES, touched

import autobct
from autobct.tuning.space.space import Parameter

ROOT = Path(__file__).parents[1]
PACKAGE = Path(autobct.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
DIAGRAM = PAGE.partition("## One decision, file by file")[2].partition("```\n")[2].partition("```")[0]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?<![\w./])[a-z]+(?:/\w+)+\.py", PAGE))))
def test_every_file_exists(path: str) -> None:
    assert any((folder / path).is_file() for folder in (PACKAGE, PACKAGE.parent, ROOT))


def test_a_decision_goes_through_the_files_of_the_diagram() -> None:
    seen: set[str] = set()

    def note(frame: FrameType, event: str, arg: object) -> None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            seen.add(path.relative_to(PACKAGE).as_posix())

    space = {"rate": autobct.Float(0.001, 1.0, log=True), "size": autobct.Int(1, 9), "share": autobct.Float(0, 1)}
    before = sys.gettrace()
    sys.settrace(note)
    try:
        tuner = autobct.Tuner(space, price=0.01)
        for score in (0.5, 0.6):
            trial = tuner.ask()
            assert isinstance(trial, autobct.Train)
            assert trial.why
            tuner.tell(trial, score, 1.0)
    finally:
        sys.settrace(before)
    assert set(re.findall(r"[a-z]+(?:/\w+)+\.py", DIAGRAM)) <= seen


MOST_ASKED, MOST_TOLD = 16, 12
"""Files that one decision, and learning from one run, may go through; lower them when they become fewer."""


@pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
def test_a_decision_goes_through_few_files(space: dict[str, Parameter]) -> None:
    asked, told = touched(space)
    assert {"tuning/tuner.py", "value/acquisition.py"} <= asked
    assert {"tuning/tuner.py", "tuning/model/posterior.py"} <= told
    assert len(asked) <= MOST_ASKED, sorted(asked)
    assert len(told) <= MOST_TOLD, sorted(told)
    assert asked | told <= set(re.findall(r"[a-z]+(?:/\w+)+\.py", DIAGRAM))


def test_no_two_files_have_the_same_name() -> None:
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        places[path.name].append(path.relative_to(PACKAGE).as_posix())
    assert len(places) > 100
    assert not {name: found for name, found in places.items() if len(found) > 1 and name != "__init__.py"}


def test_no_file_is_too_long_to_read() -> None:
    lengths = {path.name: len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert not {name: length for name, length in lengths.items() if length > 300}


def test_a_class_name_means_one_thing() -> None:
    places = defaultdict(list)
    for path in [*PACKAGE.rglob("*.py"), *(ROOT / "experiments" / "paper").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.name)
    assert len(places) > 150
    assert not {name: found for name, found in places.items() if len(found) > 1}


def test_constructors_of_many_fields_are_called_with_keywords() -> None:
    """More than four values in a row are read by counting."""
    trees = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8")) for path in PACKAGE.rglob("*.py")}
    fields = {
        node.name: sum(isinstance(part, ast.AnnAssign) for part in node.body)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.dump(mark) for mark in node.decorator_list)
    }
    calls = [(path, node) for path, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.Call)]
    long = [(path, call) for path, call in calls if fields.get(getattr(call.func, "id", ""), 0) > 4]
    assert len(long) > 50
    assert not [f"{path}:{call.lineno}" for path, call in long if len(call.args) > 4]
