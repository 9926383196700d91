"""docs/paper-to-code.md is true: every name in it can be imported, every equation and algorithm has one."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "paper-to-code.md"
NAME = r"`((?:autobct|experiments)\.[\w.]+)`"
ROWS = [line for line in PAGE.read_text().splitlines() if line.startswith("|") and re.search(NAME, line)]
NAMES = sorted({name for row in ROWS for name in re.findall(NAME, row)})


def resolve(path: str) -> object:
    """The object behind a dotted path: the longest importable module, then attributes."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(path)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists_and_is_documented(name: str) -> None:
    found = resolve(name)
    if callable(found):
        assert found.__doc__


@pytest.mark.parametrize("number", range(1, 26))
def test_every_numbered_equation_of_the_body_has_a_row(number: int) -> None:
    assert any(re.match(rf"\| \({number}\)", row) for row in ROWS)


@pytest.mark.parametrize("label", ["eqn:6", "eqn:6a", "eqn:A1", "eqn:9"])
def test_every_numbered_equation_of_the_appendix_has_a_row(label: str) -> None:
    assert any(label in row for row in ROWS)


@pytest.mark.parametrize("number", range(1, 6))
def test_every_algorithm_has_a_row(number: int) -> None:
    assert any(row.startswith(f"| Algorithm {number},") for row in ROWS)
