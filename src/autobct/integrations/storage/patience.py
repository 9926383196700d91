"""A database that is temporarily unavailable: retry with increasing delays, then fail with one sentence."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from optuna.exceptions import StorageInternalError
from sqlalchemy.exc import DBAPIError, PendingRollbackError, SQLAlchemyError

from autobct.tuning.storage import Storage, StorageError, without_secrets

T = TypeVar("T")

TROUBLE = (StorageInternalError, SQLAlchemyError)
"""What Optuna's storage raises when its database does not do what it should."""

_FIRST, _LONGEST = 0.05, 5.0  # seconds between two attempts
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
    """

    storage: Storage
    seconds: float
    hurried: Callable[[], bool] = field(default=lambda: False)

    def __call__(self, call: Callable[[], T]) -> T:
        """What the call returns; StorageError if it does not work out in time."""
        started, wait, attempts = time.monotonic(), _FIRST, 0
        while True:
            try:
                return call()
            except TROUBLE as error:
                attempts += 1
                why, hopeless = reason(error)
                over = time.monotonic() - started > self.seconds and attempts >= _ATTEMPTS
                if hopeless or over or self.hurried():
                    raise StorageError(self._sentence(why, hopeless=hopeless)) from None
            time.sleep(wait * random.uniform(0.5, 1.0))
            wait = min(2.0 * wait, _LONGEST)

    def _sentence(self, why: str, *, hopeless: bool) -> str:
        shown = f"the database {self.storage.shown!r}"
        said = without_secrets(why, str(self.storage.address))
        return f"{shown} {said}" if hopeless else f"{shown} {said}; it was tried again for {self.seconds:g} s"


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
