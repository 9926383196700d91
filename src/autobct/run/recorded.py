"""A tuning stored in a folder: its decisions, runs and outcome; and its repair.

In a repair what is sound is kept, what was lost is said, and the original stays beside it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autobct.maps.container import write_file
from autobct.run.journal import FORMAT, NAME, JournalError, chained, checked, journal_bytes, lines_of, read_journal
from autobct.run.journal_replay import replay, settings_in
from autobct.run.lock import locked
from autobct.run.program_settings import ProgramSettings
from autobct.tuning.decide.under_way import PriceOf
from autobct.tuning.history import Decision, Run, Stop
from autobct.tuning.result import Result
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import ScaledProblem

SUFFIX = ".run"


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """A tuning read from its journal; neither the TOML file nor the program is needed.

    path:       the folder
    settings:   the settings of the problem, key path of the TOML -> value, and its limits
    history:    all runs, including failed ones
    decisions:  the decision before each run, and the last one
    finished:   whether it stopped by itself; False if it was interrupted or is still running
    versions:   of the packages it was started with
    tuner:      a tuner with all of these runs
    n_jobs:     programs at the same time;  price_of: what the price pays for
    """

    path: Path
    settings: dict[str, Any]
    problem: ScaledProblem
    history: tuple[Run, ...]
    decisions: tuple[Decision, ...]
    finished: bool
    versions: dict[str, str]
    tuner: Tuner
    n_jobs: int = 1
    price_of: PriceOf = "compute"

    @property
    def why(self) -> str:
        """Why it stopped, or that it is not finished."""
        last = self.decisions[-1] if self.decisions else None
        if isinstance(last, Stop):
            return last.why
        count = len(self.history)
        return f"Not finished: {count} run{'s' if count != 1 else ''} so far."

    def result(self) -> Result:
        """The result as of now; TuningError if no run has finished."""
        found = self.tuner.result(self.why, self.decisions)
        return replace(found, n_jobs=self.n_jobs, price_of=self.price_of) if self.n_jobs > 1 else found


def folder_of(path: Path) -> Path:
    """The folder of the tuning that a TOML file describes: tune.run beside tune.toml."""
    return path.absolute().with_suffix(SUFFIX)


def read_run(path: str | Path) -> RecordedRun:
    """Read the tuning in a folder, even if it is still running or was interrupted.

    path: the folder, its journal, or its TOML file.  JournalError if there is no tuning.
    """
    folder = _folder(Path(path))
    records = read_journal(folder / NAME)
    if "toml" not in records[0]:
        raise JournalError(f"{str(folder)!r} was stored from Python; use tuner.result() there")
    again = replay(records, verify=False)
    settings = recorded_settings(records)
    return RecordedRun(
        path=folder,
        settings={**settings.defining, **_limits(settings)},
        problem=again.tuner.problem,
        history=again.tuner.history,
        decisions=again.decisions,
        finished=again.stopped is not None,
        versions=_versions(records[0]),
        tuner=again.tuner,
        n_jobs=max((record["waiting"]["free"] for record in records if record.get("waiting")), default=1),
        price_of=settings.price_of,
    )


def _versions(header: Mapping[str, Any]) -> dict[str, str]:
    found = header.get("versions")
    if not isinstance(found, dict) or not all(isinstance(number, str) for number in found.values()):
        raise JournalError("the journal is inconsistent: it does not state the versions it was started with")
    return found


def recorded_settings(records: Sequence[Mapping[str, Any]]) -> ProgramSettings:
    """What the TOML file said when the tuning was begun, with the limits it was last given."""
    return settings_in([record for record in records if record["kind"] in ("header", "resumed")][-1])


def _folder(path: Path) -> Path:
    if path.suffix == ".toml" or not path.exists():
        beside = folder_of(path)
        if not (beside / NAME).exists():
            raise JournalError(f"there is no recorded tuning {str(path)!r}; give the folder that autobct run made")
        return beside
    return path if path.is_dir() else path.parent


def _limits(settings: ProgramSettings) -> dict[str, Any]:
    stated = {f"limits.{key}": value for key, value in asdict(settings.limits).items() if value is not None}
    return {key: value if isinstance(value, int | float) else str(value) for key, value in stated.items()}


_STATED = re.compile(rb', "check": "([0-9a-f]{32})"}\n$')


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of a repair.

    kept, lost:  numbers of lines, from 1;  runs: outcomes that are kept
    original:    the damaged file under its new name; None if nothing was damaged
    """

    path: Path
    kept: tuple[int, ...]
    lost: tuple[int, ...]
    runs: int
    original: Path | None

    def __str__(self) -> str:
        """In one or two sentences."""
        runs = f"{self.runs} run{'s' if self.runs != 1 else ''}"
        if self.original is None:
            return f"{str(self.path)!r} is sound: {len(self.kept)} lines, {runs}."
        lost = f"line{'s' if len(self.lost) != 1 else ''} {', '.join(map(str, self.lost))}"
        return (
            f"Kept {len(self.kept)} of {len(self.kept) + len(self.lost)} lines, with {runs}; lost {lost}. "
            f"A run whose outcome was lost counts as not made. The damaged file is kept as {self.original.name!r}."
        )


def repair(folder: Path) -> Repaired:
    """Repair the journal in a folder; JournalError if what was tuned cannot be read any more."""
    path = folder / NAME
    if not path.is_file():
        raise JournalError(f"there is no journal {str(path)!r}")
    with locked(folder):
        lines = lines_of(journal_bytes(path))
        sound = _sound(lines)
        if not sound or 0 not in sound or sound[0].get("kind") != "header" or sound[0].get("format") != FORMAT:
            raise JournalError(
                f"{str(path)!r} cannot be repaired: its first line, which says what was tuned, is damaged; "
                f"restore the file from a copy"
            )
        kept = _consistent(sound)
        numbers = tuple(number + 1 for number in kept)
        lost = tuple(number + 1 for number in range(len(lines)) if number not in kept)
        runs = sum(record["kind"] == "told" for record in kept.values())
        if not lost:
            return Repaired(path=path, kept=numbers, lost=(), runs=runs, original=None)
        original = _aside(path)
        shutil.copy2(path, original)
        note = {"kind": "repaired", "lost": list(lost), "original": original.name}
        write_file(path, _written([*kept.values(), note]))
        return Repaired(path=path, kept=numbers, lost=lost, runs=runs, original=original)


def _sound(lines: list[bytes]) -> dict[int, dict[str, Any]]:
    """Place -> record, of all lines that are what was written.

    A line is held against the fingerprint of the line before it as that line states it, so that a line that is gone
    takes no other along than the one after it, which nothing vouches for any more.
    """
    found, check = {}, ""
    for number, line in enumerate(lines):
        if (good := checked(line, check)) is not None and isinstance(good[0], dict):
            found[number] = good[0]
        stated = _STATED.search(line)
        check = stated[1].decode() if stated else "unknown"
    return found


def _consistent(sound: Mapping[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Without outcomes of runs whose decision was lost: nobody knows their params."""
    asked: set[Any] = set()
    kept = {}
    for number, record in sound.items():
        kind = record.get("kind")
        if kind == "asked":
            asked.add(record["decision"]["trial"])
        if kind == "told" and record["trial"] not in asked:
            continue
        if kind == "told":
            asked.discard(record["trial"])
        kept[number] = record
    return kept


def _written(records: list[dict[str, Any]]) -> bytes:
    lines, check = [], ""
    for record in records:
        line, check = chained(record, check)
        lines.append(line)
    return b"".join(lines)


def _aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    return aside
