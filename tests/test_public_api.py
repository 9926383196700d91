"""One page has the whole public API, and what is deprecated says so and still works."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autobct
import autobct.plot
import autobct.run
from autobct.tuning.model.alarm import Alarm

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "public-api.md").read_text("utf-8")
LISTED, _, POLICY = PAGE.partition("## Deprecation policy")


def names_in(path: Path) -> list[str]:
    """What a module calls public, without importing it: the library it is for may be absent."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    raise AssertionError(f"{path} has no __all__")


def public() -> list[str]:
    """All public names, those of `autobct` itself without the package."""
    folder = ROOT / "src" / "autobct" / "integrations"
    hosts = [path for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    adapters = [f"autobct.integrations.{path.stem}.{name}" for path in hosts for name in names_in(path)]
    of_plot = [f"autobct.plot.{name}" for name in autobct.plot.__all__]
    of_run = [f"autobct.run.{name}" for name in autobct.run.__all__]
    return [*autobct.__all__, *of_plot, *of_run, *adapters]


def test_every_public_name_is_on_the_page_once_and_no_other() -> None:
    listed = re.findall(r"^\| `([\w.]+)` \|", LISTED, flags=re.MULTILINE)
    assert sorted(listed) == sorted(public())


def deprecated() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """Each deprecated name: what it gives, and what the new one does."""
    run = autobct.Run(0, {"x": 0.5}, np.array([0.5]), 0.8, 1.0, None, 0.75)
    alarm = Alarm(0, "score", 0.1, 0.9, 5.0, "text")
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01)
    tuner.replay([run])
    return {
        "Run.believed": lambda: (run.believed, run.estimated_score),
        "Alarm.believed": lambda: (alarm.believed, alarm.expected),
        "Tuner.believed_score": lambda: (tuner.believed_score(run.control), tuner.estimated_score(run.control)),
    }


@pytest.mark.parametrize("name", deprecated())
def test_a_deprecated_name_works_and_warns(name: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"{name} is deprecated.*removed in autobct 0\.3; use ") as caught:
        old, new = deprecated()[name]()
    assert old == new
    assert caught[0].filename == __file__  # of whoever used it


def test_all_deprecated_names_are_on_the_page_and_warn() -> None:
    told = re.findall(r"^\| `([\w.]+)` \| `([\w.]+)` \| ([\d.]+) \|", POLICY, flags=re.MULTILINE)
    assert [old for old, _, _ in told] == list(deprecated())
    for old, new, version in told:
        with pytest.warns(DeprecationWarning, match=f"{old} .* {version}; use {new}"):
            deprecated()[old]()


def test_a_whole_tuning_uses_nothing_deprecated() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        result = autobct.tune(lambda params: (params["x"], 1.0), {"x": autobct.Float(0, 1)}, price=0.05)
        assert result.to_records()
        assert result.tuner.explain()
