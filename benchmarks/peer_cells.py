"""What was played, one JSON line for each play; a play that is there is not made again.

A cell is known by tuner, task, price level (none for a tuner that does not know the price), seed, and for our own tuner
by the state of the package, so that a change of the code is measured anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from tasks import Outcome, Trial

import autobct

Key = tuple[str, str, float | None, int, str]


@dataclass(frozen=True, slots=True)
class Cell:
    """One play.  trials: (seen, true, cost) of each;  seconds: CPU per decision;  code: of the package, or empty."""

    tuner: str
    task: str
    level: float | None
    seed: int
    code: str
    trials: tuple[tuple[float, float, float], ...]
    chosen: int
    seconds: float

    @property
    def key(self) -> Key:
        """What the cell is known by."""
        return self.tuner, self.task, self.level, self.seed, self.code

    @property
    def history(self) -> tuple[Trial, ...]:
        """Its trials."""
        return tuple(Trial(*numbers) for numbers in self.trials)


def cell_of(key: Key, outcome: Outcome) -> Cell:
    """An outcome, as it is kept."""
    trials = tuple((trial.seen, trial.true, trial.cost) for trial in outcome.history)
    return Cell(*key, trials, outcome.chosen, outcome.seconds)


def read(file: Path) -> dict[Key, Cell]:
    """All cells of a file; a line that was cut short is left out."""
    cells: dict[Key, Cell] = {}
    for stored in _lines(file):
        stored["trials"] = tuple(tuple(map(float, numbers)) for numbers in stored["trials"])
        cell = Cell(**stored)
        cells[cell.key] = cell
    return cells


def append(file: Path, cells: Iterable[Cell]) -> None:
    """Add cells to a file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        for cell in cells:
            out.write(json.dumps(asdict(cell)) + "\n")


def _lines(file: Path) -> Iterator[dict]:  # type: ignore[type-arg]
    if not file.is_file():
        return
    for line in file.read_text().splitlines():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


@cache
def code() -> str:
    """A fingerprint of the package: every file that may change a decision."""
    package = Path(autobct.__file__).parent
    digest = hashlib.sha256()
    for room in ("belief", "value", "maps", "tuning"):
        for file in sorted((package / room).rglob("*")):
            if file.is_file() and file.suffix != ".pyc":
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]
