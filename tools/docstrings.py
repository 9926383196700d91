"""Docstrings for the reference: lines such as "price:  what cost is worth" become a list.  A griffe extension."""

from __future__ import annotations

import re
from typing import Any

import griffe

_FIELD = re.compile(r"(?P<names>\w+(?:, \w+)*):\s+(?P<text>\S.*)")
_INDENT = re.compile(r"\s+\S")


class FieldLists(griffe.Extension):
    """Rewrites every docstring before it is shown."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for every object that is found."""
        if obj.docstring is not None:
            obj.docstring.value = listed(obj.docstring.value)


def listed(text: str) -> str:
    """Markdown of a docstring: fields as a list, with the lines that continue them."""
    lines: list[str] = []
    inside = False
    for line in text.split("\n"):
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
