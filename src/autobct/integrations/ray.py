"""autobct on Ray: a searcher for Ray Tune that stops by itself, and `tune` on a cluster."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

try:
    from ray.tune.search import UNDEFINED_METRIC_MODE, UNDEFINED_SEARCH_SPACE, Searcher
except ImportError:
    raise ImportError("AutoBCTSearch and tune_on_ray need Ray Tune: pip install 'autobct[ray]'", name="ray") from None

from ray.tune.result import DEFAULT_METRIC, TIME_TOTAL_S
from ray.tune.utils import flatten_dict

from autobct.integrations._hosts import control_of
from autobct.integrations._ray_search import ENDED, History, Reported, check_keywords, outcome_of, params_in, ray_trials
from autobct.integrations._ray_space import nested, searched_in, space_of
from autobct.integrations._ray_state import SavedState, read_state, state_of_text, state_text, write_state
from autobct.integrations._ray_tasks import tune_on_ray
from autobct.tuning.history import Decision, Stop
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.result import Result
from autobct.tuning.space.space import Space

__all__ = ["AutoBCTSearch", "tune_on_ray"]

_LOG = logging.getLogger(__name__)
_HOPELESS = 2  # trials without the metric, of which none has it: its name is wrong


class AutoBCTSearch(Searcher):
    """A searcher for Ray Tune that suggests the trial worth most for its price, and ends when none is worth it.

    >>> search = AutoBCTSearch(price="0.01 per 10min")
    >>> config = tune.TuneConfig(metric="accuracy", mode="max", search_alg=search, num_samples=-1)
    >>> tune.Tuner(train, param_space={"rate": tune.loguniform(1e-4, 1)}, tune_config=config).fit()

    space:  what is tuned, as parameters of autobct or Ray's domains; by default the `param_space` of the tuner
    metric, mode:  of the score; by default those of `TuneConfig`
    cost:   the reported metric that is the cost of a trial; by default `time_total_s`, its seconds

    The other keywords are those of `tune`; the direction is the mode.  Trials that run count as pending.  Set
    `TuneConfig(max_concurrent_trials=...)`: otherwise Ray asks for one trial more than it can run.
    """

    CKPT_FILE_TMPL = "searcher-state-{}.json"

    _metric: str | None
    _mode: str | None

    @spelled_out
    def __init__(
        self,
        space: Space | Mapping[str, Any] | None = None,
        *,
        metric: str | None = None,
        mode: str | None = None,
        cost: str = TIME_TOTAL_S,
        **keywords: Unpack[TunerKeywords],
    ) -> None:
        _refuse_many(metric, mode)
        check_keywords(keywords)
        super().__init__(metric=metric, mode=mode)
        self._given = None if space is None else space_of(space)
        self._cost, self._keywords = cost, keywords
        self._history = History(self._given, keywords, mode)
        self._started: dict[str, float] = {}  # Ray's id of a trial -> when it was suggested
        self._reported: dict[str, Reported] = {}  # what it has reported so far
        self._trouble: str | None = None

    @property
    def decision(self) -> Decision | None:
        """The last decision, a `Train` or a `Stop`, with its numbers; None before the first."""
        return self._history.last

    def result(self) -> Result:
        """The result as of now, as `tune` returns it; TuningError if no trial has finished."""
        return self._history.result()

    def set_search_properties(self, metric: str | None, mode: str | None, config: dict[str, Any], **spec: Any) -> bool:
        """Take metric, mode and search space from `tune.Tuner`; False if the space is given twice."""
        _refuse_many(metric, mode)
        found = searched_in(config)
        if found is not None and self._given is not None:
            return False
        metric, mode = metric or self._metric, mode or self._mode
        self._history.state(found or self._given, mode, None if self._metric is None else self._metric == metric)
        self._metric, self._mode = metric, mode
        return True

    def suggest(self, trial_id: str) -> Any:
        """The parameters of the trial that is worth most; `FINISHED` if none is worth its price.

        None if none is worth it now, and trials that run may change that.
        """
        self._check_ready()
        if self._trouble is not None:
            raise ValueError(self._trouble)
        decision = self._history.decided(trial_id)
        if isinstance(decision, Stop):
            if self._history.pending:
                return None
            _LOG.info(decision.why)
            return str(Searcher.FINISHED)
        self._started.setdefault(trial_id, time.monotonic())
        return nested(decision.params)

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        """Remember what a trial has reported, in case it fails or is stopped later."""
        if trial_id in self._history.pending:
            self._reported[trial_id] = outcome_of(result, str(self._metric), self._cost)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Learn from a trial; one that failed, or has no finite score, is a failed run.

        A trial that was stopped before it started is forgotten.
        """
        if trial_id not in self._history.pending and not self._recovered(trial_id, result):
            _LOG.warning(f"Trial {trial_id} is not one that AutoBCTSearch suggested, or it has ended before; ignored.")
            return
        seen = self._reported.pop(trial_id, None)
        found = outcome_of(result, str(self._metric), self._cost) if result else seen
        if error:
            self._history.told(trial_id, None, self._cost_of_failed(trial_id, seen), "the trial failed")
        elif found is None:
            self._history.forget(trial_id)
        else:
            self._learn(trial_id, found)
        self._started.pop(trial_id, None)

    def _learn(self, trial_id: str, found: Reported) -> None:
        cost = self._cost_of_failed(trial_id, found) if found.cost is None else found.cost
        self._history.told(trial_id, found.score, cost, found.error)
        if found.cost is None and found.score is not None:
            self._trouble = (
                f"Trial {trial_id} reported no cost `{self._cost}` that is a number of at least 0. "
                f"Make sure your calls to `tune.report()` include it, or leave out cost= to use the time of the trial."
            )
        runs = self._history.runs
        if not found.reported and len(runs) >= _HOPELESS and all(run.score is None for run in runs):
            self._trouble = (
                f"No trial has reported the metric `{self._metric}` so far. "
                f"Make sure your calls to `tune.report()` include the metric."
            )

    def _cost_of_failed(self, trial_id: str, seen: Reported | None) -> float:
        """Of a trial that did not say: the seconds since it was suggested, or what it was expected to cost."""
        reported = None if seen is None else seen.cost
        if self._cost == TIME_TOTAL_S and trial_id in self._started:
            return max(time.monotonic() - self._started[trial_id], reported or 0.0)
        return self._history.pending[trial_id].expected_cost if reported is None else reported

    def _recovered(self, trial_id: str, result: dict[str, Any] | None) -> bool:
        """Whether a trial that Ray knows, but no saved state does, is in the space: the driver died in between."""
        space = self._history.space
        if not result or space is None or self._history.knows(trial_id):
            return False
        control = control_of(space, params_in(result, space))
        return control is not None and self._history.adopted(trial_id, control)

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: float,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
        *,
        cost: float | None = None,
    ) -> None:
        """Learn from a point that was evaluated elsewhere; it counts towards max_runs and max_cost.

        cost: what it cost, in the units of the other trials; it is required
        """
        space = self._check_ready()
        if cost is None:
            raise ValueError(
                "The cost of an evaluated point is unknown; write add_evaluated_point(parameters, value, cost=...)."
            )
        control = control_of(space, flatten_dict(dict(parameters)))
        if control is None:
            raise ValueError(f"The point {parameters} is not in the search space {space!r}.")
        found = outcome_of({"value": value, "cost": cost}, "value", "cost")
        if found.cost is None:
            raise ValueError(f"cost must be a finite number of at least 0, got {cost!r}.")
        failed = "the trial failed" if error else found.error
        self._history.evaluated(control, None if failed else found.score, found.cost, failed)

    def add_evaluated_trials(self, trials_or_analysis: Any, metric: str) -> None:
        """Learn from trials that were made elsewhere, with the cost that each has reported."""
        trials = getattr(trials_or_analysis, "trials", trials_or_analysis)
        for trial in trials if isinstance(trials, Sequence) else [trials]:
            last = flatten_dict(dict(trial.last_result or {}))
            if metric in last:
                failed = trial.status == "ERROR"
                self.add_evaluated_point(trial.config, last[metric], failed, cost=last.get(self._cost))

    def save(self, checkpoint_path: str) -> None:
        """Write the history as JSON."""
        write_state(checkpoint_path, self._saved())

    def restore(self, checkpoint_path: str) -> None:
        """Continue from what was saved; ValueError if the file is damaged, or of another space, metric or cost."""
        self._set(read_state(checkpoint_path, self._history.space))

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """Continue from the folder of an experiment; trials that Ray no longer runs are not waited for."""
        super().restore_from_dir(checkpoint_dir)
        trials = ray_trials(checkpoint_dir)
        for trial_id in list(self._history.pending) if trials is not None else ():
            status, last = (trials or {}).get(trial_id, ("LOST", {}))
            if status in ENDED:
                self.on_trial_result(trial_id, last)
                self.on_trial_complete(trial_id, last, error=status == "ERROR")
            elif status == "LOST":
                self._history.forget(trial_id)

    def _saved(self) -> SavedState:
        return self._history.saved(self._metric, self._mode, self._cost)

    def _set(self, state: SavedState) -> None:
        for name, mine, theirs in (
            ("metric", self._metric, state.metric),
            ("mode", self._mode, state.mode),
            ("cost", self._cost, state.cost),
        ):
            if None not in (mine, theirs) and mine != theirs:
                raise ValueError(f"The saved search has {name} {theirs!r}, and this one {mine!r}; use the same.")
        self._metric, self._mode = self._metric or state.metric, self._mode or state.mode
        self._history = History.of(state, self._keywords, self._mode)
        now = time.monotonic()
        self._started = dict.fromkeys(self._history.pending, now)
        self._reported, self._trouble = {}, None

    def __getstate__(self) -> dict[str, Any]:
        """What it was made with, and its history as JSON: Ray stores a copy of the searcher with every experiment."""
        made = {"_given": self._given, "_keywords": self._keywords, "_cost": self._cost}
        told = {"_metric": self._metric, "_mode": self._mode}
        return {**made, **told, "space": self._history.space, "saved": state_text(self._saved())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({name: value for name, value in state.items() if name not in ("space", "saved")})
        self._set(state_of_text(state["saved"], state["space"]))

    def _check_ready(self) -> Space:
        space, name = self._history.space, type(self).__name__
        if space is None:
            raise RuntimeError(UNDEFINED_SEARCH_SPACE.format(cls=name, space="space"))
        if self._metric is None and self._mode is not None:
            self._metric = DEFAULT_METRIC
        if self._metric is None or self._mode is None:
            raise RuntimeError(UNDEFINED_METRIC_MODE.format(cls=name, metric=self._metric, mode=self._mode))
        return space


def _refuse_many(metric: object, mode: object) -> None:
    if isinstance(metric, list | tuple) or isinstance(mode, list | tuple):
        raise ValueError(
            f"AutoBCTSearch does not support multi-objective optimization, got metric {metric!r} and mode {mode!r}: "
            "a price is per unit of one score. Pass one metric."
        )
