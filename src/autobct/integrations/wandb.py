"""WandbCallback: every run of a tuning as a step of a Weights & Biases run."""

from __future__ import annotations

from typing import Any

from autobct.tuning.history import Run
from autobct.tuning.progress import Event, last_of
from autobct.tuning.tuner import Tuner

try:
    import wandb
except ImportError as missing:
    raise ImportError(
        "autobct.integrations.wandb needs Weights & Biases, which is not installed; install it with: "
        "pip install 'autobct[wandb]'",
        name="wandb",
    ) from missing

__all__ = ["WandbCallback"]


class WandbCallback:
    """A callback of `tune`: parameters, score and cost of every run in one Weights & Biases run.

    >>> autobct.tune(train, space, price="0.01 per 1min", callbacks=[WandbCallback(project="tuning", mode="offline")])

    init: keywords of `wandb.init`.  A run that is already active is used, and left open at the end
    """

    def __init__(self, **init: Any) -> None:
        self._own = wandb.run is None
        self._run: Any = wandb.init(**init) if self._own else wandb.run

    def __call__(self, tuner: Tuner, event: Event) -> None:
        """Log a run that ended, and the result when the tuning stops."""
        if isinstance(event, Run):
            best = tuner.best
            numbers: dict[str, Any] = {f"params/{name}": value for name, value in event.params.items()}
            numbers |= {"cost": event.cost, "total_cost": tuner.total_cost, "failed": event.error is not None}
            if event.score is not None:
                numbers |= {"score": event.score, "estimated_score": event.estimated_score}
            if best is not None:
                numbers["best_score"] = best.score
            self._run.log(numbers, step=len(tuner.history), commit=True)
        elif (last := last_of(tuner, event)) is not None:
            self._run.summary.update({**last.numbers, "best_params": dict(last.params), "why": last.why})

    def close(self) -> None:
        """Finish the run, if it was started here."""
        if self._own:
            self._run.finish()
