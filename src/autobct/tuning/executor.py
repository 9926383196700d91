"""Where runs are made: submit one, wait for any, cancel all.  Everything that runs a training is one of these.

`Here` runs in the calling thread.  Processes and threads are in `autobct.run.executors`, above the core packages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Outcome = TypeVar("Outcome")


class WorkerLostError(RuntimeError):
    """A worker ended before its run did: it crashed, was killed, or ran out of memory."""


@dataclass(frozen=True, slots=True)
class EndedRun(Generic[Outcome]):
    """One run that is over.

    number:  the one it was submitted with
    outcome: what it returned; None if there is an error
    error:   what it raised, or a `WorkerLostError`
    """

    number: int
    outcome: Outcome | None = None
    error: BaseException | None = None


class Executor(Protocol[Outcome]):
    """Makes runs, one or several at a time."""

    def submit(self, number: int, run: Callable[[], Outcome]) -> None:
        """Start a run, now or as soon as there is room for it."""

    def wait(self) -> EndedRun[Outcome]:
        """The next run to end, each once, in the order in which they end."""

    def cancel(self) -> None:
        """End whatever is running, and take back what it holds; more than once does no harm."""


class Here(Generic[Outcome]):
    """One run at a time, in the calling thread, when it is waited for."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, Callable[[], Outcome]]] = deque()

    def submit(self, number: int, run: Callable[[], Outcome]) -> None:
        """To be made at the next `wait`."""
        self._waiting.append((number, run))

    def wait(self) -> EndedRun[Outcome]:
        """Make the first one; what it raises is raised here."""
        number, run = self._waiting.popleft()
        return EndedRun(number, run())

    def cancel(self) -> None:
        """Nothing is running between two calls."""
        self._waiting.clear()
