"""Pages of the documentation as something to run: what stands in their fences, in the order of reading.

| fence | what is done with it |
|---|---|
| ```` ```python ```` | run, with the names of the blocks before it on the page |
| ```` ```python title="train.py" ````, any language with a title | written to a file of that name |
| ```` ```sh ```` | run by a shell, in the same folder |
| ```` ```text title="prints" ```` | what the block before it has just printed: the same words, numbers within 2 % |
| all others | read by people only |
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRINTS = "prints"

_FENCE = re.compile(r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$", re.M | re.S)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Block:
    """One fence.  line: where its text begins on the page, from 1."""

    language: str
    title: str
    text: str
    line: int

    @property
    def kind(self) -> str:
        """What is to be done with it: "run", "shell", "file", "prints" or "read"."""
        if self.title:
            return "prints" if self.title == PRINTS else "file" if "." in self.title else "read"
        return {"python": "run", "sh": "shell"}.get(self.language, "read")


def pages() -> list[Path]:
    """The README and all pages that are ours to run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """All fences of a page that name a language."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["title"] or "", found["text"], text.count("\n", 0, found.start()) + 2)
        for found in _FENCE.finditer(text)
    ]


def is_run(page: Path) -> bool:
    """Whether there is anything on the page to run."""
    return any(block.kind in ("run", "shell") for block in blocks(page))


def same_text(stated: str, printed: str, *, within: float = 0.02) -> bool:
    """The same words in the same order, and numbers that differ by rounding or by what another machine does."""
    if _NUMBER.sub("#", stated).split() != _NUMBER.sub("#", printed).split():
        return False
    pairs = zip(_NUMBER.findall(stated), _NUMBER.findall(printed), strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=within, abs_tol=1e-12) for a, b in pairs)
