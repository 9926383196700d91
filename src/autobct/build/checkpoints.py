"""The value functions of an unfinished build, each in a file of its own.

    FOLDER/V_2.safetensors, V_3.safetensors, ..

A file also says, line by line, which build it belongs to.  It is written in one step, so it is whole or not there.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from autobct.maps.container import SUFFIX, MapFileError, Tensors, pack, read_file, unpack, write_file

_KIND = "checkpoint"


class BuildError(RuntimeError):
    """A build that cannot go on.  The message says what is kept and what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """One value function: its arrays, and the seconds it took."""

    tensors: Tensors
    seconds: float


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Those of one build.  lines: everything that decides what it finds, as "name: value";  first: V_2, or V_1."""

    folder: Path
    lines: tuple[str, ...]
    first: int = 2

    def path(self, index: int) -> Path:
        """Where the value function after `index` others is kept."""
        return self.folder / f"V_{self.first + index}{SUFFIX}"

    def load(self, limit: int) -> tuple[list[Checkpoint], str | None]:
        """What is there, up to the first that is missing or damaged, and a sentence about the damage, if any.

        BuildError if the folder holds another build, with the lines that differ.
        """
        found: list[Checkpoint] = []
        while len(found) < limit and self.path(len(found)).exists():
            path = self.path(len(found))
            try:
                tensors, notes = unpack(read_file(path))
                if notes.get("kind") != _KIND:
                    raise MapFileError("it is not a checkpoint")
                seconds = float(notes.get("seconds", ""))
            except ValueError as error:  # MapFileError is one
                return found, f"{path} is not usable ({error}); the build continues from the one before it"
            self._check(path, tuple(notes.get("build", "").splitlines()))
            found.append(Checkpoint(tensors, seconds))
        return found, None

    def save(self, index: int, tensors: Mapping[str, NDArray[Any]], seconds: float) -> None:
        """Keep one value function; BuildError if the disk does not take it."""
        notes = {"kind": _KIND, "build": "\n".join(self.lines), "seconds": repr(seconds)}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_file(self.path(index), pack(tensors, notes))
        except OSError as error:
            raise BuildError(
                f"V_{self.first + index} could not be written ({error.strerror}); {self.kept(index)}"
            ) from error

    def kept(self, count: int) -> str:
        """What a user can rely on after `count` value functions."""
        if count == 0:
            return "nothing is kept yet, start again"
        last = self.first + count - 1
        those = f"V_{last} is" if count == 1 else f"V_{self.first} to V_{last} are"
        return f"{those} kept in {self.folder}: the same build continues from there"

    def _check(self, path: Path, theirs: tuple[str, ...]) -> None:
        if theirs == self.lines:
            return
        ours = [line for line in self.lines if line not in theirs]
        other = [line for line in theirs if line not in self.lines]
        pairs = [f"there: {line}" for line in other] + [f"asked: {line}" for line in ours]
        raise BuildError("\n".join([f"{path} belongs to another build; give another folder, or remove it", *pairs]))


def clear_checkpoints(folder: Path) -> None:
    """Remove the checkpoints of a finished build, the last first, and the folder if nothing else is in it."""
    for path in sorted(folder.glob(f"V_*{SUFFIX}"), key=lambda path: (len(path.name), path.name), reverse=True):
        path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()
