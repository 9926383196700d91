"""A real browser, driven over its debugging pipe with the standard library: to test pages, and to draw them."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Page", "browser", "find_chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_PATIENCE = 60.0  # seconds for one answer
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


def find_chromium() -> str | None:
    """The first Chromium on the path; None if there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass
class Page:
    """One tab.  requests: every address it asked for;  troubles: errors it wrote to its console, or threw."""

    pipe: _Pipe
    session: str
    requests: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def open(self, address: str) -> None:
        """Go there and wait until all is loaded."""
        self("Page.navigate", url=address)
        self.pipe.wait(lambda told: told.get("method") == "Page.loadEventFired", self._note)

    def __call__(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the DevTools protocol, and its answer."""
        return self.pipe.ask(method, params, self.session, self._note)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression in the page."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def look(self, *, width: int, scheme: str = "light", scale: float = 1.0, height: int = 800) -> None:
        """Be as wide as a screen that prefers light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
        self("Emulation.setDeviceMetricsOverride", **size)
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path: Path, *, most: float = 20_000.0) -> None:
        """The whole page as a PNG, at most so many pixels high."""
        size = self("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], most), "scale": 1}
        shot = self("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    def _note(self, told: dict[str, Any]) -> None:
        method, params = told.get("method", ""), told.get("params", {})
        if told.get("sessionId") != self.session:
            return
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.troubles.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.troubles.append(str(params["args"]))
        elif method == "Runtime.exceptionThrown":
            self.troubles.append(str(params["exceptionDetails"]))


@contextlib.contextmanager
def browser(program: str | None = None) -> Iterator[_Pipe]:
    """A browser with a new profile; `.page()` opens a tab."""
    found = program or find_chromium()
    if found is None:
        raise RuntimeError("no Chromium was found; install it, e.g. with: apt-get install chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _spawned(found, profile) as pipe:
        yield pipe


@contextlib.contextmanager
def _spawned(program: str, profile: str) -> Iterator[_Pipe]:
    """The browser reads commands on descriptor 3 and writes answers on 4."""
    (its_in, our_out), (our_in, its_out) = map(_high, os.pipe()), map(_high, os.pipe())
    quiet = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    placed = [(os.POSIX_SPAWN_DUP2, its_in, 3), (os.POSIX_SPAWN_DUP2, its_out, 4)]
    command = [program, *_FLAGS, f"--user-data-dir={profile}"]
    process = os.posix_spawn(program, command, os.environ, file_actions=[*quiet, *placed])
    os.close(its_in)
    os.close(its_out)
    pipe = _Pipe(our_out, our_in)
    try:
        yield pipe
    finally:
        with contextlib.suppress(OSError, TimeoutError):
            pipe.ask("Browser.close", {}, None)
        os.close(our_out)
        os.close(our_in)
        _ended(process)


def _high(descriptor: int) -> int:
    """The same file on a descriptor that is not 3 or 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


def _ended(process: int, patience: float = 10.0) -> None:
    """Wait for a process; end it if it takes too long."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if os.waitpid(process, os.WNOHANG)[0]:
            return
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


class _Pipe:
    """Messages to and from the browser: JSON, each ended by a zero byte."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._asked, self._waiting = 0, b""

    def page(self, *, scripts: bool = True) -> Page:
        """A new tab.  scripts: whether pages in it may run theirs."""
        target = self.ask("Target.createTarget", {"url": "about:blank"}, None)["targetId"]
        session = self.ask("Target.attachToTarget", {"targetId": target, "flatten": True}, None)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Network", "Log", "Runtime"):
            page(f"{domain}.enable")
        page("Emulation.setScriptExecutionDisabled", value=not scripts)
        return page

    def ask(self, method: str, params: dict[str, Any], session: str | None, note: Any = None) -> dict[str, Any]:
        """Send a command, wait for its answer; `note` hears all else that comes."""
        self._asked += 1
        number = self._asked
        told = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
        message = json.dumps(told).encode() + b"\0"
        while message:
            message = message[os.write(self._write, message) :]
        answer = self.wait(lambda told: told.get("id") == number, note)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def wait(self, wanted: Any, note: Any = None) -> dict[str, Any]:
        """The next message that is wanted."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            while b"\0" in self._waiting:
                line, _, self._waiting = self._waiting.partition(b"\0")
                told = json.loads(line)
                if note is not None:
                    note(told)
                if wanted(told):
                    return dict(told)
            if select.select([self._read], [], [], 1.0)[0]:
                got = os.read(self._read, 1 << 20)
                if not got:
                    raise OSError("the browser has gone")
                self._waiting += got
        raise TimeoutError("the browser does not answer")
