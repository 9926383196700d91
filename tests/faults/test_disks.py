"""A disk that is full, and one that is read-only, really: a sentence, nothing lost, and the same call continues."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.faults.commands import QUICK, RUNS, Command, undisturbed
from tests.faults.disks import Disk, disk, missing
from tests.faults.work import SPACE, outcome, settings, trained
from tests.faults.work import undisturbed as tuned_undisturbed

import autobct
from autobct import Storage, StorageError

pytest.importorskip("optuna")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

FULL = {
    "folder": r"the folder '.*kept' cannot be (written|used): No space left on device",
    "sqlite": r"the database 'sqlite:.*run.db' has no space left on its disk",
}
READ_ONLY = {
    "folder": r"the folder '.*kept' cannot be used: Read-only file system",
    "sqlite": r"storage 'sqlite:.*run.db': no permission to write",
}
both = pytest.mark.parametrize("where", ["folder", "sqlite"])


@pytest.fixture
def small() -> Iterator[Disk]:
    with disk() as mounted:
        yield mounted


def storage(place: Disk, where: str) -> Storage:
    address = {"folder": str(place.path / "kept"), "sqlite": f"sqlite:///{place.path}/run.db"}
    return Storage(address[where], patience=0.2)


def tuned(kept: Storage, runs: int = 12, **more: Any) -> autobct.Result:
    return autobct.tune(trained, SPACE, storage=kept, **settings(runs), **more)


def contents(place: Disk) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(place.path.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("where", "after"), [("folder", autobct.Run), ("folder", autobct.Train), ("sqlite", autobct.Train)]
)
def test_a_disk_that_fills_up_in_the_midst_of_a_tuning(where: str, after: type, small: Disk) -> None:
    kept, told = storage(small, where), list[autobct.Run]()

    def hear(tuner: autobct.Tuner, event: Any) -> None:
        if isinstance(event, autobct.Run):
            told.append(event)
        if isinstance(event, after) and len(told) == 4:
            small.fill()

    with pytest.raises(StorageError, match=FULL[where]) as refused:
        tuned(kept, RUNS, callbacks=[hear])
    assert "\n" not in str(refused.value)
    with pytest.raises(StorageError, match=FULL[where]):
        tuned(kept)
    small.free()
    found = tuned(kept, RUNS)
    assert [run.trial for run in told] == list(range(len(told)))
    assert [run.score for run in found.history[: len(told)]] == [run.score for run in told]
    assert outcome(found) == outcome(tuned_undisturbed(RUNS))


@both
def test_a_disk_that_is_full_from_the_start(where: str, small: Disk) -> None:
    small.fill()
    with pytest.raises(StorageError, match=FULL[where]):
        tuned(storage(small, where))
    small.free()
    assert outcome(tuned(storage(small, where))) == outcome(tuned_undisturbed(12))


@both
def test_a_read_only_disk_changes_nothing(where: str, small: Disk) -> None:
    kept = storage(small, where)
    for made in (0, 5):
        if made:
            tuned(kept, made)
            gc.collect()  # of SQLite's connections, some are closed only then
        before = contents(small)
        small.read_only()
        with pytest.raises(StorageError, match=READ_ONLY[where]):
            tuned(kept)
        small.writable()
        assert contents(small) == before
    assert outcome(tuned(kept)) == outcome(tuned_undisturbed(12))


def command(folder: Path, place: Disk, where: str) -> Command:
    """`autobct run` whose runs are on the disk, and whose program is not."""
    options = {"folder": ("--dir", str(place.path / "kept")), "sqlite": ("--storage", f"sqlite:///{place.path}/run.db")}
    return Command.new(folder, *options[where], script=QUICK)


def test_a_command_in_a_folder_on_a_disk_that_fills_up(tmp_path: Path, small: Disk) -> None:
    what = command(tmp_path, small, "folder")
    with what.start() as tuner:
        what.wait_for(tuner, 5)
        small.fill()
        said, _ = tuner.communicate()
    assert tuner.returncode == 1, said
    assert "No space left on device; the results so far are kept, and the same command continues." in said
    assert "Traceback" not in said
    before = what.on_record()
    small.free()
    with what.start() as tuner:
        said, _ = tuner.communicate()
    found = what.on_record()
    assert tuner.returncode == 4, said
    assert 4 <= len(before) < len(found) == RUNS
    assert {trial: found[trial] for trial in before} == before
    assert what.decisions() == undisturbed()


def test_a_command_on_sqlite_waits_for_room_and_continues(tmp_path: Path, small: Disk) -> None:
    what = command(tmp_path, small, "sqlite")
    with what.start() as tuner:
        what.wait_for(tuner, 5)
        small.fill()
        time.sleep(2.0)  # about as long as all other runs together would take
        started = len(what.started())
        assert tuner.poll() is None
        small.free()
        said, _ = tuner.communicate()
    assert tuner.returncode == 4, said
    assert started < RUNS
    assert sorted(what.on_record()) == list(range(RUNS))
    assert sorted(what.started()) == list(range(RUNS))  # none was made again
    assert what.decisions() == undisturbed()


@both
def test_a_command_on_a_read_only_disk_is_one_sentence(where: str, tmp_path: Path, small: Disk) -> None:
    what = command(tmp_path, small, where)
    small.read_only()
    with what.start() as tuner:
        said, _ = tuner.communicate()
    assert tuner.returncode == 2, said
    assert len(said.splitlines()) == 1
    assert "Traceback" not in said
    assert not what.started()
    assert not contents(small)
