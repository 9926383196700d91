"""A table of a TOML file whose every key is asked for once; what nobody asked for is a mistake, and named."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from autobct.run.settings import SettingsError
from autobct.run.template import meant

Checked = TypeVar("Checked")

_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*(ms|s|min|h|d)\s*")


class Table:
    """One table.  path: the keys that lead to it, "" for the file itself."""

    def __init__(self, data: Mapping[str, Any], path: str, elsewhere: Iterable[str] = ()) -> None:
        self._data, self._path, self._elsewhere = data, path, list(elsewhere)
        self._asked: list[str] = []

    def get(self, key: str, check: Callable[[Any], Checked]) -> Checked | None:
        """The checked value of a key; None if it is not there.  `check` raises ValueError with what is wrong."""
        self._asked.append(key)
        if key not in self._data:
            return None
        try:
            return check(self._data[key])
        except (TypeError, ValueError) as error:
            if isinstance(error, SettingsError):
                raise
            raise SettingsError(f"{self.where(key)}: {error}") from None

    def need(self, key: str, check: Callable[[Any], Checked], example: str) -> Checked:
        """The same for a key that must be there."""
        found = self.get(key, check)
        if found is None:
            self.finish(ignore_missing=True)  # a misspelt key is better called that than missing
            raise SettingsError(f"{self.where(key)} is missing; write e.g. {example}")
        return found

    def table(self, key: str) -> Mapping[str, Any]:
        """A table inside this one; empty if it is not there."""
        return self.get(key, mapping) or {}

    def finish(self, *, ignore_missing: bool = False) -> None:
        """SettingsError if there is a key that nobody asked for; `ignore_missing`: some will still be asked for."""
        for key in self._data:
            known = [self.where(name) for name in self._asked]
            if key not in self._asked and not (ignore_missing and self.where(key) in self._elsewhere):
                hints = [name for name in self._elsewhere if name.rpartition(".")[2] == key]
                hint = f"; did you mean {hints[0]}?" if hints else meant(self.where(key), known + self._elsewhere)
                raise SettingsError(f"{self.where(key)} is not a key of this file{hint}")

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
        raise ValueError(f'must be text, got {value!r}; write it in quotes, e.g. "{value}"')
    if "\0" in value:
        raise ValueError("has a null character, which no program can be given")
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


def duration(value: Any) -> float:
    """Seconds: a number of them, or text with a unit."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    seconds = float(found[1]) * _UNITS[found[2]] if found else value
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not (0 < seconds < math.inf):
        raise ValueError(f'must be a time, got {value!r}; write e.g. "10min", or a number of seconds')
    return float(seconds)


def pair(value: Any) -> tuple[float, float]:
    """Two numbers, the lower first."""
    numbers = value if isinstance(value, list) and len(value) == 2 else []
    if not numbers or any(isinstance(each, bool) or not isinstance(each, int | float) for each in numbers):
        raise ValueError(f"must be two numbers, got {value!r}; write e.g. [0.5, 1.0]")
    return float(numbers[0]), float(numbers[1])
