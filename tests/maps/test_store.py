"""Map files on disk: whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from autobct.maps import container
from autobct.maps.container import MAX_FILE, MapFileError, read_file, read_shipped, shipped, write_file

posix = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes and devices")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_file(tmp_path / "a.safetensors", b"one")
    write_file(str(tmp_path / "a.safetensors"), b"two")
    assert read_file(tmp_path / "a.safetensors") == b"two"
    assert os.listdir(tmp_path) == ["a.safetensors"]


@posix
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_file(tmp_path / "map", b"one")
    assert stat.S_IMODE((tmp_path / "map").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


@posix
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert read_file(tmp_path / "real") == b"new"
    assert read_file(tmp_path / "link") == b"new"


def full(*args: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(*args: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("trouble", [full, interrupted])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    step: str, trouble: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.safetensors"
    write_file(path, b"old")
    monkeypatch.setattr(container.os, step, trouble)
    with pytest.raises((OSError, KeyboardInterrupt)) as failure:
        write_file(path, b"new")
    monkeypatch.undo()
    assert trouble is interrupted or failure.value.errno == errno.ENOSPC
    assert read_file(path) == b"old"
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_a_disk_that_fills_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.safetensors"
    write_file(path, b"old")
    ordinary = os.fdopen

    def half_full(descriptor: int, *args: Any, **settings: Any) -> Any:
        class Full:
            def __init__(self) -> None:
                self.file = ordinary(descriptor, *args, **settings)

            def __enter__(self) -> Any:
                return self

            def __exit__(self, *trouble: object) -> None:
                self.file.close()

            def write(self, data: bytes) -> None:
                self.file.write(data[: len(data) // 2])
                full()

        return Full()

    monkeypatch.setattr(container.os, "fdopen", half_full)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, b"new and longer")
    monkeypatch.undo()
    assert read_file(path) == b"old"
    assert os.listdir(tmp_path) == ["a.safetensors"]


@posix
def test_writing_to_a_folder_that_is_missing_or_to_a_folder_fails_as_the_system_says(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "missing" / "a", b"new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="irectory"):
        write_file(tmp_path / "folder", b"new")
    assert os.listdir(tmp_path) == ["folder"]


def refused(path: str | Path, says: str) -> None:
    before = open_descriptors()
    with pytest.raises(MapFileError, match=says) as refusal:
        read_file(path)
    assert "\n" not in str(refusal.value)
    assert open_descriptors() == before


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_no_file_is_refused(tmp_path: Path) -> None:
    refused(tmp_path / "missing", "cannot be read: there is no such file")
    refused("nul\0l", "null")


@posix
def test_folders_devices_pipes_and_loops_are_refused(tmp_path: Path) -> None:
    refused(tmp_path, "not an ordinary file")
    refused("/dev/zero", "not an ordinary file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not an ordinary file")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "cannot be read")


def test_a_file_over_the_limit_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(MAX_FILE + 1)
    monkeypatch.setattr("builtins.open", interrupted)
    refused(tmp_path / "large", "larger than")


def test_a_disk_that_fails_while_reading_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **settings: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    write_file(tmp_path / "a", b"one")
    monkeypatch.setattr("builtins.open", broken)
    refused(tmp_path / "a", "cannot be read")


def test_shipped_maps_are_files_with_the_suffix() -> None:
    for name, place in shipped().items():
        assert place.name == f"{name}.safetensors"
        assert len(read_shipped(name)) > 8


def test_shipped_maps_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container.resources, "files", lambda package: tmp_path)
    assert shipped() == {}
    (tmp_path / "files").mkdir()
    for name in ("b.safetensors", "a.safetensors", "README.md"):
        (tmp_path / "files" / name).write_bytes(name.encode())
    assert list(shipped()) == ["a", "b"]
    assert read_shipped("b") == b"b.safetensors"
    with pytest.raises(MapFileError, match="there are: a, b"):
        read_shipped("c")
