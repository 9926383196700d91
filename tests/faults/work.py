"""A worker as a process of its own: it tunes in a storage, and writes down what it trains."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import autobct
from autobct.run.journal import encoded

SPACE: dict[str, Any] = {"x": autobct.Float(0, 1), "y": autobct.Float(0, 1), "k": autobct.Int(1, 9)}
RUNS = 20

_FORKS = multiprocessing.get_context("forkserver")  # imports once; each worker is a fork of a process without threads
_FORKS.set_forkserver_preload(
    [
        *("autobct.integrations.storage", "autobct.run.kept", "optuna.storages._rdb.models", "scipy.stats"),
        *("alembic.command", "alembic.migration", "alembic.script", "sqlalchemy.dialects.sqlite", "psycopg"),
    ]
)


def trained(params: dict[str, Any]) -> tuple[float, float]:
    x, y, k = params["x"], params["y"], params["k"]
    return 0.9 - (x - 0.3) ** 2 - (y - 0.6) ** 2 - 0.002 * (k - 4) ** 2, 1.0 + x + 0.1 * k


def settings(runs: int = RUNS) -> dict[str, Any]:
    return {"price": 1e-6, "score_noise": 0.02, "max_runs": runs}


def undisturbed(runs: int = RUNS) -> autobct.Result:
    """What comes of it if nothing happens."""
    return autobct.tune(trained, SPACE, **settings(runs))


def work(storage: autobct.Storage, log: Path, runs: int = RUNS, seconds: float = 0.0) -> None:
    """Tune; a line for every training that starts, every run that is on record, and everything else that is said."""

    def train(params: dict[str, Any]) -> tuple[float, float]:
        _say(log, "start", params)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.01)
        return trained(params)

    def hear(tuner: autobct.Tuner, event: Any) -> None:
        if isinstance(event, autobct.Run):
            _say(log, "told", event.params)
        elif isinstance(event, autobct.Note):
            _say(log, "note", event.text)

    try:
        result = autobct.tune(train, SPACE, storage=storage, callbacks=[hear], **settings(runs))
    except autobct.StorageError as error:
        _say(log, "refused", str(error))
        raise SystemExit(2) from None
    _say(log, "result", outcome(result))


def outcome(result: autobct.Result) -> list[Any]:
    """All decisions and runs, to the last bit."""
    runs = [[r.trial, dict(r.params), r.score, r.cost, r.error, r.estimated_score] for r in result.history]
    plain: list[Any] = json.loads(json.dumps([[encoded(decision) for decision in result.decisions], runs]))
    return plain


def start(*arguments: Any, **options: Any) -> BaseProcess:
    """A worker, running."""
    process = _FORKS.Process(target=work, args=arguments, kwargs=options)
    process.start()
    return process


def said(log: Path, kind: str) -> list[Any]:
    """What was written down so far, by all workers."""
    if not log.exists():
        return []
    lines = [line for line in log.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
    return [entry[2] for entry in map(json.loads, lines) if entry[1] == kind]


def wait_for(log: Path, kind: str, count: int = 1, *, most: float = 60.0) -> None:
    """Until something was said so often; AssertionError if it never is."""
    until = time.monotonic() + most
    while len(said(log, kind)) < count:
        assert time.monotonic() < until, f"no {kind} in {most:g} s: {log.read_text() if log.exists() else 'no log'}"
        time.sleep(0.01)


def _say(log: Path, kind: str, what: Any) -> None:
    line = json.dumps([os.getpid(), kind, what]) + "\n"
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)
