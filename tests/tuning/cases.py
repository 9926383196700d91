"""What the tests of tuning share: a space, training functions without noise, and a loop over ask and tell."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from autobct import Assessment, Float, Run, Stop, Train, Tuner
from autobct.belief.arrays import Array
from autobct.tuning.decide.search import state_of
from autobct.value.state import State, Terms

LINE = {"x": Float(0, 1)}
SQUARE = {"x": Float(0, 1), "y": Float(0, 1)}

Trainer = Callable[[Mapping[str, Any]], tuple[float, float]]


def hill(params: Mapping[str, Any]) -> tuple[float, float]:
    """Best at x = 0.37 with score 0.9, and the more expensive the larger x."""
    return 0.9 - (params["x"] - 0.37) ** 2, 0.2 + params["x"]


def play(tuner: Tuner, train: Trainer = hill) -> tuple[list[Train], Stop]:
    """Ask and tell until it stops: all that was trained, and the stop."""
    trained = []
    while isinstance(decision := tuner.ask(), Train):
        trained.append(decision)
        assert len(trained) < 200, "it does not stop"
        tuner.tell(decision, *train(decision.params))
    return trained, decision


def ask_train(tuner: Tuner) -> Train:
    decision = tuner.ask()
    assert isinstance(decision, Train), decision.why
    return decision


def replayed(tuner: Tuner, history: tuple[Run, ...]) -> list[Train]:
    """Feed a recorded history to a fresh tuner: what it asked for along the way."""
    asked = []
    for run in history:
        asked.append(ask_train(tuner))
        tuner.tell(run.trial, run.score, run.cost, error=run.error)
    return asked


def numbers(decision: Train | Stop | None) -> dict[str, Any]:
    """Everything a decision says, to compare bit for bit."""
    if decision is None:
        return {}
    said = {field.name: getattr(decision, field.name) for field in fields(decision)}
    if isinstance(decision, Train):
        return said | {"params": dict(decision.params), "control": decision.control.tolist()}
    return said | {"best_alternative": numbers(decision.best_alternative)}


def at(*controls: float) -> Any:
    """A policy for tests that trains at these controls in turn, and then stops at nothing less than a miracle."""

    def build(candidates: Array, seed: int) -> Any:
        def values(state: State, terms: Terms, runs: int) -> Assessment:
            if runs >= len(controls):
                return Assessment.by_value(np.full(len(candidates), -1e9))
            return Assessment.by_value(np.where(np.isclose(candidates[:, 0], controls[runs]), 1e9, 0.0))

        return values

    return build


def state_at(tuner: Tuner) -> State:
    """The belief at the candidates of the next decision."""
    return state_of(tuner.memory, tuner.candidates)
