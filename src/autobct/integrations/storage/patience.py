"""A database that is temporarily unavailable: retry with increasing delays, then fail with one sentence."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import DBAPIError, PendingRollbackError, SQLAlchemyError

from autobct.tuning.storage import Storage, StorageError, without_secrets

T = TypeVar("T")

LOG = logging.getLogger("autobct")
"""Hears of a database that is away, if nobody else does."""

TROUBLE = (StorageInternalError, SQLAlchemyError)
"""What Optuna's storage raises when its database does not do what it should."""

_FIRST, _LONGEST = 0.05, 5.0  # seconds between two attempts
_SILENT = 5.0  # seconds after which it is said that something is waited for
_ATTEMPTS = 2  # at least, also if the process was asleep in between
_HOPELESS = {
    "readonly": "is read-only",
    "read-only": "is read-only",
    "malformed": "is damaged; restore a copy of it",
    "not a database": "is not a database",
    "authentication failed": "refuses this user or password",
    "no password supplied": "needs a password; set PGPASSWORD, or write it into ~/.pgpass",
    "permission denied": "gives no permission",
    "translate host name": "is on a host that is not known",
    "name or service not known": "is on a host that is not known",
    "unable to open database file": "cannot be opened; is there such a folder, and may you write in it?",
}
_BUSY = {
    "locked": "is locked by another program",
    "disk is full": "has no space left on its disk",
}


@dataclass(frozen=True, slots=True)
class Patience:
    """Calls that are repeated while a database is away.

    storage:   for the sentence;  seconds: for how long
    hurried:   true when nobody wants to wait any more
    waiting:   hears a sentence about what is waited for, once for each call that takes long
    """

    storage: Storage
    seconds: float
    hurried: Callable[[], bool] = field(default=lambda: False)
    waiting: Callable[[str], object] = field(default=LOG.warning)

    def __call__(self, call: Callable[[], T]) -> T:
        """What the call returns; StorageError if it does not work out in time."""
        started, wait, attempts, told = time.monotonic(), _FIRST, 0, False
        while True:
            try:
                return call()
            except TROUBLE as error:
                attempts += 1
                why, hopeless = reason(error)
                over = time.monotonic() - started > self.seconds and attempts >= _ATTEMPTS
                if hopeless or over or self.hurried():
                    raise StorageError(self._sentence(why, hopeless=hopeless)) from None
                if not told and time.monotonic() - started > _SILENT:
                    told = True
                    self.waiting(f"{self._said(why, 'The')}; trying again for {self.seconds:g} s.")
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2.0 * wait, _LONGEST)

    def _sentence(self, why: str, *, hopeless: bool) -> str:
        said = self._said(why)
        return said if hopeless else f"{said}; it was tried again for {self.seconds:g} s"

    def _said(self, why: str, the: str = "the") -> str:
        return f"{the} database {self.storage.shown!r} {without_secrets(why, str(self.storage.address))}"


def reason(error: BaseException) -> tuple[str, bool]:
    """What is wrong with the database, after `the database NAME`, and whether trying again is of no use."""
    cause: BaseException | None = error if isinstance(error, SQLAlchemyError) else error.__cause__
    said = str(getattr(cause, "orig", None) or cause or error)
    lowered = said.lower()
    for words, sentence in _HOPELESS.items():
        if words in lowered:
            return sentence, True
    for words, sentence in _BUSY.items():
        if words in lowered:
            return sentence, False
    words = next(iter(said.rpartition("FATAL:")[2].strip().splitlines()), type(error).__name__)
    if "does not exist" in lowered:
        return f"cannot be used: {words}", True
    return f"does not answer: {words}", not isinstance(cause, DBAPIError | PendingRollbackError)
