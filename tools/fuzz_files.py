"""Mutated files of every kind must be refused with one type of error, quickly and in little memory.

    python -m tools.fuzz_files --count 20000

A mutation may be accepted only if it changes no value, or if it is a text or its checksum was made right again: then
it is another file, and must be a sound one.  `tests/faults/test_files.py` runs a few of each kind.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tools.file_kinds import FileKind, file_kinds

from autobct.maps.ordinary import FileError

SPARE = 1 << 20
"""Bytes of memory beyond twice the size of the file: what Python's own objects take for a small one."""

HANG = 1.0
"""Seconds of processor time that one file may take."""


@dataclass
class Findings:
    """What came of the mutations of one kind.  troubles: sentences, the first few of them."""

    name: str
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    memory: float = 0.0
    troubles: list[str] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        """One line."""
        return (
            f"{self.name:<18}{self.accepted + self.refused:>7} mutations, {self.accepted:>5} accepted, "
            f"slowest {self.slowest:.3f} s, most memory {self.memory / 1e6:.2f} MB beyond twice the file, "
            f"{len(self.troubles)} troubles"
        )


def fuzz(kind: FileKind, count: int, seed: int, folder: Path, *, measured: bool = True) -> Findings:
    """Mutate one file many times.  measured: memory and time too, which takes longer."""
    found, original = Findings(kind.name), kind.values(kind.read(kind.data, folder))
    for number in range(count):
        rng = np.random.default_rng((seed, number))
        _try(kind, kind.mutated(kind.data, rng), original, folder, found, number, measured=measured)
    return found


def _try(
    kind: FileKind, data: bytes, original: object, folder: Path, found: Findings, number: int, *, measured: bool
) -> None:
    began, before = time.process_time(), found.memory
    try:
        with warnings.catch_warnings(), _memory(found, len(data), measured):
            warnings.simplefilter("error")
            values = kind.values(kind.read(data, folder))
    except FileError as error:
        found.refused += 1
        found.reasons[type(error).__name__] += 1
        if "\n" in str(error) or not 0 < len(str(error)) < 2000:
            found.troubles.append(f"{number}: not one sentence: {str(error)[:200]!r}")
    except Exception as error:
        found.troubles.append(f"{number}: {type(error).__name__}: {str(error)[:200]}")
    else:
        found.accepted += 1
        if kind.exact and not kind.allowed(values, original):
            found.troubles.append(f"{number}: accepted with other values")
    took = time.process_time() - began
    found.slowest = max(found.slowest, took)
    if measured and took > HANG:
        found.troubles.append(f"{number}: took {took:.1f} s")
    if measured and found.memory > max(before, SPARE):
        found.memory = max(before, _again(kind, data, folder))
        if found.memory > SPARE:
            found.troubles.append(f"{number}: memory {found.memory / 1e6:.1f} MB beyond twice the file")


def _again(kind: FileKind, data: bytes, folder: Path) -> float:
    """The memory of one file once more: now and then the interpreter enlarges a table of its own."""
    second = Findings(kind.name)
    with contextlib.suppress(FileError), _memory(second, len(data), True):
        kind.read(data, folder)
    return second.memory


@contextmanager
def _memory(found: Findings, size: int, measured: bool) -> Iterator[None]:
    if not measured:
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        found.memory = max(found.memory, tracemalloc.get_traced_memory()[1] - 2 * size)
        tracemalloc.stop()


def main(arguments: list[str] | None = None, say: Callable[[str], object] = print) -> int:
    """Every kind, a line each; 1 if there was any trouble."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000, help="mutations of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="names of kinds that contain this")
    asked = parser.parse_args(arguments)
    troubled = 0
    with tempfile.TemporaryDirectory() as place:
        for kind in file_kinds(Path(place)):
            if asked.only in kind.name:
                found = fuzz(kind, asked.count, asked.seed, Path(place))
                say(str(found))
                for one in found.troubles[:10]:
                    say(f"    {one}")
                troubled += bool(found.troubles)
                gc.collect()
                sys.stdout.flush()
    return int(troubled > 0)


if __name__ == "__main__":
    sys.exit(main())
