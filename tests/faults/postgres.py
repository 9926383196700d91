"""A PostgreSQL server of a test's own, from installed binaries, run by an ordinary user: initdb refuses root."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
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
    if binaries() is None:
        return "PostgreSQL is not installed"
    if os.getuid() == 0 and ordinary_user() is None:
        return "PostgreSQL refuses to run as root, and there is no user postgres or nobody"
    return ""


@dataclass
class Server:
    """A server that answers at `port`; it ends with this process, however that ends."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"postgresql://tuner:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        where = binaries()
        assert where is not None
        options = ["-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-k", str(self.folder)]
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(
                [str(where / "postgres"), "-D", str(self.folder / "data"), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=ordinary_user(),
                cwd="/",
                preexec_fn=_end_with_parent,
            )
        until = time.monotonic() + 60.0
        while subprocess.run([str(where / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            assert self.process.poll() is None, (self.folder / "server.log").read_text()
            assert time.monotonic() < until, "the server does not start"
            time.sleep(0.05)

    def crash(self) -> None:
        """Immediate shutdown: connections are cut, and nothing is written out."""
        assert self.process is not None
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()


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
            server.crash()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str) -> None:
    where = binaries()
    assert where is not None
    command = [str(where / program), *arguments]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    subprocess.run(command, check=True, user=ordinary_user(), cwd="/", **quiet)  # type: ignore[call-overload]


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)  # PR_SET_PDEATHSIG


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
