"""A tuning that stands in a folder: what was decided, what came of it, and whether it came to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from autobct.run.journal import NAME, JournalError, read_journal
from autobct.run.journal_replay import replay, settings_in
from autobct.run.program_settings import ProgramSettings
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
    n_jobs:     programs at the same time, as far as decisions depended on it: where the price is one of waiting
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
        return replace(found, n_jobs=self.n_jobs, price_of="waiting") if self.n_jobs > 1 else found


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
        n_jobs=_jobs(records),
    )


def _jobs(records: Sequence[Mapping[str, Any]]) -> int:
    """Programs at the same time where the price is one of waiting; otherwise one, whatever there were."""
    told = [record["waiting"] for record in records if record.get("waiting")]
    return max((each["free"] for each in told if each.get("price_of", "waiting") == "waiting"), default=1)


def _versions(header: Mapping[str, Any]) -> dict[str, str]:
    found = header.get("versions")
    if not isinstance(found, dict) or not all(isinstance(number, str) for number in found.values()):
        raise JournalError("the journal is inconsistent: it does not say with which versions it was begun")
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
