"""What a tuner shows of its memory: all that can be read without deciding anything."""

from __future__ import annotations

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief
from autobct.deprecation import renamed
from autobct.tuning.decide.decision import Train
from autobct.tuning.guard import usual_errors_in
from autobct.tuning.history import Note, Run
from autobct.tuning.memory import Memory
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.model.estimate import Learned
from autobct.tuning.statement import Plan
from autobct.tuning.units.limits import Limits


@usual_errors_in
class Remembered:
    """A plan and a memory, as seen from outside; each property reads the memory once, so that threads may."""

    _plan: Plan
    _memory: Memory

    @property
    def memory(self) -> Memory:
        """The full state, one frozen value; every event replaces it by a new one."""
        return self._memory

    @property
    def limits(self) -> Limits:
        """Hard limits of the tuning."""
        return self._plan.limits

    @property
    def known(self) -> Learned:
        """The current problem, posterior and the data it was learned from."""
        return self._memory.known

    @property
    def belief(self) -> Belief:
        """The current posterior, in model units: a pure function of prior and history."""
        return self._memory.known.belief

    @property
    def history(self) -> tuple[Run, ...]:
        """All runs so far, including failed ones."""
        return self._memory.runs

    @property
    def under_way(self) -> tuple[Train, ...]:
        """Runs that `ask` returned and that have no outcome yet."""
        return tuple(self._memory.pending.values())

    @property
    def total_cost(self) -> float:
        """Cost of all runs so far, including failed ones, plus other charges, in the user's units."""
        return self._memory.total_cost

    @property
    def charged(self) -> float:
        """Cost charged in addition to the runs."""
        return self._memory.charged

    @property
    def alarm(self) -> Alarm | None:
        """The first time the observations became implausible under the model; None if they never did."""
        return self._memory.alarm

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about runs outside their expected range."""
        return self._memory.notes

    @property
    def best(self) -> Run | None:
        """The incumbent, whose model would be returned now: the best by estimated score, or the last without recall."""
        return self._memory.best

    def estimated_score(self, control: Array) -> float:
        """The estimated score (posterior median) at a control (p,), in the user's units."""
        return self._memory.estimated_score(control)

    def believed_score(self, control: Array) -> float:
        """Deprecated name of `estimated_score`."""
        renamed("Tuner.believed_score", "Tuner.estimated_score", removed_in="0.3")
        return self.estimated_score(control)
