"""Recorded tables: what is written is read back bit for bit, and every kind of bad file is refused in a sentence."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autobct.paper.recorded_table import MAX_BYTES, RecordedRow, TableError, read_table, table_of, write_table

ROWS = [
    RecordedRow((0.1 * i, 1 / 3), repeat, 0.7 + i / 7, 0.25 * i, {"accuracy": 1 / (i + 3)})
    for repeat in (0, 1)
    for i in range(4)
]
HEADER = {"device": "a device: with a colon", "command": "python x.py --only a"}


def write(path: Path, text: str) -> Path:
    path.write_bytes(text.encode())
    return path


GOOD = "# experiment: e\n# rows: 2\nu1,repeat,score,seconds\n0.0,0,0.5,1.0\n1.0,0,0.75,2.0\n"


def test_a_table_survives_its_file(tmp_path: Path) -> None:
    table = table_of("cnn-2d", ROWS, HEADER)
    write_table(tmp_path / "t.csv", table)
    again = read_table(tmp_path / "t.csv")
    assert again.name == "cnn-2d"
    assert again.header == HEADER
    assert again.rows == ROWS
    assert again.u.shape == (8, 2)
    assert np.array_equal(again.extra["accuracy"], table.extra["accuracy"])
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", table_of("e", ROWS, HEADER))
    write_table(tmp_path / "b.csv", read_table(tmp_path / "a.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_a_value_over_several_lines_stays_one_header_line(tmp_path: Path) -> None:
    write_table(tmp_path / "t.csv", table_of("e", ROWS, {"command": "one\ntwo"}))
    assert read_table(tmp_path / "t.csv").header == {"command": "one two"}


def test_windows_line_ends_are_read(tmp_path: Path) -> None:
    assert len(read_table(write(tmp_path / "t.csv", GOOD.replace("\n", "\r\n")))) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("0.75,2.0\n", "0.75,2", "last line is not complete"),
        ("0.75,2.0\n", "0.75\n", "line 5 of .* has 3 values, expected 4"),
        ("1.0,0,0.75,2.0\n", "\n", "line 5 of .* has 1 values, expected 4"),
        ("1.0,0,0.75,2.0\n", "", "has 1 rows where its header says 2"),
        ("# rows: 2\n", "", "no line '# rows: NUMBER'"),
        ("rows: 2", "rows: many", "no line '# rows: NUMBER'"),
        ("# experiment: e\n", "", "no line '# experiment: NAME'"),
        ("# experiment: e\n", "# experiment\n", "line 1 of .* must be '# key: value'"),
        ("# experiment: e\n", "# rows: 2\n", "line 2 of .* must be '# key: value' with a new key"),
        ("u1,repeat,score,seconds", "u1,repeat,score", "lacks the column 'seconds'"),
        ("u1,repeat,score,seconds", "u1,score,seconds", "lacks the column 'repeat'"),
        ("u1,repeat,score,seconds", "u2,repeat,score,seconds", "lacks the column 'u1'"),
        ("u1,repeat,score,seconds", "u1,repeat,seconds,score", "must start with"),
        ("u1,repeat,score,seconds", "u1,repeat,score,seconds,a,a", "each name once"),
        ("0.75", "high", "line 5 of .*'high' is not a number"),
        ("0.75", "nan", "line 5 of .* is not finite"),
        ("0.75,2.0", "0.75,-2.0", "seconds must not be negative"),
        ("1.0,0,0.75", "1.01,0,0.75", r"controls must lie in \[0, 1\]"),
        ("1.0,0,0.75", "1.0,0.5,0.75", "repeat must be 0, 1, 2"),
        ("1.0,0,0.75", "1.0,-1,0.75", "repeat must be 0, 1, 2"),
        ("1.0,0,0.75", "1.0,1e999,0.75", "repeat must be 0, 1, 2"),
        ("1.0,0,0.75", "0.0,0,0.75", "line 5 of .* repeats line 4"),
        (GOOD, "# experiment: e\n# rows: 0\n", "no line of column names"),
        (GOOD, "", "last line is not complete"),
        (
            "# rows: 2\nu1,repeat,score,seconds\n0.0,0,0.5,1.0\n1.0,0,0.75,2.0\n",
            "# rows: 0\nu1,repeat,score,seconds\n",
            "no rows",
        ),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = write(tmp_path / "t.csv", GOOD.replace(old, new))
    with pytest.raises(TableError, match=message):
        read_table(path)


@pytest.mark.parametrize("kept", range(0, len(GOOD), 7))
def test_no_truncated_file_is_read(tmp_path: Path, kept: int) -> None:
    with pytest.raises(TableError):
        read_table(write(tmp_path / "t.csv", GOOD[:kept]))


def test_bytes_a_folder_and_a_giant_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TableError, match="not a text file"):
        read_table(tmp_path / "bytes")
    with pytest.raises(TableError, match="not an ordinary file"):
        read_table(tmp_path)
    with open(tmp_path / "giant", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(TableError, match="not an ordinary file of at most"):
        read_table(tmp_path / "giant")


def test_a_missing_table_says_what_records_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="train_tables"):
        read_table(tmp_path / "none.csv")


def test_rows_that_make_no_table_are_refused_before_anything_is_written() -> None:
    with pytest.raises(TableError, match="repeats row 1"):
        table_of("e", [ROWS[0], ROWS[0]], {})
    with pytest.raises(TableError, match="not finite"):
        table_of("e", [replace(ROWS[0], score=float("nan"))], {})
