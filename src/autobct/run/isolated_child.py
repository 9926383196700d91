"""The child process of `autobct.run.isolated`: one training.

Run by path, under the keeper, with two open files: from the first it reads what to train, as multiprocessing would send
it to a process that it spawns; to the second it writes one line of JSON, numbers and sentences only.
"""

from __future__ import annotations

import json
import multiprocessing.process
import multiprocessing.spawn
import os
import pickle
import sys
import time
import traceback
from typing import Any, BinaryIO


def main() -> None:
    """Train once, and say what came of it."""
    mine, (source, target) = os.getpid(), map(int, sys.argv[1:])
    with open(source, "rb") as given:
        answer = _answer(given)
    if os.getpid() != mine:  # a child that `train` forked and that came back from it
        os._exit(0)
    sys.stdout.flush()
    sys.stderr.flush()
    with open(target, "wb") as result:
        result.write(json.dumps(answer).encode() + b"\n")


def _answer(given: BinaryIO) -> dict[str, Any]:
    try:
        train, params = _prepared(given)
    except BaseException as error:
        return {"unprepared": _words(error), "traceback": traceback.format_exc()}
    from autobct.tuning.returned import WrongReturnError, numbers_of

    started = time.perf_counter()
    try:
        returned = train(params)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        taken = time.perf_counter() - started
        return {"raised": _words(error), "traceback": traceback.format_exc(), "seconds": taken}
    taken = time.perf_counter() - started
    try:
        return {"returned": numbers_of(returned), "seconds": taken}
    except WrongReturnError as wrong:
        return {"wrong": str(wrong), "seconds": taken}


def _prepared(given: BinaryIO) -> tuple[Any, dict[str, Any]]:
    """The main module of the tuner, imported as a spawned process does; then the function, and its params."""
    current = multiprocessing.process.current_process()
    current._inheriting = True  # type: ignore[attr-defined]  # a script that tunes while it is imported is told so
    try:
        multiprocessing.spawn.prepare(json.loads(given.readline()))
    finally:
        del current._inheriting  # type: ignore[attr-defined]
    train, params = pickle.load(given)
    return train, params


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


if __name__ == "__main__":
    main()
