"""Recorded tables: score and seconds of real trainings over a grid of controls, as CSV with a header.

    # experiment: cnn-batch
    # device: ...
    # rows: 315
    u1,repeat,score,seconds
    0.0,0,0.795,0.81

One line is one training (`RecordedRow`).  `rows` is written and checked here, so that a truncated file is noticed.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.maps.container import write_file

MAX_BYTES = 16 * 2**20
_Where = Callable[[int], str]
_FIXED = ("repeat", "score", "seconds")


class TableError(ValueError):
    """A recorded table that cannot be used; one sentence says which, where and why."""


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One training: its controls in [0, 1], the number of the repeat, what came out."""

    u: tuple[float, ...]
    repeat: int
    score: float
    seconds: float
    extra: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTable:
    """n recorded trainings.

    u:        (n, p) controls in [0, 1]
    repeat:   (n,) from 0; rows of one repeat share a seed
    score:    (n,) as observed, higher is better
    seconds:  (n,) wall-clock time of training and scoring
    extra:    further columns (n,), e.g. the accuracy where the score is something else
    header:   what was run, where and with what
    """

    name: str
    u: Array
    repeat: NDArray[np.int64]
    score: Array
    seconds: Array
    extra: Mapping[str, Array]
    header: Mapping[str, str]

    def __len__(self) -> int:
        return len(self.repeat)

    @property
    def rows(self) -> list[RecordedRow]:
        """The same, one training at a time."""
        return [
            RecordedRow(
                u=tuple(map(float, self.u[index])),
                repeat=int(self.repeat[index]),
                score=float(self.score[index]),
                seconds=float(self.seconds[index]),
                extra={name: float(column[index]) for name, column in self.extra.items()},
            )
            for index in range(len(self))
        ]


def table_of(name: str, rows: Sequence[RecordedRow], header: Mapping[str, str]) -> RecordedTable:
    """The table of these rows; TableError if they do not make one."""
    if not rows:
        raise TableError(f"table {name!r} has no rows")
    extra = {key: np.array([row.extra[key] for row in rows]) for key in rows[0].extra}
    table = RecordedTable(
        name=name,
        u=np.array([row.u for row in rows], dtype=np.float64),
        repeat=np.array([row.repeat for row in rows], dtype=np.int64),
        score=np.array([row.score for row in rows], dtype=np.float64),
        seconds=np.array([row.seconds for row in rows], dtype=np.float64),
        extra=extra,
        header=dict(header),
    )
    _check_rows(table.rows, lambda index: f"row {index + 1} of table {name!r}")
    return table


def write_table(path: str | os.PathLike[str], table: RecordedTable) -> None:
    """Put the table at `path` in one step; the old file stays until the new one is whole."""
    header = {"experiment": table.name, **table.header, "rows": str(len(table))}
    lines = [f"# {key}: {' '.join(value.split())}" for key, value in header.items()]
    lines.append(",".join([*_control_names(table.u.shape[1]), *_FIXED, *table.extra]))
    lines += [
        ",".join(map(repr, (*row.u, row.repeat, row.score, row.seconds, *row.extra.values()))) for row in table.rows
    ]
    write_file(path, ("\n".join(lines) + "\n").encode())


def read_table(path: str | os.PathLike[str]) -> RecordedTable:
    """The table in that file; FileNotFoundError or TableError, in one sentence, if there is none."""
    shown = repr(os.fspath(path))
    text = _text(path, shown)
    if not text.endswith("\n"):
        raise TableError(f"{shown} is truncated: its last line is not complete")
    lines = text.split("\n")[:-1]
    header = _header(lines, shown)
    first = len(header)
    if first == len(lines):
        raise TableError(f"{shown} is truncated: there is no line of column names")
    controls, extra = _columns(lines[first].split(","), f"line {first + 1} of {shown}")
    rows = [
        _row(line.split(","), controls, extra, f"line {first + 2 + index} of {shown}")
        for index, line in enumerate(lines[first + 1 :])
    ]
    _check_count(header, len(rows), shown)
    _check_rows(rows, lambda index: f"line {first + 2 + index} of {shown}")
    name = header.pop("experiment", None)
    if name is None:
        raise TableError(f"{shown} has no line '# experiment: NAME'")
    return table_of(name, rows, {key: value for key, value in header.items() if key != "rows"})


def _text(path: str | os.PathLike[str], shown: str) -> str:
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_BYTES:
            raise TableError(f"{shown} is not an ordinary file of at most {MAX_BYTES} bytes")
        with open(path, encoding="utf-8", newline="") as file:
            return file.read().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise TableError(f"{shown} is not a text file") from None
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no table {shown}; experiments/paper/train_tables.py records it") from None


def _header(lines: list[str], shown: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.startswith("#"):
            break
        key, colon, value = line[1:].partition(":")
        if not colon or not key.strip() or key.strip() in found:
            raise TableError(f"line {number} of {shown} must be '# key: value' with a new key, got {line[:80]!r}")
        found[key.strip()] = value.strip()
    return found


def _control_names(count: int) -> list[str]:
    return [f"u{index + 1}" for index in range(count)]


def _columns(names: list[str], where: str) -> tuple[int, list[str]]:
    """How many controls, and the names of the extra columns."""
    controls = next((index for index, name in enumerate(names) if name == "repeat"), 0)
    expected = [*_control_names(max(controls, 1)), *_FIXED]
    missing = [name for name in expected if name not in names]
    if missing:
        raise TableError(f"{where} lacks the column {missing[0]!r}; it must start with {','.join(expected)}")
    if names[: len(expected)] != expected or len(set(names)) < len(names):
        raise TableError(f"{where} must start with {','.join(expected)}, each name once, got {','.join(names)[:120]}")
    return controls, names[len(expected) :]


def _row(cells: list[str], controls: int, extra: list[str], where: str) -> RecordedRow:
    expected = controls + len(_FIXED) + len(extra)
    if len(cells) != expected:
        raise TableError(f"{where} has {len(cells)} values, expected {expected}")
    numbers = []
    for cell in cells:
        try:
            numbers.append(float(cell))
        except ValueError:
            raise TableError(f"{where}: {cell[:40]!r} is not a number") from None
    repeat, score, seconds, *rest = numbers[controls:]
    if not repeat.is_integer() or repeat < 0:
        raise TableError(f"{where}: repeat must be 0, 1, 2, ..., got {cells[controls][:40]}")
    return RecordedRow(
        u=tuple(numbers[:controls]),
        repeat=int(repeat),
        score=score,
        seconds=seconds,
        extra=dict(zip(extra, rest, strict=True)),
    )


def _check_count(header: Mapping[str, str], found: int, shown: str) -> None:
    told = header.get("rows", "")
    if not told.isdecimal():
        raise TableError(f"{shown} has no line '# rows: NUMBER'")
    if int(told) != found:
        raise TableError(f"{shown} has {found} rows where its header says {told}: it is truncated or was edited")


def _check_rows(rows: Sequence[RecordedRow], where: _Where) -> None:
    seen: dict[tuple[tuple[float, ...], int], int] = {}
    for index, row in enumerate(rows):
        if not all(math.isfinite(x) for x in (*row.u, row.score, row.seconds, *row.extra.values())):
            raise TableError(f"{where(index)} holds a value that is not finite")
        if not all(0.0 <= u <= 1.0 for u in row.u):
            raise TableError(f"{where(index)}: controls must lie in [0, 1], got {row.u}")
        if row.seconds < 0:
            raise TableError(f"{where(index)}: seconds must not be negative, got {row.seconds}")
        first = seen.setdefault((row.u, row.repeat), index)
        if first != index:
            raise TableError(f"{where(index)} repeats {where(first)}: u = {row.u}, repeat {row.repeat}")
