"""A table of a TOML file, with only the keys there are, checks for their values, and templates of commands.

One sentence for a mistake.  In a template `{name}` becomes the value of a parameter, as one piece of text that nothing
interprets.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from autobct.run.program_settings import SettingsError
from autobct.tuning.units.price import seconds_of

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


Checked = TypeVar("Checked")

_DURATION = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]+)\s*", re.IGNORECASE)


class TomlTable:
    """One table.

    path:       the keys that lead to it, "" for the file itself
    keys:       those it may have; None: any
    elsewhere:  paths of keys of other tables, in case one was put here
    """

    def __init__(
        self, data: Mapping[str, Any], path: str, keys: Iterable[str] | None, elsewhere: Iterable[str] = ()
    ) -> None:
        self._data, self._path = data, path
        known, others = list(data if keys is None else keys), list(elsewhere)
        for key in data:
            if key not in known:
                hints = [name for name in others if name.rpartition(".")[2] == key]
                hint = f"; did you mean {hints[0]}?" if hints else meant(key, known)
                raise SettingsError(f"{self.where(key)} is not a key of this file{hint}")

    def get(self, key: str, check: Callable[[Any], Checked]) -> Checked | None:
        """The checked value of a key; None if it is not there.  `check` raises ValueError with what is wrong."""
        if key not in self._data:
            return None
        try:
            return check(self._data[key])
        except SettingsError:
            raise
        except (TypeError, ValueError) as error:
            raise SettingsError(f"{self.where(key)}: {error}") from None

    def need(self, key: str, check: Callable[[Any], Checked], example: str) -> Checked:
        """The same for a key that must be there."""
        found = self.get(key, check)
        if found is None:
            raise SettingsError(f"{self.where(key)} is missing; write e.g. {example}")
        return found

    def table(self, key: str, keys: Iterable[str] | None) -> TomlTable:
        """A table inside this one; empty if it is not there."""
        return TomlTable(self.get(key, mapping) or {}, self.where(key), keys)

    def where(self, key: str) -> str:
        """The path of a key, as TOML writes it."""
        written = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else repr(key)
        return f"{self._path}.{written}" if self._path else written


def mapping(value: Any) -> Mapping[str, Any]:
    """A table."""
    if not isinstance(value, dict):
        raise ValueError(f"must be a table, got {value!r}")
    return value


def text(value: Any) -> str:
    """Text that a program can be given."""
    if not isinstance(value, str):
        raise ValueError(f'must be a string, got {value!r}; write it in quotes, e.g. "{value}"')
    if "\0" in value:
        raise ValueError("has a null character, which no program can be given")
    return value


def names(value: Any) -> list[str]:
    """A list of names."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise ValueError(f'must be a list of names, got {value!r}; write e.g. ["rate"]')
    return value


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError(f"must be true or false, got {value!r}")
    return value


def whole(least: int) -> Callable[[Any], int]:
    """A whole number of at least `least`."""

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"must be a whole number of at least {least}, got {value!r}")
        return value

    return check


def one_of(*options: str) -> Callable[[Any], str]:
    """One of some words."""

    def check(value: Any) -> str:
        if value not in options:
            hint = meant(value, options) if isinstance(value, str) else f"; there are {', '.join(options)}"
            raise ValueError(f"got {value!r}{hint}")
        return str(value)

    return check


def number(value: Any) -> Any:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"must be a number, got {value!r}")
    return value


def duration(value: Any) -> float:
    """Seconds: a number of them, or text with a unit."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    unit = None if found is None else seconds_of(found[2])
    seconds = value if found is None or unit is None else float(found[1]) * unit
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (0 < seconds < math.inf):
        raise ValueError(f'must be a time, got {value!r}; write e.g. "10min", or a number of seconds')
    return float(seconds)


def pair(value: Any) -> tuple[float, float]:
    """Two numbers, the lower first."""
    numbers = value if isinstance(value, list) and len(value) == 2 else []
    if not numbers or any(isinstance(each, bool) or not isinstance(each, int | float) for each in numbers):
        raise ValueError(f"must be two numbers, got {value!r}; write e.g. [0.5, 1.0]")
    return float(numbers[0]), float(numbers[1])
