"""A script that tunes with trainings in processes of their own, as somebody starts and interrupts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from autobct.run import processes

SCRIPT = """
import pathlib, signal, sys, time
import autobct

def stay(*_):
    pathlib.Path(sys.argv[1]).joinpath("asked").touch()
    time.sleep(4)
    pathlib.Path(sys.argv[1]).joinpath("stayed").touch()

def train(params):
    pathlib.Path(sys.argv[1]).joinpath("begun").touch()
    if params["x"] != 0.5:
        if sys.argv[2] == "stubborn":
            signal.signal(signal.SIGTERM, stay)
        pathlib.Path(sys.argv[1]).joinpath("second").touch()
        time.sleep(300)
    return 1 - (params["x"] - 0.3) ** 2, 1.0

GUARD
    result = autobct.tune(train, {"x": autobct.Float(0, 1)}, price=1e-4, HOW)
    print(len(result.history), result.why)
"""


def script(
    folder: Path, kind: str, guard: str = 'if __name__ == "__main__":', how: str = "isolate=True"
) -> subprocess.Popen[str]:
    """The script, running.  kind: "polite", or "stubborn" if its trainings will not end;  how: keywords of `tune`."""
    path = folder / "tune_it.py"
    path.write_text(SCRIPT.replace("GUARD", guard).replace("HOW", how))
    return subprocess.Popen(
        [sys.executable, str(path), str(folder), kind],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def stopped_twice(process: subprocess.Popen[str], folder: Path) -> tuple[str, str]:
    """Ctrl-C during the second training, and once more while that will not end; what was printed."""
    waited_for(folder / "second")
    process.send_signal(signal.SIGINT)
    waited_for(folder / "asked")
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)


def waited_for(path: Path) -> None:
    """Until a file is there."""
    end = time.monotonic() + 60
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert path.exists()


def all_ended(pids: Sequence[int], within: float = 0.0) -> bool:
    """Whether all of these processes have ended, or do so within some seconds."""
    end = time.monotonic() + within
    while any(processes._stat(str(pid)) for pid in pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(processes._stat(str(pid)) for pid in pids)
