"""Reports of runs that do not all have the same parameters."""

import io

import pytest
from rich.console import Console
from tests.report.cases import Document, tuned

import autobct
from autobct import plot
from autobct.report.live import LiveTable
from autobct.report.page_words import heads, rows
from autobct.report.runs_table import watch
from autobct.report.story import story_of

SPACE = {
    "booster": autobct.Categorical(["tree", "dart"]),
    "drop": autobct.Float(0, 1, when={"booster": "dart"}),
    "kind": autobct.Categorical(["even", None], when={"booster": "dart"}),
    "depth": autobct.Int(1, 9, when={"booster": "tree"}),
    "rate": autobct.Float(0, 1),
}


def likes(booster):
    return lambda params: (0.5 + 0.3 * (params["booster"] == booster) - 0.1 * params["rate"], 1.0)


@pytest.fixture(scope="module", params=["tree", "dart"])
def result(request):
    result = tuned(SPACE, likes(request.param), price=1e-5, max_runs=8, seed=2)
    assert {run.params["booster"] for run in result.history} == {"tree", "dart"}
    assert result.params["booster"] == request.param
    return result


def test_the_table_is_empty_where_a_parameter_did_not_exist(result) -> None:
    story = story_of(result)
    columns = [head.name for head in heads(story)]
    for run, row in zip(result.history, rows(story), strict=True):
        cells = dict(zip(columns, [cell.text for cell in row.cells], strict=True))
        assert {name for name in SPACE if cells[name] == ""} == set(SPACE) - set(run.params)
        assert cells["kind"] in ("", "even", "None")
    depth = [row.cells[columns.index("depth")].value for row in rows(story)]
    assert sorted(set(depth))[0] == ""  # still sorted as numbers
    assert all(float(value) >= 1 for value in depth if value)


@pytest.mark.slow
def test_the_page_draws_what_exists_in_the_model_to_use(result, tmp_path) -> None:
    page = tmp_path / "report.html"
    result.report(page)
    text = Document(page.read_text("utf-8")).text
    assert "nan" not in page.read_text("utf-8").partition("<table")[0].lower().replace("nano", "")
    for name in ("drop", "kind", "depth"):
        assert (f"along {name}" in text) == (name in result.params)
    assert len(plot.belief(result).axes) == 2 * len(result.params)


def test_tables_in_the_terminal(result) -> None:
    seen = io.StringIO()
    console = Console(file=seen, force_terminal=True, width=200)
    table = LiveTable(console)
    tuner = autobct.Tuner(SPACE, price=1e-5, seed=2, max_runs=8)

    def decisions():
        while isinstance(decision := tuner.ask(), autobct.Train):
            table(tuner, decision)
            yield decision
            table(tuner, tuner.tell(decision, *likes("dart")(decision.params)))
        yield decision

    watch(decisions(), tuner, Console(file=io.StringIO(), force_terminal=True, width=200))
    table.close()
    assert {len(run.params) for run in tuner.history} == {3, 4}
    plain = io.StringIO()
    again = autobct.Tuner(SPACE, price=1e-5, seed=2, max_runs=8)

    def told():
        while isinstance(decision := again.ask(), autobct.Train):
            yield decision
            again.tell(decision, *likes("dart")(decision.params))
        yield decision

    watch(told(), again, Console(file=plain, width=200))
    assert len(plain.getvalue().splitlines()) >= 9
