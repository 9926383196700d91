"""README and documentation are written in plain words, and begin with what a user gets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs_pages import ROOT, blocks, pages

BANNED = re.compile(
    r"\b(told|dear|dearer|in hand|luck|lucky|unlucky|parcels?|rooms?|games?|believed|go on|goes on|going on|gone on|"
    r"went on|a word each|an argument away|of everybody|for ever)\b",
    re.IGNORECASE,
)
PAGES = [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]


def prose(text: str) -> str:
    """A page without fenced blocks, rows of tables and code within lines; lines stay where they are."""
    outside, fenced = [], False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        outside.append("" if fenced or fence or line.startswith("|") else re.sub(r"`[^`]*`", "", line))
        fenced ^= fence
    return "\n".join(outside)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_plain_words(page: Path) -> None:
    lines = prose(page.read_text(encoding="utf-8")).splitlines()
    assert not [f"{page.name}:{number}: {line}" for number, line in enumerate(lines, start=1) if BANNED.search(line)]


def test_the_scan_leaves_out_code_and_tables() -> None:
    page = "told\n```text\nin hand\n```\n| dear |\n`parcels` and rooms\nretold in handy bedrooms\n"
    assert BANNED.findall(prose(page)) == ["told", "rooms"]


def test_the_readme_leads_with_what_a_user_gets() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    claim = text.split("\n\n")[1]
    assert all(words in claim for words in ("stops by itself", "why", "more than any fixed number of trials"))
    examples = blocks(ROOT / "README.md")
    assert "autobct.tune(" in examples[0].text
    assert text.index("autobct.tune(") < text.index("pip install")
    assert any({"make demo", "make test"} <= {line[:9] for line in block.text.splitlines()} for block in examples)


def test_guides_come_first_and_results_have_their_own_heading() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    headings = re.findall(r"^  - ([\w ]+):", navigation, flags=re.MULTILINE)
    assert headings == ["Home", "Guides", "How it works", "Reference", "Results and derivations"]
    results = navigation.partition("Results and derivations:")[2]
    assert all(page in results for page in ("peers.md", "optimality.md", "paper.md", "maps.md", "decisions/README.md"))


def test_a_note_that_experiments_share_is_written_once() -> None:
    pytest.importorskip("PIL")
    pytest.importorskip("matplotlib")
    from tools.paper_page import notes_once

    sections = ["### a\ntable\n- one\n- two\n", "### b\n- one\n- three\n", "### c\n- three\n- one\n"]
    assert list(notes_once(sections)) == [
        sections[0],
        "### b\n- three\n- See also the notes on [a](#a).\n",
        "### c\n- See also the notes on [b](#b), [a](#a).\n",
    ]
