"""The search space in a TOML file: `[space]`, a table for every parameter, or `[table]`, the rows that may be trained.

Rows stand in the file or in a CSV file beside it, which is somebody else's: its size, its names and every value are
looked at before anything is made of them, and what is wrong is said with the line it is in.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autobct.run.program_settings import SettingsError
from autobct.run.toml_table import RESERVED, TomlTable, as_text, flag, mapping, names, number, one_of, text
from autobct.tuning.space.parameter import Categorical, Float, Int, Parameter
from autobct.tuning.space.row_table import Table as Rows
from autobct.tuning.space.space import Space

ROWS = 'file = "rows.csv", or rows = [{ depth = 3, rate = 0.1 }, { depth = 5, rate = 0.3 }]'
MOST_BYTES = 1 << 23
MOST_ROWS = 100_000
MOST_COLUMNS = 1000

_KEYS = ("file", "rows", "log")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NOTHING = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class CsvLine:
    """One row of a CSV file, and the line in which it ends."""

    number: int
    cells: Mapping[str, str]


def read_table(
    data: Mapping[str, Any], space: Mapping[str, Parameter] | None, opened: Callable[[str], str]
) -> tuple[Rows, str | None]:
    """The rows of a table, and the text of the file they stand in if they stand in one.

    space: what the columns mean, if it is said;  opened: the text of a file, by the name that is told
    """
    table = TomlTable(data, "table", _KEYS)
    file, rows, log = table.get("file", text), table.get("rows", _inline), table.get("log", names)
    if (file is None) == (rows is None):
        raise SettingsError(f"table must have either a file or rows; write e.g. {ROWS}")
    if rows is not None:
        return _made(rows, space, log, lambda k: f"table.rows[{k}]"), None
    assert file is not None
    source = opened(file)
    try:
        lines = read_lines(source)
        values = _described(lines, space) if space else _inferred(lines)
        return _made(values, space, log, lambda k: f"line {lines[k].number}"), source
    except SettingsError as error:
        raise SettingsError(f"table.file {file!r}: {error}") from None


def read_lines(source: str) -> list[CsvLine]:
    """The rows of a CSV text, as text; the first line has the names."""
    if len(source) > MOST_BYTES:
        raise SettingsError(f"is larger than {MOST_BYTES} bytes")
    reader = csv.reader(io.StringIO(source.removeprefix("\ufeff"), newline=""), strict=True)
    named: list[str] = []
    lines: list[CsvLine] = []
    try:
        for found in reader:
            cells = [cell.strip() for cell in found]
            if not any(cells):
                continue
            if not named:
                named = _header(cells, reader.line_num)
                continue
            if len(cells) != len(named):
                raise SettingsError(f"line {reader.line_num} has {len(cells)} values for {len(named)} names")
            if len(lines) == MOST_ROWS:
                raise SettingsError(f"has more than {MOST_ROWS} rows")
            lines.append(CsvLine(reader.line_num, dict(zip(named, cells, strict=True))))
    except csv.Error as error:
        raise SettingsError(f"line {reader.line_num} is not CSV: {error}") from None
    if not lines:
        raise SettingsError("has no rows; write the names in the first line and one row in each line after it")
    return lines


def _header(cells: list[str], line: int) -> list[str]:
    if len(cells) == 1 and (found := re.search(r"[;\t]", cells[0])):
        raise SettingsError(f"line {line}: values are separated by {found[0]!r}; write commas")
    if len(cells) > MOST_COLUMNS:
        raise SettingsError(f"line {line} has more than {MOST_COLUMNS} names")
    for name in cells:
        check_name(name, f"line {line}: {name!r}")
        if cells.count(name) > 1:
            raise SettingsError(f"line {line}: {name!r} is there twice")
    return cells


def _inferred(lines: list[CsvLine]) -> list[dict[str, Any]]:
    """Values by what all of a column look like: whole numbers, numbers, true and false, else texts."""
    for line in lines:
        for name, cell in line.cells.items():
            if not cell or _NOTHING.fullmatch(cell):
                what = f"has {cell} for {name!r}" if cell else f"has no value for {name!r}"
                raise SettingsError(f"line {line.number} {what}; leave the row out, or write one")
            _text_of(cell, line.number)
    kinds = {name: _kind([line.cells[name] for line in lines]) for name in lines[0].cells}
    return [{name: kinds[name](cell) for name, cell in line.cells.items()} for line in lines]


def _kind(cells: list[str]) -> Callable[[str], Any]:
    for pattern, kind in ((_WHOLE, int), (_NUMBER, float)):
        if all(pattern.fullmatch(cell) for cell in cells):
            return kind
    return _FLAGS.__getitem__ if all(cell in _FLAGS for cell in cells) else str


def _described(lines: list[CsvLine], space: Mapping[str, Parameter]) -> list[dict[str, Any]]:
    """Values as the space has them; an empty cell is a parameter that does not exist in this row."""
    for name in lines[0].cells:
        if name not in space:
            raise SettingsError(f"column {name!r} is not in space; there are {', '.join(space)}")
    return [
        {name: _value(space[name], _text_of(cell, line.number)) for name, cell in line.cells.items() if cell}
        for line in lines
    ]


def _value(parameter: Parameter, cell: str) -> Any:
    if isinstance(parameter, Categorical):
        return next((choice for choice in parameter.choices if as_text(choice) == cell), cell)
    if _WHOLE.fullmatch(cell):
        return int(cell)
    return float(cell) if _NUMBER.fullmatch(cell) else cell  # what is no number gets its sentence from the space


def _text_of(cell: str, line: int) -> str:
    try:
        return text(cell)
    except ValueError as error:
        raise SettingsError(f"line {line} {error}") from None


def _inline(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError(f"must be a list of tables, got {value!r}; write e.g. {ROWS}")
    for k, row in enumerate(value):
        for name, cell in row.items():
            check_name(name, f"table.rows[{k}].{name}")
            try:
                plain_value(cell)
            except ValueError as error:
                raise SettingsError(f"table.rows[{k}].{name}: {error}") from None
    return value


def _made(
    rows: list[dict[str, Any]],
    space: Mapping[str, Parameter] | None,
    log: list[str] | None,
    place: Callable[[int], str],
) -> Rows:
    """The table; what is wrong with a row is said with its place in the file."""
    try:
        return Rows(rows, space, log=log)
    except (TypeError, ValueError) as error:
        said = str(error).removeprefix("Table: ").partition("; write e.g. Table(")[0]
        placed = re.sub(r"^rows\[(\d+)\]", lambda found: place(int(found[1])), said)
        raise SettingsError(placed if placed != said else f"table {said}") from None


PARAMETER = 'depth = { type = "int", low = 1, high = 20 }'


def read_space(data: Mapping[str, Any]) -> dict[str, Parameter]:
    """The parameters of a table, by name."""
    table = TomlTable(data, "space", None)
    if not data:
        raise SettingsError(f"space has no parameter; write e.g. {PARAMETER}")
    for name in data:
        check_name(name, table.where(name))
    space = {name: _parameter(table.need(name, mapping, PARAMETER), table.where(name)) for name in data}
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
    kind = TomlTable(data, path, None).need("type", one_of("int", "float", "categorical"), PARAMETER)
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
