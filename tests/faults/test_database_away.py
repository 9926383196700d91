"""Databases that go away, come back, fill up or lose a page."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from optuna.storages import RDBStorage
from tests.faults import postgres
from tests.faults.replayed import check_every_decision
from tests.faults.work import SPACE, outcome, said, settings, start, trained, undisturbed, wait_for

import autobct
from autobct import Storage, StorageError
from autobct.integrations.storage import database, shared
from autobct.integrations.storage.database import opened


def tuned(address: str, runs: int = 20, **options: Any) -> autobct.Result:
    return autobct.tune(trained, SPACE, storage=Storage(address, **options), **settings(runs))


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-")
def test_an_immediate_restart_of_postgresql(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with postgres.postgres() as server:
        storage = Storage(server.address, grace=5.0)
        workers = [start(storage, log, 14, 0.1) for _ in range(2)]
        for told in (2, 6):
            wait_for(log, "told", told)
            server.crash()
            time.sleep(0.5)
            server.start()
        for worker in workers:
            worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0], said(log, "refused")
        first, second = said(log, "result")
        assert first == second
        assert sorted(run[0] for run in first[1]) == list(range(len(first[1])))
        assert len(said(log, "start")) == len(first[1])
        check_every_decision(server.address)
    assert postgres.PASSWORD not in log.read_text()


def opened_at_once(address: str, count: int = 6) -> None:
    """Several workers find no tables at the same moment."""
    start = threading.Barrier(count)

    def opening(_: int) -> str:
        start.wait()
        return opened(Storage(address)).get_current_version()

    with ThreadPoolExecutor(count) as threads:
        assert len(set(threads.map(opening, range(count)))) == 1


def test_workers_that_start_at_the_same_moment(tmp_path: Path) -> None:
    opened_at_once(f"sqlite:///{tmp_path}/run.db")


@pytest.mark.parametrize("moment", range(4))
def test_a_worker_that_begins_while_another_opens_the_study(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stores the settings and claims a run just before any of the reads with which another one begins."""
    address, reads = f"sqlite:///{tmp_path}/run.db", list[str]()

    def one_run(score: float) -> int:
        with shared(autobct.Tuner(SPACE, **settings(3)), Storage(address)) as worker:
            decision = worker.ask()
            assert isinstance(decision, autobct.Train)
            return worker.tell(decision, score, 1.0).trial

    def interrupted(name: str) -> Callable[..., Any]:
        read = getattr(RDBStorage, name)

        def reading(*arguments: Any, **options: Any) -> Any:
            reads.append(name)
            if len(reads) == moment + 1:
                assert one_run(0.5) == 0
            return read(*arguments, **options)

        return reading

    for name in ("get_study_user_attrs", "_get_trials"):
        monkeypatch.setattr(RDBStorage, name, interrupted(name))
    assert one_run(0.6) == 1
    assert len(reads) > 2 * moment


@pytest.mark.slow
@pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "-")
def test_workers_that_start_at_the_same_moment_on_postgresql() -> None:
    with postgres.postgres() as server:
        opened_at_once(server.address)


def test_every_decision_of_several_workers_follows_from_the_database(tmp_path: Path) -> None:
    storage, log = Storage(f"sqlite:///{tmp_path}/run.db"), tmp_path / "log"
    workers = [start(storage, log, 9, 0.1) for _ in range(3)]
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    results = said(log, "result")
    assert results[0] == results[1] == results[2]
    assert len(said(log, "start")) == len(said(log, "told")) == 9
    check_every_decision(str(storage.address))


def test_a_torn_last_page_is_refused_and_the_last_sound_copy_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    tuned(f"sqlite:///{path}", 6)
    tuned(f"sqlite:///{path}", 7)
    whole, size = path.read_bytes(), path.stat().st_size
    for torn in (whole[: size - 2048], whole[: size - 4096] + b"\xff" * 4096, whole[:4096] + b"\0" * (size - 4096)):
        path.write_bytes(torn)
        with pytest.raises(StorageError, match=r"is damaged, .*; the last sound copy is '.*run.db.good'"):
            tuned(f"sqlite:///{path}")
        assert path.read_bytes() == torn
    shutil.copy(tmp_path / "run.db.good", path)
    assert outcome(tuned(f"sqlite:///{path}")) == outcome(undisturbed())


def test_a_copy_is_kept_while_runs_are_made_and_never_one_of_a_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, copy = tmp_path / "run.db", tmp_path / "run.db.good"
    monkeypatch.setattr(database, "_COPIED", 0.0)
    tuned(f"sqlite:///{path}", 5)
    with contextlib.closing(sqlite3.connect(copy)) as file:
        assert file.execute("SELECT count(*) FROM trials WHERE state = 'COMPLETE'").fetchone() == (5,)
    sound, size = copy.read_bytes(), path.stat().st_size
    path.write_bytes(path.read_bytes()[: size - 4096] + b"\xff" * 4096)
    database._keep_copy(path)
    assert copy.read_bytes() == sound


@pytest.mark.slow
def test_a_full_disk_is_said_and_survived(tmp_path: Path) -> None:
    """A file that may not grow is what a full disk is to a process: the write fails."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "run.db"
    tuned(f"sqlite:///{path}", 3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 4096, before[1]))
    try:
        with pytest.raises(StorageError, match=r"the database 'sqlite:.*run.db' (has no space|does not answer)"):
            tuned(f"sqlite:///{path}", patience=0.2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert outcome(tuned(f"sqlite:///{path}")) == outcome(undisturbed())


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder here that nobody can write in")
def test_a_folder_that_cannot_be_written_in() -> None:
    with pytest.raises(StorageError, match=r"(cannot be opened|no permission to write)"):
        tuned("sqlite:////proc/self/run.db")
    with pytest.raises(StorageError, match=r"the folder '/proc/self/kept' cannot be used"):
        autobct.tune(trained, SPACE, storage="/proc/self/kept", **settings())


def test_a_locked_file_is_waited_for_and_then_named(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    tuned(f"sqlite:///{path}", 2)
    before = path.read_bytes()
    with sqlite3.connect(path, isolation_level=None) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StorageError, match="is locked by another program"):
            tuned(f"sqlite:///{path}", patience=0.2)
    holder.close()
    assert path.read_bytes() == before
