"""Tuner.ask / tell: algorithm 4 (AutoBCT) as a thin shell with memory around pure functions."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from autobct.belief.arrays import Array, Indices, finite_number, whole_number
from autobct.belief.gaussian import Belief, Gaussian, Seen
from autobct.belief.kalman import update
from autobct.belief.model import noise_at
from autobct.belief.prior import Prior
from autobct.tuning.alarm import Alarm, Watch, raised, surprise, watched
from autobct.tuning.candidates import PROMISING, REFINEMENTS, around, distinct
from autobct.tuning.certified import certificate_of
from autobct.tuning.choice import chosen_policy
from autobct.tuning.decision import Decision, Stop, Train
from autobct.tuning.explain import Explanation, explained
from autobct.tuning.failing import chances
from autobct.tuning.fold import Learned, extended
from autobct.tuning.forecast import Forecast, forecast
from autobct.tuning.history import Note, Run
from autobct.tuning.limits import FIRST_OVER, LATER_OVER, Left, costs_at, fits, is_last, positive_number, tightest
from autobct.tuning.measured import score_at
from autobct.tuning.policy import Policy
from autobct.tuning.position import Position, assessed, decide
from autobct.tuning.price import Price
from autobct.tuning.problem import Direction, Problem, at_price, deciding_for, is_spread, problem_of
from autobct.tuning.ranges import notes_of, shown
from autobct.tuning.result import Result, result_of
from autobct.tuning.scale import Affine, AffineLog
from autobct.tuning.settings import settings_of
from autobct.tuning.space import Space
from autobct.tuning.windows import window
from autobct.value.assessment import Assess, by_ei_per_cost
from autobct.value.certificate import Certificate, Progress
from autobct.value.simulate import KEPT
from autobct.value.state import State, keep

__all__ = ["Run", "Tuner"]

RESOLUTION = 0.005
"""Expected gains below this share of what no surface explains are none.  docs/decisions/deciding-time.md."""

_REMEMBERED = 64  # models that are candidates for being returned, where candidates are renewed
_PATIENCE = 10  # so many failures in a row: the fault is in the training, not in the params
_TELL = "write e.g. tuner.tell(trial, score=0.9, cost=12.0)"


class Tuner:
    """Ask what to train, tell what came of it, until it says stop.  The arguments are those of `tune`.

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
        direction: Direction = "maximize",
        score_range: Sequence[float] | Affine | AffineLog | None = None,
        cost_range: Sequence[float] | Affine | AffineLog | None = None,
        prior: Prior | str | None = None,
        policy: Policy | None = None,
        recall: bool = True,
        max_runs: int | None = None,
        max_cost: float | None = None,
        candidates: Array | int | None = None,
        overhead: float | None = None,
        score_noise: float | str | None = None,
        guess: Mapping[str, Any] | None = None,
        guess_strength: float = 1.0,
        increases_cost: Sequence[str] = (),
        expect_usual: bool = True,
        seed: int | None = None,
    ) -> None:
        problem = problem_of(
            space,
            price,
            direction=direction,
            score_range=score_range,
            cost_range=cost_range,
            prior=prior,
            recall=recall,
            candidates=candidates,
            overhead=overhead,
            score_noise=score_noise,
            guess=guess,
            guess_strength=guess_strength,
            increases_cost=increases_cost,
            expect_usual=expect_usual,
        )
        self._max_runs = None if max_runs is None else whole_number(max_runs, "max_runs", example=20)
        self._max_cost = None if max_cost is None else positive_number(max_cost, "max_cost", example=3600)
        self._seed = 0 if seed is None else whole_number(seed, "seed", example=0, least=0)
        self._policy = policy
        self._values, self._policy_note = chosen_policy(policy, problem, self._seed)
        self._spread = problem.controls if is_spread(problem) else None
        self._start(problem)

    def _start(self, problem: Problem) -> None:
        if self._spread is not None:
            problem = replace(problem, controls=self._spread)
        self._known = Learned(problem, problem.prior.belief)
        self._look(problem)
        self._watch = Watch()
        self._alarm: Alarm | None = None
        self._runs: list[Run] = []
        self._notes: list[Note] = []
        self._finished: dict[int, int] = {}  # candidate -> its last finished run, in order of training
        self._failed: set[int] = set()
        self._barred: set[bytes] = set()  # controls of all failed runs, whether still candidates or not
        self._pending: dict[int, tuple[Train, int]] = {}
        self._asked, self._heard, self._charged = 0, 0, 0.0
        self._deciding = 0.0, 0  # cost of all decisions, and their number
        self._spent = Fraction(0)  # exact, so that adding one cost at a time is as good as adding all at the end

    def _look(self, problem: Problem) -> None:
        """Features and noise at the candidates, (G, J) and (G,) each: what every decision needs of them."""
        model, controls = problem.prior.model, problem.controls
        self._features = model.score_basis(controls), model.cost_basis(controls)
        self._noise = (
            noise_at(model.score_noise, controls, "score_noise"),
            noise_at(model.cost_noise, controls, "cost_noise"),
        )

    def _refine(self) -> None:
        """Candidates around the best models and around the most promising candidates, anew after every run.

        Those that can be returned stay.  Runs under way come last: whoever resumes has the same candidates.
        """
        if self._spread is None:
            return
        old = self.problem.controls
        best = old[self._kept(list(self._finished))]
        under_way, self._pending = self._pending, {}
        self._renew([*self._spread, *(old[index] for index in self._finished)], old)
        self._search(best)
        self._pending = {n: (train, self._candidate(train.control)) for n, (train, _) in under_way.items()}

    def _search(self, best: Array) -> None:
        """More candidates: around the best models, (b, p), then around those that promise most."""
        if not len(best):
            return
        rng = np.random.default_rng((self._seed, len(self._runs)))
        for _ in range(1 + REFINEMENTS):
            known = self.problem.controls
            self._renew([*known, *around(self.problem.space, best, rng=rng)], known)
            best = self.problem.controls[self._promising(PROMISING)]

    def _renew(self, controls: Sequence[Array], old: Array) -> None:
        """Other candidates, among them all that can be returned.  old: the candidates so far, (G, p)."""
        renewed = distinct(controls)
        self._known = replace(self._known, problem=replace(self.problem, controls=renewed))
        self._look(self.problem)
        places = {control.tobytes(): index for index, control in enumerate(renewed)}
        self._finished = {places[old[index].tobytes()]: run for index, run in self._finished.items()}
        self._failed = {index for place, index in places.items() if place in self._barred}

    def _promising(self, count: int) -> Indices:
        """The candidates with the highest expected improvement per price, best first, whatever the policy."""
        everywhere = np.arange(len(self.problem.controls))
        state = keep(self._view(self.belief, everywhere), self._kept(list(self._finished)))
        never = np.isin(everywhere, list(self._failed))
        made = len(self._runs)
        chance = chances(self.problem.space, self.problem.controls, self._runs)
        position = Position(self.problem, state, never, np.zeros_like(never), made, made, None, feasibility=chance)
        return np.argsort(-assessed(position, by_ei_per_cost).priority, kind="stable")[:count]

    @property
    def _assess(self) -> Assess:
        """The policy for the present candidates: one of the user's is told when they change."""
        if self._policy is None or self._spread is None:
            return self._values
        return self._policy(self.problem.controls, self._seed)

    @property
    def problem(self) -> Problem:
        """What is tuned, with the ranges that the runs so far have shown."""
        return self._known.problem

    @property
    def belief(self) -> Belief:
        """What is believed now, in model units: a pure function of prior and history."""
        return self._known.belief

    @property
    def policy_note(self) -> str:
        """One sentence: which policy decides, and why this one."""
        return self._policy_note

    @property
    def history(self) -> tuple[Run, ...]:
        """All runs told so far, failed ones included."""
        return tuple(self._runs)

    @property
    def under_way(self) -> tuple[Train, ...]:
        """Runs that were asked for and not yet told."""
        return tuple(train for train, _ in self._pending.values())

    @property
    def total_cost(self) -> float:
        """Cost of all runs so far, failed ones included, and what was charged besides, in the user's units."""
        return float(self._spent) + self._charged

    @property
    def charged(self) -> float:
        """What was charged besides the runs."""
        return self._charged

    @property
    def alarm(self) -> Alarm | None:
        """The first time that what was seen was implausible under what was believed; None if it never was."""
        return self._alarm

    @property
    def notes(self) -> tuple[Note, ...]:
        """What there was to say of runs that left a range."""
        return tuple(self._notes)

    @property
    def settings(self) -> dict[str, Any]:
        """What it takes to do the same again, as plain data that JSON can hold."""
        return settings_of(
            self.problem,
            policy=self._policy_note,
            seed=self._seed,
            max_runs=self._max_runs,
            max_cost=self._max_cost,
        )

    @property
    def best(self) -> Run | None:
        """The run whose model would be returned now: the last one (the paper) or, with recall, the best believed."""
        returned = self._returned()
        return None if returned is None else self._runs[self._finished[returned]]

    def ask(self, left: Left | None = None) -> Decision:
        """The next decision.  Runs that were asked for but not yet told count as under way.

        left: the most that the next run may cost, e.g. until a deadline; the tuner itself has no clock
        """
        decision, chosen = self._decide(left)
        if isinstance(decision, Train):
            self._pending[decision.trial] = (decision, chosen)
            self._asked += 1
            self._heard = len(self._runs)
        return decision

    def peek(self, left: Left | None = None) -> Decision:
        """What `ask` would say, without a run being started."""
        return self._decide(left)[0]

    def _decide(self, left: Left | None = None) -> tuple[Decision, int]:
        decision, chosen = self._reason_to_stop() or decide(self._position(left), self._assess)
        news = [note.text for note in self._notes if note.run >= self._heard]
        if self._alarm is not None and self._alarm.run >= self._heard:
            news.append(self._alarm.text)
        return (replace(decision, note=" ".join(news)) if news else decision), chosen

    def _reason_to_stop(self) -> tuple[Stop, int] | None:
        """Why no decision is needed; None if one is."""
        if self._max_runs is not None and self._asked >= self._max_runs:
            return Stop("max_runs", self._asked, self._in_hand()), -1
        if len(self._failed) == len(self.problem.controls):
            return Stop("nothing left", len(self._runs), self._in_hand()), -1
        if len(self._runs) >= _PATIENCE and all(run.error is not None for run in self._runs[-_PATIENCE:]):
            return Stop("failing", len(self._runs), self._in_hand()), -1
        return None

    def _position(self, left: Left | None = None) -> Position:
        """Where we stand, for a decision."""
        left = tightest(left, self._budget())
        state, problem, size = self._state(), self.problem, len(self.problem.controls)
        untried, last, cheapest = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), None
        untried[list(self._failed)] = True
        if left is not None:
            over = LATER_OVER if self._finished else FIRST_OVER
            allowed = fits(state, problem, left.amount, over) & ~untried
            cheapest = float(costs_at(state, problem, over)[~untried].min())
            untried = ~allowed
            state = self._state(np.flatnonzero(untried))
            last = is_last(state, problem, left.amount, allowed)
        chance = None if problem.prior.ensemble is None else chances(problem.space, problem.controls, self._runs)
        made, learned = (self._asked, len(self._runs)), self._known.evidence
        least = 0.0 if learned is None else RESOLUTION * learned.misfit.total
        return Position(problem, state, untried, last, *made, self._in_hand(), left, cheapest, chance, least)

    def _budget(self) -> Left | None:
        """What max_cost leaves after all runs, those under way as expected."""
        if self._max_cost is None:
            return None
        under_way = math.fsum(train.expected_cost for train, _ in self._pending.values())
        return Left(self._max_cost - self.total_cost - under_way, "max_cost")

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
            if told_score is not None:
                self.problem.score_observed(told_score)  # a log scale has no zero
        except (TypeError, ValueError) as wrong:
            raise type(wrong)(f"{wrong}; {_TELL}") from None
        del self._pending[number]
        self._take(Run(number, train.params, train.control, told_score, told_cost, error, math.nan), chosen)
        return self._runs[-1]

    def certificate(
        self, *, seconds: float = 60.0, seed: int = 0, progress: Progress = lambda share, text: None
    ) -> Certificate:
        """How close to the best possible the policy is, from the first belief: bounds in the user's units of score.

        More time gives a tighter interval.  It is about the candidates, and holds where the prior does: where the scale
        of the score is learned, for the Gaussian of the same mean and covariance.
        """
        return certificate_of(
            self.problem,
            self._assess,
            self._policy_note.partition(":")[0].rstrip("."),
            seconds=seconds,
            seed=seed,
            max_runs=self._max_runs,
            progress=progress,
        )

    def adopt(self, train: Train) -> None:
        """Count a run as asked for, as it was decided before, e.g. in a process that has ended; `tell` it as usual."""
        self._pending[train.trial] = (train, self._candidate(train.control))
        self._asked = max(self._asked, train.trial + 1)
        self._heard = len(self._runs)

    def replay(self, history: Iterable[Run]) -> None:
        """Take runs that were made before, in their order, as if they had been asked for and told."""
        for run in history:
            chosen = self._candidate(run.control)
            self._heard = len(self._runs)
            self._take(run, chosen)
            self._asked = max(self._asked, run.trial + 1)

    def _candidate(self, control: Array) -> int:
        found = np.flatnonzero(np.all(self.problem.controls == control, axis=-1))
        if not found.size and self._spread is not None and control.shape == (self.problem.space.dim,):
            controls = np.concatenate([self.problem.controls, control[None]])  # a candidate of another moment
            self._known = replace(self._known, problem=replace(self.problem, controls=controls))
            self._look(self.problem)
            if control.tobytes() in self._barred:
                self._failed.add(len(controls) - 1)
            return len(controls) - 1
        if not found.size:
            raise ValueError(
                f"no candidate of this tuner is at {np.asarray(control).tolist()}; was it of another space?"
            )
        return int(found[0])

    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """Count a cost that belongs to no run: in total_cost and against max_cost.

        deciding: it is what deciding on one run took; the next run is expected to take as much as those before on
                  average, and has to be worth that too
        """
        self._charged += finite_number(cost, "cost", least=0.0)
        if deciding:
            self._decide_for(self._deciding[0] + float(cost), self._deciding[1] + 1)

    def charge_as(self, other: Tuner) -> None:
        """Count what was charged to another tuner, whose runs this one has replayed."""
        self._charged = other._charged
        self._decide_for(*other._deciding)

    def _decide_for(self, cost: float, decisions: int) -> None:
        self._deciding = cost, decisions
        self._known = replace(self._known, problem=deciding_for(self.problem, cost / max(decisions, 1)))

    def _take(self, run: Run, chosen: int) -> None:
        """Learn from a run and remember it."""
        problem, number = self.problem, len(self._runs)
        before, self._known = extended(self._known, self._runs, run)
        if self.problem is not problem and self._policy is None:  # a map may fit now, or no longer
            self._values, self._policy_note = chosen_policy(None, self.problem, self._seed)
        self._notes += notes_of(self.problem, run, number, self._notes)
        if self._alarm is None:
            seen = surprise(before, run)
            self._watch = watched(self._watch, seen)
            self._alarm = raised(self._watch, seen, run, number)
        if run.score is None:
            self._failed.add(chosen)
            self._barred.add(run.control.tobytes())
        else:
            self._finished.pop(chosen, None)
            self._finished[chosen] = number
        self._runs.append(replace(run, believed=self.believed_score(run.control)))
        self._spent += Fraction(run.cost)
        self._forget()
        self._refine()

    def _forget(self) -> None:
        """Of very many models only the best can be returned: memory and time stay the same however many runs."""
        if self._spread is not None and len(self._finished) > _REMEMBERED:
            best = {*self._kept(list(self._finished)).tolist(), self._returned()}
            recent = list(self._finished)[-_REMEMBERED // 2 :]
            self._finished = {i: run for i, run in self._finished.items() if i in best or i in recent}

    def _state(self, barred: Indices | None = None) -> State:
        """The belief at the candidates; runs under way count as finished with their predicted outcome.

        barred: candidates that may not be tried; the failed ones if not given
        """
        belief = self.belief
        for train, _ in self._pending.values():
            belief = _anticipated(belief, self.problem.prior, train.control)
        kept = self._kept([*self._finished, *(chosen for _, chosen in self._pending.values())])
        closed = np.array(sorted(self._failed), dtype=np.intp) if barred is None else barred
        seen = _nearest_open(self.problem.controls, closed)
        seen[kept] = kept
        state = self._view(belief, seen)
        known = [int(index) for index in kept if index in closed]
        return keep(replace(state, score=_known(state.score, known)) if known else state, kept)

    def _view(self, belief: Belief, shown: Indices) -> State:
        """The belief at some of the candidates, as `view` has it, with nothing in hand."""
        (score, cost), (score_noise, cost_noise) = self._features, self._noise
        none = np.empty(0, dtype=np.intp)
        learned = self._known.evidence
        return State(
            Seen(belief.score, score[shown]),
            Seen(belief.cost, cost[shown]),
            score_noise[shown] if learned is None else np.full(len(shown), learned.misfit.total),
            cost_noise[shown],
            none,
        )

    def _kept(self, trained: Sequence[int]) -> Indices:
        """Which of the trained candidates a lookahead follows: the last, or with recall the best few as believed."""
        if not self.problem.terms.recall or len(trained) <= 1:
            return np.array(trained[-1:], dtype=np.intp)
        indices = np.array(list(dict.fromkeys(trained)), dtype=np.intp)
        means = self._features[0][indices] @ self.belief.score.mean
        return indices[np.argsort(-means, kind="stable")[:KEPT]]

    def _returned(self) -> int | None:
        """The candidate whose model would be returned now; None if there is none."""
        trained = list(self._finished)
        if not trained or not self.problem.terms.recall:
            return trained[-1] if trained else None
        return trained[int(score_at(self._known, self.problem.controls[trained]).argmax())]

    def _in_hand(self) -> float | None:
        """The believed score of that model, in the user's units."""
        returned = self._returned()
        return None if returned is None else self.believed_score(self.problem.controls[returned])

    def explain(self, left: Left | None = None) -> Explanation:
        """The full picture of the next decision: all values, how sure, and the price at which it would turn."""
        decision, _ = self._decide(left)
        return explained(self._position(left), self._assess, decision, self._alarm)

    def forecast(self, draws: int = 100, *, left: Left | None = None, seed: int | None = None) -> Forecast:
        """What going on is likely to bring: the policy played to its end against truths drawn from the belief.

        left: the most that all further runs may cost, e.g. until a deadline;  seed: of the draws, or the tuner's own
        """
        return forecast(self, draws, left, self._seed if seed is None else seed)

    def twin(self, price: Price | None = None, *, fresh: bool = False, fixed: bool = False) -> Tuner:
        """A tuner of its own that stands where this one stands.

        price: another price, with the same belief and without limits
        fresh: before the first run
        fixed: with ranges that no run widens
        """
        other = copy.copy(self)
        known, problem = self._known, self.problem
        if fixed:
            problem = replace(problem, stated=replace(problem.stated, fixed=(True, True)))
        if price is not None:
            problem = at_price(problem, price)
            other._max_runs = other._max_cost = None
            if self._policy is None:
                other._values, other._policy_note = chosen_policy(None, problem, self._seed)
        if fresh:
            other._start(problem if fixed else shown(problem, ()))
            return other
        other._known = replace(known, problem=problem)
        other._look(problem)
        for name in ("_runs", "_notes", "_finished", "_failed", "_barred", "_pending"):
            setattr(other, name, copy.copy(getattr(self, name)))
        return other

    def result(self, why: str = "", decisions: Sequence[Decision] = (), *, deciding: float = 0.0) -> Result:
        """The model to use and what it took, as of now; TuningError if no run has finished.

        why: one sentence, why it ended;  decisions: those made, in order;  deciding: seconds between the runs
        """
        return result_of(self, why, decisions, deciding)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(window("tuner_html")(self))

    def believed_score(self, control: Array) -> float:
        """The believed score at a control (p,), in the user's units."""
        return float(self.problem.score_scale.to_raw(float(score_at(self._known, np.asarray(control)[None])[0])))


def _nearest_open(controls: Array, closed: Indices) -> Indices:
    """For each candidate itself, or the nearest that may be tried if it may not.  (G,).

    If a lookahead still counted on a closed one, it could go on preparing for a run that never comes.
    """
    shown = np.arange(len(controls))
    left = np.setdiff1d(shown, closed)
    for index in closed if left.size else ():
        shown[index] = left[np.square(controls[left] - controls[index]).sum(axis=-1).argmin()]
    return shown


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
