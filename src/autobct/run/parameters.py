"""The search space in a TOML file: a table for every parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from autobct.run.program_settings import SettingsError
from autobct.run.template import RESERVED
from autobct.run.toml_table import TomlTable, flag, mapping, number, one_of, text
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space.space import Space

EXAMPLE = 'depth = { type = "int", low = 1, high = 20 }'


def read_space(data: Mapping[str, Any]) -> dict[str, Parameter]:
    """The parameters of a table, by name."""
    table = TomlTable(data, "space", None)
    if not data:
        raise SettingsError(f"space has no parameter; write e.g. {EXAMPLE}")
    for name in data:
        check_name(name, table.where(name))
    space = {name: _parameter(table.need(name, mapping, EXAMPLE), table.where(name)) for name in data}
    if all(parameter.count == 1 for parameter in space.values()):
        raise SettingsError("space has nothing to tune: every parameter is constant")
    try:
        Space.of(space)
    except (TypeError, ValueError) as error:  # conditions that cannot be met
        raise SettingsError(str(error)) from None
    return space


def check_name(name: str, place: str) -> None:
    """SettingsError if a parameter cannot be called so.  place: where it stands."""
    if name in RESERVED or re.search(r"[{}\0]", name) or not name:
        reserved = ", ".join(RESERVED)
        raise SettingsError(f"{place} cannot be a parameter's name (taken: {reserved}; no braces)")


def plain_value(value: Any) -> None:
    """ValueError for what no program can be given."""
    if not isinstance(value, str | bool | int | float):
        raise ValueError(f"must be strings, numbers, true or false, got {value!r}")
    if isinstance(value, str):
        text(value)
    if isinstance(value, float) and not abs(value) < float("inf"):
        raise ValueError(f"must be finite, got {value!r}")


def _parameter(data: Mapping[str, Any], path: str) -> Parameter:
    kind = TomlTable(data, path, None).need("type", one_of("int", "float", "categorical"), EXAMPLE)
    if kind == "categorical":
        table = TomlTable(data, path, ("type", "choices", "when"))
        chosen = table.need("choices", _choices, 'choices = ["a", "b"]')
        return Categorical(chosen.choices, when=table.get("when", _when))
    table = TomlTable(data, path, ("type", "low", "high", "log", "step", "when"))
    low, high = (table.need(key, number, f"{key} = 1") for key in ("low", "high"))
    options = {"log": table.get("log", flag), "step": table.get("step", number), "when": table.get("when", _when)}
    told: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    try:
        return Int(low, high, **told) if kind == "int" else Float(low, high, **told)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{path}: {str(error).partition(': ')[2]}") from None


def _when(value: Any) -> dict[str, list[Any]]:
    """Under which values of others it exists: when = { booster = "dart" }, or a list of values."""
    if not isinstance(value, dict) or not value:
        raise ValueError(f'must be a table of names and values, got {value!r}; write e.g. {{ booster = "dart" }}')
    told = {name: values if isinstance(values, list) else [values] for name, values in value.items()}
    return {name: list(_choices(values).choices) for name, values in told.items()}


def _choices(value: Any) -> Categorical:
    if not isinstance(value, list) or not value:
        raise ValueError(f'must be a list that is not empty, got {value!r}; write e.g. ["a", "b"]')
    for choice in value:
        plain_value(choice)
    return Categorical(value)
