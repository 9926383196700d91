"""How many runs side by side, and where: what a user says of it, checked."""

from __future__ import annotations

import os
from typing import Any, Literal

from autobct.belief.arrays import whole_number
from autobct.tuning.executor import Executor, Here
from autobct.tuning.isolation import Isolation
from autobct.tuning.training import TrainingFunction
from autobct.tuning.tuner import Tuner
from autobct.tuning.windows import window

Backend = Literal["processes", "threads"]
"""Where several runs are made at once."""


FIRST_ALONE = "The first run is made alone, to learn what a run costs; set cost_range to start all jobs at once."


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


def places(tuner: Tuner, jobs: int, price_of: str = "compute") -> int:
    """How many runs may be under way now: one until the first has ended if nothing was said of costs, else all.

    Before it, what a run costs is a guess that follows from the price, so no price could be too high for another one.
    At a price of waiting, runs beside the first are free.  docs/decisions/pending.md
    """
    stated = tuner.memory.problem.stated
    unknown = stated.learning and stated.cost_range is None and not tuner.history
    return 1 if unknown and price_of == "compute" else jobs


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
