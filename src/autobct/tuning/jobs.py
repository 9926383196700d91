"""How runs are executed: executors, number of parallel jobs, and a process for each training if requested.

An executor submits a run, waits for any, and cancels all; everything that runs a training is one.  `Here` runs in the
calling thread.  Processes and threads are in `autobct.run.executors`, above the core packages.
"""

from __future__ import annotations

import math
import os
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from autobct.belief.arrays import whole_number
from autobct.tuning.progress import window
from autobct.tuning.training import TrainingFunction
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.price import seconds_of

Backend = Literal["processes", "threads"]
"""Where several runs are made at once."""

FIRST_ALONE = "The first run is made alone, to learn what a run costs; set cost_range to start all jobs at once."

_UNITS = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
_AMOUNT = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]i?b)\s*", re.IGNORECASE)
LEAST = 1e6
"""Bytes: below it nothing runs, and a unit was probably forgotten."""

_TIME = re.compile(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([a-z]+)\s*", re.IGNORECASE)

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


def with_executor(
    train: TrainingFunction, isolation: Isolation | None, jobs: int, backend: Backend
) -> tuple[TrainingFunction, Executor[Any]]:
    """The training function, and what makes so many runs of it at once; one at a time is made in the calling thread.

    Isolated trainings have a process each whatever the backend: threads wait for them, and `cancel` ends them.
    """
    made: Executor[Any]
    if isolation is not None:
        isolated = window("isolated")(train, isolation, jobs)
        made = Here() if jobs == 1 else window("threads")(jobs, end=isolated.end)
        return isolated, made
    made = Here() if jobs == 1 else window(backend)(jobs)
    return train, made


def check_call(train: object, repeats: object, on_failure: object) -> None:
    """TypeError or ValueError for what cannot be called, or not so often."""
    if not callable(train):
        raise TypeError(f"train must be a function of params, got {train!r}; write tune(train, space, price=...)")
    whole_number(repeats, "repeats", example=5)
    if on_failure not in ("record", "raise"):
        raise ValueError(f"on_failure must be 'record' or 'raise', got {on_failure!r}")


def check_jobs(n_jobs: object, backend: object, price_of: object) -> int:
    """The number of jobs, of cores if it is -1; ValueError for a backend or a price that does not exist."""
    if backend not in ("processes", "threads"):
        raise ValueError(f"backend must be 'processes' or 'threads', got {backend!r}")
    if price_of not in ("compute", "waiting"):
        raise ValueError(f"price_of must be 'compute' or 'waiting', got {price_of!r}")
    if n_jobs == -1:
        return cores()
    return whole_number(n_jobs, "n_jobs", example=4)


def check_waiting(price_of: object, tuner: Tuner) -> None:
    """ValueError where no rule is known for a price of waiting: other policies count the cost of all later runs."""
    if price_of == "waiting" and not tuner.is_default:
        raise ValueError('price_of="waiting" works with the default policy and prior; leave policy and prior out')


def places(tuner: Tuner, jobs: int) -> int:
    """How many runs may be under way now: one until the first has ended if nothing was said of costs, else all.

    Before it, what a run costs is a guess that follows from the price, so no price could be too high for another one.
    docs/decisions/pending.md
    """
    stated = tuner.memory.problem.stated
    unknown = stated.learning and stated.cost_range is None and not tuner.history
    return 1 if unknown else jobs


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def bytes_of(value: object) -> float:
    """Bytes; ValueError, which begins with "must", if it is no amount of memory."""
    amount = value
    if isinstance(value, str) and (found := _AMOUNT.fullmatch(value)) is not None:
        amount = float(found[1]) * _UNITS[found[2].lower()]
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not LEAST <= amount < math.inf:
        raise ValueError(f'must be an amount of memory of at least 1 MB, got {value!r}; write e.g. "4 GB"')
    return float(amount)


@dataclass(frozen=True, slots=True)
class Isolation:
    """Limits of every single training, which runs in a process of its own; a training that exceeds one has failed.

    >>> autobct.tune(train, space, price=0.01, isolate=autobct.Isolation(timeout="10 min", memory="4 GB"))

    timeout: the longest a training may take: seconds, "10 min", "2h"; no limit by default
    memory:  the most memory it may use, with all processes it starts: bytes, "512 MB", "4 GB"; no limit by default
    output:  a folder for what it prints, one folder in it for each training; by default that is kept only until the
             training has ended, and the last lines of stderr are part of the error of a failed run
    """

    timeout: float | str | None = None
    memory: float | str | None = None
    output: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        """Check everything now, not when the first training has begun."""
        _ = self.seconds, self.bytes
        if self.output is not None and not isinstance(self.output, str | os.PathLike):
            raise TypeError(f"output must be a folder, got {self.output!r}; write e.g. output='outputs'")

    @property
    def seconds(self) -> float | None:
        """The timeout in seconds."""
        return None if self.timeout is None else _seconds(self.timeout)

    @property
    def bytes(self) -> float | None:
        """The memory limit in bytes."""
        try:
            return None if self.memory is None else bytes_of(self.memory)
        except ValueError as wrong:
            raise ValueError(f"memory {wrong}") from None


def isolation_of(given: object) -> Isolation | None:
    """The isolation that was given, True for one without limits; None for none."""
    if given is False or given is None:
        return None
    if given is True:
        return Isolation()
    if not isinstance(given, Isolation):
        raise TypeError(
            f"isolate must be True, False or an Isolation, got {given!r}; write e.g. isolate=Isolation(timeout='1h')"
        )
    return given


def _seconds(timeout: object) -> float:
    seconds = timeout
    if isinstance(timeout, str) and (found := _TIME.fullmatch(timeout)) is not None:
        unit = seconds_of(found[2])
        seconds = None if unit is None else float(found[1]) * unit
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0.0 < seconds < math.inf:
        raise ValueError(f"timeout must be a time, got {timeout!r}; write seconds, '10 min' or '2h'")
    return float(seconds)
