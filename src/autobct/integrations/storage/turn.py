"""One decision at a time: a lock that spares workers from deciding the same thing at once.

Whether a run is mine is settled by the database (`claims.py`), not here.  So a lock whose holder is asleep is waited
for once and then passed by, and one that cannot be had is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError

_SHORT = 1.0  # seconds, once a holder was found asleep
_POLL = (0.002, 0.01)  # seconds between two attempts


def _exclusive(file: sqlite3.Connection, *, last: bool) -> bool:
    """Whether the lock was free.  SQLite's own waiting is ever more patient, so that whoever waits longest is last."""
    try:
        file.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        if last:
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
