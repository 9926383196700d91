"""The table of a run: its numbers in model units, on a terminal and in a pipe."""

import io

import pytest
from rich.console import Console

import autobct
from autobct.paper import synthetic_forest as synthetic
from autobct.report.runs_table import last_row, run_table, watch

HEADERS = ["n", "h_n", "t_n", "sum t", "u_{n-1}", "n_estimators", "estimated score", "continuing"]
OUTCOMES = [(0.545, 0.066), (0.976, 0.381), (0.983, 0.445)]  # the paper's on-the-fly table


def train(params, run):
    return 0.5 + OUTCOMES[run][0] / 2, 0.6 * OUTCOMES[run][1]


def watched(console, **options):
    tuner = synthetic.paper_tuner(0.6)
    return watch(synthetic.decisions(tuner, train), tuner, console, **options), tuner


def test_rows_are_in_model_units():
    tuner = synthetic.paper_tuner(0.6)
    rows = [last_row(tuner.problem, tuner.history, made) for made in synthetic.decisions(tuner, train) if tuner.history]
    assert [row.number for row in rows] == [1, 2, 3]
    assert [row.score for row in rows] == pytest.approx([0.545, 0.976, 0.983])
    assert [row.cost for row in rows] == pytest.approx([0.066, 0.381, 0.445])
    assert [row.total_cost for row in rows] == pytest.approx([0.066, 0.447, 0.892])
    assert rows[0].value > rows[0].estimated_score  # so it continued
    assert rows[2].value < rows[2].estimated_score  # so it stopped


def test_without_a_further_run_there_is_no_value():
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01, max_runs=1)
    tuner.tell(tuner.ask(), score=0.6, cost=1.0)
    assert last_row(tuner.problem, tuner.history, tuner.ask()).value is None


def test_a_failed_run_has_no_score():
    console = Console(file=io.StringIO(), force_terminal=False, width=100)
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01, max_runs=1)

    def decisions():
        decision = tuner.ask()
        yield decision
        tuner.tell(decision, error="out of memory", cost=1.0)
        yield tuner.ask()

    watch(decisions(), tuner, console)
    cells = console.file.getvalue().splitlines()[1].split()
    assert cells[:2] == ["1", "failed"]
    assert cells[-1] == "-"


def test_plain_lines_in_a_pipe():
    console = Console(file=io.StringIO(), force_terminal=False, width=40)
    decision, _ = watched(console, titles={"n_estimators": "trees"})
    lines = console.file.getvalue().splitlines()
    assert isinstance(decision, autobct.Stop)
    assert lines[0].split() == ["n", "h_n", "t_n", "sum", "t", "u_{n-1}", "trees", "estimated", "score", "continuing"]
    assert len({len(line) for line in lines[:4]}) == 1  # not wrapped, and in columns
    assert lines[1].split()[:6] == ["1", "0.545", "0.066", "0.066", "0.00", "1"]
    assert "\x1b" not in console.file.getvalue()


def test_a_live_table_on_a_terminal():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, legacy_windows=False, _environ={})
    decision, _ = watched(console)
    shown = console.file.getvalue()
    assert isinstance(decision, autobct.Stop)
    assert all(header in shown for header in HEADERS)
    assert "training" in shown
    assert "training" not in shown[shown.rindex("estimated score") :]  # nothing is under way at the end


def test_the_run_under_way_is_the_last_row():
    tuner = synthetic.paper_tuner(0.6)
    table = run_table([], HEADERS, tuner.ask())
    assert table.row_count == 1
    assert list(table.columns[-2].cells) == ["training"]
