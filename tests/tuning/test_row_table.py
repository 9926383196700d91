"""A finite table as the space."""

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import autobct
from autobct.run.ask_tell import stored
from autobct.tuning.decide.search import around
from autobct.tuning.space.candidates import spread
from autobct.tuning.space.parameter import Categorical, Float, Int
from autobct.tuning.space.row_table import MOST_ROWS, Table

ROWS = [
    {"depth": depth, "rate": rate, "act": act, "bias": bias}
    for depth in (2, 4, 16)
    for rate in (1e-4, 1e-2, 0.5)
    for act in ("relu", "tanh", None)
    for bias in (False, True)
]
VALUES = {
    "whole": st.integers(-50, 50),
    "real": st.floats(-1e3, 1e3).map(lambda x: round(x, 6)),
    "small": st.floats(1e-4, 1e4).map(lambda x: round(x, 9)),
    "word": st.sampled_from(["a", "b", "c"]),
    "mixed": st.sampled_from([1, 1.0, True, "1", None, (1, 2)]),
}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.fixed_dictionaries(VALUES), min_size=2, max_size=12))
@pytest.mark.slow
def test_candidates_are_the_rows_to_the_last_bit(rows: list[dict[str, Any]]) -> None:
    numbers = all(type(row["mixed"]) in (int, float) for row in rows)

    def key(row: dict[str, Any]) -> tuple[Any, ...]:
        """What tells rows apart: 1 and 1.0 are the same number but not the same choice."""
        return *(row[name] for name in VALUES), None if numbers else type(row["mixed"])

    assume(len({key(row) for row in rows}) > 1)
    table = Table(rows)
    controls = table.candidates()
    assert [key(table.params(control)) for control in controls] == list({key(row): None for row in rows})
    for control in controls:
        np.testing.assert_array_equal(table.control(table.params(control)), control)
    assert np.all((controls >= 0) & (controls <= 1))


def test_what_kind_of_parameter_a_column_is() -> None:
    table = Table(ROWS)
    whole, real, word, flag = table.parameters
    assert (whole, real) == (Int(2, 16), Float(1e-4, 0.5, log=True))
    assert (word, flag) == (Categorical(["relu", "tanh", None]), Categorical([False, True]))
    np.testing.assert_allclose(table.control(ROWS[0]), [0, 0, 1, 0, 0, 1, 0])
    middle = {"depth": 4, "rate": 1e-2, "act": None, "bias": True}
    halfway = math.log(1e-2 / 1e-4) / math.log(0.5 / 1e-4)
    np.testing.assert_allclose(table.control(middle), [2 / 14, halfway, 0, 0, 1, 0, 1])


def test_logarithms_where_told_or_beyond_two_decades() -> None:
    def logs(**options: Any) -> list[bool]:
        table = Table({"a": [1.0, 101.0], "b": [1.0, 100.0], "c": [0.0, 1e6], "d": [1, 1000]}, **options)
        return [getattr(parameter, "log", False) for parameter in table.parameters]

    assert logs() == [True, False, False, True]
    assert logs(log=["b"]) == [False, True, False, False]
    assert logs(log=[]) == [False] * 4


def test_rows_and_columns_say_the_same() -> None:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    arrays = {**columns, "rate": np.array(columns["rate"]), "depth": np.array(columns["depth"])}
    assert Table(ROWS) == Table(columns) == Table(arrays)
    row = Table(arrays).rows[0]
    assert type(row["depth"]) is int
    assert type(row["rate"]) is float
    assert Table(ROWS) != Table(ROWS[:-1])
    assert pickle.loads(pickle.dumps(Table(ROWS))) == Table(ROWS)
    assert repr(Table(ROWS)) == "Table(54 rows of depth, rate, act, bias)"


def test_equal_rows_count_once_and_constants_are_kept() -> None:
    table = Table([{"x": 1, "c": "k"}, {"x": 2, "c": "k"}, {"x": 1, "c": "k"}])
    assert table.rows == ({"x": 1, "c": "k"}, {"x": 2, "c": "k"})
    assert table.dim == 1
    assert table.params(table.candidates()[0]) == {"x": 1, "c": "k"}


def score(params: dict[str, Any]) -> tuple[float, float]:
    good = {"relu": 0.05, "tanh": 0.0, None: -0.05}[params["act"]]
    return 0.7 + good - 0.02 * (math.log10(params["rate"]) + 2) ** 2, 0.5 + params["depth"] / 4


def test_only_rows_are_trained_and_a_good_one_is_found() -> None:
    trained: list[dict[str, Any]] = []

    def train(params: dict[str, Any]) -> tuple[float, float]:
        trained.append(params)
        return score(params)

    result = autobct.tune(train, Table(ROWS), price=1e-4, seed=1)
    assert all(row in ROWS for row in trained)
    assert result.params in trained
    assert 2 < len(trained) < 30
    assert score(result.params)[0] > np.quantile([score(row)[0] for row in ROWS], 0.85)
    again = autobct.tune(score, Table(ROWS), price=1e-4, seed=1)
    assert [run.params for run in again.history] == trained


@pytest.mark.parametrize("count", [40, 400])
def test_one_number(count: int) -> None:
    rows = [{"x": k / count} for k in range(count)]
    result = autobct.tune(lambda p: (0.9 - (p["x"] - 0.3) ** 2, 1.0), Table(rows), price=1e-3, max_runs=6)
    assert all(run.params in rows for run in result.history)
    assert abs(result.params["x"] - 0.3) < 0.2


def test_of_very_many_rows_some_are_looked_at_and_only_rows() -> None:
    rng = np.random.default_rng(0)
    count = 5 * MOST_ROWS
    columns = {"a": rng.random(count), "b": rng.integers(1, 10**6, count), "c": rng.choice(["x", "y"], count)}
    table = Table(columns)
    tuner, trained = autobct.Tuner(table, price=1e-5, max_runs=6), []
    while isinstance(decision := tuner.ask(), autobct.Train):
        assert len(tuner.problem.controls) < MOST_ROWS
        trained.append(decision.params)
        tuner.tell(decision, score=1 - (decision.params["a"] - 0.6) ** 2, cost=1.0)
    assert all(params in table.rows for params in trained)
    near = around(table, spread(table)[:3], rng=rng)
    known = {row.tobytes() for row in np.array([table.control(row) for row in table.rows])}
    assert all(control.tobytes() in known for control in [*near, *spread(table), *table.candidates(50)])
    far = np.abs(table.realized(np.array([[0.25, 0.75, 1.0, 0.0]]))[0] - [0.25, 0.75, 1.0, 0.0]).max()
    assert far < 0.1


def test_gone_on_with_after_a_crash_but_not_with_other_rows(tmp_path: Path) -> None:
    def tuner(rows: list[dict[str, Any]]) -> autobct.Tuner:
        return autobct.Tuner(Table(rows), price=1e-4, max_runs=6)

    with stored(tuner(ROWS), tmp_path) as first:
        for _ in range(3):
            asked = first.ask()
            assert isinstance(asked, autobct.Train)
            first.tell(asked, *score(dict(asked.params)))
        history = first.tuner.history
    with stored(tuner(ROWS), tmp_path) as second:
        assert [run.params for run in second.tuner.history] == [run.params for run in history]
    other = [*ROWS[:20], {**ROWS[20], "depth": 3}, *ROWS[21:]]
    with pytest.raises(Exception, match="table changed"), stored(tuner(other), tmp_path):
        pass


def test_the_report_of_a_table(tmp_path: Path) -> None:
    result = autobct.tune(score, Table(ROWS), price=1e-4, max_runs=5, score_range=(0, 1), cost_range=(0, 5))
    result.report(tmp_path / "report.html")
    assert "along rate" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "Table: has no rows"),
        ({}, "Table: has no rows"),
        ({"x": []}, "Table: has no rows"),
        ([{}], "Table: has no rows"),
        ([{"x": 1}], r"Table: has a single row, {'x': 1}, so there is nothing to tune"),
        ([{"x": 1}, {"x": 1}], "Table: has a single row"),
        ([{"x": 1}, {"y": 2}], r"Table: rows\[1\] has no 'x'; write a value for every name"),
        ([{"x": 1}, {"x": 2, "y": 2}], r"Table: rows\[1\] has 'y', which the first row does not have"),
        ([{"x": 1}, {"x": math.nan}], r"Table: rows\[1\]\['x'\] is nan; leave the row out"),
        ([{"x": 1}, {"x": -math.inf}], r"Table: rows\[1\]\['x'\] is -inf"),
        ([{"x": "a"}, {"x": np.float64("nan")}], r"Table: rows\[1\]\['x'\] is nan"),
        ([{"x": 1}, 2], r"Table: rows\[1\] must be a dict, got 2"),
        ([{1: 1}], "Table: must have text as names, got 1"),
        ({"x": [1, 2], "y": [1]}, "Table: column 'y' has 1 values but the first has 2"),
        ({"x": "ab"}, "Table: column 'x' must be a list of values, got 'ab'"),
        ("ab", "Table: rows must be a list of dicts, or a dict of columns, got str"),
        (5, "Table: rows must be a list of dicts, or a dict of columns, got int"),
        ({"x": [[1], [2]]}, "Table: a choice must be text, True, False, None or a tuple"),
        ({"x": [f"row {k}" for k in range(1001)]}, "Table: column 'x' has 1001 different choices"),
        ({"x": [-1e308, 1e308]}, "Table: column 'x': Float: low and high are too far apart"),
        ({"x": [1, 10**400]}, "Table: column 'x': Float: high is too large"),
        ({f"x{c}": [f"{c} {k}" for k in range(900)] for c in range(5)}, "space has 4500 coordinates"),
    ],
)
def test_tables_that_cannot_be_meant(rows: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        Table(rows)


def test_the_space_says_what_columns_mean() -> None:
    told = {"depth": Int(1, 16, log=True), "rate": Float(0, 1), "act": Categorical(["relu", "tanh", None])}
    table = Table([{name: row[name] for name in told} for row in ROWS], told)
    assert table.parameters == tuple(told.values())
    assert len(table.candidates()) == len(ROWS) / 2
    with pytest.raises(ValueError, match=r"Table: rows\[0\]: params has the unknown names \['bias'\]"):
        Table(ROWS, told)
    with pytest.raises(ValueError, match=r"Table: rows\[2\]: params\['x'\]: value must be between 1 and 9, got 30"):
        Table([{"x": 1}, {"x": 2}, {"x": 30}], {"x": Int(1, 9)})
    with pytest.raises(ValueError, match="Table: log is for columns of which the space says nothing"):
        Table([{"x": 1}, {"x": 2}], {"x": Int(1, 9)}, log=["x"])


def test_rows_in_which_not_everything_exists() -> None:
    space = {"booster": Categorical(["tree", "dart"]), "drop": Float(0, 1, when={"booster": "dart"})}
    rows = [{"booster": "tree"}, *({"booster": "dart", "drop": k / 7} for k in range(8))]
    table = Table(rows, space)
    result = autobct.tune(lambda p: (0.9 - p.get("drop", 0.8), 1.0), table, price=1e-4, max_runs=5)
    assert all(run.params in rows for run in result.history)
    assert [table.params(control) for control in table.candidates()] == rows
    with pytest.raises(
        ValueError, match=r"Table: rows\[1\]: params has 'drop', which exists only when booster is 'dart'"
    ):
        Table([{"booster": "tree"}, {"booster": "tree", "drop": 0.5}], space)


def test_what_does_not_go_with_a_table() -> None:
    table = Table(ROWS)
    with pytest.raises(ValueError, match="candidates cannot be combined with a Table"):
        autobct.Tuner(table, price=1, candidates=10)
    with pytest.raises(ValueError, match="params must be a row of the table"):
        table.control({**ROWS[0], "depth": 3})
    with pytest.raises(ValueError, match="control must be that of a row of the table"):
        table.params(np.full(table.dim, 0.3))
    for log, sentence in (
        ("rate", "must be a list of names"),
        (["x"], "is not a column"),
        (["act"], "not positive numb"),
    ):
        with pytest.raises((TypeError, ValueError), match=sentence):
            Table(ROWS, log=log)
    frame = type("Frame", (), {"to_dict": None})()
    with pytest.raises(TypeError, match=r"write Table\(frame.to_dict\('records'\)\)"):
        Table(frame)
    with pytest.raises(ValueError, match=r"guess\['depth'\]: value must be between 2 and 16, got 17"):
        autobct.Tuner(table, price=1, guess={"depth": 17})


@pytest.mark.slow
def test_a_thousand_choices() -> None:
    choices = [f"word {k}" for k in range(1000)]
    space = {"word": Categorical(choices), "x": Float(0, 1), "on": Categorical(["a"], when={"word": choices[:3]})}
    tuner = autobct.Tuner(space, price=1e-6, max_runs=4)
    while isinstance(decision := tuner.ask(), autobct.Train):
        assert ("on" in decision.params) == (decision.params["word"] in choices[:3])
        tuner.tell(decision, score=decision.params["x"], cost=1.0)
    assert len(tuner.problem.controls) < 1000
    with pytest.raises(ValueError, match=r"'word 19'\] and 980 more, got 'none'; write one of these"):
        tuner.problem.space.control({"word": "none", "x": 0.5})
    with pytest.raises(ValueError, match="Categorical: choices has 'word 7' twice"):
        Categorical([*choices, "word 7"])
