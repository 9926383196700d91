"""Supervises one program: starts it, stores its output, ends it with all its children, and reports how it ended.

The keeper is a process of its own between tuner and program.  It ends the program when its time is up, when the tuner
says so, and when the tuner is gone: all it takes is that the pipe from the tuner closes, so that not even SIGKILL
leaves a training behind.  It takes one line of JSON (`Order`) and answers with one line of JSON (`Ended`).

Run by path with `python -I -S`: it knows the standard library and two files beside it only, and starts in a moment.
"""

from __future__ import annotations

import json
import math
import os
import resource
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from autobct.run import output, processes
else:
    sys.path.insert(0, str(Path(__file__).parent))
    import output
    import processes

_CHUNK = 1 << 16
_POLL = 0.02  # seconds between two looks at who is still alive, while ending
_WATCH = 0.2  # and at the processor time and memory used, where these are limited


class Keeper:
    """One program from start to end.  order: see `autobct.run.process.Order`."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._stores = {name: output.Store(order[name], order["most_output"]) for name in ("stdout", "stderr")}
        self._selector = selectors.DefaultSelector()
        self._program: subprocess.Popen[bytes] | None = None
        self._grace = float(order["grace"])
        self._exit: os.waitid_result | None = None
        self._why: str | None = None  # why it was ended, if it did not end by itself

    def keep(self) -> dict[str, Any]:
        """What came of the program."""
        self._listen()
        started = time.perf_counter()
        try:
            self._start()
        except (OSError, ValueError) as error:
            return self._failed(error)
        self._watch(started)
        wall, why = time.perf_counter() - started, self._why
        if self._exit is not None:
            why = None  # it has ended by itself, whatever else came at that moment or comes while its rest is ended
        survivors = self._end()
        if why is not None:  # ending it was part of it
            wall = time.perf_counter() - started
        self._drain()
        return self._report(wall, why, survivors)

    def _listen(self) -> None:
        """Wake for the end of a child, for the tuner, and for signals; a second word from the tuner means at once."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self._hurry())
        self._selector.register(read, selectors.EVENT_READ, "wake")
        self._selector.register(0, selectors.EVENT_READ, "tuner")

    def _hurry(self) -> None:
        self._why = self._why or "interrupted"
        self._grace = 0.0

    def _start(self) -> None:
        order, keeper = self._order, os.getpid()
        self._program = subprocess.Popen(
            order["argv"],
            cwd=order["directory"],
            env=order["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=order["descriptors"],
            preexec_fn=lambda: processes.die_with_parent(signal.SIGKILL, keeper),  # safe: there is one thread
        )
        for name, pipe in (("stdout", self._program.stdout), ("stderr", self._program.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, name)

    def _watch(self, started: float) -> None:
        """Until the program ends, or has to be ended."""
        timeout = self._order["timeout"]
        watched = [limit for limit in ("most_memory", "most_cpu") if self._order[limit] is not None]
        look = started
        while self._exit is None and self._why is None:
            left = None if timeout is None else started + timeout - time.perf_counter()
            if left is not None and left <= 0:
                self._why = "timeout"
                return
            if watched and time.perf_counter() >= look:
                if any(self._is_over(limit) for limit in watched):
                    return
                look = time.perf_counter() + _WATCH
            if watched:
                left = min(math.inf if left is None else left, max(look - time.perf_counter(), 0.0))
            self._step(left)

    def _is_over(self, limit: str) -> bool:
        most = float(self._order[limit])
        used = self._cpu() if limit == "most_cpu" else processes.memory_of(self._family(), most)
        if used <= most:
            return False
        self._why = self._why or limit
        if limit == "most_memory":
            self._grace = 0.0  # it would go on growing
        return True

    def _step(self, wait: float | None) -> bool:
        """Serve what has come in, after at most `wait` seconds; whether anything had."""
        events = self._selector.select(wait)
        for key, _ in events:
            if key.data == "wake":
                os.read(key.fd, 512)
            elif key.data == "tuner":
                self._hear()
            else:
                self._read(key.fd, key.data)
        self._reap()
        return bool(events)

    def _hear(self) -> None:
        """The tuner says nothing more: whatever comes is that it has closed the pipe, or is gone."""
        if not os.read(0, _CHUNK):
            self._selector.unregister(0)
            self._why = self._why or "interrupted"

    def _read(self, fd: int, name: str) -> None:
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._stores[name].write(data)
        else:
            self._selector.unregister(fd)

    def _reap(self) -> None:
        """Collect orphans that have ended; the program itself stays a zombie, so that its number is not reused."""
        assert self._program is not None
        while self._exit is None:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid == self._program.pid:
                self._exit = ended
            else:
                os.waitpid(ended.si_pid, 0)

    def _end(self) -> int:
        """End all that is left of it, politely and then not; how many could not be ended."""
        for number, patience in ((signal.SIGTERM, None), (signal.SIGKILL, processes.UNKILLABLE)):
            begun, told = time.perf_counter(), set[int]()
            while members := self._family():
                if time.perf_counter() - begun > (self._grace if patience is None else patience):
                    break
                fresh = [process for process in members if process.pid not in told]
                processes.signal_all(fresh, number)
                told.update(process.pid for process in fresh)
                self._step(_POLL)
        return len(self._family())

    def _family(self) -> list[processes.Process]:
        assert self._program is not None
        return processes.family(os.getpid(), self._program.pid)

    def _cpu(self) -> float:
        return sum(process.cpu for process in self._family()) + _waited_cpu()

    def _drain(self) -> None:
        """What is still in the pipes; not waited for, in case somebody out of reach holds them open."""
        for key in list(self._selector.get_map().values()):
            if key.data in ("wake", "tuner"):
                self._selector.unregister(key.fileobj)
        until = time.perf_counter() + processes.UNKILLABLE
        while self._selector.get_map() and time.perf_counter() < until and self._step(0.0):
            pass

    def _report(self, wall: float, why: str | None, survivors: int) -> dict[str, Any]:
        self._reap()
        code = None
        if self._exit is not None:
            code = self._exit.si_status if self._exit.si_code == os.CLD_EXITED else -self._exit.si_status
        _reap_all()
        return {
            **self._closed(),
            "wall": wall,
            "cpu": _waited_cpu(),
            "code": code,
            "why": why,
            "survivors": survivors,
            "not_started": None,
        }

    def _failed(self, error: OSError | ValueError) -> dict[str, Any]:
        number = getattr(error, "errno", None)
        about_directory = getattr(error, "filename", None) == self._order["directory"]
        reason = f"{error.strerror}" if isinstance(error, OSError) else str(error)
        return {
            **self._closed(),
            "wall": 0.0,
            "cpu": 0.0,
            "code": None,
            "why": None,
            "survivors": 0,
            "not_started": {"errno": number, "reason": reason, "directory": about_directory},
        }

    def _closed(self) -> dict[str, Any]:
        left_out = {name: store.close() for name, store in self._stores.items()}
        trouble = next((store.trouble for store in self._stores.values() if store.trouble), None)
        return {"left_out": sum(left_out.values()), "output_trouble": trouble}


def _waited_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _reap_all() -> None:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def main() -> None:
    """One order from standard input, one answer on standard output."""
    line = b""
    while not line.endswith(b"\n"):
        if not (data := os.read(0, _CHUNK)):
            return  # the tuner is gone before it said anything
        line += data
    processes.adopt_orphans()
    answer = Keeper(json.loads(line)).keep()
    try:
        os.write(1, json.dumps(answer).encode() + b"\n")
    except BrokenPipeError:
        return  # the tuner is gone; what had to be ended is ended


if __name__ == "__main__":
    main()
