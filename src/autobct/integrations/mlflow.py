"""MLflowCallback: every run of a tuning as a nested MLflow run, and the result on the run above them."""

from __future__ import annotations

from typing import Any

from autobct.tuning.history import Run
from autobct.tuning.progress import Event, last_of
from autobct.tuning.tuner import Tuner

try:
    import mlflow
except ImportError as missing:
    raise ImportError(
        "autobct.integrations.mlflow needs MLflow, which is not installed; install it with: "
        "pip install 'autobct[mlflow]'",
        name="mlflow",
    ) from missing

__all__ = ["MLflowCallback"]


class MLflowCallback:
    """A callback of `tune`: parameters, score and cost of every run in MLflow.

    >>> with mlflow.start_run(run_name="tuning"):
    ...     autobct.tune(train, space, price="0.01 per 1min", callbacks=[MLflowCallback()])

    Inside a run, all runs of the tuning are nested in it; otherwise each stands alone.  Everything goes to the tracking
    store and experiment that MLflow is set to.  tags: added to each run
    """

    def __init__(self, tags: dict[str, str] | None = None) -> None:
        self._tags = dict(tags or {})

    def __call__(self, tuner: Tuner, event: Event) -> None:
        """Record a run that ended, and the result when the tuning stops."""
        if isinstance(event, Run):
            self._run(tuner, event)
        elif (last := last_of(tuner, event)) is not None and mlflow.active_run() is not None:
            mlflow.log_metrics(last.numbers)
            mlflow.set_tags({"autobct.why": last.why, **{f"autobct.best.{k}": str(v) for k, v in last.params.items()}})

    def _run(self, tuner: Tuner, run: Run) -> None:
        nested = mlflow.active_run() is not None
        with mlflow.start_run(run_name=f"run {run.trial + 1}", nested=nested, tags=self._tags or None):
            mlflow.log_params(dict(run.params))
            numbers: dict[str, Any] = {"cost": run.cost, "total_cost": tuner.total_cost}
            if run.score is not None:
                numbers |= {"score": run.score, "estimated_score": run.estimated_score}
            mlflow.log_metrics(numbers)
            if run.error is not None:
                mlflow.set_tag("autobct.error", run.error)
                mlflow.end_run("FAILED")
