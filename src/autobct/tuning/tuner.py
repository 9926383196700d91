"""Tuner.ask / tell: algorithm 4 (AutoBCT) as a thin shell around one frozen memory and pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from autobct.belief.arrays import Array, finite_number
from autobct.tuning.decide.default_policy import certificate_of, chosen_policy, default_policy, own_policy
from autobct.tuning.decide.explain import Explanation, explained, held_of
from autobct.tuning.decide.forecast import Forecast, forecast
from autobct.tuning.decide.position import Position, decide, position_of, reason_to_stop
from autobct.tuning.decide.search import Candidates, searched
from autobct.tuning.decide.under_way import Waiting, first_of_several
from autobct.tuning.guard import Guard, Remembered, changing, reading, usual_errors_in
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.keywords import TunerKeywords, spelled_out
from autobct.tuning.memory import Memory, run_told
from autobct.tuning.model.simulated import simulation_of, twin_of
from autobct.tuning.problem import check_control
from autobct.tuning.progress import window
from autobct.tuning.result import Result, result_of
from autobct.tuning.space.space import Space
from autobct.tuning.statement import Plan, Problem, parted, planned, settings_of
from autobct.tuning.units.limits import Left
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import Assess

if TYPE_CHECKING:
    from autobct.value.bounds.certificate import Certificate, Progress

__all__ = ["Run", "Tuner"]

_NO_CLOCK = "a Tuner has no clock, so only tune() takes a deadline; write tuner.ask(Left(seconds, 'deadline'))"


@usual_errors_in
class Tuner(Remembered):
    """Ask what to train next and tell the outcome, until the answer is to stop.

    >>> import autobct
    >>> tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price=0.01)
    >>> while isinstance(decision := tuner.ask(), autobct.Train):
    ...     x = decision.params["x"]
    ...     tuner.tell(decision, score=1 - (x - 0.3) ** 2, cost=1 + x)

    Takes the keywords of `tune` except a deadline, or a `Problem` with `policy`, `limits` and `seed`.  Threads may
    share a tuner.  A copy is independent of the original; a tuner pickles if the user's policy and choices do.
    """

    @spelled_out
    def __init__(self, space: Problem | Space | Mapping[str, Any], **keywords: Unpack[TunerKeywords]) -> None:
        problem, plan = parted(space, keywords, "Tuner()")
        if plan.limits.deadline is not None:
            raise TypeError(_NO_CLOCK)
        chosen_policy(plan.policy, problem.scaled, plan.seed)  # one that does not fit is refused at once
        self._stand(plan, Memory.of(problem.scaled))

    @classmethod
    def standing(cls, plan: Plan, memory: Memory) -> Tuner:
        """A tuner with this plan and memory."""
        made = cls.__new__(cls)
        made._stand(plan, memory)
        return made

    def _stand(self, plan: Plan, memory: Memory) -> None:
        self._plan, self._memory, self._guard = plan, memory, Guard()
        self._candidates: tuple[object, Candidates] | None = None  # what they are of; worked out when asked for
        self._policy: tuple[ScaledProblem, Assess, str] | None = None  # the same

    def __getstate__(self) -> tuple[Plan, Memory]:
        return self._plan, self._memory

    def __setstate__(self, state: tuple[Plan, Memory]) -> None:
        self._stand(*state)

    @property
    def problem(self) -> ScaledProblem:
        """What is tuned, in model units, with the ranges as adapted to the runs and the current candidates."""
        return self.candidates.problem

    @property
    @reading
    def candidates(self) -> Candidates:
        """The candidates of the next decision, searched for on first use."""
        return self._searched()

    def _searched(self) -> Candidates:
        memory, before = self._memory, self._candidates
        if before is None or before[0] is not memory.known:
            plan, known = self._plan, None if before is None else before[1]
            self._candidates = before = memory.known, searched(memory, plan.seed, known, effort=plan.search)
        pending = [train.control for train in memory.pending.values()]
        return before[1].with_those(np.stack(pending)) if pending else before[1]

    @property
    @reading
    def policy_note(self) -> str:
        """One sentence: which policy decides, and why this one."""
        return self._chosen_policy()[1]

    @property
    def is_default(self) -> bool:
        """Whether both policy and prior are the default ones."""
        return self._plan.policy is None and self._memory.problem.stated.learning

    @property
    @reading
    def assess(self) -> Assess:
        """The policy, for the current candidates."""
        return self._chosen_policy()[0]

    @property
    @reading
    def settings(self) -> dict[str, Any]:
        """What is needed to reproduce the tuning, as plain data for JSON."""
        return settings_of(self.problem, policy=self.policy_note, **planned(self._plan))

    @changing
    def ask(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """The next decision.  Runs without an outcome yet count as under way.

        left: the most that the next run may cost, e.g. until a deadline;  waiting: what is running, with several jobs
        """
        if isinstance(decision := self._decided(left, waiting), Train):
            self._memory = self._memory.started(decision)
        return decision

    @reading
    def peek(self, left: Left | None = None, waiting: Waiting | None = None) -> Decision:
        """What `ask` would return, without starting a run."""
        return self._decided(left, waiting)

    def _decided(self, left: Left | None, waiting: Waiting | None) -> Decision:
        candidates = self._searched()
        decision: Decision | None = reason_to_stop(self._memory, candidates, self._plan.limits)
        if decision is None:
            position = self._position(candidates, left, waiting)
            decision, _ = decide(position, self._chosen_policy(candidates)[0])
        if waiting is not None and waiting.price_of == "waiting" and isinstance(decision, Stop):
            decision = first_of_several(self, decision, left, waiting)
        note = self._memory.news(decision)
        return replace(decision, note=note) if note else decision

    @reading
    def position(self, left: Left | None = None, waiting: Waiting | None = None) -> Position:
        """The state of the tuning as the next decision sees it."""
        return self._position(self._searched(), left, waiting)

    def _position(self, candidates: Candidates, left: Left | None, waiting: Waiting | None) -> Position:
        plan, known = self._plan, self._memory
        return position_of(known, candidates, plan.limits.max_cost, left, waiting, asks_others=plan.asks_others)

    def _chosen_policy(self, candidates: Candidates | None = None) -> tuple[Assess, str]:
        """The policy and a sentence about it.  It is chosen again when a range has moved: a map may fit then."""
        policy, seed, own = self._plan.policy, self._plan.seed, self._memory.problem
        problem = (candidates or self._searched()).problem if policy is not None and own.stated.spreads else own
        if self._policy is None or self._policy[0] is not problem:
            chosen = default_policy(problem, seed) if policy is None else own_policy(policy, problem, seed)
            self._policy = (problem, *chosen)
        return self._policy[1:]

    @changing
    def tell(
        self, trial: Train | int, score: float | None = None, cost: float | None = None, *, error: str | None = None
    ) -> Run:
        """Report the outcome of a run: its score and cost, or its error and cost if it failed."""
        self._memory = self._memory.learning(run_told(self._memory, trial, score, cost, error))
        return self._memory.runs[-1]

    @changing
    def adopt(self, train: Train) -> None:
        """Register a run that was decided elsewhere, e.g. by an earlier process; report its outcome with `tell`."""
        check_control(self._memory.problem, train.control)
        self._memory = self._memory.started(train)

    @changing
    def admit(self, control: Array) -> None:
        """Make a control (p,) a candidate if it is none, e.g. before a run that was chosen elsewhere is replayed."""
        self._memory = self._memory.admitting(control)

    @changing
    def replay(self, history: Iterable[Run]) -> None:
        """Add earlier runs, in order, as if they had been made with `ask` and `tell`."""
        for run in history:
            check_control(self._memory.problem, run.control)
            self._memory = replace(self._memory, heard=len(self._memory.runs)).learning(run)

    @changing
    def forgive(self) -> int:
        """Do not hold the last failures in a row against their params, as their cause is fixed; how many."""
        before, self._memory = self._memory, self._memory.forgiving()
        return len(self._memory.forgiven) - len(before.forgiven)

    @changing
    def restore(self, memory: Memory) -> None:
        """Go back to an earlier state, e.g. as an event could not be stored."""
        self._memory = memory

    @changing
    def charge(self, cost: float, *, deciding: bool = False) -> None:
        """Add a cost that belongs to no run to total_cost; it counts against max_cost.

        deciding: the cost of deciding on one run; the average of these is added to the expected cost of the next run
        """
        self._memory = self._memory.charging(finite_number(cost, "cost", least=0.0), deciding=deciding)

    @changing
    def state_noise(self, score_noise: float) -> None:
        """State the standard deviation of a score once it is measured; it counts from the next `tell` on."""
        self._memory = self._memory.with_noise(score_noise)

    @reading
    def explain(self, left: Left | None = None) -> Explanation:
        """The next decision in full: all values, their uncertainty, and the price at which it would change."""
        memory, held = self._memory, held_of(self._memory, self.candidates)
        return explained(self.position(left), self.assess, self.peek(left), memory.alarm, held)

    def forecast(self, draws: int | None = None, *, left: Left | None = None, seed: int | None = None) -> Forecast:
        """What continuing is likely to yield: tunings simulated to their end, with scores drawn from the posterior.

        draws: how many; by default as many as a few hundred simulated decisions allow, at most 100
        left:  the most that all further runs may cost, e.g. until a deadline;  seed: by default the tuner's own
        """
        return forecast(self, draws, left, self._plan.seed if seed is None else seed)

    def certificate(
        self, *, seconds: float = 60.0, seed: int = 0, progress: Progress = lambda share, text: None
    ) -> Certificate:
        """How close the policy is to the optimum, starting from the prior: bounds in the user's units of score.

        More time gives a tighter interval.  The bounds hold for the current candidates and if the prior holds; where
        the scale of the score is learned, for the Gaussian with the same mean and covariance.
        """
        name, most = self.policy_note.partition(":")[0].rstrip("."), self._plan.limits.max_runs
        options: Any = {"seconds": seconds, "seed": seed, "max_runs": most, "progress": progress}
        return certificate_of(self.problem, self.assess, name, **options)

    @reading
    def twin(self, price: Price | None = None, *, fresh: bool = False, fixed: bool = False) -> Tuner:
        """An independent tuner in the same state.

        price: at another price, with the same posterior and without limits
        fresh: in the state before the first run;  fixed: with ranges that no run widens
        """
        other = Tuner.standing(*twin_of(self._plan, self._memory, price, fresh=fresh, fixed=fixed))
        if not fresh:
            other._candidates, other._policy = self._candidates, self._policy
        return other

    def simulation(self) -> Tuner:
        """A twin for simulated tunings: its ranges are fixed, and it has few candidates, some around the best."""
        memory, plan = self.twin(fixed=True).memory, replace(self._plan, asks_others=False)
        if plan.policy is not None:  # it may count on the candidates it was given
            return Tuner.standing(plan, memory)
        return Tuner.standing(*simulation_of(plan, memory))

    @reading
    def result(self, why: str = "", decisions: Sequence[Decision] = (), *, deciding: float = 0.0) -> Result:
        """The result as of now; TuningError if no run has finished.  why: it ended;  deciding: seconds between runs."""
        return result_of(self, self._plan, why, decisions, deciding)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return str(window("tuner_html")(self))
