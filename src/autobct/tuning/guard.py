"""Safe access to a tuner's state: one thread at a time, no forked copies, and read-only views.

NumPy's own rules for rounding and overflow hold inside the package, whatever the user has set with `np.seterr`.  Far
from the data a probability underflows to zero, and that is the right number: with np.seterr(all="raise") it would end a
tuning.  The user's training function runs under the user's rules.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Belief
from autobct.deprecation import renamed
from autobct.tuning.history import Note, Run, Train
from autobct.tuning.memory import Memory
from autobct.tuning.model.alarm import Alarm
from autobct.tuning.model.estimate import Learned
from autobct.tuning.statement import Plan
from autobct.tuning.units.limits import Limits

__all__ = ["ForkedError", "Guard", "changing", "reading"]

_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")

FORKED = (
    "this tuner belongs to process {owner} and was copied into process {here} by a fork, where its runs would be lost; "
    "ask and tell in process {owner}, or make it your own with copy.copy(tuner)"
)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


class ForkedError(RuntimeError):
    """A copy that a fork made was asked to change."""


class Guard:
    """A lock that one thread may take several times, and the process that it belongs to."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.RLock(), os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this is another process than the one in which it was made."""
        return os.getpid() != self._owner

    def check_owner(self, sentence: str = FORKED) -> None:
        """ForkedError in another process."""
        if self.forked:
            raise ForkedError(sentence.format(owner=self._owner, here=os.getpid()))

    def __enter__(self) -> None:
        if not self.forked:  # in a fork there is one thread, and the lock may be that of one that is not there
            self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        if not self.forked:
            self._lock.release()


class Guarded(Protocol):
    """Anything with a guard."""

    _guard: Guard


_Self = TypeVar("_Self", bound=Guarded)


def reading(
    method: Callable[Concatenate[_Self, _Given], _Returned],
) -> Callable[Concatenate[_Self, _Given], _Returned]:
    """A method that sees one state from its beginning to its end; also in a fork."""

    @functools.wraps(method)
    def alone(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Returned:
        with self._guard:
            return method(self, *given, **named)

    return alone


def changing(
    method: Callable[Concatenate[_Self, _Given], _Returned],
) -> Callable[Concatenate[_Self, _Given], _Returned]:
    """A method that changes the state, one thread after the other; ForkedError in a fork."""

    @functools.wraps(method)
    def alone(self: _Self, /, *given: _Given.args, **named: _Given.kwargs) -> _Returned:
        self._guard.check_owner()
        with self._guard:
            return method(self, *given, **named)

    return alone


def usual_errors(function: Decorated) -> Decorated:
    """The function under NumPy's default rules: warn, and say nothing of underflow."""

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **keywords)

    return called  # type: ignore[return-value]  # the same signature


def usual_errors_in(kind: Class) -> Class:
    """The same for the constructor, the public methods and the properties of a class."""
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and name != "__init__":
            continue
        if isinstance(member, property):
            assert member.fget is not None
            setattr(kind, name, property(usual_errors(member.fget), doc=member.__doc__))
        elif callable(member) and not isinstance(member, type):
            setattr(kind, name, usual_errors(member))
    return kind


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
