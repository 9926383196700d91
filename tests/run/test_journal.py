"""The journal: what was added is there, a torn end is dropped, and nothing else may have changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from autobct.run.journal import Journal, JournalError, read_journal
from autobct.run.lock import LockedError, locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    journal = Journal.start(path, toml="x = '<b>\n'")
    journal.add("asked", value=0.1 + 0.2, control=[0.5])
    journal.add("told", score=None, error='"quoted", "check": "')
    journal.close()
    return path


def test_what_was_added_is_there(path: Path) -> None:
    records = read_journal(path)
    assert [record["kind"] for record in records] == ["header", "asked", "told"]
    assert records[1]["value"] == 0.1 + 0.2
    assert records[2]["error"] == '"quoted", "check": "'


def test_every_torn_end_is_dropped_and_gone_on_from(path: Path) -> None:
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for size in range(len(lines[0]), len(whole), 5):
        path.write_bytes(whole[:size])
        expected = 1 + (size >= len(lines[0]) + len(lines[1]))
        assert len(read_journal(path)) == expected
        journal, records = Journal.resume(path)
        assert len(records) == expected
        journal.add("more")
        journal.close()
        assert [record["kind"] for record in read_journal(path)][-1] == "more"


def test_a_tail_of_zeros_is_a_torn_end(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0" * 100)
    assert len(read_journal(path)) == 3


def test_every_other_change_is_refused(path: Path) -> None:
    whole = path.read_bytes()
    for place in range(0, len(whole) - 1, 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(JournalError, match="was changed or damaged in line"):
            read_journal(path)


@pytest.mark.parametrize("order", [[1, 2], [0, 2], [0, 2, 1], [0, 1, 1, 2], [2], [1]])
def test_lines_that_were_removed_moved_or_repeated(path: Path, order: list[int]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    with pytest.raises(JournalError):
        read_journal(path)


@pytest.mark.parametrize("data", [b"", b"\n", b"{}\n", b"\xff\n", b'{"kind": "header"}\n', b"[" * 100_000 + b"\n"])
def test_files_that_are_no_journal(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(JournalError):
        read_journal(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        read_journal(tmp_path / "none")
    with pytest.raises(JournalError, match="there is no journal"):
        read_journal(tmp_path)


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(LockedError, match="is already tuning in"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
