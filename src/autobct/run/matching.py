"""Searches program output with a regular expression, in a separate process.

Some patterns take years: ^(a+)+$ doubles its work with every letter, and Python's matcher cannot be told to stop.
A process can be ended, whatever it does.

This file runs by its path, without the package, and reads what to do from standard input.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

PATIENCE = 10.0
"""Seconds; a line of 64 kB takes a millisecond with any pattern that is not of this kind."""

_LINE = 1 << 16  # bytes of one line that are looked at


def last_match(pattern: str, what: str, path: Path, patience: float = PATIENCE) -> str | None:
    """Group `what`, or else the first group, of the last match in a file; None if nothing matches.

    TimeoutError after `patience` seconds, OSError if the file cannot be read.
    """
    with open(path, "rb"):
        pass  # an OSError with its reason
    asked = json.dumps([pattern, what, os.fspath(path.absolute())])
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(Path(__file__).absolute())]
    try:
        # A session of its own: Ctrl-C is for the tuning, which ends once the number of a finished run is read.
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, timeout=patience, start_new_session=True, check=False
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    if done.returncode != 0:
        raise OSError(done.returncode, f"the search ended with code {done.returncode}")
    found: str | None = json.loads(done.stdout)
    return found


def _search(pattern: str, what: str, path: str) -> str | None:
    expression = re.compile(pattern)
    group = what if what in expression.groupindex else 1
    found: str | None = None
    with open(path, "rb") as file:
        while line := file.readline(_LINE):
            for match in expression.finditer(line.decode(errors="replace").rstrip("\r\n")):
                found = match.group(group) or ""
    return found


if __name__ == "__main__":
    print(json.dumps(_search(*json.loads(sys.stdin.buffer.read()))))
