"""A PostgreSQL server of a test's own, from installed binaries, run by an ordinary user: initdb refuses root."""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "s3cret-w0rd"


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl; None if PostgreSQL is not installed."""
    places = [shutil.which("initdb"), *sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True)]
    return next((Path(found).resolve().parent for found in places if found), None)


def ordinary_user() -> str | None:
    """Somebody to run the server as; None for whoever we are."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return None


def missing() -> str:
    """Why there is no server to test with; "" if there is one."""
    try:
        import psycopg as psycopg
    except ImportError:
        return "psycopg is not installed"
    return "" if binaries() is not None else "PostgreSQL is not installed"


@dataclass(frozen=True)
class Server:
    """A server that answers at `port`."""

    folder: Path
    port: int

    @property
    def address(self) -> str:
        return f"postgresql://tuner:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        log = str(self.folder / "server.log")
        _run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str = "fast") -> None:
        _run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def restart(self) -> None:
        """As after a crash: connections are cut, nothing is written out."""
        self.stop("immediate")
        self.start()


@contextlib.contextmanager
def postgres(*, fsync: bool = False) -> Iterator[Server]:
    """A server from nothing; gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="autobct-pg-"))
    user = ordinary_user()
    try:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        secret = folder / "secret"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        data = str(folder / "data")
        _run("initdb", "-D", data, "-U", "tuner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "-N")
        if not fsync:  # the machine does not lose power in a test; the server may still crash
            with open(folder / "data" / "postgresql.conf", "a") as settings:
                settings.write("fsync = off\nshared_buffers = 16MB\n")
        server = Server(folder, _free_port())
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str) -> None:
    where = binaries()
    assert where is not None
    command = [str(where / program), *arguments]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    subprocess.run(command, check=True, user=ordinary_user(), cwd="/", **quiet)  # type: ignore[call-overload]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
