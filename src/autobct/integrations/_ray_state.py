"""What an AutoBCTSearch saves, as JSON that is checked entry by entry when it is read."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autobct.integrations._ray_space import space_in, space_json
from autobct.run.journal import encoded
from autobct.tuning.history import Run, Train
from autobct.tuning.space.space import Space

__all__ = ["SavedState", "read_state", "state_of_text", "state_text", "write_state"]

_FORMAT = "autobct.ray 1"
_MOST = 1 << 28  # bytes of a file: a million runs
_RUN = ("trial_id", "trial", "control", "score", "cost", "error")
_NUMBERS = ("expected_gain", "expected_cost", "price_of_run", "expected_score", "value", "overhead")
_AGAIN = "start the search anew, or restore an earlier file"


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """All that a search knows.

    runs:      finished and failed, in the order in which they ended, each with Ray's id of the trial; "" if it has none
    pending:   Ray's id of a trial -> the decision to run it;  decisions: all of them, in order
    """

    metric: str | None
    mode: str | None
    cost: str
    space: Space | None
    runs: tuple[tuple[str, Run], ...] = ()
    pending: Mapping[str, Train] = dataclasses.field(default_factory=dict)
    decisions: tuple[Train, ...] = ()


def state_text(state: SavedState) -> str:
    """A state as text; numbers come back to the last bit."""
    data = {
        "format": _FORMAT,
        "metric": state.metric,
        "mode": state.mode,
        "cost": state.cost,
        "space": None if state.space is None else space_json(state.space),
        "runs": [_run_json(trial_id, run) for trial_id, run in state.runs],
        "pending": [{"trial_id": trial_id, **_train_json(train)} for trial_id, train in state.pending.items()],
        "decisions": [_train_json(train) for train in state.decisions],
    }
    return json.dumps(data, allow_nan=False)


def write_state(path: str, state: SavedState) -> None:
    """Write a file as a whole: somebody who reads it finds this state or the one before."""
    beside = Path(f"{path}.{os.getpid()}.part")
    beside.write_text(state_text(state), "utf-8")
    os.replace(beside, path)


def read_state(path: str, known: Space | None) -> SavedState:
    """The state in a file; ValueError that names the first thing in it that cannot be.  known: see `state_of_text`."""
    try:
        if os.path.getsize(path) > _MOST:
            raise ValueError(f"it has more than {_MOST} bytes")
        return state_of_text(Path(path).read_text("utf-8"), known)
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"{path} is not a saved state of AutoBCTSearch: {wrong}; {_AGAIN}.") from None


def state_of_text(text: str, known: Space | None) -> SavedState:
    """The state in a text.  known: the space, if it was given; the one in the text must be the same."""
    data = _object(json.loads(text, parse_constant=_no_constant), "the text", _KEYS)
    if data["format"] != _FORMAT:
        raise ValueError(f"its format is {data['format']!r}, and this version reads {_FORMAT!r}")
    metric, mode = _text(data["metric"], "metric", none=True), _text(data["mode"], "mode", none=True)
    if mode not in (None, "min", "max"):
        raise ValueError(f"mode is {mode!r}")
    cost = _text(data["cost"], "cost") or ""
    space = None if data["space"] is None else space_in(data["space"], known)
    lists = {name: _list(data[name], name) for name in ("runs", "pending", "decisions")}
    if space is None:
        if any(lists.values()):
            raise ValueError("it has runs but no space")
        return SavedState(metric, mode, cost, known)
    runs = tuple(_run(each, f"runs[{n}]", space) for n, each in enumerate(lists["runs"]))
    pending = [_pending(each, f"pending[{n}]", space) for n, each in enumerate(lists["pending"])]
    decisions = tuple(_train(each, f"decisions[{n}]", space) for n, each in enumerate(lists["decisions"]))
    _once([trial_id for trial_id, _ in runs if trial_id] + [trial_id for trial_id, _ in pending], "trial_id")
    _once([run.trial for _, run in runs] + [train.trial for _, train in pending], "trial")
    return SavedState(
        metric=metric, mode=mode, cost=cost, space=space, runs=runs, pending=dict(pending), decisions=decisions
    )


_KEYS = ("format", "metric", "mode", "cost", "space", "runs", "pending", "decisions")


def _run_json(trial_id: str, run: Run) -> dict[str, Any]:
    told = [trial_id, run.trial, run.control.tolist(), run.score, run.cost, run.error]
    return dict(zip(_RUN, told, strict=True))


def _train_json(train: Train) -> dict[str, Any]:
    told = {name: value for name, value in encoded(train).items() if name != "params"}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in told.items()
    }


def _run(data: Any, where: str, space: Space) -> tuple[str, Run]:
    told = _object(data, where, _RUN)
    control = _control(told["control"], where, space)
    score, error = told["score"], _text(told["error"], f"{where}.error", none=True)
    if (score is None) == (error is None):
        raise ValueError(f"{where} has both a score and an error, or neither")
    score = None if score is None else _number(score, f"{where}.score")
    cost, trial = _number(told["cost"], f"{where}.cost", least=0.0), _whole(told["trial"], f"{where}.trial")
    trial_id = _text(told["trial_id"], f"{where}.trial_id") or ""
    return trial_id, Run(
        trial=trial,
        params=space.params(control),
        control=control,
        score=score,
        cost=cost,
        error=error,
        estimated_score=math.nan,
    )


def _pending(data: Any, where: str, space: Space) -> tuple[str, Train]:
    if not isinstance(data, dict) or not _text(data.get("trial_id"), f"{where}.trial_id"):
        raise ValueError(f"{where} has no trial_id")
    rest = {name: value for name, value in data.items() if name != "trial_id"}
    return data["trial_id"], _train(rest, where, space)


def _train(data: Any, where: str, space: Space) -> Train:
    told = _object(data, where, ("trial", "control", "stop_value", "note", *_NUMBERS))
    control = _control(told["control"], where, space)
    stop = None if told["stop_value"] is None else _number(told["stop_value"], f"{where}.stop_value")
    given = {name: math.nan if told[name] is None else told[name] for name in _NUMBERS}
    numbers = {name: n if n is math.nan else _number(n, f"{where}.{name}") for name, n in given.items()}
    note = _text(told["note"], f"{where}.note") or ""
    trial = _whole(told["trial"], f"{where}.trial")
    return Train(trial, space.params(control), control, stop_value=stop, note=note, **numbers)


def _control(value: Any, where: str, space: Space) -> Any:
    numbers = [_number(u, f"{where}.control", least=0.0, most=1.0) for u in _list(value, f"{where}.control")]
    if len(numbers) != space.dim:
        raise ValueError(f"{where}.control has {len(numbers)} coordinates, and the space has {space.dim}")
    return np.array(numbers, dtype=np.float64)


def _object(value: Any, where: str, keys: Iterable[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(keys):
        raise ValueError(f"{where} must be an object with exactly {', '.join(keys)}")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} must be a list")
    return value


def _text(value: Any, where: str, *, none: bool = False) -> str | None:
    if not (isinstance(value, str) or (none and value is None)):
        raise ValueError(f"{where} must be text")
    return value


def _whole(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError(f"{where} must be a whole number from 0")
    return value


def _number(value: Any, where: str, *, least: float = -math.inf, most: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e308:
        raise ValueError(f"{where} must be a finite number")
    if not least <= value <= most:
        raise ValueError(f"{where} is {value!r}, outside {least:g} to {most:g}")
    return float(value)


def _once(found: list[Any], what: str) -> None:
    if len(set(found)) != len(found):
        raise ValueError(f"a {what} is in it twice")


def _no_constant(name: str) -> Any:
    raise ValueError(f"it contains {name}")
