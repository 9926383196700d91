"""A peer in a process of its own: JSON lines over pipes, and nothing but the standard library on its side.

The peer is sent a question and answers {"train": params} until it knows, then {"chosen": trial, "seconds": CPU}; every
training is answered with {"score": ..., "cost": ...}.  One process plays many questions.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

Played = Callable[[dict[str, Any], Callable[[Mapping[str, Any]], tuple[float, float]]], int]
"""(question, train) -> the trial that is returned; the peer's side of a play."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def serve(play: Played) -> None:
    """The peer's side: play every question that comes in."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints is no answer

    def say(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message, default=lambda number: number.item()) + "\n")
        answers.flush()

    def train(params: Mapping[str, Any]) -> tuple[float, float]:
        say({"train": dict(params)})
        reply = json.loads(sys.stdin.readline())
        return reply["score"], reply["cost"]

    while line := sys.stdin.readline():
        question = json.loads(line)
        start = time.process_time()
        chosen = play(question, train)
        say({"chosen": chosen, "seconds": time.process_time() - start})


class Peer:
    """Our side: a tuner that asks another process.  seconds: CPU of its last play, as it says itself."""

    def __init__(self, python: str | Path, script: Path, settings: Mapping[str, Any]) -> None:
        self._command = [str(python), str(script)]
        self._settings = dict(settings)
        self._process: subprocess.Popen[str] | None = None
        self.seconds = 0.0

    def __call__(self, question: Any, train: Callable[[Mapping[str, Any]], tuple[float, float]]) -> int:
        """Play one question; the process is started with the first one."""
        process = self._process = self._process or self._started()
        self._say(process, asked(question) | {"settings": self._settings})
        while "chosen" not in (message := self._heard(process)):
            score, cost = train(message["train"])
            self._say(process, {"score": score, "cost": cost})
        self.seconds = float(message["seconds"])
        return int(message["chosen"])

    def close(self) -> None:
        """End the process: it ends by itself when there is nothing more to read."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait(timeout=60)
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        environment = {**os.environ, **_ONE_THREAD, "PYTHONWARNINGS": "ignore"}
        return subprocess.Popen(
            self._command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def _say(self, process: subprocess.Popen[str], message: dict[str, Any]) -> None:
        pipe: IO[str] | None = process.stdin
        assert pipe is not None
        pipe.write(json.dumps(message) + "\n")
        pipe.flush()

    def _heard(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        pipe: IO[str] | None = process.stdout
        assert pipe is not None
        line = pipe.readline()
        if not line:
            raise RuntimeError(
                f"{' '.join(self._command)} ended with status {process.wait()}; its last words are above"
            )
        message: dict[str, Any] = json.loads(line)
        return message


def asked(question: Any) -> dict[str, Any]:
    """A question as plain data."""
    space = [{"name": name, **_plain(parameter)} for name, parameter in question.space.items()]
    told = {name: getattr(question, name) for name in ("price", "score_range", "seed", "cap")}
    return {"space": space, **told}


def _plain(parameter: Any) -> dict[str, Any]:
    if hasattr(parameter, "choices"):
        return {"kind": "choice", "choices": list(parameter.choices)}
    kind = type(parameter).__name__.lower()
    return {"kind": kind, "low": parameter.low, "high": parameter.high, "log": parameter.log}
