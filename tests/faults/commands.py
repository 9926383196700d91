"""`autobct run` as somebody starts it, and what it has left: programs at work, runs on record."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.run.cases import decided, tune, write_job

from autobct.run import processes
from autobct.run.journal import encoded, read_journal
from autobct.run.journal_replay import replay

RUNS = 20

TRAIN = """#!/bin/sh
# a score that is rough enough for twenty runs, and a cost of a, as JSON; each start is a line in the log
echo "$5 $$" >> log
sleep 0.1$(( $5 % 3 * 4 ))
echo "{\\"score\\": $(( ($1 * 7919 + $2 * 1047 + $3 * 433 + $4 * 89) % 997 ))e-3, \\"cost\\": $(( 10 + $1 ))e-2}"
"""

QUICK = TRAIN.replace("sleep 0.1", "sleep 0.0")

TOML = f"""
command = ["./train.sh", "{{a}}", "{{b}}", "{{c}}", "{{d}}", "{{run}}"]
price = 1e-7
score_range = [0.0, 1.0]
cost_range = [0.1, 0.5]
[space]
a = {{ type = "int", low = 1, high = 40 }}
b = {{ type = "int", low = 1, high = 400 }}
c = {{ type = "int", low = 1, high = 400 }}
d = {{ type = "int", low = 1, high = 400 }}
[cost]
measure = "told"
[limits]
max_runs = {RUNS}
"""


@dataclass(frozen=True)
class Command:
    """`autobct run` in a folder, with some options, "--dir" or "--storage" perhaps among them."""

    folder: Path
    options: tuple[str, ...] = ()

    @classmethod
    def new(cls, folder: Path, *options: str, toml: str = TOML, script: str = TRAIN) -> Command:
        folder.mkdir(parents=True, exist_ok=True)
        write_job(folder, toml, script)
        return cls(folder, options)

    @property
    def storage(self) -> str | None:
        """The database with its runs; None if they are in its results."""
        return self._option("--storage")

    @property
    def study(self) -> str:
        """The name of the tuning in a database."""
        return self._option("--study") or "tune"

    @property
    def results(self) -> Path:
        """The folder that it makes."""
        return Path(self._option("--dir") or self.folder / "tune.run")

    def _option(self, name: str) -> str | None:
        return self.options[self.options.index(name) + 1] if name in self.options else None

    def start(self, through: Sequence[str] = (), **more: Any) -> subprocess.Popen[str]:
        """The command, running; all that it starts works in its folder.  through: a command that starts it."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more.pop("env", {})}
        return subprocess.Popen(
            [*through, sys.executable, "-m", "autobct", "run", "tune.toml", *self.options],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **more,
        )

    def started(self) -> list[int]:
        """The runs whose program was started, counted from 0, in this order."""
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [int(line.split()[0]) - 1 for line in lines]

    def wait_for(self, tuner: subprocess.Popen[str], started: int) -> None:
        """Until so many programs were started; AssertionError if the tuner ends before."""
        while len(self.started()) < started:
            assert tuner.poll() is None, tuner.communicate()[0]
            time.sleep(0.005)

    def on_record(self) -> dict[int, tuple[Any, ...]]:
        """Run -> score, cost and error, of all that have an outcome; AssertionError if one has two."""
        told = self._in_folder() if self.storage is None else self._in_database(self.storage, self.study)
        found = dict(told)
        assert len(found) == len(told), told
        return found

    def _in_folder(self) -> list[tuple[int, tuple[Any, ...]]]:
        journal = self.results / "journal.jsonl"
        told = [record for record in read_journal(journal) if record["kind"] == "told"] if journal.exists() else []
        return [(record["trial"], (record["score"], record["cost"], record["error"])) for record in told]

    @staticmethod
    def _in_database(address: str, study: str) -> list[tuple[int, tuple[Any, ...]]]:
        import optuna

        from autobct.integrations.storage.claims import CLAIM, ERROR

        url = address.replace("postgresql://", "postgresql+psycopg://")
        if study not in optuna.get_all_study_names(url):
            return []
        trials = optuna.load_study(study_name=study, storage=url).trials
        ended = [t for t in trials if t.state in (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL)]
        return [
            (t.system_attrs[CLAIM]["slot"], (t.values and t.values[0], t.user_attrs["cost"], t.user_attrs.get(ERROR)))
            for t in ended
        ]

    def decisions(self) -> list[Any]:
        """All decisions that were followed, to the last bit, by run."""
        if self.storage is None:
            made = replay(read_journal(self.results / "journal.jsonl"), verify=False).decisions
        else:
            from autobct.integrations.storage.stored_study import read_study

            made = read_study(self.storage, self.study).decisions
        return json.loads(json.dumps([encoded(decision) for decision in made]))[:RUNS]

    def at_work(self) -> list[int]:
        """All processes that work in the folder."""
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and self._is_here(entry)]

    def _is_here(self, pid: str) -> bool:
        try:
            return processes._stat(pid) is not None and os.readlink(f"/proc/{pid}/cwd") == str(self.folder)
        except OSError:
            return False

    def is_quiet(self, within: float = 30.0) -> bool:
        """Whether nothing is at work in the folder, at the latest after some seconds."""
        until = time.monotonic() + within
        while (left := self.at_work()) and time.monotonic() < until:
            time.sleep(0.02)
        return not left


@cache
def undisturbed() -> list[Any]:
    """The decisions if nothing happens, one program at a time."""
    with tempfile.TemporaryDirectory() as folder:
        found: list[Any] = json.loads(decided(tune(write_job(Path(folder), TOML, QUICK))))
        return found[:RUNS]
