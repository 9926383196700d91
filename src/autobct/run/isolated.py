"""Runs a training function in its own process: timed and limited there, and unable to crash the tuner.

What crosses to the process is what multiprocessing sends to one that it spawns: how to import the main module, and the
function and its params, pickled; it crosses in a file that has no name.  What comes back is one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import multiprocessing.spawn
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

from autobct.run import isolated_child
from autobct.run.executors import share_of_cores
from autobct.run.interrupts import Interrupts, interruptible
from autobct.run.process import INTERRUPTED, LOST, NOT_STARTED, Ended, Order, SlowNotice, run_program
from autobct.run.reading import last_words
from autobct.tuning.jobs import Isolation
from autobct.tuning.returned import WrongReturnError
from autobct.tuning.training import Measured, TrainingError, TrainingFunction

HANGING = 600.0
"""Seconds after which a training without a timeout is said to take long, and again after twice as many."""

_LONGEST = 1 << 20  # bytes of an answer
_SENT = ("sys_path", "sys_argv", "orig_dir", "dir", "init_main_from_name", "init_main_from_path")
_TOP = "define it at the top level of a module or script, or leave out isolate"
_GUARD = (
    "tune(isolate=True) was called while the script was imported by a training's own process; put the call under: "
    "if __name__ == '__main__':"
)


class NotIsolatedError(WrongReturnError):
    """The training function cannot be called in another process: the same for all params."""


class RemoteTraceback(Exception):  # noqa: N818 - it is shown as the cause of an error
    """The traceback of an exception in another process, as text."""

    def __str__(self) -> str:
        """The text."""
        return f"\n{self.args[0]}"


def isolated(train: TrainingFunction, isolation: Isolation, jobs: int = 1) -> Isolated:
    """The same function, called in a process of its own each time; TypeError if it cannot be sent there.

    jobs: so many of these at the same time, each with its share of the cores
    """
    if os.name != "posix":
        raise NotImplementedError("isolate needs Linux, macOS or another POSIX system; leave it out here")
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise RuntimeError(_GUARD)
    if getattr(train, "__module__", "") == "__main__" and not _has_main_file():
        raise TypeError(f"train is defined in an interactive session, which another process cannot import; {_TOP}")
    _pickled(train, {})
    if isolation.output is not None:
        Path(isolation.output).mkdir(parents=True, exist_ok=True)
    return Isolated(train, isolation, {} if jobs == 1 else share_of_cores(jobs))


class Isolated:
    """A training function that is called in a process of its own.  Use `isolated` to create one.

    Threads may call it.  Ctrl-C ends a call in the main thread, and `end` those in all others.
    """

    def __init__(self, train: TrainingFunction, isolation: Isolation, env: Mapping[str, str] | None = None) -> None:
        self._train, self._isolation, self._env = train, isolation, {**(env or {})}
        self._elsewhere = Interrupts()

    def end(self) -> None:
        """End all calls in other threads than the main one, and let there be no more."""
        self._elsewhere.request()

    def __call__(self, params: dict[str, Any]) -> Measured:
        """What it returned, as numbers, and what that took.

        TrainingError if it failed; one that was killed from outside is made again once.
        """
        ended, answer, words = self._once(params)
        lost = 0.0
        if ended.capped == LOST and answer is None:
            lost = ended.wall
            ended, answer, words = self._once(params)
        if ended.capped == INTERRUPTED:
            raise KeyboardInterrupt
        return _read(ended, answer, words, lost)

    def _once(self, params: dict[str, Any]) -> tuple[Ended, dict[str, Any] | None, str]:
        """How it ended, what it answered if it did, and the last words on stderr."""
        with (
            _place(self._isolation, params) as place,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as back,
        ):
            given.write(_main_module() + _pickled(self._train, params))
            given.seek(0)
            order = self._order(place, given.fileno(), back.fileno())
            waiting = None if order.timeout is not None else SlowNotice(_say_waiting, HANGING)
            with self._interruptible() as interrupts:
                ended = run_program(order, interrupts=interrupts, waiting=waiting)
            return ended, _answer(back.fileno()), last_words(order.stderr)

    def _interruptible(self) -> contextlib.AbstractContextManager[Interrupts]:
        if threading.current_thread() is threading.main_thread():
            return interruptible((signal.SIGINT,))
        return contextlib.nullcontext(self._elsewhere)

    def _order(self, place: Path, given: int, back: int) -> Order:
        flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
        return Order(
            argv=(sys.executable, *flags, isolated_child.__file__, str(given), str(back)),
            env={**os.environ, **self._env},
            directory=os.getcwd(),
            stdout=str(place / "stdout.txt"),
            stderr=str(place / "stderr.txt"),
            timeout=self._isolation.seconds,
            timeout_reason="Isolation.timeout",
            most_memory=self._isolation.bytes,
            memory_reason="Isolation.memory",
            descriptors=(given, back),
        )


@contextlib.contextmanager
def _place(isolation: Isolation, params: dict[str, Any]) -> Iterator[Path]:
    """A folder for what a training prints: the next one in the folder of outputs, or one for the moment."""
    if isolation.output is None:
        with tempfile.TemporaryDirectory(prefix="autobct-") as folder:
            yield Path(folder)
        return
    number = 1
    while True:
        place = Path(isolation.output).absolute() / f"{number:04d}"
        try:
            place.mkdir(parents=True)
            break
        except FileExistsError:
            number += 1
    (place / "params.json").write_text(json.dumps(params, default=repr, ensure_ascii=False) + "\n", "utf-8")
    yield place


def _has_main_file() -> bool:
    """Whether the main module can be imported elsewhere: not in a notebook, an interactive session or a pipe."""
    return os.path.isfile(getattr(sys.modules["__main__"], "__file__", None) or "")


def _main_module() -> bytes:
    """How to import the main module, as multiprocessing says it to a process that it spawns; one line of JSON."""
    found = multiprocessing.spawn.get_preparation_data("autobct-training")
    sent = _SENT if _has_main_file() else _SENT[:-2]
    return json.dumps({key: found[key] for key in sent if key in found}).encode() + b"\n"


def _pickled(train: TrainingFunction, params: dict[str, Any]) -> bytes:
    try:
        return bytes(ForkingPickler.dumps((train, params)))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise TypeError(f"train cannot be sent to a process of its own: {error}; {_TOP}") from None


def _answer(descriptor: int) -> dict[str, Any] | None:
    """What the training answered; None if it ended without."""
    data = os.pread(descriptor, _LONGEST, 0)
    try:
        found = json.loads(data) if data.endswith(b"\n") else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read(ended: Ended, answer: dict[str, Any] | None, words: str, lost: float) -> Measured:
    if ended.capped == NOT_STARTED:
        raise NotIsolatedError(f"a process for train {ended.failure}")
    if answer is None:
        limited = not ended.by_itself and ended.capped is None
        raise TrainingError(_how(ended, words, lost), ended.wall, lost, limited=limited)
    if "unprepared" in answer:
        raise _with(NotIsolatedError(f"train cannot be called in a process of its own: {answer['unprepared']}"), answer)
    if "wrong" in answer:
        raise WrongReturnError(answer["wrong"])
    seconds = float(answer["seconds"])
    if "raised" in answer:
        raise _with(TrainingError(answer["raised"], seconds, lost), answer)
    returned = answer["returned"]
    return Measured(tuple(returned) if isinstance(returned, list) else returned, seconds, lost)


def _with(error: Exception, answer: dict[str, Any]) -> Exception:
    error.__cause__ = RemoteTraceback(answer["traceback"])
    return error


def _how(ended: Ended, words: str, lost: float) -> str:
    """Why there is no answer, in one sentence."""
    failure = ended.failure or "ended with exit code 0 and returned nothing; did it call os._exit?"
    twice = (
        "ended twice from outside, as the system does when memory runs out: " if ended.capped == LOST and lost else ""
    )
    return f"{twice}{failure}{words}"


def _say_waiting(seconds: float) -> None:
    warnings.warn(
        f"a training has been running for {seconds:.0f} s, and no timeout is set; if it hangs, press Ctrl-C and write "
        f"isolate=Isolation(timeout='1h')",
        RuntimeWarning,
        stacklevel=2,
    )
