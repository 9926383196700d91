"""A finite table as a space: only its rows are trained, and what is wrong with one is said in a sentence."""

from typing import Any

import numpy as np
import pytest

from autobct import Categorical, Float, Int, Space, Table, Train, Tuner

ROWS = [
    {"depth": d, "rate": r, "kind": k} for d in (2, 4, 9) for r in (0.001, 0.01, 0.1, 0.5) for k in ("gini", "entropy")
]


def test_columns_are_what_they_hold() -> None:
    space = Table([*ROWS, {"depth": 3, "rate": 0.7, "kind": "gini"}])
    assert dict(zip(space.names, space.parameters, strict=True)) == {
        "depth": Int(2, 9),
        "rate": Float(0.001, 0.7, log=True),
        "kind": Categorical(["gini", "entropy"]),
    }


def test_only_rows_are_trained() -> None:
    tuner = Tuner(Table(ROWS), price=1e-4, score_range=(0, 1))
    asked = []
    while isinstance(decision := tuner.ask(), Train):
        params = dict(decision.params)
        asked.append({**params, "rate": round(params["rate"], 9)})
        assert len(asked) < 60
        score = 0.7 + 0.02 * params["depth"] - 0.05 * np.log10(params["rate"] / 0.01) ** 2
        tuner.tell(decision, float(score), 0.5 + 0.1 * params["depth"])
    assert len(asked) > 2
    assert all(row in ROWS for row in asked)
    assert tuner.best is not None
    assert tuner.best.params["depth"] == 9


def test_a_row_that_stands_there_twice_counts_once() -> None:
    assert len(Table([*ROWS, *ROWS[:5]]).candidates()) == len(ROWS)


def test_the_space_says_what_columns_mean() -> None:
    space = Table(ROWS, {"depth": Int(1, 16, log=True), "rate": Float(0, 1), "kind": Categorical(["gini", "entropy"])})
    assert space.parameters[0] == Int(1, 16, log=True)
    assert len(space.candidates(5)) == len(ROWS)


def test_one_row_is_all_there_is_to_train() -> None:
    with pytest.raises(ValueError, match="nothing to tune"):
        Table(ROWS[:1])


@pytest.mark.parametrize(
    ("rows", "space", "sentence"),
    [
        ([], None, "rows must be a list of dicts"),
        ({"a": [1, 2]}, None, "rows must be a list of dicts"),
        ([{"a": 1, "b": 2}, {"a": 1}], None, r"row 1 has the columns \['a'\] and row 0 \['a', 'b'\]"),
        ([{"a": 1}, 3], None, "row 1 must be a dict of values, got 3"),
        ([{"a": 1.0}, {"a": float("nan")}], None, "finite"),
        ([{"a": 1}, {"a": 30}], {"a": Int(1, 9)}, r"row 1: params\['a'\]: value must be between 1 and 9"),
        ([{"a": 1}, {"a": 3}], {"b": Int(1, 9)}, r"the rows have the columns \['a'\] and the space \['b'\]"),
    ],
)
def test_what_is_no_table_is_refused(rows: Any, space: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        Table(rows, space)


def test_a_table_of_one_column_is_a_space_like_any_other() -> None:
    tuner = Tuner(Table([{"x": k / 7} for k in range(8)]), price=0.01)
    assert isinstance(tuner.problem.space, Space)
    decision = tuner.ask()
    assert isinstance(decision, Train)
    assert decision.params["x"] * 7 == pytest.approx(round(decision.params["x"] * 7), abs=1e-6)
