"""Ask and tell that survive: from Python, with every word in a journal."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, tune, write_job

import autobct
from autobct.run import StoredTuner, read_run, stored
from autobct.run.journal import JournalError, encoded
from autobct.run.lock import LockedError


def score(x: float) -> float:
    return 1 - (x - 0.3) ** 2


def cost(x: float) -> float:
    return 1 + x


def tuner(**other: object) -> autobct.Tuner:
    space = {"x": autobct.Float(0, 1), "f": autobct.Categorical([score, cost])}
    return autobct.Tuner(space, price=0.002, **other)  # type: ignore[arg-type]


def train(tuner: autobct.Tuner | StoredTuner, most: int = 100) -> list[str]:
    """At most so many runs; every decision to the last bit."""
    decisions = []
    while len(decisions) < most and isinstance(decision := tuner.ask(), autobct.Train):
        x, f = decision.params["x"], decision.params["f"]
        tuner.tell(decision, score=f(x) / 2, cost=cost(x))
        decisions.append(json.dumps(encoded(decision)))
    return decisions


def test_a_tuning_in_pieces_is_the_tuning_in_one(tmp_path: Path) -> None:
    whole = train(tuner())
    assert len(whole) >= 3
    pieces: list[str] = []
    while len(pieces) < len(whole):
        with stored(tuner(), tmp_path / "kept") as again:
            assert len(again.tuner.history) == len(pieces)
            pieces += train(again, most=1)
            again.charge(0.5)
    assert pieces == whole
    with stored(tuner(), tmp_path / "kept") as again:
        assert isinstance(again.ask(), autobct.Stop)
        assert again.tuner.charged > 0
        assert again.tuner.result().score > 0


def test_runs_that_were_not_told_come_again_first(tmp_path: Path) -> None:
    with stored(tuner(), tmp_path) as first:
        under_way = [first.ask(), first.ask(), first.ask()]
        first.tell(under_way[1], score=0.5, cost=1.0)  # type: ignore[arg-type]
    with stored(tuner(), tmp_path) as second:
        again = [second.ask(), second.ask()]
        assert [encoded(d) for d in again] == [encoded(under_way[0]), encoded(under_way[2])]
        second.tell(again[0], error="diverged", cost=1.0)  # type: ignore[arg-type]
        assert second.ask().trial == 3  # type: ignore[union-attr]
    with stored(tuner(), tmp_path) as third:
        assert [run.error for run in third.tuner.history] == [None, "diverged"]
        assert [third.ask().trial, third.ask().trial] == [2, 3]  # type: ignore[union-attr]


def test_another_problem_or_tuner_is_refused(tmp_path: Path) -> None:
    with stored(tuner(), tmp_path) as first:
        train(first, most=1)
    with (
        pytest.raises(JournalError, match=r"^recall changed since the tuning in"),
        stored(tuner(recall=False), tmp_path),
    ):
        pass
    policy: Any = partial(autobct.relaxed(depth=2))
    policy.note = tuner().policy_note  # as if it were the same
    other = tuner(policy=policy)
    with pytest.warns(RuntimeWarning, match="Run 1 would be decided differently now"), stored(other, tmp_path) as kept:
        assert len(kept.tuner.history) == 1
    used = tuner()
    used.ask()
    with pytest.raises(ValueError, match="must be new"), stored(used, tmp_path):
        pass
    with stored(tuner(), tmp_path), pytest.raises(LockedError), stored(tuner(), tmp_path):
        pass


def test_folders_of_the_two_kinds_are_told_apart(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 1\n")
    tune(path)
    with pytest.raises(JournalError, match="was made by autobct run"), stored(tuner(), tmp_path / "tune.run"):
        pass
    with stored(tuner(), tmp_path / "kept"):
        pass
    with pytest.raises(JournalError, match="was stored from Python"):
        read_run(tmp_path / "kept")


def test_the_time_of_a_decision_is_stored_and_decides_the_same_again(tmp_path: Path) -> None:
    overheads = []
    for made in (2, 4):
        with stored(autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-5), tmp_path) as kept:
            while len(kept.tuner.history) < made:
                decision = kept.ask()
                assert isinstance(decision, autobct.Train)
                overheads.append(decision.overhead)
                kept.charge(0.5 + len(overheads), deciding=True)
                kept.tell(decision, score=score(decision.params["x"]), cost=1.0)
    assert overheads == pytest.approx([0.0, 1.5e-5, 2e-5, 2.5e-5])
