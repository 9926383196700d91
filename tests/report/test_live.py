"""The table on a terminal: its columns, the run under way, and text that would like to move the cursor."""

import io

import pytest
from rich.console import Console
from tests.report.cases import HOSTILE, half_failing, hill, tuned

import autobct
from autobct.report.live import LiveTable, live, table_of


class Terminal(io.StringIO):
    def isatty(self):
        return True


def console(**options):
    options = {"width": 160, "height": 40, **options}
    return Console(
        file=io.StringIO(), force_terminal=True, legacy_windows=False, highlight=False, _environ={}, **options
    )


def shown(table, width=160):
    screen = Console(file=io.StringIO(), width=width, highlight=False, _environ={})
    screen.print(table)
    return screen.file.getvalue()


def test_a_live_table_only_where_it_can_be_redrawn(monkeypatch):
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert live(io.StringIO()) is None
    assert isinstance(live(Terminal()), LiveTable)
    monkeypatch.setenv("TERM", "dumb")
    assert live(Terminal()) is None


def test_every_run_is_shown_with_what_was_decided():
    screen = console()
    result = tuned({"x": autobct.Float(0, 1), "c": autobct.Categorical(["a", "b"])}, callbacks=[LiveTable(screen)])
    text = screen.file.getvalue()
    last = text[text.rindex("decision") :]  # the table as it stays
    assert last.count("continue") == len(result.history) - 1
    assert last.count(" stop") == 1
    assert all(f"{run.score:.4g}" in last for run in result.history)
    assert "training" in text
    assert "training" not in last
    assert last.rstrip().endswith(f"{result.why}\x1b[0m")


def test_columns():
    train = autobct.Tuner({"x": autobct.Float(0, 1), "y": autobct.Int(1, 9)}, price=0.01).ask()
    lines = shown(table_of([], ("x", "y"), [train])).splitlines()
    assert lines[1].split() == ["run", "x", "y", "score", "cost", "total", "estimated", "continuing", "decision"]
    assert lines[3].split()[0] == "1"
    assert lines[3].split()[-1] == "training"


@pytest.mark.parametrize("width", [80, 100, 140])
def test_no_column_is_lost_on_a_narrow_terminal(width):
    screen = console(width=width, color_system=None)
    space = {"n_estimators": autobct.Int(1, 100), "max_depth": autobct.Int(2, 20), "rate": autobct.Float(0, 1)}
    result = tuned(space, callbacks=[LiveTable(screen)], max_runs=2, price=0.0005)
    last = screen.file.getvalue().splitlines()[-(2 + 3 + 1) :]
    assert all(len(line) < width for line in last)
    (row,) = [line for line in last if line.lstrip().startswith("1 ")]
    assert "…" not in row.partition(f"{result.history[0].score:.4g}")[2]
    assert row.split()[-1] == "continue"
    assert f"{result.history[0].score:.4g}" in row


def test_many_parameters_share_a_column():
    space = {f"p{k}": autobct.Float(0, 1) for k in range(5)}
    train = autobct.Tuner(space, price=0.01).ask()
    lines = shown(table_of([], tuple(space), [train])).splitlines()
    assert "p0, p1, p2, p3, p4" in lines[1]
    assert ", ".join(f"{value:.4g}" for value in train.params.values()) in lines[3]


def test_a_long_tuning_shows_its_end_and_at_last_all_of_it():
    screen, seen = console(height=12), []

    def spy(tuner, event):
        seen.append(screen.file.getvalue())
        screen.file.seek(0)
        screen.file.truncate()

    options = {"price": 1e-9, "overhead": 0.0, "max_runs": 15, "policy": autobct.relaxed(depth=1), "prior": "paper"}
    tuned({"x": autobct.Float(0, 1)}, callbacks=[LiveTable(screen), spy], **options)
    drawn = [frame.count("continue") for text in seen[:-1] for frame in text.split("decision")[1:]]
    assert max(drawn) == 5  # what fits beside the frame and the run under way
    assert seen[-1].count("continue") >= 12  # all but the last


def test_errors_cannot_move_the_cursor():
    screen = console(color_system=None)
    tuned(
        {"x": autobct.Float(0, 1)},
        train=half_failing,
        max_runs=3,
        policy=autobct.relaxed(2),
        prior="paper",
        callbacks=[LiveTable(screen)],
    )
    text = screen.file.getvalue()
    assert "failed" in text
    assert "\x1b[31mred" not in text
    assert "[red" not in text
    assert HOSTILE[:20] in text


def test_names_are_not_taken_for_rich_markup():
    assert "[bold]x" in shown(table_of([], ("[bold]x",), []))


def test_closing_twice_and_closing_nothing_do_no_harm():
    screen = console()
    table = LiveTable(screen)
    table.close()
    tuned({"x": autobct.Float(0, 1)}, callbacks=[table], max_runs=1)
    before = screen.file.getvalue()
    table.close()
    assert screen.file.getvalue() == before


def test_an_interrupted_tuning_leaves_the_cursor_visible():
    screen = console()

    def interrupted(params):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(params)
        return hill(params)

    calls: list[dict[str, object]] = []
    result = tuned({"x": autobct.Float(0, 1)}, train=interrupted, callbacks=[LiveTable(screen)], price=1e-6)
    assert "Interrupted" in result.why
    text = screen.file.getvalue()
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


@pytest.mark.parametrize("stream", ["pipe", "terminal"])
def test_tune_is_verbose_in_both_ways(stream, monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "160")
    out = Terminal() if stream == "terminal" else io.StringIO()
    tuned({"x": autobct.Float(0, 1)}, verbose=out, max_runs=2)
    assert ("continuing" in out.getvalue()) == (stream == "terminal")
    assert ("\x1b" in out.getvalue()) == (stream == "terminal")
    assert "Stopped after 2 runs" in out.getvalue()
