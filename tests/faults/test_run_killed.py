"""SIGKILL of `autobct run` at random moments, of its keepers and of its programs: nothing lost, nothing twice.

Four hits of each command by default; as many as `AUTOBCT_KILLS` says.  The moments are drawn with a fixed seed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.faults import postgres
from tests.faults.commands import RUNS, TRAIN, Command, undisturbed

from autobct.run import journal_replay, processes
from autobct.run.journal import read_journal
from autobct.run.journal_replay import replay
from autobct.run.process import TWICE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not processes.LINUX, reason="only Linux says which processes belong together"),
]

KILLS = int(os.environ.get("AUTOBCT_KILLS", "4"))
VICTIMS = {1: ("tuner", "all"), 3: ("tuner", "all", "keeper", "program")}
"""By the number of jobs.  A keeper or a program that is killed twice is a failed run, which changes decisions."""


def command(folder: Path, where: str, jobs: int) -> Command:
    more = ("--storage", f"sqlite:///{folder}/run.db") if where == "sqlite" else ()
    return Command.new(folder, "--jobs", str(jobs), *more)


def hit(tuner: subprocess.Popen[str], victim: str, moments: random.Random) -> int:
    """Kill the tuner, all that it has started but its programs, one of its keepers, or a program; how many died."""
    below = processes.family(tuner.pid, None)
    keepers = [process.pid for process in below if process.parent == tuner.pid]
    programs = [process.pid for process in below if process.parent in keepers]
    chosen = {"tuner": [tuner.pid], "all": [tuner.pid, *keepers], "keeper": keepers, "program": programs}[victim]
    if victim in ("keeper", "program"):
        chosen = moments.sample(chosen, min(1, len(chosen)))
    if victim == "all":
        os.kill(tuner.pid, signal.SIGSTOP)  # so that it cannot notice that its keepers go first
    for pid in reversed(chosen):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:  # it has just ended
            chosen.remove(pid)
    return len(chosen)


def wait_for_programs(tuner: subprocess.Popen[str], what: Command, more: int) -> None:
    """Until so many programs were started since now, or the tuner has ended."""
    enough = len(what.started()) + more
    while len(what.started()) < enough and tuner.poll() is None:
        time.sleep(0.005)


class Witness:
    """Sees what is on record, and that none of it is made again or changes."""

    def __init__(self, what: Command) -> None:
        self._what, self._seen, self._started = what, dict[int, tuple[Any, ...]](), 0

    def look(self) -> dict[int, tuple[Any, ...]]:
        again = self._what.started()[self._started :]
        assert not self._seen.keys() & again, "a run that was on record was made again"
        found = self._what.on_record()
        assert {trial: found.get(trial) for trial in self._seen} == self._seen, "a run that was on record is lost"
        self._seen, self._started = found, len(self._what.started())  # what starts after it was on record
        return found


def tuned_under_fire(what: Command, jobs: int, moments: random.Random, most: int) -> int:
    """Tune to the end, with so many processes killed at random moments of it, or some more; how many there were."""
    witness, hits = Witness(what), 0
    while True:
        with what.start() as tuner:
            while hits < most and tuner.poll() is None:
                wait_for_programs(tuner, what, moments.randrange(2 * jobs))
                time.sleep(moments.uniform(0.0, 0.3))
                hits += hit(tuner, moments.choice(VICTIMS[jobs]), moments) if tuner.poll() is None else 0
            said, _ = tuner.communicate()
        assert tuner.returncode in (4, -signal.SIGKILL), said
        witness.look()
        if tuner.returncode == 4:
            return hits


def check_the_end(what: Command) -> None:
    """All runs have one outcome each, the summary counts them, and nothing is at work any more."""
    found = what.on_record()
    assert sorted(found) == list(range(RUNS))
    assert all(error is None or error.startswith(TWICE) for _, _, error in found.values())
    assert json.loads((what.results / "result.json").read_text())["runs"] == RUNS
    assert what.is_quiet(), [processes.command_of(pid) for pid in what.at_work()]


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("where", ["folder", "sqlite"])
def test_a_command_that_is_killed_again_and_again(
    where: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_replay, "VERIFIED", RUNS)
    moments, hits, tunings = random.Random(f"{where} {jobs}"), 0, 0
    while hits < KILLS:
        what = command(tmp_path / str(tunings), where, jobs)
        hits += tuned_under_fire(what, jobs, moments, KILLS - hits)
        tunings += 1
        check_the_end(what)
        if jobs == 1:
            assert what.decisions() == undisturbed()
        if where == "folder":  # every decision, made again from what stands before it
            assert replay(read_journal(what.results / "journal.jsonl"), verify=True).note == ""
    print(f"{where}, {jobs} at a time: {hits} processes killed in {tunings} tunings")


def one_of_two_under_fire(what: Command, moments: random.Random, most: int) -> int:
    """Two commands on one database, of which one is killed at random moments and started again; how many died."""
    witness, hits = Witness(what), 0
    with what.start() as steady:
        while hits < most and steady.poll() is None:
            with what.start() as other:
                time.sleep(1.0)  # until it has read the database, more or less
                wait_for_programs(other, what, moments.randrange(1, 4))
                time.sleep(moments.uniform(0.0, 0.5))
                hits += hit(other, moments.choice(("tuner", "all")), moments) if other.poll() is None else 0
                said, _ = other.communicate()
            assert other.returncode in (4, -signal.SIGKILL), said
            witness.look()
        said, _ = steady.communicate()
    assert steady.returncode == 4, said
    witness.look()
    return hits


def kill_one_of_two(folder: Path, address: str) -> None:
    """What it had begun goes to the other; nothing that it has started runs on."""
    moments, hits, tunings = random.Random("two"), 0, 0
    while hits < KILLS:
        options = ("--jobs", "2", "--storage", address, "--study", f"s{tunings}")
        what = Command.new(folder / str(tunings), *options, script=TRAIN.replace("sleep 0.1", "sleep 0.7"))
        hits += one_of_two_under_fire(what, moments, KILLS - hits)
        tunings += 1
        check_the_end(what)
    print(f"two commands on {address.partition(':')[0]}: {hits} processes killed in {tunings} tunings")


def test_one_of_two_commands_on_sqlite_is_killed_again_and_again(tmp_path: Path) -> None:
    kill_one_of_two(tmp_path, f"sqlite:///{tmp_path}/run.db")


@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-")
def test_one_of_two_commands_on_postgresql_is_killed_again_and_again(tmp_path: Path) -> None:
    with postgres.postgres() as server:
        kill_one_of_two(tmp_path, server.address)
