"""SIGKILL at any moment: no finished run is lost, none is counted twice, and the decisions are those of no kill."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from tests.faults import postgres
from tests.faults.replayed import check_every_decision
from tests.faults.work import outcome, said, start, undisturbed, wait_for

from autobct import Storage

pytest.importorskip("optuna")

KILLS = int(os.environ.get("AUTOBCT_KILLS", "4"))
"""Kills at each kind of storage; docs/reliability.md has the figures for more."""


def killed(storage: Storage, log: Path, moments: random.Random, most: int) -> int:
    """Run one tuning to its end, killed at random moments of it, at most so often; how many kills there were."""
    hits = 0
    while True:
        worker = start(storage, log, seconds=0.02)
        if hits < most:
            worker.join(moments.uniform(0.0, 1.5))
        if hits < most and worker.exitcode is None:
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            hits += 1
        worker.join()
        assert worker.exitcode in (0, -signal.SIGKILL), said(log, "refused")
        if worker.exitcode == 0:
            return hits


def kill_often(address: Callable[[int], str], folder: Path, seed: int) -> None:
    """Tunings, one after the other, until there were enough kills; each ends as if nothing had happened."""
    moments, hits, tunings = random.Random(seed), 0, 0
    while hits < KILLS:
        log = folder / f"log-{tunings}"
        hits += killed(Storage(address(tunings), study=f"s{tunings}"), log, moments, KILLS - hits)
        check_nothing_lost(log)
        tunings += 1
    print(f"{hits} kills in {tunings} tunings")


def check_nothing_lost(log: Path) -> None:
    """The outcome of no disturbance, and no run that was on record was made again."""
    assert said(log, "result")[-1] == outcome(undisturbed())
    on_record: set[str] = set()
    for line in log.read_text().splitlines():
        _, kind, what = json.loads(line)
        if kind == "told":
            assert json.dumps(what) not in on_record
            on_record.add(json.dumps(what))
        if kind == "start":
            assert json.dumps(what) not in on_record


def test_a_tuner_on_sqlite_that_is_killed_again_and_again(tmp_path: Path) -> None:
    kill_often(lambda k: f"sqlite:///{tmp_path}/run.db", tmp_path, seed=18)


def test_a_tuner_in_a_folder_that_is_killed_again_and_again(tmp_path: Path) -> None:
    kill_often(lambda k: str(tmp_path / f"kept-{k}"), tmp_path, seed=19)


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-")
def test_a_tuner_on_postgresql_that_is_killed_again_and_again(tmp_path: Path) -> None:
    with postgres.postgres() as server:
        kill_often(lambda k: server.address, tmp_path, seed=20)


def test_the_run_of_a_killed_worker_goes_to_another(tmp_path: Path) -> None:
    storage, log = Storage(f"sqlite:///{tmp_path}/run.db"), tmp_path / "log"
    workers = [start(storage, log, 8, 0.3) for _ in range(2)]
    wait_for(log, "start", 3)
    assert workers[0].pid is not None
    os.kill(workers[0].pid, signal.SIGKILL)
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL, 0]
    [(_, runs)] = said(log, "result")
    assert sorted(run[0] for run in runs) == list(range(8))
    assert all(run[4] is None for run in runs)
    started = [json.dumps(params) for params in said(log, "start")]
    assert len(started) in (8, 9)  # the one that was cut short was begun twice
    assert len(set(started)) == 8


def test_a_run_that_was_cut_short_counts_as_failed_if_asked_to(tmp_path: Path) -> None:
    for where in (f"sqlite:///{tmp_path}/run.db", str(tmp_path / "kept")):
        log = tmp_path / f"log-{'sqlite' if ':' in where else 'folder'}"
        storage = Storage(where, on_crash="fail", grace=0.6)
        first = start(storage, log, 3, 60.0)
        wait_for(log, "start")
        time.sleep(0.5)  # long enough for signs of life
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        first.join()
        second = start(storage, log, 3)
        second.join()
        [(decisions, runs)] = said(log, "result")
        assert [run[4] is None for run in runs] == [False, True, True]
        assert "died" in runs[0][4]
        assert runs[0][3] == decisions[0]["expected_cost"]  # its cost is not time, so what was expected of it
        assert said(log, "start")[0] not in said(log, "start")[1:]


@pytest.mark.slow
def test_three_workers_killed_and_put_to_sleep_at_random(tmp_path: Path) -> None:
    """Every run has one outcome, every decision follows from the database, and all that finish agree."""
    storage, log, moments = Storage(f"sqlite:///{tmp_path}/run.db", grace=1.0), tmp_path / "log", random.Random(21)
    workers = [start(storage, log, seconds=0.3) for _ in range(3)]
    others: list[BaseProcess] = []
    for _ in range(2 * KILLS):
        time.sleep(moments.uniform(0.0, 1.0))
        which = moments.randrange(3)
        pid = workers[which].pid
        assert pid is not None
        if not workers[which].is_alive():
            continue
        if moments.random() < 0.5:
            os.kill(pid, signal.SIGKILL)
            others.append(workers[which])
            workers[which] = start(storage, log, seconds=0.3)
        else:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(moments.uniform(0.5, 2.5))
            os.kill(pid, signal.SIGCONT)
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0], said(log, "refused")
    results = said(log, "result")
    assert all(result == results[0] for result in results)
    told = [json.dumps(params) for params in said(log, "told")]
    assert len(told) == len(set(told))
    assert sorted(run[0] for run in results[0][1]) == list(range(len(results[0][1])))
    check_every_decision(str(storage.address))
