"""Faults at the front door: failures under a limit, listeners that break, ranges that are wrong from the start."""

import math
import warnings
from typing import Any

import pytest
from tests.tuning.cases import LINE, SQUARE, hill

from autobct import Run, Stop, Train, TuningError, relaxed, tune


def sometimes(params: dict[str, Any]) -> tuple[float, float]:
    if 0.2 < params["x"] < 0.6:
        raise RuntimeError("out of memory")
    return hill(params)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("limits", [{"max_cost": 3.0}, {"deadline": 600}, {"max_runs": 4}], ids=str)
def test_failures_under_a_limit(direction: Any, limits: dict[str, Any]) -> None:
    told = {"cost_range": (0.1, 2), "policy": relaxed(2), **limits}
    result = tune(sometimes, LINE, price=1e-4, direction=direction, **told)
    assert result.score == hill(result.params)[0]
    assert result.cost == math.fsum(run.cost for run in result.history)
    if "max_cost" in limits:
        assert result.cost <= 3.0


def test_nothing_but_failures_under_a_budget_ends_with_all_of_them_told() -> None:
    def broken(params: dict[str, Any]) -> float:
        raise OSError(f"no such file: {params['x']!r}")

    with pytest.raises(
        TuningError, match=r"^no run finished; the last of \d+ runs? failed with OSError: no such file"
    ) as ended:
        tune(broken, SQUARE, price=1e-4, max_cost=1e9)
    assert all(run.error for run in ended.value.history)


@pytest.mark.parametrize("kind", [Train, Run, Stop])
def test_a_listener_that_breaks_at_any_event_costs_nothing(kind: type) -> None:
    def listener(tuner: Any, event: Any) -> None:
        if isinstance(event, kind):
            raise ZeroDivisionError

    with pytest.warns(RuntimeWarning, match="failed with ZeroDivisionError"):
        result = tune(sometimes, LINE, price=0.001, callbacks=[listener])
    assert [run.params for run in result.history] == [run.params for run in tune(sometimes, LINE, price=0.001).history]


def test_a_listener_that_breaks_while_warnings_are_errors_loses_nothing_that_was_told() -> None:
    """Then the warning itself is raised, by the user's own wish: what was told is in the tuner that listened."""
    seen: list[Any] = []

    def listener(tuner: Any, event: Any) -> None:
        seen.append(tuner)
        if isinstance(event, Run):
            raise ZeroDivisionError

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="it will not be called again"):
            tune(hill, LINE, price=0.001, callbacks=[listener])
    assert seen[-1].best is not None


@pytest.mark.parametrize(
    "told",
    [
        {"score_range": (1e6, 2e6)},
        {"score_range": (-1e-9, 1e-9)},
        {"cost_range": (1e6, 2e6)},
        {"cost_range": (1e-9, 2e-9)},
        {"score_range": (5, 6), "cost_range": (1e4, 1e5), "direction": "minimize"},
    ],
    ids=str,
)
def test_ranges_that_are_wrong_from_the_start_are_survived(told: dict[str, Any]) -> None:
    result = tune(hill, LINE, price=0.003, max_runs=30, **told)
    assert 1 <= len(result.history) < 30
    assert result.notes
    assert any(note.text in decision.why for note in result.notes for decision in result.decisions)
    assert math.isfinite(result.expected_score)
