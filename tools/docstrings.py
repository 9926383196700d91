"""Docstrings for the reference: lines such as "price:  what cost is worth" become a list, and >>> a block of code.

A griffe extension, for mkdocstrings.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # it comes with mkdocs; the layout is tested without it
    Extension = object

_FIELD = re.compile(r"(?P<names>\w+(?:, \w+)*):\s+(?P<text>\S.*)")
_INDENT = re.compile(r"\s+\S")
_SESSION = re.compile(r"(?:^(?:>>>|\.\.\.) .*(?:\n|\Z))+", re.MULTILINE)


class FieldLists(Extension):
    """Rewrites every docstring before it is shown."""

    def on_object(self, *, obj: Any, **kwargs: Any) -> None:
        """Called for every object that is found."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)


def listed(text: str) -> str:
    """Markdown of a docstring: fields as a list, with the lines that continue them, and sessions as code."""
    lines: list[str] = []
    inside = False
    for line in _SESSION.sub(_code, text).split("\n"):
        field = _FIELD.fullmatch(line)
        if field:
            if not inside and lines and lines[-1]:
                lines.append("")
            names = ", ".join(f"`{name}`" for name in field["names"].split(", "))
            lines.append(f"- {names}: {field['text']}")
            inside = True
        elif inside and _INDENT.match(line):
            lines.append(f"    {line.strip()}")
        else:
            if inside and line:
                lines.append("")
            lines.append(line)
            inside = False
    return "\n".join(lines)


def _code(session: re.Match[str]) -> str:
    lines = session[0].rstrip("\n").split("\n")
    return "\n".join(["```python", *(line[4:] for line in lines), "```", ""])
