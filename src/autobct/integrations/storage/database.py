"""From an address to Optuna's storage: checked before anything is created, and strict about transactions.

The lock, a turn, spares workers from deciding the same thing at once.  Whether a run is mine is settled by the database
(`claims.py`), not here.  So a lock whose holder is asleep is waited for once and then passed by, and one that cannot be
had is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna.storages import RDBStorage
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from autobct.integrations.storage.patience import Patience
from autobct.tuning.storage import Storage, StorageError, masked, without_secrets

_INSTALL = "pip install 'autobct[storage]'"
_OPENING = 10.0  # seconds for a database that does not answer at all
_MAKING = 60.0  # seconds for another process to make the tables
_BUSY = 30.0  # seconds that one statement waits for another process's
_SERVER: dict[str, Any] = {"pool_pre_ping": True, "pool_size": 1, "max_overflow": 4}  # a server has about 100 for all
_SAFE_COPY = ".good"
_SOUND = ["ok"]
_COPIED = 60.0  # seconds from one copy to the next
_VERSIONS = "alembic_version"  # the table in which Optuna's migrations keep the version of the schema


def opened(storage: Storage) -> RDBStorage:
    """The storage at an address; StorageError, with nothing changed, if it cannot be used."""
    url = _url(storage)
    if url.drivername.startswith("sqlite"):
        _check_file(storage, Path(url.database or ""))
    made = Patience(storage, min(_OPENING, storage.patience))(lambda: _made(storage, url))
    if made.engine.name == "sqlite":
        _keep_copy(Path(url.database or ""))
        _strict(made.engine)
    return made


def existing(storage: Storage) -> RDBStorage:
    """The storage at an address, to be read only; StorageError if there is none, and none is made."""
    url = _url(storage)
    if url.drivername == "sqlite":
        path = Path(url.database or "")
        if not path.is_file():
            raise StorageError(f"there is no database {storage.shown!r}")
        if not os.access(path, os.R_OK):
            raise StorageError(f"storage {storage.shown!r}: no permission to read {masked(str(path))!r}")
        _check_sound(storage, path)
    return Patience(storage, min(_OPENING, storage.patience))(lambda: _made(storage, url, make=False))


def _url(storage: Storage) -> sqlalchemy.URL:
    address = str(storage.address)
    try:
        url = sqlalchemy.make_url(address)
    except (ArgumentError, ValueError):
        raise StorageError(f"storage {storage.shown!r} is not an address of a database") from None
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise StorageError(
            f"storage {storage.shown!r}: write the address without a driver, {url.get_backend_name()}://"
        )
    if url.drivername != "sqlite" and not url.database:
        raise StorageError(f"storage {storage.shown!r} names no database; write 'postgresql://user@host/database'")
    return url


def _check_file(storage: Storage, path: Path) -> None:
    """A file that can be written and is sound, or a folder in which one can be made."""
    if not path.parent.is_dir():
        raise StorageError(f"storage {storage.shown!r}: there is no folder {masked(str(path.parent))!r}")
    if not path.exists():
        if not os.access(path.parent, os.W_OK | os.X_OK):
            raise StorageError(f"storage {storage.shown!r}: no permission to write in {masked(str(path.parent))!r}")
        return
    if not path.is_file():
        raise StorageError(f"storage {storage.shown!r}: {masked(str(path))!r} is not a file")
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK | os.X_OK):
        raise StorageError(f"storage {storage.shown!r}: no permission to write {masked(str(path))!r} and beside it")
    _check_sound(storage, path)


def _check_sound(storage: Storage, path: Path) -> None:
    """Every page of the file, before a wrong one can be read as a right one."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=min(_OPENING, storage.patience))) as file:
            said = _said_of_pages(file)
    except sqlite3.OperationalError as error:
        locked = "is locked by another program" if "locked" in str(error) else f"cannot be read: {error}"
        raise StorageError(f"the database {storage.shown!r} {locked}") from None
    except sqlite3.DatabaseError as error:
        said = [str(error)]
    if said != _SOUND:
        copy = _copy_beside(path)
        there = f"the last sound copy is {masked(str(copy))!r}" if copy.exists() else "restore a copy of it"
        raise StorageError(f"the database {storage.shown!r} is damaged, {said[0].splitlines()[-1]}; {there}")


def _made(storage: Storage, url: sqlalchemy.URL, *, make: bool = True) -> RDBStorage:
    """Optuna's storage, its tables made by one process at a time; StorageError if they are of another version.

    make: whether tables are made where there are none
    """
    engine = _engine(storage, url)
    try:
        there = _has_tables(engine)
        if not (there or make):
            raise StorageError(f"there is no tuning in {storage.shown!r}")
        with contextlib.nullcontext() if there else Turn(engine, "tables", _MAKING).taken():
            made = _optuna(url, there=there or _has_tables(engine))
    finally:
        engine.dispose()
    found, current = made.get_current_version(), made.get_head_version()
    if found == current:
        return made
    if found in made.get_all_versions():
        said = f"an older Optuna; upgrade it with: optuna storage upgrade --storage {storage.shown}"
    else:
        said = f"a newer Optuna (schema {found}, and this one knows {current}); pip install -U optuna"
    raise StorageError(f"the database {storage.shown!r} was made by {said}")


def _engine(storage: Storage, url: sqlalchemy.URL) -> sqlalchemy.Engine:
    try:
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    except ImportError:
        raise StorageError(f"a PostgreSQL address needs psycopg: {_INSTALL}") from None
    except SQLAlchemyError as error:
        raise StorageError(without_secrets(f"storage {storage.shown!r}: {error}", str(storage.address))) from None


def _has_tables(engine: sqlalchemy.Engine) -> bool:
    """Whether Optuna's tables are there already; nothing is made."""
    if engine.name == "sqlite" and not Path(engine.url.database or "").exists():
        return False
    with engine.connect() as connection:
        if not sqlalchemy.inspect(connection).has_table(_VERSIONS):
            return False
        return connection.exec_driver_sql(f"SELECT version_num FROM {_VERSIONS}").first() is not None


def _optuna(url: sqlalchemy.URL, *, there: bool) -> RDBStorage:
    given = dict(_SERVER) if url.drivername != "sqlite" else {"connect_args": {"timeout": _BUSY}}
    address = url.render_as_string(hide_password=False).replace("{", "{{").replace("}", "}}")  # Optuna's template
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RDBStorage(address, given, skip_compatibility_check=True, skip_table_creation=there)


def keep_copy(engine: sqlalchemy.Engine) -> None:
    """A sound copy of an SQLite file beside it, at most one a minute: a torn page costs what came after it."""
    if engine.name == "sqlite":
        path = Path(engine.url.database or "")
        with contextlib.suppress(OSError):
            if 0.0 <= time.time() - _copy_beside(path).stat().st_mtime < _COPIED:  # by this process or another
                return
        _keep_copy(path)


def _keep_copy(path: Path) -> None:
    """A copy of a file that may be damaged by now never takes the place of a sound one."""
    copy = _copy_beside(path)
    draft = copy.with_name(f"{copy.name}.{os.getpid()}")
    with contextlib.suppress(OSError, sqlite3.Error):  # a full disk takes no copy, and the tuning goes on
        try:
            with contextlib.closing(sqlite3.connect(path)) as file, contextlib.closing(sqlite3.connect(draft)) as kept:
                file.backup(kept)
                sound = _said_of_pages(kept) == _SOUND
            if sound:
                os.replace(draft, copy)
        finally:
            draft.unlink(missing_ok=True)


def _copy_beside(path: Path) -> Path:
    return path.with_name(path.name + _SAFE_COPY)


def _said_of_pages(file: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with the pages of a file; `_SOUND` if nothing is."""
    return [str(row[0]) for row in file.execute("PRAGMA quick_check(1)")]


def _strict(engine: sqlalchemy.Engine) -> None:
    """Every transaction of SQLite holds the file from its first read on.

    By default it begins with the first write, and of two processes that have both read "running" both may finish a
    trial.
    """

    def plain(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    def begin(connection: sqlalchemy.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()
    sqlalchemy.event.listen(engine, "connect", plain)
    sqlalchemy.event.listen(engine, "begin", begin)


_SHORT = 1.0  # seconds, once a holder was found asleep
_POLL = (0.002, 0.01)  # seconds between two attempts
_PRIMARY = 0xFF  # of an error code of SQLite; the rest says more


def _exclusive(file: sqlite3.Connection, *, last: bool) -> bool:
    """Whether the lock was free.  SQLite's own waiting is ever more patient, so that whoever waits longest is last.

    Any other trouble is raised: a full disk, for one, has no room for the lock, and nobody would ever release it.
    """
    try:
        file.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if last or error.sqlite_errorcode & _PRIMARY not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return False
    return True


class Turn:
    """The turn to decide in one study.  longest: seconds that it is waited for."""

    def __init__(self, engine: sqlalchemy.Engine, study: str, longest: float) -> None:
        self._engine, self._study = engine, study
        self._longest = self._wait = longest

    @contextlib.contextmanager
    def taken(self) -> Iterator[bool]:
        """Hold the turn, or go on without it after a while; whether it is held."""
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(self._file() if self._engine.name == "sqlite" else self._server())
                self._wait = self._longest
                mine = True
            except (sqlite3.Error, SQLAlchemyError):
                self._wait = min(_SHORT, self._longest)
                mine = False
            yield mine

    @contextlib.contextmanager
    def _file(self) -> Iterator[None]:
        """An exclusive lock on a small file beside the database; it ends with the process."""
        beside = f"{self._engine.url.database}.turn"
        until = time.monotonic() + self._wait
        with contextlib.closing(sqlite3.connect(beside, timeout=0.0, isolation_level=None)) as file:
            while not _exclusive(file, last=time.monotonic() >= until):
                time.sleep(random.uniform(*_POLL))
            yield

    @contextlib.contextmanager
    def _server(self) -> Iterator[None]:
        """An advisory lock of the server; it ends with the connection."""
        key = int.from_bytes(hashlib.sha256(f"autobct {self._study}".encode()).digest()[:8], "big", signed=True)
        connection: Any = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            connection.exec_driver_sql(f"SET lock_timeout = '{max(int(1000 * self._wait), 1)}ms'")
            connection.exec_driver_sql(f"SELECT pg_advisory_lock({key})")
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        try:
            yield
        finally:
            with contextlib.suppress(SQLAlchemyError):  # a server that went away has released it
                connection.exec_driver_sql(f"SELECT pg_advisory_unlock({key})")
                connection.exec_driver_sql("RESET lock_timeout")
            with contextlib.suppress(SQLAlchemyError):
                connection.close()
