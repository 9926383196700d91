"""Addresses with typos: refused in one sentence, with no password in it, and no folder is made of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.faults import postgres
from tests.faults.work import SPACE, settings, trained

import autobct
from autobct import Storage, StorageError
from autobct.tuning.storage import check_address, masked, without_secrets

SERVER = "write 'postgresql://user@host/database'"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("sqlite///run.db", "write 'sqlite:///run.db', or './' before the name of a folder"),
        ("sqlite//t.db", "write 'sqlite:///t.db'"),
        ("sqlite;///run.db", "write 'sqlite:///run.db'"),
        ("sqlite3//t.db", "write 'sqlite:///t.db'"),
        (" SQLite //t.db", "write 'sqlite:///t.db'"),
        ("sqlite////data/t.db", "write 'sqlite:////data/t.db'"),
        ("sqlite//", "write 'sqlite:///run.db'"),
        ("sqlite//me:secret-word@host/x.db", "write 'sqlite:///run.db'"),
        ("sqlite://me:secret-word@host/x.db", "write 'sqlite:///run.db', with three slashes"),
        ("sqlite:///me:secret-word@host/x.db", "there is no folder 'me:***@host'"),
        ("postgresql//me:secret-word@host/db", SERVER),
        ("postgresql/me:secret-word@host/db", SERVER),
        ("postgresql+psycopg//me:secret-word@host/db", SERVER),
        ("postgres;//host/db", SERVER),
        ("postgesql//m:secret-word@host/db", SERVER),
        ("//me:secret-word@host/db", SERVER),
        ("my_user:secret-word@host/db", SERVER),
        ("m:secret-word@host/db", SERVER),
        ("host=h password=secret-word dbname=d", SERVER),
        ("host=h dbname=d", SERVER),
        ("PGPASSWORD=secret-word", SERVER),
        ("postgresql\n//host/db", SERVER),
        ("host=h\npassword=secret-word", SERVER),
        ("mysql//me:secret-word@host/db", "'mysql' is not a supported kind of database"),
    ],
)
def test_a_typo_makes_no_folder(address: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError) as refused:
        autobct.tune(trained, SPACE, storage=address, **settings(1))
    assert sentence in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "folder", ["sqlite-runs", "postgres/", "sqlite", "./sqlite//runs", "./my_user:word@host", "C:\\runs"]
)
def test_a_folder_that_is_called_like_a_database(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(autobct.tune(trained, SPACE, storage=folder, **settings(1)).history) == 1
    assert (tmp_path / folder / "journal.jsonl").exists()


@pytest.mark.parametrize(
    "folder",
    [
        *("C:/runs", "C:\\runs@home", "D:/a b/c@d", "\\\\server\\share", "~/runs", "/data/a:b@c", "runs//a", "a@b"),
        *("postgres/runs", "sqlite-runs//a", "runs/2026-01-01T10:00:00", "lr=0.1 depth=3", "runs/token=bpe"),
    ],
)
def test_other_names_of_folders(folder: str) -> None:
    check_address(folder)
    assert not Storage(folder).is_database


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite://me:abc@host/x.db", "sqlite://me:***@host/x.db"),
        ("sqlite:me:abc@host/x.db", "sqlite:me:***@host/x.db"),
        ("postgresql//me:abc@host/db", "postgresql//me:***@host/db"),
        ("postgresql:me:abc", "postgresql:me:***"),
        ("my_user:abc@host/db", "my_user:***@host/db"),
        ("me:a//bc@host/db", "me:***@host/db"),
        ("postgresql://m:/abc@host/db", "postgresql://m:***@host/db"),
        ("STORAGE=postgresql://me:abc@host/db", "STORAGE=postgresql:***@host/db"),
        ("host=h password=abc dbname=d", "host=h password=*** dbname=d"),
        ("password = 'a \\' bc' host=h", "password = *** host=h"),
        ('host=h sslpassword="a bc"', "host=h sslpassword=***"),
        ("host=h password=a:b@c dbname=d", "host=h password=*** dbname=d"),
        ("sqlite://C:\\runs\\run.db", "sqlite://C:\\runs\\run.db"),
        ("C:\\runs@home", "C:\\runs@home"),
    ],
)
def test_passwords_are_masked_in_wrong_addresses_too(address: str, shown: str) -> None:
    assert masked(address) == shown


def test_a_quoted_password_is_in_no_message() -> None:
    address = "host=h password='two words' dbname=d"
    assert without_secrets("no entry for two words", address) == "no entry for ***"


def test_root_alone_has_nobody_to_run_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")

    def nobody(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(postgres, "binaries", Path)
    monkeypatch.setattr(postgres.pwd, "getpwnam", nobody)
    monkeypatch.setattr(os, "getuid", lambda: 0)
    assert "refuses to run as root" in postgres.missing()
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert postgres.missing() == ""
