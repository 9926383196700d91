"""The benchmark of the model alarm: what its rows tell apart, and how they are counted."""

from __future__ import annotations

import alarms
import numpy as np
import pytest
from tasks import Task

import autobct

JUMP = "scores jump from the fourth run on"


def bowl(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return 0.9 - np.sum((points - 0.3) ** 2, axis=1), 1.0 + points[:, 0]


def task() -> Task:
    space = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1)}
    return Task("bowl", "synthetic", space, bowl, (0.0, 1.0), 0.001)


def test_rows_are_counted_apart_false_alarms_first() -> None:
    quiet, score, cost = (5, "", False), (3, "score", False), (4, "cost", True)
    rows = list(alarms.table({"nothing stated": [quiet, quiet, cost, quiet], JUMP: [score, quiet]}))
    assert rows[1].split()[:6] == ["nothing", "stated", "4", "4.8", "25.00%", "+-"]
    assert rows[2].startswith("all of these: false alarms")
    power = next(row for row in rows if row.startswith("all of these: power"))
    assert "50.00%" in power


def test_ordinary_and_crashing_tunings_raise_nothing_and_a_narrow_scale_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alarms, "tasks_of", lambda which: [task()])
    monkeypatch.setattr(alarms, "CAP", 6)
    for row in ("natural score range", "crashes at once", "a region crashes at once"):
        assert alarms.played(("here", 0, row, 0.03, 0))[1] == "", row
    assert alarms.played(("here", 0, "score scale fixed, 100 times too narrow", 0.03, 0))[1] == "score"
