"""Where a tuning is kept, as a value: a folder, or the address of a database that several processes share."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Literal

from autobct.belief.arrays import finite_number

OnCrash = Literal["rerun", "fail"]

_SCHEMES = ("sqlite", "postgresql")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters or more: C: is a drive
_SECRET = re.compile(r"(?i)([?&;](?:password|passwd|pwd|sslpassword|secret|token)=)[^&;#\s]*")
_PORT = re.compile(r"\d*(?:[/?#]|$)")
_EXAMPLES = "write e.g. 'sqlite:///run.db', 'postgresql://user@host/database', or a folder, './my-tuning'"


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
    grace:    seconds of silence after which a worker is taken for dead and its run goes to another
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
        return
    scheme, rest = found[1].partition("+")[0], address[found.end() :]
    if scheme not in _SCHEMES:
        raise StorageError(f"storage {masked(address)!r}: {scheme!r} is no kind of database here; {_EXAMPLES}")
    if scheme == "sqlite":
        _check_sqlite(address, rest)
    elif not re.match(r"//[^/]", rest):
        raise StorageError(f"storage {masked(address)!r} has no host; write 'postgresql://user@host/database'")


def _check_sqlite(address: str, rest: str) -> None:
    file = rest.lstrip("/")
    if file.partition("?")[0] in ("", ":memory:"):
        raise StorageError(f"storage {address!r} names no file, so nothing would be kept; write 'sqlite:///run.db'")
    if not rest.startswith("///"):
        raise StorageError(f"storage {address!r} is not an address; write 'sqlite:///{file}', with three slashes")


def masked(address: str) -> str:
    """An address, right or wrong, with *** for whatever may be a password."""
    head, slashes, rest = address.partition("//")
    if not slashes:
        head, rest = "", address
    if "@" in rest:
        before, _, after = rest.rpartition("@")
        user, colon, _ = before.partition(":")
        rest = f"{user}:***@{after}" if colon else rest
    elif slashes and ":" in rest:
        host, _, after = rest.partition(":")
        rest = rest if _PORT.match(after) or "/" in host else f"{host}:***"
    return _SECRET.sub(r"\1***", f"{head}{slashes}{rest}")


def without_secrets(text: str, address: str) -> str:
    """A sentence about an address with no password of it left."""
    text = text.replace(address, masked(address))
    for secret in _secrets(address):
        text = text.replace(secret, "***")
    return text


def _secrets(address: str) -> list[str]:
    from urllib.parse import unquote, unquote_plus

    rest = address.partition("//")[2]
    found = [rest.rpartition("@")[0].partition(":")[2]] if "@" in rest else []
    found += [match[0].partition("=")[2] for match in _SECRET.finditer(address)]
    spelled = {form for secret in found for form in (secret, unquote(secret), unquote_plus(secret)) if len(form) > 2}
    return sorted(spelled, key=len, reverse=True)
