"""Programs tuned over the rows of a table, in the TOML file or in a CSV file beside it."""

from pathlib import Path

import pytest
from tests.run.cases import decided, tune, write_job

from autobct.run.config import parse
from autobct.run.job import Job
from autobct.run.journal import read_journal
from autobct.run.program_settings import SettingsError
from autobct.run.recorded import read_run
from autobct.run.toml_space import MOST_ROWS, read_lines
from autobct.tuning.space.parameter import Categorical, Float, Int

TRAIN = """#!/bin/sh
score=90
case "$1" in small) score=$((score - 30)) ;; esac
echo "{\\"score\\": 0.$score, \\"cost\\": $2}"
"""

TOML = """
command = ["./train.sh", "{machine}", "{batch}", "{rate}"]
price = 0.00001
[table]
file = "rows.csv"
[cost]
measure = "told"
[limits]
max_runs = 6
"""

CSV = """machine,batch,rate
small, 32,1e-4
small,64,0.001

"large",256,0.001
large,512,.01
large,512,1e-1
large,512,1e-1
"""

INLINE = """
[table]
rows = [
  { machine = "small", batch = 32, rate = 1e-4 }, { machine = "small", batch = 64, rate = 0.001 },
  { machine = "large", batch = 256, rate = 0.001 }, { machine = "large", batch = 512, rate = 0.01 },
  { machine = "large", batch = 512, rate = 0.1 },
]
"""

ROWS = [
    {"machine": "small", "batch": 32, "rate": 0.0001},
    {"machine": "small", "batch": 64, "rate": 0.001},
    {"machine": "large", "batch": 256, "rate": 0.001},
    {"machine": "large", "batch": 512, "rate": 0.01},
    {"machine": "large", "batch": 512, "rate": 0.1},
]


def inline() -> str:
    return TOML.replace('\n[table]\nfile = "rows.csv"\n', INLINE)


def write(folder: Path, toml: str = TOML, rows: str = CSV) -> Path:
    (folder / "rows.csv").write_text(rows)
    return write_job(folder, toml, TRAIN)


def test_only_rows_are_trained_and_a_journal_needs_no_file(tmp_path: Path) -> None:
    ending = tune(write(tmp_path))
    assert ending.tuner.best is not None
    assert ending.tuner.best.params["machine"] == "large"
    (tmp_path / "rows.csv").unlink()
    (tmp_path / "tune.toml").rename(tmp_path / "gone")
    recorded = read_run(tmp_path / "tune.run")
    assert len(recorded.history) == len(ending.tuner.history) >= 2
    for run in recorded.history:
        assert run.params in ROWS
        assert type(run.params["batch"]) is int
    (tmp_path / "gone").rename(tmp_path / "tune.toml")
    write(tmp_path)
    assert decided(tune(tmp_path / "tune.toml")) == decided(ending)


def test_rows_in_the_file_itself_are_the_same_problem(tmp_path: Path) -> None:
    written, beside = tmp_path / "one", tmp_path / "two"
    for folder, toml in ((written, inline()), (beside, TOML)):
        folder.mkdir()
        write(folder, toml)
    one, two = (Job.of(folder / "tune.toml").settings for folder in (written, beside))
    assert one.defining == two.defining
    assert one.table is not None
    assert one.table == two.table
    assert list(one.table.rows) == ROWS
    assert decided(tune(written / "tune.toml")) == decided(tune(beside / "tune.toml"))
    assert "rows" not in read_journal(written / "tune.run" / "journal.jsonl")[0]


def test_other_rows_are_another_problem(tmp_path: Path) -> None:
    path = write(tmp_path, TOML.replace("max_runs = 6", "max_runs = 1"))
    tune(path)
    (tmp_path / "rows.csv").write_text(CSV.replace("large,512,.01", "large,512,.02"))
    with pytest.raises(SettingsError, match=r"tune.toml: table changed since the tuning in"):
        tune(path)
    (tmp_path / "rows.csv").write_text(CSV.replace(" 32", "32"))  # the same rows
    path.write_text(TOML)
    assert len(tune(path).tuner.history) > 1


def test_a_space_says_what_columns_mean() -> None:
    space = """
    [space]
    machine = { type = "categorical", choices = ["small", "large", "huge"] }
    batch = { type = "int", low = 1, high = 1024, log = true }
    rate = { type = "float", low = 1e-5, high = 1, log = true, when = { machine = "large" } }
    """
    toml = TOML.replace('"{machine}", "{batch}", "{rate}"', '"{params_json}"') + space
    rows = "machine,batch,rate\nsmall,32,\nhuge,64,\nlarge,256,0.001\n"
    table = parse(toml, lambda file: rows).table
    assert table is not None
    assert table.names == ("machine", "batch", "rate")
    assert table.parameters[0] == Categorical(["small", "large", "huge"])
    assert isinstance(table.parameters[1], Int)
    assert table.rows == (
        {"machine": "small", "batch": 32},
        {"machine": "huge", "batch": 64},
        {"machine": "large", "batch": 256, "rate": 0.001},
    )
    with pytest.raises(
        SettingsError, match=r"'rows.csv': line 4: params\['batch'\]: value must be a whole number, got"
    ):
        parse(toml, lambda file: rows.replace("256", "many"))
    with pytest.raises(SettingsError, match=r"line 2: params has 'rate', which exists only when machine is 'large'"):
        parse(toml, lambda file: rows.replace("32,", "32,0.1"))
    with pytest.raises(SettingsError, match="column 'cores' is not in space; there are machine, batch, rate"):
        parse(toml, lambda file: rows.replace("batch", "cores"))


def test_what_a_column_looks_like_is_what_it_is() -> None:
    toml = TOML.replace('"{machine}", "{batch}", "{rate}"', '"{params_json}"')
    rows = "whole,real,flag,mixed,text\n1,1,true,sqrt,a b\n2,2.5,false,0.5,'c'\n"
    table = parse(toml, lambda file: rows).table
    assert table is not None
    kinds = [Int(1, 2), Float(1, 2.5), Categorical([True, False]), Categorical(["sqrt", "0.5"])]
    assert list(table.parameters[:4]) == kinds
    assert [row["text"] for row in table.rows] == ["a b", "'c'"]
    logged = parse(toml.replace('rows.csv"', 'rows.csv"\nlog = ["real"]'), lambda file: rows).table
    assert logged is not None
    assert logged.parameters[1] == Float(1, 2.5, log=True)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("", "has no rows; write the names in the first line"),
        ("machine,batch,rate\n", "has no rows"),
        (CSV.replace("small,64,0.001", "small,64"), "line 3 has 2 values for 3 names"),
        (CSV.replace("small,64,0.001", "small,64,"), "line 3 has no value for 'rate'; leave the row out, or write one"),
        (CSV.replace("large,512,.01", "large,512,NaN"), "line 6 has NaN for 'rate'; leave the row out"),
        (CSV.replace("large,512,.01", "large,512,-inf"), "line 6 has -inf for 'rate'; leave the row out"),
        (CSV.replace("large,512,.01", "large,512,1e999"), r"line 6\['rate'\] is inf; leave the row out"),
        (CSV.replace("machine,", "batch,"), "line 1: 'batch' is there twice"),
        (CSV.replace("machine,", "seed,"), "line 1: 'seed' cannot be a parameter's name"),
        (CSV.replace("machine,", ","), "line 1: '' cannot be a parameter's name"),
        (CSV.replace("machine,", "a{b},"), "line 1: 'a{b}' cannot be a parameter's name"),
        (CSV.replace(",", ";"), "line 1: values are separated by ';'; write commas"),
        (CSV.replace('"large"', '"lar"ge'), "line 5 is not CSV"),
        (CSV.replace('"large"', '"large'), "is not CSV"),
        (CSV.replace("small, 32", "sm\0all, 32"), "line 2 has a null character"),
        ("machine,batch,rate\nsmall,1,1\nsmall,1,1\n", "table has a single row"),
        ("x\n" + f"{'z' * 140000}\n", "line 2 is not CSV: field larger than field limit"),
        ("x\n" + "1\n" * (MOST_ROWS + 1), f"has more than {MOST_ROWS} rows"),
        ("x" * (1 << 23) + "\n1", "is larger than 8388608 bytes"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else "",
)
def test_one_sentence_with_the_line_for_a_bad_file(rows: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=rf"table.file 'rows.csv': .*{sentence}"):
        parse(TOML, lambda file: rows)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("rows = [", 'file = "rows.csv"\nrows = [', "table must have either a file or rows; write e.g."),
        ("rows = [", "row = [", r"table.row is not a key of this file; did you mean rows\?"),
        ("[table]\n", "[table]\nlog = 3\n", "table.log: must be a list of names, got 3"),
        (
            "[table]\n",
            '[table]\nlog = ["machine"]\n',
            "table log names 'machine', which has values that are not positive",
        ),
        ("batch = 64, rate = 0.001", "batch = 64", r"table.rows\[1\] has no 'rate'; write a value for every name"),
        (
            "batch = 64, rate = 0.001",
            "batch = 64, rate = 1, x = 2",
            r"table.rows\[1\] has 'x', which the first row does not have",
        ),
        ("batch = 64, rate = 0.001", "batch = 64, rate = nan", r"table.rows\[1\].rate: must be finite, got nan"),
        (
            "batch = 64, rate = 0.001",
            "batch = 64, rate = [1]",
            r"table.rows\[1\].rate: must be strings, numbers, true or",
        ),
        ("batch = 64", "run = 64", r"table.rows\[1\].run cannot be a parameter's name"),
        ("rows = [\n", "rows = [\n3,", "table.rows: must be a list of tables, got"),
        ('"{rate}"', '"{rat}"', r"command: has {rat}, which is not a parameter; did you mean {rate}\?"),
        (', "{rate}"', "", "space.rate never reaches the program"),
    ],
)
def test_one_sentence_for_a_bad_table(old: str, new: str, sentence: str) -> None:
    assert old in inline()
    with pytest.raises(SettingsError, match=sentence):
        parse(inline().replace(old, new, 1))


def test_a_file_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(SettingsError, match=r"rows.csv' cannot be read: there is no such file$"):
        Job.of(path)
    (tmp_path / "rows.csv").mkdir()
    with pytest.raises(SettingsError, match=r"rows.csv' is not an ordinary file"):
        Job.of(path)
    (tmp_path / "rows.csv").rmdir()
    (tmp_path / "rows.csv").write_bytes(b"machine\n\xff\xfe\n")
    with pytest.raises(SettingsError, match=r"rows.csv' cannot be read: it is not UTF-8 at byte 8"):
        Job.of(path)


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter() -> None:
    assert [line.cells for line in read_lines("\ufeffx,y\r\n1,2\r\n")] == [{"x": "1", "y": "2"}]


HINTED = """
command = ["./train.sh", "{depth}", "{kind}"]
price = 0.001
guess = { depth = 3, kind = "b" }
guess_strength = 2
increases_cost = ["depth"]
expect_usual = false
[space]
depth = { type = "int", low = 1, high = 20 }
kind = { type = "categorical", choices = ["a", "b"] }
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("depth = 3", "depth = 30", r"guess\['depth'\]: value must be between 1 and 20, got 30"),
        ("depth = 3", "dept = 3", r"guess names 'dept', which is not in the space; write one of \['depth', 'kind'\]"),
        ('kind = "b"', "kind = 1", r"guess\['kind'\]: value must be one of \['a', 'b'\], got 1"),
        ('{ depth = 3, kind = "b" }', "3", "guess: must be a table, got 3"),
        ("guess_strength = 2", "guess_strength = 200", "guess_strength must be at most 10, got 200"),
        ("guess_strength = 2", 'guess_strength = "2"', "guess_strength: must be a number, got '2'"),
        ('["depth"]', '["kind"]', "increases_cost: 'kind' is a category, which has no order; name numbers only"),
        ('["depth"]', '["dept"]', "increases_cost names 'dept', which is not in the space"),
        ('["depth"]', '"depth"', "increases_cost: must be a list of names, got 'depth'"),
        ("expect_usual = false", "expect_usual = 0", "expect_usual: must be true or false, got 0"),
        ("high = 20", "high = 1", r"guess\['depth'\]: value must be between 1 and 1, got 3"),
        ('choices = ["a", "b"]', 'choices = ["a", "b"], low = 1', "space.kind.low is not a key"),
        ('"categorical", choices = ["a", "b"]', '"float", choices = ["a", "b"]', "space.kind.choices is not a key"),
        ('"int", low = 1', '"int", low = "a"', "space.depth.low: must be a number, got 'a'"),
        ("high = 20", "high = 20, when = { depth = 3 }", r"space\['depth'\]: when refers to 'depth' itself"),
        ("high = 20", "high = 20, when = { size = 3 }", r"space\['depth'\]: when refers to 'size', which is not in"),
    ],
)
def test_what_is_known_beforehand_and_what_cannot_be(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    path = write_job(tmp_path, HINTED)
    told = Job.of(path).settings.tuning
    assert told["guess"] == {"depth": 3, "kind": "b"}
    assert told["increases_cost"] == ["depth"]
    assert old in HINTED
    path.write_text(HINTED.replace(old, new, 1))
    with pytest.raises(SettingsError, match=sentence):
        Job.of(path)


def test_what_is_known_beforehand_reaches_the_tuner(tmp_path: Path) -> None:
    tuner = tune(write_job(tmp_path, HINTED + "[limits]\nmax_runs = 1\n", TRAIN.replace("$2}", "1}"))).tuner
    hints = tuner.problem.stated.hints
    assert (hints.strength, hints.usual, hints.growing) == (2, False, (0,))
