"""The state of a tuner: one frozen value, and its successor after each start, result or charge of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from autobct.belief.arrays import Array, finite_number
from autobct.belief.gaussian import Belief
from autobct.tuning.history import Decision, Note, Run, Train
from autobct.tuning.model.alarm import Alarm, Watch, first_notes, notes_of, raised, surprise, watched
from autobct.tuning.model.estimate import Learned, estimated_score, score_at
from autobct.tuning.model.posterior import extended, learned
from autobct.tuning.problem import check_control, deciding_for, is_candidate
from autobct.tuning.space.row_table import Table
from autobct.tuning.units.ranges import LARGEST, as_it_counts
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.simulate import KEPT

_TELL = "write e.g. tuner.tell(trial, score=0.9, cost=12.0)"
_REMEMBERED = 64  # models that are candidates for being returned, where candidates are renewed


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """All that a tuner knows and has done.

    known:     the belief, and the problem with the ranges that the runs have shown
    runs:      all that were told, failed ones included
    pending:   trial -> runs that were asked for and not told, in order
    finished:  place of a control -> its last finished run, in order of training; of very many only the best
    excluded:  places of controls whose run failed
    notes:     what there was to say of runs that left a range;  alarm, watch: the first alarm, and the evidence so far
    forgiven:  places in `runs` of failures that were not the fault of their params: only their cost counts
    asked:     runs asked for;  heard: runs told before the last decision
    deciding:  cost of all decisions, and their number
    charged:   cost besides the runs;  spent: their cost, exact, so that the order of adding makes no difference
    """

    known: Learned
    runs: tuple[Run, ...] = ()
    pending: Mapping[int, Train] = field(default_factory=dict)
    finished: Mapping[bytes, int] = field(default_factory=dict)
    excluded: frozenset[bytes] = frozenset()
    notes: tuple[Note, ...] = ()
    watch: Watch = field(default_factory=Watch)
    alarm: Alarm | None = None
    asked: int = 0
    heard: int = 0
    charged: float = 0.0
    deciding: tuple[float, int] = (0.0, 0)
    spent: Fraction = Fraction(0)
    forgiven: frozenset[int] = frozenset()

    @classmethod
    def of(cls, problem: ScaledProblem) -> Memory:
        """Before the first run."""
        return cls(Learned(problem, problem.prior.belief))

    @property
    def problem(self) -> ScaledProblem:
        """What is tuned, with the ranges that the runs so far have shown."""
        return self.known.problem

    @property
    def counted(self) -> tuple[Run, ...]:
        """The runs that say something of their params: all but those that were forgiven."""
        if not self.forgiven:
            return self.runs
        return tuple(run for number, run in enumerate(self.runs) if number not in self.forgiven)

    @property
    def total_cost(self) -> float:
        """Cost of all runs so far, failed ones included, and what was charged besides, in the user's units."""
        return float(self.spent) + self.charged

    @property
    def best(self) -> Run | None:
        """The run whose model would be returned now: the last one (the paper), or the best estimate with recall."""
        place = self.returned
        return None if place is None else self.runs[self.finished[place]]

    @property
    def returned(self) -> bytes | None:
        """The place of the model that would be returned now; None if there is none."""
        return None if (found := self._incumbent()) is None else found[0]

    @property
    def incumbent_score(self) -> float | None:
        """The estimated score of that model, in the user's units; None if there is none."""
        return None if (found := self._incumbent()) is None else float(self.problem.score_scale.to_raw(found[1]))

    def _incumbent(self) -> tuple[bytes, float] | None:
        """That place and score, in model units."""
        places = list(self.finished)
        if not places:
            return None
        places = places if self.problem.terms.recall else places[-1:]
        controls = controls_at(places)
        features = self.problem.prior.model.score_basis(controls)
        at = int(score_at(self.known, controls, features).argmax()) if len(places) > 1 else 0
        own = slice(at, at + 1)
        return places[at], float(score_at(self.known, controls[own], np.ascontiguousarray(features[own]))[0])

    def news(self, decision: Decision) -> str:
        """What there is to say with the next decision."""
        texts = [] if self.asked or self.runs else first_notes(self.problem, decision)
        texts += [note.text for note in self.notes if note.run >= self.heard]
        if self.alarm is not None and self.alarm.run >= self.heard:
            texts.append(self.alarm.text)
        return " ".join(texts)

    def control(self, place: bytes) -> Array:
        """The control (p,) at a place."""
        return np.frombuffer(place, dtype=np.float64)

    def estimated_score(self, control: Array) -> float:
        """The estimated score (posterior median) at a control (p,), in the user's units."""
        return estimated_score(self.known, np.asarray(control, dtype=np.float64))

    def started(self, train: Train) -> Memory:
        """After a run was asked for."""
        asked = max(self.asked, train.trial + 1)
        return replace(self, pending={**self.pending, train.trial: train}, asked=asked, heard=len(self.runs))

    def admitting(self, control: Array) -> Memory:
        """With one more candidate; the same where it is one already, or any control may be one."""
        problem = self.problem
        if is_candidate(problem, control):
            return self
        if np.shape(control) != (problem.space.dim,) or isinstance(problem.space, Table):
            check_control(problem, control)
        admitted = replace(problem, controls=np.concatenate([problem.controls, np.asarray(control)[None]]))
        return replace(self, known=replace(self.known, problem=admitted))

    def told(self, run: Run) -> Memory:
        """After a run was told, one that was asked for or one that was made before."""
        run = as_it_counts(self.problem, self.runs, run)
        number, place = len(self.runs), place_of(run.control)
        before, known = extended(self.known, self.counted, run)
        watch, alarm = self._watched(before, run)
        finished = {key: told for key, told in self.finished.items() if key != place or run.score is None}
        return replace(
            self,
            known=known,
            runs=self.runs + (replace(run, estimated_score=estimated_score(known, run.control)),),  # noqa: RUF005 looks at none
            pending={trial: train for trial, train in self.pending.items() if trial != run.trial},
            finished=finished if run.score is None else {**finished, place: number},
            excluded=self.excluded | {place} if run.score is None else self.excluded,
            notes=(*self.notes, *notes_of(known.problem, run, number, self.notes)),
            watch=watch,
            alarm=alarm,
            asked=max(self.asked, run.trial + 1),
            spent=self.spent + Fraction(run.cost),
        )._without_the_worst()

    def with_noise(self, noise: float) -> Memory:
        """With a standard deviation of scores that was measured, from the next run on; in the user's units."""
        problem = self.problem
        stated = replace(problem.stated, noise=finite_number(noise, "score_noise", least=0.0))
        return replace(self, known=replace(self.known, problem=replace(problem, stated=stated)))

    def learning(self, run: Run) -> Memory:
        """As `told`; a run with a score that nothing can be learned from, as no number is so large, has failed."""
        if run.cost > LARGEST:
            error = run.error or f"cost {run.cost:.4g} cannot be learned from; it counts as {LARGEST:g}"
            run = replace(run, score=None, error=error, cost=LARGEST)
        try:
            after = self.told(run)
            if run.score is None or _is_finite(after.known.belief):
                return after
            reason = "the estimates would not be finite"
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as wrong:
            if run.score is None:
                raise
            reason = str(wrong)
        error = f"score {run.score:.4g} at a cost of {run.cost:.4g} cannot be learned from: {reason}"
        return self.told(replace(run, score=None, error=error))

    def forgiving(self) -> Memory:
        """Without the last failures in a row, which count only for what they cost."""
        number = len(self.runs)
        while number and self.runs[number - 1].error is not None:
            number -= 1
        forgiven = self.forgiven | frozenset(range(number, len(self.runs)))
        if forgiven == self.forgiven:
            return self
        freed = replace(self, forgiven=forgiven)
        excluded = frozenset(place_of(run.control) for run in freed.counted if run.score is None)
        return replace(freed, excluded=excluded, known=learned(self.problem, freed.counted))

    def charging(self, cost: float, *, deciding: bool = False) -> Memory:
        """With a cost that belongs to no run.  deciding: it is what deciding on one run took."""
        charged = replace(self, charged=self.charged + cost)
        return charged._deciding_for(self.deciding[0] + cost, self.deciding[1] + 1) if deciding else charged

    def _deciding_for(self, cost: float, decisions: int) -> Memory:
        problem = deciding_for(self.problem, cost / max(decisions, 1))
        return replace(self, known=replace(self.known, problem=problem), deciding=(cost, decisions))

    def _watched(self, before: Learned, run: Run) -> tuple[Watch, Alarm | None]:
        """The evidence against the model after one more run; after the first alarm nothing changes any more."""
        if self.alarm is not None:
            return self.watch, self.alarm
        seen = surprise(before, run)
        watch = watched(self.watch, seen)
        return watch, raised(watch, seen, run, len(self.runs))

    def _ranked(self) -> list[bytes]:
        """Places of the models that may be returned: the last, or with recall the best few by posterior mean."""
        places = list(self.finished)
        if not self.problem.terms.recall or len(places) <= 1:
            return places[-1:]
        features = self.problem.prior.model.score_basis(controls_at(places))
        order = np.argsort(-(features @ self.known.belief.score.mean), kind="stable")
        return [places[index] for index in order[:KEPT]]

    def _without_the_worst(self) -> Memory:
        """Of very many models only the best can be returned: memory and time stay the same however many runs."""
        if not self.problem.stated.spreads or len(self.finished) <= _REMEMBERED:
            return self
        kept = {*self._ranked(), self.returned, *list(self.finished)[-_REMEMBERED // 2 :]}
        return replace(self, finished={place: run for place, run in self.finished.items() if place in kept})


def run_told(memory: Memory, trial: Train | int, score: float | None, cost: float | None, error: str | None) -> Run:
    """What was told of a run that is under way, checked."""
    number = trial.trial if isinstance(trial, Train) else trial
    if isinstance(number, bool | np.bool_) or number not in list(memory.pending):  # a list: some cannot be hashed
        raise ValueError(f"trial {number!r} is not under way; call tell() once for each trial that ask() returned")
    if isinstance(trial, Train) and not _is_same(trial, memory.pending[number]):
        raise ValueError(
            f"trial {number} of this tuner has other params or costs; tell() a Train to the tuner whose ask() gave it"
        )
    if (score is None) == (error is None):
        raise ValueError(f"tell either a score or an error; {_TELL}")
    if cost is None:
        raise ValueError(f"tell the cost of the run as well, failed or not; {_TELL}")
    try:
        told_cost = finite_number(cost, "cost", least=0.0)
        told_score = None if score is None else finite_number(score, "score")
        if told_score is not None:
            memory.problem.score_observed(told_score)  # a log scale has no zero
    except (TypeError, ValueError) as wrong:
        raise type(wrong)(f"{wrong}; {_TELL}") from None
    train = memory.pending[number]
    return with_outcome(train, told_score, told_cost, error)


def with_outcome(train: Train, score: float | None, cost: float, error: str | None) -> Run:
    """The run that was asked for, with its outcome; what is estimated of it is known once it is told."""
    return Run(
        trial=train.trial,
        params=train.params,
        control=train.control,
        score=score,
        cost=cost,
        error=error,
        estimated_score=math.nan,
    )


def _is_finite(belief: Belief) -> bool:
    parts = (belief.score.mean, belief.score.cov, belief.cost.mean, belief.cost.cov)
    return all(bool(np.isfinite(part).all()) for part in parts)


def _is_same(one: Train, other: Train) -> bool:
    """Whether two are the same run of the same problem; what it costs may be rounded, e.g. on another machine."""
    costs, others = ([train.expected_cost, train.price_of_run, train.overhead] for train in (one, other))
    same = np.array_equal(one.control, other.control) and _same_params(one.params, other.params)
    return one is other or (same and np.allclose(costs, others, rtol=1e-6, atol=0.0, equal_nan=True))


def _same_params(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """By what they print: values may be of any kind, and some cannot be compared."""
    return list(one) == list(other) and all(repr(one[name]) == repr(other[name]) for name in one)


def place_of(control: Array) -> bytes:
    """By what a control is found again; zero has no sign."""
    return (np.asarray(control, dtype=np.float64) + 0.0).tobytes()


def places_of(controls: Array) -> list[bytes]:
    """The same of many controls (n, p)."""
    together, width = place_of(controls), 8 * controls.shape[1]
    return [together[start : start + width] for start in range(0, len(together), width)]


def controls_at(places: Sequence[bytes]) -> Array:
    """The controls (n, p) at some places, at least one."""
    return np.frombuffer(b"".join(places), dtype=np.float64).reshape(len(places), -1)
