"""One line that is rewritten: what it shows, and what a file gets instead."""

import io

import pytest
from tests.report.cases import hill

import autobct
from autobct.report.live import Bar

SPACE = {"x": autobct.Float(0, 1)}


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_the_line_is_rewritten_and_ends_with_why(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    screen = Terminal()
    result = autobct.tune(hill, SPACE, price=0.01, callbacks=[Bar(screen)])
    *_, line, why, rest = screen.getvalue().split("\n")
    assert (why, rest) == (result.why, "")
    last = line.split("\r")[-1].rstrip()
    assert last.startswith(f"[##########] {len(result.history)} runs, best 0.")
    assert line.count("\r") == 2 * len(result.history) + 1
    assert all(len(part) < 100 for part in line.split("\r"))


def test_the_bar_fills_as_the_next_run_is_less_worth_its_price():
    screen = Terminal()
    autobct.tune(hill, SPACE, price=0.01, callbacks=[Bar(screen)])
    full = [part.split("]")[0].count("#") for part in screen.getvalue().split("\r")[1:]]
    assert full == sorted(full)
    assert (full[0], full[-1]) == (0, 10)


def test_in_a_file_there_is_a_line_now_and_then():
    now = iter(range(0, 10_000, 3))
    file = io.StringIO()
    result = autobct.tune(hill, SPACE, price=0.01, callbacks=[Bar(file, clock=lambda: float(next(now)))])
    lines = file.getvalue().splitlines()
    assert "\r" not in file.getvalue()
    assert 2 <= len(lines) <= 2 * len(result.history)
    assert lines[-1] == result.why


def test_verbose_bar_writes_to_stderr(capsys: pytest.CaptureFixture[str]):
    result = autobct.tune(hill, SPACE, price=0.05, verbose="bar")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith(f"{result.why}\n")


def test_an_interruption_leaves_the_line():
    def interrupted(params):
        raise KeyboardInterrupt

    screen = Terminal()
    with pytest.raises(KeyboardInterrupt):
        autobct.tune(interrupted, SPACE, price=0.01, callbacks=[Bar(screen)])
    assert screen.getvalue().endswith("\n")
