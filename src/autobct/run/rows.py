"""`[table]` in a TOML file: the rows that may be trained, in it or in a CSV file beside it.

A CSV file is somebody else's: its size, its names and every value are looked at before anything is made of them, and
what is wrong is said with the line it is in.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autobct.run.parameters import check_name, plain_value
from autobct.run.program_settings import SettingsError
from autobct.run.template import as_text
from autobct.run.toml_table import TomlTable, names, text
from autobct.tuning.space.parameter import Categorical, Parameter
from autobct.tuning.space.row_table import Table as Rows

EXAMPLE = 'file = "rows.csv", or rows = [{ depth = 3, rate = 0.1 }, { depth = 5, rate = 0.3 }]'
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
        raise SettingsError(f"table must have either a file or rows; write e.g. {EXAMPLE}")
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
        raise ValueError(f"must be a list of tables, got {value!r}; write e.g. {EXAMPLE}")
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
