"""Playing an experiment: the paper's method, or the package's own, against trainings that are replayed or real."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autobct.belief.arrays import Array
from autobct.maps.library import shipped_map
from autobct.paper.experiment import MOST_RUNS, Experiment, Method, TrainingOutcome
from autobct.tuning.decide.decision import Decision, Train, value_of_continuing
from autobct.tuning.decide.policy import Policy, relaxed
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import Affine

Trainer = Callable[[Array, Mapping[str, Any], int], TrainingOutcome]
"""(control, params, number of the run from 0) -> what it came to, with all trainings of the run."""

_UNIT = Affine(0.0, 1.0)


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """One run as in the paper's tables.

    score, cost, total:  h_n, t_n, and the sum of t_1 .. t_n
    control, params:     u_{n-1}, and what it stands for
    believed, value:     posterior mean score at the control, and V, both after this run
    """

    number: int
    score: float
    cost: float
    total: float
    control: tuple[float, ...]
    params: Mapping[str, Any]
    believed: float
    value: float | None
    outcome: TrainingOutcome


@dataclass(frozen=True, slots=True)
class PlayedTuning:
    """One tuning.

    returned:  which of its lines has the model that is returned
    believed:  what is believed of that model's score at the end
    why:       it stopped, in a sentence
    """

    lines: tuple[PlayedRun, ...]
    returned: int
    believed: float
    why: str

    @property
    def last(self) -> PlayedRun:
        """The run at which it stopped: what the paper's summaries are about."""
        return self.lines[-1]

    @property
    def model(self) -> PlayedRun:
        """The run whose model is returned: the last one in the paper's method."""
        return self.lines[self.returned]

    def net(self, price: float) -> float:
        """Score of the returned model less the price of all runs."""
        return self.model.score - price * self.last.total


@dataclass(frozen=True, slots=True, eq=False)
class Player:
    """How decisions are made.

    policy:    None for the package's own
    recall:    whether the best model is returned, or the last one
    overhead:  fixed price of a run, in score: what the shipped maps were learned with, and nothing on the fly
    controls:  candidates, if not the experiment's
    """

    policy: Policy | None
    recall: bool
    overhead: float
    controls: Array | None = None

    def tuner(self, experiment: Experiment) -> Tuner:
        """A tuner in the paper's units: it is told h and t."""
        return Tuner(
            experiment.space,
            price=experiment.price,
            score_range=_UNIT,
            cost_range=_UNIT,
            prior=experiment.prior,
            policy=self.policy,
            recall=self.recall,
            overhead=self.overhead,
            max_runs=MOST_RUNS,
            candidates=experiment.controls if self.controls is None else self.controls,
        )


def paper_player(method: Method, dim: int) -> Player:
    """The paper's method: the last model is returned.

    VI/Map: one lookahead on V_N of the shipped map of the paper's linear cost, for ever (relaxed).  V_N is the paper's
    iterate; networks stand where the paper has forests.  OTF: with integrals instead of samples.
    """
    if not method.map:
        return Player(relaxed(method.depth, damping=method.damping), recall=False, overhead=0.0)
    deepest = shipped_map(f"{dim}d-linear-last")
    value_map = replace(deepest, networks=deepest.networks[: method.depth - 1])
    return Player(relaxed(1, damping=method.damping, terminal=value_map), recall=False, overhead=OVERHEAD)


def default_player() -> Player:
    """What the package does if it is told nothing: the best model is returned, with the shipped map for that."""
    return Player(None, recall=True, overhead=OVERHEAD)


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """An experiment before its first run, which is the same for every seed: decided once."""

    experiment: Experiment
    tuner: Tuner
    first: Train

    def play(self, train: Trainer, factor: float) -> tuple[PlayedTuning, Tuner]:
        """One tuning, and the tuner as it stands at the end.  factor: see `CostScale`."""
        tuner, experiment = self.tuner.twin(fresh=True), self.experiment
        tuner.adopt(self.first)
        decision: Decision = self.first
        lines: list[PlayedRun] = []
        while isinstance(decision, Train):
            params = {**experiment.fixed, **decision.params}
            outcome = train(decision.control, params, decision.trial)
            score, cost = experiment.score.to_model(outcome.score), experiment.cost.to_model(outcome.seconds, factor)
            run = tuner.tell(decision, score=score, cost=cost)
            control, total = tuple(map(float, decision.control)), cost + (lines[-1].total if lines else 0.0)
            decision = tuner.ask()
            value = value_of_continuing(decision)
            lines.append(
                PlayedRun(
                    number=len(lines) + 1,
                    score=score,
                    cost=cost,
                    total=total,
                    control=control,
                    params=params,
                    believed=run.estimated_score,
                    value=value,
                    outcome=outcome,
                )
            )
        best = tuner.best
        returned = next(index for index, run in enumerate(tuner.history) if run is best)
        believed = tuner.estimated_score(np.array(lines[returned].control))
        return PlayedTuning(tuple(lines), returned, believed, decision.why), tuner


def opening(experiment: Experiment, player: Player) -> Opening:
    """Decide on the first run."""
    tuner = player.tuner(experiment)
    first = tuner.ask()
    assert isinstance(first, Train)  # without a model there is nothing to stop with
    return Opening(experiment, tuner, first)
