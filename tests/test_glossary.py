"""docs/glossary.md is true: every name in it can be imported, and the words of the field are there to be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.test_paper_to_code import resolve

PAGE = (Path(__file__).parents[1] / "docs" / "glossary.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(autobct\.[\w.]+)`", PAGE)))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize(
    "word", ["prior", "posterior", "surrogate", "acquisition", "expected improvement", "incumbent", "feasibility"]
)
def test_the_words_of_the_field_are_there(word: str) -> None:
    assert word in PAGE.lower()


def test_every_row_names_something() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith(("| paper", "| word"))]
    assert all("`" in row.split("|")[2] for row in rows)
