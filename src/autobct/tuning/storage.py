"""Where a tuning is stored: a folder, or the address of a database that several processes share."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Literal

from autobct.belief.arrays import finite_number

OnCrash = Literal["rerun", "fail"]

_SCHEMES = ("sqlite", "postgresql")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters or more: C: is a drive
_NAMES = "sqlite3?|postgres(?:ql)?|pgsql|mysql|mariadb|mssql|oracle|mongodb|redis|duckdb|jdbc"
_NEARLY = re.compile(rf"(?is)\s*({_NAMES})(?:\+\w+)?(?![\w-])(?=.*(?://|[:;]))\s*[:;]*")  # sqlite-runs is a folder
_LOGIN = re.compile(r"\s*(?:(?:[A-Za-z][\w+.-]*\W?)?//+)?(?:[^/\\:@]{2,}:|[^/\\:@]:(?![/\\]))[^@]*@.")
_KEYWORDS = re.compile(
    r"(?is)\s*(?:host|hostaddr|port|user|dbname)\s*=\s*\S*\s+\w+\s*="
    r"|.*(?<![a-z0-9])(?:pg|ssl)?passw(?:or)?d\s*="
)
_SECRET = re.compile(
    r"(?i)((?<![A-Za-z0-9])(?:(?:pg|ssl)?password|passwd|pwd|secret|token)\s*=\s*)"
    r"('(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|[^&;#\s]*)"
)
_HEAD = re.compile(rf"(?i)\s*(?:(?:[a-z][\w+.-]*)?\W?//|(?:{_NAMES})[:;])?")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_PATH = re.compile(r"\.{0,2}/(?!/)|~|\\|[A-Za-z]:[\\/]")  # whoever writes it so means a folder
_PORT = re.compile(r"\d*(?:[/?#]|$)")
_EXAMPLES = "write e.g. 'sqlite:///run.db', 'postgresql://user@host/database', or a folder, './my-tuning'"
_SERVER = "write 'postgresql://user@host/database'"


class StorageError(ValueError):
    """A storage cannot be used, in one sentence; passwords in it are masked."""


class LateError(RuntimeError):
    """The result of a run came after the run had been given to another worker, and is not counted."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Where `tune` keeps its runs; the same call again continues.

    >>> autobct.tune(train, space, price=0.01, storage=autobct.Storage("sqlite:///run.db", study="forest"))

    address:  a folder, for one process at a time; or "sqlite:///run.db" for several processes on one machine, or
              "postgresql://user@host/database" for several machines
    study:    the name of this tuning in a database that may hold several
    on_crash: what becomes of a run whose process died: "rerun" makes it again; "fail" counts it as failed, at the cost
              it had when last heard of
    grace:    seconds of silence after which a worker is considered dead and its run goes to another
    patience: seconds for which a database that does not answer is tried again
    """

    address: str | os.PathLike[str] = field(repr=False)
    study: str = "autobct"
    on_crash: OnCrash = "rerun"
    grace: float = 60.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        """Check everything that can be checked without touching anything."""
        if not isinstance(self.address, str | os.PathLike):
            raise TypeError(f"storage must be a folder or an address, got {type(self.address).__name__}; {_EXAMPLES}")
        check_address(os.fspath(self.address))
        name: object = self.study
        if not isinstance(name, str) or not name.strip() or len(name) > 200:
            raise StorageError(f"study must be a name of at most 200 characters, got {name!r}")
        if self.on_crash not in ("rerun", "fail"):
            raise StorageError(f"on_crash must be 'rerun' or 'fail', got {self.on_crash!r}")
        for name in ("grace", "patience"):
            if finite_number(getattr(self, name), name, least=0.0) <= 0.0:
                raise StorageError(f"{name} must be positive, got {getattr(self, name)!r}; write seconds, e.g. 60")

    @property
    def is_database(self) -> bool:
        """Whether it is an address of a database; otherwise it is a folder."""
        return isinstance(self.address, str) and "://" in self.address

    @property
    def shown(self) -> str:
        """The address without its password, for sentences."""
        return masked(os.fspath(self.address))

    def __repr__(self) -> str:
        """The address with its password masked."""
        return f"Storage({self.shown!r}, study={self.study!r}, on_crash={self.on_crash!r})"


def storage_of(given: object) -> Storage:
    """The storage that was given, as a value or as its address."""
    return given if isinstance(given, Storage) else Storage(given)  # type: ignore[arg-type]  # checked there


def check_address(address: str) -> None:
    """StorageError, with the likely correction, for what is neither a folder nor an address of a database."""
    if not address.strip() or "\0" in address:
        raise StorageError(f"storage is empty; {_EXAMPLES}")
    found = _SCHEME.match(address)
    if found is None:
        if "://" in address:
            raise StorageError(f"storage {masked(address)!r} is not an address; {_EXAMPLES}")
        _check_folder(address)
        return
    scheme, rest = found[1].partition("+")[0], address[found.end() :]
    if scheme not in _SCHEMES:
        raise StorageError(f"storage {masked(address)!r}: {scheme!r} is not a supported kind of database; {_EXAMPLES}")
    if scheme == "sqlite":
        _check_sqlite(address, rest)
    elif not re.match(r"//[^/]", rest):
        raise StorageError(f"storage {masked(address)!r} has no host; {_SERVER}")


def _check_sqlite(address: str, rest: str) -> None:
    shown = masked(address)
    if rest.lstrip("/").partition("?")[0] in ("", ":memory:"):
        raise StorageError(f"storage {shown!r} names no file, so nothing would be stored; write 'sqlite:///run.db'")
    if not rest.startswith("///"):
        raise StorageError(f"storage {shown!r} is not an address; write {_sqlite(rest)!r}, with three slashes")


def _check_folder(address: str) -> None:
    """Refuse a folder that is an address with a typo: it would be made, perhaps with a password for its name."""
    nearly = _NEARLY.match(address)
    if _PATH.match(address) or not (nearly or _LOGIN.match(address) or _KEYWORDS.match(address)):
        return
    name = "" if nearly is None else nearly[1].lower()
    if nearly is not None and name.startswith("sqlite"):
        right = f"write {_sqlite(address[nearly.end() :])!r}, or './' before the name of a folder"
    elif name and not name.startswith(("postgres", "pgsql")):
        right = f"{name!r} is not a supported kind of database; {_EXAMPLES}"
    else:
        right = f"{_SERVER}, or './' before the name of a folder"
    raise StorageError(f"storage {masked(address)!r} is not an address; {right}")


def _sqlite(rest: str) -> str:
    """The address that was probably meant.  rest: what follows the scheme"""
    file = rest[3:] if rest.startswith("////") else rest.lstrip("/")
    return f"sqlite:///{'run.db' if not file or _LOGIN.match(file) else masked(file)}"


def masked(address: str) -> str:
    """An address, right or wrong, with *** for whatever may be a password."""
    first, last = _password(address)
    shown = address if first == last else f"{address[:first]}***{address[last:]}"
    return _SECRET.sub(r"\1***", shown)


def _password(address: str) -> tuple[int, int]:
    """Where the password after a user's name begins and ends; twice the same place if there is none."""
    head = _HEAD.match(address)
    start = 0 if head is None else head.end()
    at, colon = address.rfind("@"), address.find(":", start)
    if at >= start:
        return (colon + 1, at) if 0 <= colon < at and not _DRIVE.match(address) else (0, 0)
    host, after = address[start:colon], address[colon + 1 :]
    if start == 0 or colon < 0 or "/" in host or _PORT.match(after) or _DRIVE.match(address, start):
        return 0, 0
    return colon + 1, len(address)


def without_secrets(text: str, address: str) -> str:
    """A sentence about an address with no password of it left."""
    text = text.replace(address, masked(address))
    for secret in _secrets(address):
        text = text.replace(secret, "***")
    return text


def _secrets(address: str) -> list[str]:
    from urllib.parse import unquote, unquote_plus

    first, last = _password(address)
    found = [address[first:last], *(match[2].strip("'\"") for match in _SECRET.finditer(address))]
    spelled = {form for secret in found for form in (secret, unquote(secret), unquote_plus(secret)) if len(form) > 2}
    return sorted(spelled, key=len, reverse=True)
