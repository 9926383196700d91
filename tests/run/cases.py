"""A small program to tune, and ways to write TOML for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autobct.run.job import Ending, Job
from autobct.run.journal import read_journal
from autobct.run.session import tune_program
from autobct.tuning.history import Train
from autobct.tuning.progress import Listeners

TRAIN = """#!/bin/sh
# a loss of (x - 7)^2 + (y - 4)^2 and a cost of x, in whole hundredths, as JSON
x=$1 y=$2
echo "training $x $y"
echo "{\\"score\\": $(( 10000 - 20 * (x - 7) * (x - 7) - 20 * (y - 4) * (y - 4) ))e-4, \\"cost\\": $(( 10 + x ))e-2}"
"""

TOML = """
command = ["./train.sh", "{x}", "{y}"]
price = 0.004
score_range = [0.3, 1.0]
cost_range = [0.1, 0.3]
[space]
x = { type = "int", low = 1, high = 20 }
y = { type = "int", low = 1, high = 20 }
[cost]
measure = "told"
"""


def write_job(folder: Path, toml: str = TOML, script: str = TRAIN) -> Path:
    """A TOML file and its program in a folder."""
    (folder / "train.sh").write_text(script)
    (folder / "train.sh").chmod(0o755)
    path = folder / "tune.toml"
    path.write_text(toml)
    return path


def gone_for_a_moment(folder: Path) -> tuple[list[str], Callable[[Any, Any], None]]:
    """A listener that takes the program away before its second run, and puts it back; and what it hears."""
    script, away, said = folder / "train.sh", folder / "away", list[str]()

    def hear(_: Any, event: Any) -> None:
        said.append(getattr(event, "text", ""))
        if isinstance(event, Train) and event.trial == 1:
            script.rename(away)
        if "could not be started" in said[-1]:
            threading.Timer(0.3, lambda: away.rename(script)).start()

    return said, hear


def tune(path: Path, *, fresh: bool = False) -> Ending:
    return tune_program(Job.of(path), Listeners([]), fresh=fresh)


def told(folder: Path) -> list[dict[str, object]]:
    """The runs in a journal, as they were told, without when and how long."""
    records = [record for record in read_journal(folder / "journal.jsonl") if record["kind"] == "told"]
    return [{key: record[key] for key in ("trial", "score", "cost", "error")} for record in records]


def decided(ending: Ending) -> str:
    """All decisions to the last bit."""
    from autobct.run.journal import encoded

    return json.dumps([encoded(decision) for decision in ending.decisions])
