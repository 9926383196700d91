"""The search space in a TOML file: a table for every parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autobct.run.settings import SettingsError
from autobct.run.table import Table, flag, mapping, number, one_of, text
from autobct.run.template import RESERVED
from autobct.tuning.parameter import Categorical, Float, Int, Parameter

EXAMPLE = 'depth = { type = "int", low = 1, high = 20 }'


def read_space(data: Mapping[str, Any]) -> dict[str, Parameter]:
    """The parameters of a table, by name."""
    table = Table(data, "space", None)
    if not data:
        raise SettingsError(f"space has no parameter; write e.g. {EXAMPLE}")
    for name in data:
        if name in RESERVED or re.search(r"[{}\0]", name) or not name:
            reserved = ", ".join(RESERVED)
            raise SettingsError(f"{table.where(name)} cannot be a parameter's name (taken: {reserved}; no braces)")
    space = {name: _parameter(table.need(name, mapping, EXAMPLE), table.where(name)) for name in data}
    if all(parameter.count == 1 for parameter in space.values()):
        raise SettingsError("space has nothing to tune, all of it is constant")
    return space


def _parameter(data: Mapping[str, Any], path: str) -> Parameter:
    kind = Table(data, path, None).need("type", one_of("int", "float", "categorical"), EXAMPLE)
    if kind == "categorical":
        return Table(data, path, ("type", "choices")).need("choices", _choices, 'choices = ["a", "b"]')
    table = Table(data, path, ("type", "low", "high", "log", "step"))
    low, high = (table.need(key, number, f"{key} = 1") for key in ("low", "high"))
    options = {"log": table.get("log", flag), "step": table.get("step", number)}
    told = {key: value for key, value in options.items() if value is not None}
    try:
        return Int(low, high, **told) if kind == "int" else Float(low, high, **told)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: {str(error).partition(': ')[2]}") from None


def _choices(value: Any) -> Categorical:
    if not isinstance(value, list) or not value:
        raise ValueError(f'must be a list that is not empty, got {value!r}; write e.g. ["a", "b"]')
    for choice in value:
        if not isinstance(choice, str | bool | int | float):
            raise ValueError(f"must be texts, numbers, true or false, got {choice!r}")
        if isinstance(choice, str):
            text(choice)
        if isinstance(choice, float) and not abs(choice) < float("inf"):
            raise ValueError(f"must be finite, got {choice!r}")
    return Categorical(value)
