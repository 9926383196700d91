"""TensorBoardCallback: score, cost and the best so far as curves over runs, written as event files."""

from __future__ import annotations

import time
from os import PathLike, fspath
from typing import Any

from autobct.tuning.history import Run
from autobct.tuning.progress import Event, last_of
from autobct.tuning.tuner import Tuner

try:
    from tensorboard.compat.proto.event_pb2 import Event as EventProto
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError as missing:
    raise ImportError(
        "autobct.integrations.tensorboard needs TensorBoard, which is not installed; install it with: "
        "pip install 'autobct[tensorboard]'",
        name="tensorboard",
    ) from missing

__all__ = ["TensorBoardCallback"]


class TensorBoardCallback:
    """A callback of `tune`: curves over runs, for `tensorboard --logdir FOLDER`.

    >>> autobct.tune(train, space, price="0.01 per 1min", callbacks=[TensorBoardCallback("logs/tuning")])

    Needs neither TensorFlow nor PyTorch.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        self._writer: Any = EventFileWriter(fspath(folder))

    def __call__(self, tuner: Tuner, event: Event) -> None:
        """Write the numbers of a run that ended, and why the tuning stopped."""
        if isinstance(event, Run):
            best = tuner.best
            numbers = {
                "score": event.score,
                "estimated_score": None if event.score is None else event.estimated_score,
                "best_score": None if best is None else best.score,
                "cost": event.cost,
                "total_cost": tuner.total_cost,
                **{f"params/{name}": value for name, value in event.params.items() if _is_number(value)},
            }
            step = len(tuner.history)
            self._write({name: value for name, value in numbers.items() if value is not None}, step)
        elif (last := last_of(tuner, event)) is not None:
            self._write({f"result/{name}": value for name, value in last.numbers.items()}, len(tuner.history))

    def close(self) -> None:
        """All numbers are in the file."""
        self._writer.close()

    def _write(self, numbers: dict[str, Any], step: int) -> None:
        values = [Summary.Value(tag=name, simple_value=float(value)) for name, value in numbers.items()]
        self._writer.add_event(EventProto(wall_time=time.time(), step=step, summary=Summary(value=values)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
