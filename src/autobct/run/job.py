"""A TOML file that was read and found good, and where its tuning is stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from autobct.run.config import parse, read_text
from autobct.run.interrupts import Interrupts
from autobct.run.journal_replay import tuner_of
from autobct.run.lock import Lock
from autobct.run.process import find_program
from autobct.run.program_settings import ProgramSettings, SettingsError
from autobct.run.recorded import folder_of
from autobct.run.rows import MOST_BYTES
from autobct.run.trial import Trainer


@dataclass(frozen=True, slots=True)
class Job:
    """What to tune.  path, toml: the file and its text;  folder: where everything that happens is kept."""

    path: Path
    toml: str
    settings: ProgramSettings
    folder: Path

    @classmethod
    def of(cls, path: Path, folder: Path | None = None) -> Job:
        """The job a TOML file describes; SettingsError if it describes none."""
        toml = read_text(path)
        try:
            settings = parse(toml, lambda file: read_text(path.absolute().parent / file, MOST_BYTES))
            job = cls(path, toml, settings, folder_of(path) if folder is None else folder.absolute())
            job._check_program()
            tuner_of(job.settings)  # what goes together is the tuner's to say
        except (SettingsError, TypeError, ValueError) as error:
            raise SettingsError(f"{path}: {error}") from None
        return job

    @property
    def said(self) -> dict[str, str]:
        """All that was read, for the journal."""
        rows = self.settings.rows
        return {"toml": self.toml} if rows is None else {"toml": self.toml, "rows": rows}

    @property
    def directory(self) -> Path:
        """Where the program runs; a relative one is as seen from the TOML file."""
        return (self.path.absolute().parent / self.settings.program.directory).resolve()

    def trainer(self, interrupts: Interrupts | None = None, lock: Lock | None = None) -> Trainer:
        """What runs the program."""
        return Trainer(self.settings, self.directory, self.folder, interrupts, lock)

    def _check_program(self) -> None:
        """A program that is not there is a slip in the file, not a failed run."""
        if not self.directory.is_dir():
            raise SettingsError(f"directory: there is no folder {str(self.directory)!r}")
        program = self.settings.program
        if "{" in program.command[0] or "PATH" in program.env:
            return  # only known when it runs
        trouble = find_program(program.command[0], self.directory)
        if trouble is not None:
            raise SettingsError(f"command: {trouble}")
