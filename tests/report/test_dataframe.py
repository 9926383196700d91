"""The runs as records and as a DataFrame."""

import sys
import types

import pytest
from tests.report.cases import half_failing, many, one

import autobct


def test_records_are_the_runs_in_order() -> None:
    result = many()
    records = result.to_records()
    assert [record["run"] for record in records] == [run.trial + 1 for run in result.history]
    for record, run in zip(records, result.history, strict=True):
        assert (record["score"], record["cost"], record["error"]) == (run.score, run.cost, None)
        assert record["estimated_score"] == run.estimated_score
        assert {name: record[f"params_{name}"] for name in run.params} == run.params
    assert records[-1]["total_cost"] == pytest.approx(result.cost)


def test_a_failed_run_and_a_parameter_that_did_not_exist_are_none() -> None:
    failed = one(train=half_failing, max_runs=6, policy=autobct.relaxed(depth=2)).to_records()
    assert any(record["score"] is None and "red" in record["error"] for record in failed)
    space = {"kind": autobct.Categorical(["a", "b"]), "rate": autobct.Float(0, 1, when={"kind": "a"})}
    records = autobct.tune(lambda p: (0.5 + (p["kind"] == "b") / 4, 1.0), space, price=1e-5, max_runs=8).to_records()
    assert any(record["params_rate"] is None for record in records)


def test_a_parameter_called_score_does_not_hide_the_score() -> None:
    result = autobct.tune(lambda p: (p["score"] / 2, 1.0), {"score": autobct.Float(0, 1)}, price=0.01, max_runs=2)
    assert {"score", "params_score"} <= result.to_records()[0].keys()


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        one().to_dataframe()


def test_a_dataframe_is_made_of_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("pandas")
    stand_in.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    result = one()
    assert result.to_dataframe() == result.to_records()


def test_pandas_takes_it_as_a_table() -> None:
    pytest.importorskip("pandas")
    result = many()
    table = result.to_dataframe()
    assert len(table) == len(result.history)
    assert table["score"].max() == max(run.score for run in result.history)
