"""Runs side by side, in processes or in threads: both are an `autobct.tuning.jobs.Executor`.

Every place for a run is a loky pool of one process.  If that process dies, its run has failed and the others go on;
a new one takes its place.  Functions are sent by cloudpickle, so a notebook's and a script's own functions work.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from pickle import PicklingError
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from autobct.run import processes
from autobct.tuning.jobs import EndedRun, WorkerLostError, cores

Outcome = TypeVar("Outcome")

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_WATCH = 0.5  # seconds between two looks at whether the tuner is there
_CODES = re.compile(r"exit codes? of the workers are \{([^}]*)\}")


class Threads(Generic[Outcome]):
    """A thread for each run.  Threads cannot be ended: after `cancel` they run on, and nobody hears of them.

    end: ends what the threads wait for, so that they come back; `cancel` then waits for them
    """

    def __init__(self, jobs: int, *, end: Callable[[], object] | None = None) -> None:
        self._ended: SimpleQueue[EndedRun[Outcome]] = SimpleQueue()
        self._end, self._threads = end, list[threading.Thread]()

    def submit(self, number: int, run: Callable[[], Outcome]) -> None:
        """Start a run."""
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        name = f"autobct-run-{number + 1}"
        self._threads.append(threading.Thread(target=self._made, args=(number, run), name=name, daemon=True))
        self._threads[-1].start()

    def wait(self) -> EndedRun[Outcome]:
        """The next run to end."""
        return self._ended.get()

    def cancel(self) -> None:
        """Hear no more."""
        self._ended = SimpleQueue()
        if self._end is None:
            return
        try:
            self._end()
            self._join()
        except KeyboardInterrupt:  # a second one, whenever it comes: no more grace
            self._end()
            self._join()

    def _join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _made(self, number: int, run: Callable[[], Outcome]) -> None:
        ended = self._ended
        try:
            ended.put(EndedRun(number, run()))
        except BaseException as error:  # raised where it is waited for
            ended.put(EndedRun(number, error=error))


class Processes(Generic[Outcome]):
    """A process for each run, with its share of the cores for linear algebra unless the environment says otherwise."""

    def __init__(self, jobs: int) -> None:
        self._make = _pool_of()
        self._env = share_of_cores(jobs)
        self._idle: list[Any] = []
        self._busy: dict[int, Any] = {}
        self._jobs = jobs
        self._waiting: deque[tuple[int, Callable[[], Outcome]]] = deque()
        self._ended: SimpleQueue[tuple[int, Future[Outcome]]] = SimpleQueue()

    def submit(self, number: int, run: Callable[[], Outcome]) -> None:
        """Start a run, in a process that is idle or in a new one; with as many as there are jobs it waits."""
        if len(self._busy) >= self._jobs:
            self._waiting.append((number, run))
            return
        pool = self._idle.pop() if self._idle else self._new()
        self._busy[number] = pool
        pool.submit(run).add_done_callback(lambda future: self._ended.put((number, future)))

    def _new(self) -> Any:
        return self._make(1, env=self._env, initializer=_prepare, initargs=(os.getpid(),))

    def wait(self) -> EndedRun[Outcome]:
        """The next run to end."""
        number, future = self._ended.get()
        pool, error = self._busy.pop(number), future.exception()
        lost = error is not None and _is_broken(error)
        if lost:
            pool.shutdown(wait=True, kill_workers=True)
        else:
            self._idle.append(pool)
        if self._waiting:
            self.submit(*self._waiting.popleft())
        if error is None:
            return EndedRun(number, future.result())
        return EndedRun(number, error=_in_words(error))

    def cancel(self) -> None:
        """Kill all processes, with all that they have started."""
        self._waiting.clear()
        pools = [*self._idle, *self._busy.values()]
        self._idle, self._busy = [], {}
        for pool in pools:
            pool.shutdown(wait=False, kill_workers=True)
        for pool in pools:
            pool.shutdown(wait=True, kill_workers=True)


def share_of_cores(jobs: int) -> dict[str, str]:
    """How many threads linear algebra takes with so many runs side by side, unless the environment says otherwise."""
    each = str(max(cores() // jobs, 1))
    return {name: os.environ.get(name, each) for name in _THREADS}


def _pool_of() -> Callable[..., Any]:
    try:
        from joblib.externals.loky import ProcessPoolExecutor
    except ImportError as missing:
        raise ImportError(
            "n_jobs with processes needs joblib, which is not installed; install it with: pip install 'autobct[jobs]', "
            "or write backend='threads'",
            name="joblib",
        ) from missing
    made: Callable[..., Any] = ProcessPoolExecutor
    return made


def _prepare(tuner: int) -> None:
    """In a new process.  Ctrl-C on a terminal reaches all processes; the tuner's own is the one to act on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(tuner,), name="autobct-orphan", daemon=True).start()


def _end_with(tuner: int) -> None:
    """End this process, with all that it has started, when the tuner is gone: nobody waits for its run any more."""
    while os.getppid() == tuner:
        time.sleep(_WATCH)
    processes.signal_all(processes.family(os.getpid(), None), signal.SIGKILL)
    os._exit(1)


def _is_broken(error: BaseException) -> bool:
    from joblib.externals.loky import BrokenProcessPool

    return isinstance(error, BrokenProcessPool)


def _in_words(error: BaseException) -> BaseException:
    if isinstance(error, PicklingError):
        return TypeError(
            f"train cannot be sent to another process: {error.__cause__ or error}; write backend='threads', or create "
            "inside train what cannot be sent"
        )
    if not _is_broken(error):
        return error
    found = _CODES.search(str(error))
    how = f" ({found[1]})" if found else ""
    return WorkerLostError(f"the worker process ended{how}; it crashed, was killed or ran out of memory")
