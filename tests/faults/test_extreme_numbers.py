"""Whatever was observed can be stored, read again and gone on from; what cannot be learned from has failed."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.cases import TOML, decided, tune, write_job

import autobct
from autobct.run import read_run, stored
from autobct.tuning.history import Train
from autobct.tuning.tuner import Tuner

SIZES = (0.0, 1e-320, 1e-300, 1e-12, 1.0, 1e12, 1e20, 1e150, 1e300, 1.7e308)
SAID: list[dict[str, Any]] = [
    {},
    {"score_range": (0, 1)},
    {"cost_range": (1, 2)},
    {"direction": "minimize"},
    {"prior": "paper"},
    {"recall": False},
    {"max_cost": 10.0},
]


@pytest.mark.parametrize("said", SAID, ids=str)
@pytest.mark.parametrize(
    "first", [(1e20, 0.0), (1e300, 0.0), (-1e300, 0.0), (1.7e308, 1e-300), (0.5, 1.7e308)], ids=str
)
def test_any_first_run_is_stored_read_again_and_gone_on_from(
    tmp_path: Path, said: dict[str, Any], first: tuple[float, float]
) -> None:
    def new() -> Tuner:
        return Tuner({"x": autobct.Float(0, 1)}, price=0.01, **said)

    with stored(new(), tmp_path) as kept:
        decision = kept.ask()
        assert isinstance(decision, Train)
        run = kept.tell(decision, score=first[0], cost=first[1])
        assert (run.score is None) == (run.error is not None)
        after = kept.tuner.peek()
    with stored(new(), tmp_path) as again:
        assert [(run.score, run.cost, run.error)] == [(r.score, r.cost, r.error) for r in again.tuner.history]
        assert again.tuner.peek().why == after.why


@pytest.mark.parametrize("first", [(1e20, 0.0), (1e20, 1.0), (-1e20, 1.0), (1.7e308, 1.0), (-1e200, 1.0)], ids=str)
@pytest.mark.parametrize("said", [{}, {"direction": "minimize"}, {"recall": False}], ids=str)
@pytest.mark.filterwarnings("error")
def test_a_first_run_far_out_without_a_range_is_noted_and_gone_on_from(
    said: dict[str, Any], first: tuple[float, float]
) -> None:
    tuner = Tuner({"x": autobct.Float(0, 1)}, price=0.01, max_runs=4, **said)
    made, outcome = 0, first
    while isinstance(decision := tuner.ask(), Train):
        tuner.tell(decision, *outcome)
        made, outcome = made + 1, (0.5 + 0.1 * decision.params["x"], 1.0)
    assert made >= 2  # one run is not the end
    run = tuner.history[0]
    noted = [note.text for note in tuner.notes if note.run == 0 and note.about == "score"]
    if run.error is None:
        far = "far from all others; it only counts as a bad score" if abs(first[0]) > 1e150 else "outside (0, 1): the"
        assert noted
        assert noted[0].startswith(f"Run 1 scored {first[0]:.4g}, {far}")
    else:
        assert run.error == f"its score of {first[0]:.4g} is beyond 1e+150, so the run was not used"
    assert np.isfinite([run.estimated_score for run in tuner.history]).all()
    assert np.isfinite(tuner.total_cost)
    assert str(tuner.result())


def test_random_histories_of_extreme_numbers_never_raise() -> None:
    rng = random.Random(1)
    spaces: list[dict[str, Any]] = [
        {"x": autobct.Float(0, 1)},
        {"x": autobct.Float(0, 1), "y": autobct.Int(1, 5), "c": autobct.Categorical(["a", "b", "c"])},
    ]
    for _ in range(60):
        tuner = Tuner(rng.choice(spaces), price=rng.choice([1e-12, 0.01, 1e6]), **rng.choice(SAID))
        for _ in range(4):
            decision = tuner.ask()
            assert decision.why
            if not isinstance(decision, Train):
                break
            assert np.isfinite(decision.expected_cost)
            score = rng.choice([-1, 1]) * rng.choice(SIZES)
            told: dict[str, Any] = {"error": "it broke"} if rng.random() < 0.3 else {"score": score}
            tuner.tell(decision, cost=rng.choice(SIZES), **told)
            assert np.isfinite(tuner.total_cost)


def test_a_score_that_overflows_the_belief_is_a_failed_run(monkeypatch: pytest.MonkeyPatch) -> None:
    tuner = Tuner({"x": autobct.Float(0, 1)}, price=0.01)
    first = tuner.ask()
    assert isinstance(first, Train)
    monkeypatch.setattr("autobct.tuning.memory.notes_of", _no_notes)
    run = tuner.tell(first, score=0.25, cost=1.0)
    assert run.score is None
    assert run.error == "score 0.25 at a cost of 1 cannot be learned from: math domain error"
    assert len(tuner.history) == 1


def _no_notes(problem: Any, run: Any, number: int, told: Any) -> list[Any]:
    if run.score is not None:
        raise ValueError("math domain error")
    return []


def test_a_program_with_an_extreme_score_can_be_reported_and_resumed(tmp_path: Path) -> None:
    toml = TOML.replace("score_range = [0.3, 1.0]\ncost_range = [0.1, 0.3]\n", "")
    path = write_job(tmp_path, toml, '#!/bin/sh\necho "{\\"score\\": 1e140, \\"cost\\": 0}"\n')
    ending = tune(path)
    assert ending.stop is not None
    assert len(read_run(path).history) == len(ending.tuner.history)
    assert decided(tune(path)) == decided(ending)


def test_runs_do_not_keep_the_candidates_alive() -> None:
    tuner = Tuner({f"x{number}": autobct.Float(0, 1) for number in range(8)}, price=1e-6)
    for _ in range(3):
        decision = tuner.ask()
        assert isinstance(decision, Train)
        run = tuner.tell(decision, score=float(np.mean(decision.control)), cost=1.0)
        assert run.control.base is None
        assert run.control.nbytes == 8 * 8
