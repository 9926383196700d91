"""Tuner.ask / tell: algorithm 4 (AutoBCT) as a thin shell with memory around pure functions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from autobct.belief.arrays import Array, Indices, finite_number, whole_number
from autobct.belief.gaussian import Belief, Gaussian, Seen
from autobct.belief.kalman import update
from autobct.belief.model import noise_at
from autobct.belief.prior import Prior
from autobct.tuning.certified import certificate_of
from autobct.tuning.choice import default_policy, told_policy
from autobct.tuning.decision import Decision, Stop, Train
from autobct.tuning.policy import Policy
from autobct.tuning.price import Price
from autobct.tuning.problem import OVERHEAD, Problem, problem_of
from autobct.tuning.scale import Affine, AffineLog
from autobct.tuning.space import Space
from autobct.value.certificate import Certificate, Progress
from autobct.value.simulate import KEPT
from autobct.value.state import State, keep, run_price, stop_value

_FAILURE_NOISE = 0.5  # a failed run is weak evidence of a score at the bottom of the range
_PATIENCE = 10  # so many failures in a row: the fault is in the training, not in the params
_DIVERGED = 2.0  # so many score ranges below the best, a score counts as just that bad
_HOPELESS = 100.0  # a first score so many ranges below the score range has diverged
_TELL = "write e.g. tuner.tell(trial, score=0.9, cost=12.0)"


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One finished or failed run, in the user's units.

    score:   the observed score; None if the run failed
    cost:    what it cost, failed or not
    error:   why it failed; None if it did not
    believed: the believed score at its params after this run
    """

    trial: int
    params: Mapping[str, Any]
    control: Array
    score: float | None
    cost: float
    error: str | None
    believed: float


class Tuner:
    """Ask what to train, tell what came of it, until it says stop.

    >>> import autobct
    >>> tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01)
    >>> while isinstance(decision := tuner.ask(), autobct.Train):
    ...     x = decision.params["x"]
    ...     tuner.tell(decision, score=1 - (x - 0.3) ** 2, cost=1 + x)
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any],
        *,
        price: float | str | Price,
        score_range: Sequence[float] | Affine | AffineLog | None = None,
        cost_range: Sequence[float] | Affine | AffineLog | None = None,
        prior: Prior | None = None,
        policy: Policy | None = None,
        recall: bool = True,
        max_runs: int | None = None,
        candidates: Array | int | None = None,
        overhead: float = OVERHEAD,
        seed: int | None = None,
    ) -> None:
        self.problem: Problem = problem_of(
            space,
            price,
            score_range=score_range,
            cost_range=cost_range,
            prior=prior,
            recall=recall,
            candidates=candidates,
            overhead=overhead,
        )
        self._max_runs = None if max_runs is None else whole_number(max_runs, "max_runs", example=20)
        told_seed = 0 if seed is None else whole_number(seed, "seed", example=0, least=0)
        self._values, self._policy_note = (
            default_policy(self.problem, told_seed) if policy is None else told_policy(policy, self.problem, told_seed)
        )
        self._belief = self.problem.prior.belief
        model, controls = self.problem.prior.model, self.problem.controls
        self._features = model.score_basis(controls), model.cost_basis(controls)  # (G, J) each
        self._noise = (
            noise_at(model.score_noise, controls, "score_noise"),
            noise_at(model.cost_noise, controls, "cost_noise"),
        )
        self._runs: list[Run] = []
        self._finished: dict[int, int] = {}  # candidate -> its last finished run, in order of training
        self._failed: set[int] = set()
        self._shown: Indices = np.arange(len(self.problem.controls))  # what a lookahead sees: the nearest not failed
        self._pending: dict[int, tuple[Train, int]] = {}
        self._asked = 0

    @property
    def belief(self) -> Belief:
        """What is believed now, in model units: a pure function of prior and history."""
        return self._belief

    @property
    def policy_note(self) -> str:
        """One sentence: which policy decides, and why this one."""
        return self._policy_note

    @property
    def history(self) -> tuple[Run, ...]:
        """All runs told so far, failed ones included."""
        return tuple(self._runs)

    @property
    def total_cost(self) -> float:
        """Cost of all runs so far, failed ones included, in the user's units."""
        return math.fsum(run.cost for run in self._runs)

    @property
    def best(self) -> Run | None:
        """The run whose model would be returned now: the last one (the paper) or, with recall, the best believed."""
        kept = self._kept(list(self._finished))
        return self._runs[self._finished[int(kept[0])]] if kept.size else None

    def ask(self) -> Decision:
        """The next decision.  Runs that were asked for but not yet told count as under way."""
        if self._max_runs is not None and self._asked >= self._max_runs:
            return Stop("max_runs", self._asked, self._in_hand())
        if len(self._failed) == len(self.problem.controls):
            return Stop("nothing left", len(self._runs), self._in_hand())
        if len(self._runs) >= _PATIENCE and all(run.error is not None for run in self._runs[-_PATIENCE:]):
            return Stop("failing", len(self._runs), self._in_hand())
        state = self._state()
        values = self._values(state, self.problem.terms, self._asked)
        values[list(self._failed)] = -np.inf
        chosen = int(values.argmax())
        stop = self._stop_value(state)
        if values[chosen] == -np.inf:
            return Stop("horizon", len(self._runs), self._in_hand())
        train = self._train(state, chosen, float(values[chosen]), stop)
        if self._asked > 0 and values[chosen] <= stop:
            return Stop("not worth it", len(self._runs), train.stop_value, train)
        self._pending[train.trial] = (train, chosen)
        self._asked += 1
        return train

    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """What came of a run: its score and its cost, or the error with which it failed and the cost all the same."""
        number = trial.trial if isinstance(trial, Train) else trial
        if number not in list(self._pending):  # a list: what cannot be hashed is not under way either
            raise ValueError(f"trial {number!r} is not under way; tell each trial that ask() returned once")
        if (score is None) == (error is None):
            raise ValueError(f"tell either a score or an error; {_TELL}")
        if cost is None:
            raise ValueError(f"tell the cost of the run as well, failed or not; {_TELL}")
        train, chosen = self._pending[number]
        try:
            told_cost = finite_number(cost, "cost", least=0.0)
            told_score = None if score is None else finite_number(score, "score")
            known = None if told_score is None else self._not_diverged(self.problem.score_observed(told_score))
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"{wrong}; {_TELL}") from None
        self._belief = self._learned(train.control, known, self.problem.cost_observed(told_cost))
        del self._pending[number]
        if told_score is None:
            self._close(chosen)
        else:
            self._finished.pop(chosen, None)
            self._finished[chosen] = len(self._runs)
        believed = self.believed_score(train.control)
        self._runs.append(Run(number, train.params, train.control, told_score, told_cost, error, believed))
        return self._runs[-1]

    def certificate(
        self, *, seconds: float = 60.0, seed: int = 0, progress: Progress = lambda share, text: None
    ) -> Certificate:
        """How close to the best possible the policy is, from the first belief: bounds in the user's units of score.

        More time gives a tighter interval.  It is about the candidates, and holds where the prior does.
        """
        return certificate_of(
            self.problem,
            self._values,
            self._policy_note.partition(":")[0].rstrip("."),
            seconds=seconds,
            seed=seed,
            max_runs=self._max_runs,
            progress=progress,
        )

    def _not_diverged(self, score: float) -> float:
        """A score far below everything else says no more than "bad": it must not bend the belief everywhere else."""
        others = [self.problem.score_observed(run.score) for run in self._finished_runs() if run.score is not None]
        if others:
            return max(score, max(others) - _DIVERGED)
        return score if score > -_HOPELESS else -_DIVERGED

    def _finished_runs(self) -> list[Run]:
        return [self._runs[number] for number in self._finished.values()]

    def _learned(self, control: Array, score: float | None, cost: float) -> Belief:
        """The belief after one run, in model units; a failure is weak evidence of a score of zero."""
        model = self.problem.prior.model
        belief = model.observe(self._belief, control, score=score, cost=cost)
        if score is None:
            weak = update(belief.score, model.score_basis(control), _FAILURE_NOISE, 0.0)
            belief = replace(belief, score=weak)
        return belief

    def _close(self, chosen: int) -> None:
        """Never try a candidate again.  A model trained there before stays in hand.

        In the eyes of a lookahead the nearest candidate that has not failed takes its place: if it still counted on
        the failed one, it could go on preparing for a run that never comes.
        """
        self._failed.add(chosen)
        controls = self.problem.controls
        left = np.setdiff1d(np.arange(len(controls)), list(self._failed))
        for closed in self._failed if left.size else ():
            self._shown[closed] = left[np.square(controls[left] - controls[closed]).sum(axis=-1).argmin()]

    def _state(self) -> State:
        """The belief at the candidates; runs under way count as finished with their predicted outcome."""
        belief = self._belief
        for train, _ in self._pending.values():
            belief = _anticipated(belief, self.problem.prior, train.control)
        kept = self._kept([*self._finished, *(chosen for _, chosen in self._pending.values())])
        shown = self._shown.copy()
        shown[kept] = kept
        state = self._view(belief, shown)
        closed = [int(index) for index in kept if int(index) in self._failed]
        return keep(replace(state, score=_known(state.score, closed)) if closed else state, kept)

    def _view(self, belief: Belief, shown: Indices) -> State:
        """The belief at some of the candidates, as `view` has it, with nothing in hand."""
        (score, cost), (score_noise, cost_noise) = self._features, self._noise
        none = np.empty(0, dtype=np.intp)
        return State(
            Seen(belief.score, score[shown]),
            Seen(belief.cost, cost[shown]),
            score_noise[shown],
            cost_noise[shown],
            none,
        )

    def _kept(self, trained: Sequence[int]) -> Indices:
        """Which of the trained candidates a lookahead follows: the last, or with recall the best few as believed."""
        if not self.problem.terms.recall or len(trained) <= 1:
            return np.array(trained[-1:], dtype=np.intp)
        indices = np.array(list(dict.fromkeys(trained)), dtype=np.intp)
        means = self._features[0][indices] @ self._belief.score.mean
        return indices[np.argsort(-means, kind="stable")[:KEPT]]

    def _train(self, state: State, chosen: int, value: float, stop: float) -> Train:
        problem = self.problem
        price = float(run_price(state, problem.terms)[chosen])
        cost = (price - problem.terms.overhead) / problem.terms.price
        return Train(
            trial=self._asked,
            params=problem.space.params(problem.controls[chosen]),
            control=problem.controls[chosen],
            expected_gain=problem.raw_gain(round(value + price - stop, 12) + 0.0),  # no dust, no minus zero
            expected_cost=float(problem.cost_scale.to_raw(cost)),
            price_of_run=problem.raw_gain(price),
            overhead=problem.raw_gain(problem.terms.overhead),
            expected_score=float(problem.score_scale.to_raw(state.score.mean[chosen])),
            value=float(problem.score_scale.to_raw(value)),
            stop_value=self._in_hand(),
        )

    def _stop_value(self, state: State) -> float:
        """Model units.  With nothing in hand stopping is worth the bottom of the score range: zero."""
        return float(stop_value(state)) if state.kept.size else 0.0

    def _in_hand(self) -> float | None:
        kept = self._kept(list(self._finished))
        if kept.size == 0:
            return None
        return float(self.problem.score_scale.to_raw(float(self._features[0][kept[0]] @ self._belief.score.mean)))

    def believed_score(self, control: Array) -> float:
        """The believed score at a control (p,), in the user's units."""
        features = self.problem.prior.model.score_basis(control)
        return float(self.problem.score_scale.to_raw(float(features @ self._belief.score.mean)))


def _known(score: Gaussian, indices: list[int]) -> Gaussian:
    """The belief as if the values at these candidates were certain: nothing is to be learned from a run there."""
    cov = score.cov.copy()
    cov[indices, :] = 0.0
    cov[:, indices] = 0.0
    return Gaussian(score.mean, cov)


def _anticipated(belief: Belief, prior: Prior, control: Array) -> Belief:
    """The belief as if a run under way had come out exactly as predicted: less uncertain, no other mean."""
    model = prior.model
    seen_score, seen_cost = model.score_basis(control), model.cost_basis(control)
    score = update(belief.score, seen_score, noise_at(model.score_noise, control), seen_score @ belief.score.mean)
    cost = update(belief.cost, seen_cost, noise_at(model.cost_noise, control), seen_cost @ belief.cost.mean)
    return Belief(score, cost)
