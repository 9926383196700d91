"""Command templates: `{name}` becomes the value of a parameter, as one piece of text that nothing interprets."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

RESERVED = ("params_json", "params_file", "run_dir", "run", "repeat", "seed")
"""What else may stand in braces: all params as JSON or in a file, the run's folder and number, a seed."""

CARRIES_ALL = frozenset({"params_json", "params_file", "run_dir"})
"""Each of these tells a program every parameter."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def placeholders(text: str) -> list[str]:
    """The names in braces, in order; ValueError if a brace stands alone."""
    names = []
    for match in _BRACES.finditer(text):
        if match[0] in ("{", "}"):
            raise ValueError(f"has a single {match[0]!r} in {text!r}; write {match[0] * 2} for the brace itself")
        if match[1] is not None:
            names.append(match[1])
    return names


def check_placeholders(text: str, parameters: Iterable[str]) -> list[str]:
    """The names in braces; ValueError if one of them is neither a parameter nor reserved."""
    names, known = placeholders(text), [*parameters, *RESERVED]
    for name in names:
        if name not in known:
            raise ValueError(f"has {{{name}}}, which is not a parameter{meant(name, known, braces=True)}")
    return names


def filled(text: str, values: Mapping[str, str]) -> str:
    """The text with each `{name}` replaced; what a value contains is not looked at again."""

    def one(match: re.Match[str]) -> str:
        return match[0][0] if match[1] is None else values[match[1]]

    return _BRACES.sub(one, text)


def has_all(text: str, values: Mapping[str, str]) -> bool:
    """Whether there is a value for every `{name}`: not where a parameter does not exist in this run."""
    return all(name in values for name in placeholders(text))


def as_text(value: Any) -> str:
    """A parameter's value on a command line: text as it is, numbers so that they read back exactly, true or false."""
    return value if isinstance(value, str) else json.dumps(value)


def meant(name: str, known: Iterable[str], *, braces: bool = False) -> str:
    """'; did you mean x?', or the list of what there is."""
    names = list(known)
    shown = [f"{{{each}}}" if braces else each for each in names]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {shown[names.index(close[0])]}?"
    return f"; there are {', '.join(shown)}"
