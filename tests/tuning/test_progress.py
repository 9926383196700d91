"""Callbacks and plain lines: what is told, in which order, and that no listener costs a run."""

import io
import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.tuning.cases import LINE, hill

from autobct import Alarm, Note, Run, Stop, Train, Tuner, TuningError, tune


class Recorder:
    def __init__(self) -> None:
        self.events: list[Any] = []
        self.runs: list[int] = []
        self.closed = 0

    def __call__(self, tuner: Tuner, event: Any) -> None:
        self.events.append(event)
        self.runs.append(len(tuner.history))

    def close(self) -> None:
        self.closed += 1

    @property
    def kinds(self) -> list[type]:
        return [type(event) for event in self.events]


def failing(numbers: set[int]) -> Callable[[Any], Any]:
    count = iter(range(99))
    return lambda params: math.nan if next(count) in numbers else hill(params)


def test_every_decision_and_every_run_is_told_in_order() -> None:
    heard = Recorder()
    result = tune(hill, LINE, price=0.01, callbacks=[heard])
    assert heard.kinds == [Train, Run] * len(result.history) + [Stop]
    assert heard.events[::2] == list(result.decisions)
    assert [event for event in heard.events if isinstance(event, Run)] == list(result.history)
    assert heard.runs == [number // 2 for number in range(1, 2 * len(result.history) + 1)] + [len(result.history)]
    assert heard.closed == 1


def test_notes_and_alarms_are_told_after_their_run_and_before_the_next_decision() -> None:
    heard = Recorder()
    scores = iter([0.5, 1.5, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9, 0.1, 0.9])
    result = tune(lambda params: (next(scores), 1.0), LINE, price=1e-6, max_runs=9, callbacks=[heard])
    for kind, told in ((Note, result.notes), (Alarm, [result.alarm] if result.alarm else [])):
        assert [event for event in heard.events if isinstance(event, kind)] == list(told)
        for event in told:
            place = heard.events.index(event)
            assert heard.runs[place] == event.run + 1
            assert isinstance(heard.events[place - 1], Run | Note)
    assert result.notes


def test_a_failed_run_is_told_as_well() -> None:
    heard = Recorder()
    result = tune(failing({1}), LINE, price=0.001, max_runs=3, callbacks=[heard])
    told = [event for event in heard.events if isinstance(event, Run)]
    assert [run.error is None for run in told] == [True, False, True]
    assert told == list(result.history)


def test_a_callback_that_raises_is_dropped_and_costs_nothing() -> None:
    calls: list[Any] = []

    def broken(tuner: Tuner, event: Any) -> None:
        calls.append(event)
        if isinstance(event, Run):
            raise OSError("disk full")

    heard = Recorder()
    with pytest.warns(
        RuntimeWarning, match=r"^callback .*broken failed with OSError: disk full; it will not be called"
    ):
        result = tune(hill, LINE, price=0.01, callbacks=[broken, heard])
    assert len(result.history) > 1
    assert len(calls) == 2
    assert heard.kinds[-1] is Stop
    plain = tune(hill, LINE, price=0.01)
    assert [run.params for run in plain.history] == [run.params for run in result.history]


def test_closing_may_fail_too() -> None:
    class Broken(Recorder):
        def close(self) -> None:
            raise ValueError("gone")

    with pytest.warns(RuntimeWarning, match="Broken failed with ValueError: gone"):
        assert tune(hill, LINE, price=0.1, callbacks=[Broken()]).score


def test_interrupted_in_a_callback_nothing_is_lost() -> None:
    def impatient(tuner: Tuner, event: Any) -> None:
        if len(tuner.history) == 2:
            raise KeyboardInterrupt

    heard = Recorder()
    result = tune(hill, LINE, price=0.0001, callbacks=[heard, impatient])
    assert len(result.history) == 2
    assert result.why == "Interrupted after 2 runs."
    assert heard.closed == 1


def test_listeners_are_closed_however_it_ends() -> None:
    heard = Recorder()
    with pytest.raises(TuningError):
        tune(failing({0}), LINE, price=0.01, on_failure="raise", callbacks=[heard])
    assert heard.closed == 1


# ---- plain lines


def test_plain_lines_into_a_stream() -> None:
    stream = io.StringIO()
    result = tune(failing({1}), LINE, price=0.001, cost_range=(0.1, 2), max_runs=3, verbose=stream)
    lines = stream.getvalue().splitlines()
    first, second = result.history[:2]
    assert lines[0] == result.decisions[0].why
    seen = f"score {first.score:.4g} (estimated {first.believed:.4g}), cost {first.cost:.4g}, total {first.cost:.4g}."
    assert lines[1] == f"Run 1: {seen}"
    assert lines[3].startswith("Run 2 failed: the score that train returned must be finite, got nan")
    assert lines[3].endswith(f"cost {second.cost:.4g}, total {first.cost + second.cost:.4g}.")
    assert lines[-1] == result.why


def test_a_note_has_a_line_of_its_own_and_no_other() -> None:
    stream = io.StringIO()
    tune(lambda params: (100 * hill(params)[0], 1.0), LINE, price=1.0, verbose=stream)
    assert stream.getvalue().count("outside (0, 1)") == 1


def test_printing_to_where_the_tests_look(capsys: pytest.CaptureFixture[str]) -> None:
    tune(hill, LINE, price=0.1, verbose=True)
    assert "Stopped after" in capsys.readouterr().out
    tune(hill, LINE, price=0.1)
    assert capsys.readouterr().out == ""


# ---- bad input


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"callbacks": ["print"]}, r"callbacks must be functions of \(tuner, event\), got 'print'; write callbacks="),
        ({"callbacks": 3}, r"callbacks must be functions of \(tuner, event\), got 3"),
        ({"verbose": "yes"}, "verbose must be True, False, 'bar' or a stream, got 'yes'; write verbose=True"),
        ({"verbose": None}, "verbose must be True, False, 'bar' or a stream, got None"),
        ({"direction": "up"}, "direction must be 'maximize' or 'minimize', got 'up'"),
        ({"direction": None}, "direction must be 'maximize' or 'minimize', got None"),
        ({"deadline": "tomorrow"}, "deadline must be a time, got 'tomorrow'; write seconds"),
        ({"max_cost": -1}, "max_cost must be above zero, got -1; write e.g. 3600"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_bad_input_is_refused_before_anything_is_trained(told: dict[str, Any], message: str) -> None:
    ran: list[Any] = []
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        tune(lambda params: ran.append(params), LINE, price=0.1, **told)
    assert not ran


def test_one_callback_need_not_be_in_a_list() -> None:
    heard = Recorder()
    tune(hill, LINE, price=0.1, callbacks=heard)  # type: ignore[arg-type]
    assert heard.events
