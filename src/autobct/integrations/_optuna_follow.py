"""A tuner that follows the trials of a study; a decision after the same trials is made once."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from optuna.trial import FrozenTrial

from autobct.integrations._hosts import learnable
from autobct.integrations._optuna_trials import Reader, Trials
from autobct.tuning.decide.explain import run_at
from autobct.tuning.history import Decision, Run, Stop, Train
from autobct.tuning.memory import Memory
from autobct.tuning.space.space import Space
from autobct.tuning.tuner import Tuner

_SNAPSHOTS = 32  # trials that may finish out of order without all being learned again

PROPOSALS = 3
"""Trials of another sampler that show what its next one is worth.  docs/decisions/terminator.md."""


@dataclass(frozen=True, slots=True)
class Stand:
    """What a tuner remembers of so many runs, and what was expected of the last one before it was made.

    The candidates of its decisions are not kept: they are several hundred kB and are searched for again.
    """

    runs: int
    memory: Memory
    expected: Train | None = None


class Follower:
    """The tuner of one search space that follows a study; what it keeps only saves time.

    others: another sampler makes the suggestions, so a run that only this tuner would choose is no reason to go on
    """

    def __init__(self, start: Tuner, space: Space, *, others: bool = False) -> None:
        self._others = others
        self._space = space
        self._reader: Reader | None = None
        self._runs: tuple[Run, ...] = ()
        self._mended: tuple[int, ...] = ()
        self._tuner = start.twin()  # after the last of the stands
        self._start = Stand(0, start.memory)
        self._stands: deque[Stand] = deque([self._start], maxlen=_SNAPSHOTS)
        self._last: tuple[Trials, Decision] | None = None
        self._warned = 0

    def decision(self, trials: Sequence[FrozenTrial], apart: int | None) -> Decision:
        """What to do next.  apart: the number of the running trial that is decided on."""
        self._reader = self._reader or Reader(self._space)
        seen = self._reader.read(trials, apart)
        if self._last is None or not _same(self._last[0], seen):
            self._warn(seen)
            self._last = (seen, self._decided(seen))
        return self._last[1]

    def standing(self, seen: Trials, *, deciding: bool = True) -> Tuner:
        """A tuner of its own that knows all of this.  deciding: search for candidates, once for all decisions."""
        followed = self._followed(seen.runs, seen.mended)
        if deciding:
            _ = followed.candidates
        tuner = followed.twin()
        tuner.charge(seen.outside[0])
        for train in seen.running:
            tuner.admit(train.control)
            tuner.adopt(train)
        return tuner

    def _decided(self, seen: Trials) -> Decision:
        decision = self.standing(seen).peek()
        return self._as_others(decision) if self._others and isinstance(decision, Train) else decision

    def _followed(self, runs: tuple[Run, ...], mended: tuple[int, ...]) -> Tuner:
        """A tuner after these runs, from the longest beginning that is known."""
        same = _alike(runs, self._runs)
        if mended != self._mended:
            same, self._mended = min(same, *(number - 1 for number in {*mended} ^ {*self._mended})), mended
        while self._stands and self._stands[-1].runs > same:
            self._stands.pop()
        if not self._stands:
            self._stands.append(self._start)
        tuner = self._tuner.twin()  # a fork may not change the tuner that it was copied with
        tuner.restore(self._stands[-1].memory)
        for run in runs[self._stands[-1].runs :]:
            self._stands.append(self._after(self._stands[-1].runs, tuner, run))
        self._runs, self._tuner = runs, tuner
        return tuner

    def _after(self, runs: int, tuner: Tuner, run: Run) -> Stand:
        """Teach a tuner one more run.  runs: that it knows already."""
        memory = tuner.memory
        expected = run_at(memory, run.control) if self._others and memory.best is not None else None
        tuner.admit(run.control)
        tuner.replay([learnable(tuner, run)])
        if runs + 1 in self._mended:
            tuner.forgive()
        return Stand(runs + 1, tuner.memory, expected)

    def _as_others(self, decision: Train) -> Decision:
        """To stop if the last suggestions of the other sampler were not worth their price when they were made."""
        last = [stand.expected for stand in self._stands if stand.expected is not None][-PROPOSALS:]
        if len(last) < PROPOSALS:
            return decision
        gain, price = fmean(train.expected_gain for train in last), fmean(train.price_of_run for train in last)
        if gain > price:
            return decision
        note = (
            f"The last {PROPOSALS} trials were each expected to gain {gain:.3g} for a cost worth {price:.3g}. "
            f"AutoBCTSampler would continue: {decision.why}"
        )
        return Stop("not worth it", len(self._runs), decision.stop_value, note=note)

    def _warn(self, seen: Trials) -> None:
        count = seen.outside[1]
        if count > self._warned and any(run.score is not None for run in seen.runs):
            self._warned = count
            warnings.warn(
                f"{count} finished trial(s) lie outside the search space and are left out of the model; "
                "their cost counts towards max_cost.",
                stacklevel=2,
            )


def _alike(one: Sequence[Run], two: Sequence[Run]) -> int:
    """With how many runs both begin.  Nearly always all of the shorter one, which is looked at first and at once."""
    size = min(len(one), len(two))
    if one[:size] == two[:size]:  # a run equals only itself
        return size
    return next(n for n in range(size) if one[n] is not two[n])


def _same(first: Trials, second: Trials) -> bool:
    """Whether nothing has happened in between; a trial that was read before is the same run."""
    under_way = [[(train.trial, train.control.tobytes()) for train in seen.running] for seen in (first, second)]
    known = len(first.runs) == len(second.runs) and all(a is b for a, b in zip(first.runs, second.runs, strict=True))
    rest = first.outside == second.outside and first.mended == second.mended
    return known and under_way[0] == under_way[1] and rest
