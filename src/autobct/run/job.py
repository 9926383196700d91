"""A tuning of a program: its validated TOML file, its folder, and how it ended."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any

from autobct.run.config import parse, read_text
from autobct.run.interrupts import Interrupts
from autobct.run.journal import NAME, Journal, JournalError, read_journal
from autobct.run.journal_replay import JournalReplay, cut_short, replay, tuner_of
from autobct.run.lock import Lock, locked
from autobct.run.process import GRACE, NOT_STARTED, find_program
from autobct.run.processes import end_all, marked
from autobct.run.program_settings import ProgramSettings, SettingsError, differences
from autobct.run.recorded import folder_of, recorded_settings
from autobct.run.run_clock import DIED, INTERVAL, RunClock
from autobct.run.toml_space import MOST_BYTES
from autobct.run.trial import Trainer, TrialOutcome
from autobct.tuning.history import Decision, Stop
from autobct.tuning.statement import versions
from autobct.tuning.storage import OnCrash
from autobct.tuning.tuner import Tuner


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

    def trainer(self, interrupts: Interrupts | None = None, lock: Lock | None = None, *, mark: str = "") -> Trainer:
        """What runs the program."""
        return Trainer(self.settings, self.directory, self.folder, interrupts, lock, mark=mark)

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


@dataclass(frozen=True, slots=True, eq=False)
class OpenedFolder:
    """A folder that is ours for now.

    journal:  to be written on
    again:    what stood in it already
    lock:     of the folder
    clock:    to be told of every run that begins or ends
    """

    journal: Journal
    again: JournalReplay
    lock: Lock
    clock: RunClock


@contextlib.contextmanager
def opened(job: Job, *, fresh: bool, on_crash: OnCrash = "rerun") -> Iterator[OpenedFolder]:
    """Take the folder of a job.

    fresh:     begin again; the old folder is moved aside, and nothing in it is lost
    on_crash:  as of `Storage`: what becomes of runs that were under way when the last process died
    """
    try:
        if fresh and job.folder.exists():
            with locked(job.folder):
                job.folder.rename(_aside(job.folder))
        private = not job.path.stat().st_mode & 0o077  # the journal holds what the file says
        job.folder.mkdir(0o700 if private else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(f"the folder {str(job.folder)!r} cannot be used: {error.strerror}") from None
    with locked(job.folder) as lock:
        end_all(lambda: marked(f"{lock.mark}:"), GRACE)  # what outlived a tuner and a keeper that were killed
        journal, records = _journal(job, lock)
        with contextlib.closing(journal), contextlib.closing(RunClock(job.folder, INTERVAL)) as clock:
            again = replay(records, verify=True)
            if on_crash == "fail" and (failed := _fail_cut_short(job, journal, records, clock)):
                again = replace(replay(records, verify=False), note=f"{failed} {again.note}".rstrip())
            yield OpenedFolder(journal, again, lock, clock)


def _fail_cut_short(job: Job, journal: Journal, records: list[dict[str, Any]], clock: RunClock) -> str:
    """Count the runs that a crash has cut short as failed, at the cost they had when last heard of.

    A sentence that says so; "" if there are none.
    """
    cut = cut_short(records)
    if not cut:
        return ""
    for trial, expected in cut.items():
        wall = clock.seconds(trial)
        cost = wall if job.settings.measure == "wall" else expected
        told = asdict(TrialOutcome(score=None, cost=cost, error=DIED, wall=wall))
        journal.add("told", trial=trial, **told)
        records.append({"kind": "told", "trial": trial, **told})
    numbers = ", ".join(str(trial + 1) for trial in cut)
    return f"Cut short when the process died, and counted as failed: {'run' if len(cut) == 1 else 'runs'} {numbers}."


def standing(job: Job) -> JournalReplay:
    """How far a job has come, without touching it."""
    path = job.folder / NAME
    if not path.exists():
        return JournalReplay(tuner_of(job.settings), (), 0.0)
    records = read_journal(path)
    check_same_problem(job, records)
    return replay([*records, {"kind": "resumed", **job.said}], verify=False)


def _journal(job: Job, lock: Lock) -> tuple[Journal, list[dict[str, Any]]]:
    path = job.folder / NAME
    if not path.exists():
        header = {**job.said, "settings": job.settings.digest, "seed": job.settings.seed, "versions": versions()}
        return Journal.start(path, lock.check, **header), [{"kind": "header", **header}]
    journal, records = Journal.resume(path, lock.check)
    with contextlib.ExitStack() as unless_refused:
        unless_refused.callback(journal.close)
        if "toml" not in records[0]:
            raise JournalError(f"{str(job.folder)!r} was stored from Python; give another folder with --dir")
        check_same_problem(job, records)
        last = [record for record in records if "toml" in record][-1]
        if last["toml"] != job.toml:
            journal.add("resumed", **job.said)
            records.append({"kind": "resumed", **job.said})
        unless_refused.pop_all()
    return journal, records


def check_same_problem(job: Job, records: Sequence[Mapping[str, Any]]) -> None:
    """SettingsError if the file was changed in anything but its limits since the tuning began."""
    before = recorded_settings(records)
    changed = differences(before.defining, job.settings.defining)
    if changed:
        keys = ", ".join(changed)
        raise SettingsError(
            f"{job.path}: {keys} changed since the tuning in {str(job.folder)!r} was started, so its runs do not "
            f"apply; change it back, or start over with --fresh (the old folder is kept under another name)"
        )


def _aside(folder: Path) -> Path:
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in range(1000):
        aside = folder.with_name(f"{folder.name}.{stamp}" + (f"-{number}" if number else ""))
        if not aside.exists():
            return aside
    raise JournalError(f"{str(folder)!r} cannot be moved aside; move it yourself")


RESULT = "result.json"
"""The file with the summary, in the folder of the tuning."""

CAPS = ("max_runs", "max_cost", "deadline")
"""Reasons to stop that are limits."""


@dataclass(frozen=True, slots=True, eq=False)
class Ending:
    """How a tuning ended, for now.  stop: None if it was interrupted."""

    tuner: Tuner
    decisions: tuple[Decision, ...]
    stop: Stop | None

    @property
    def code(self) -> int:
        """The exit code: 0 not worth it, 1 gave up or could not start, 3 no run finished, 4 a cap, 130 interrupted."""
        if self.stop is None:
            return 130
        if self.tuner.best is None:
            return 3
        if self.stop.reason in CAPS:
            return 4
        return 1 if self.stop.reason in ("failing", NOT_STARTED) else 0

    @property
    def summary(self) -> bytes:
        """result.json: what a script wants to know."""
        best, stop = self.tuner.best, self.stop
        summary = {
            "params": None if best is None else dict(best.params),
            "score": None if best is None else best.score,
            "run": None if best is None else best.trial + 1,
            "runs": len(self.tuner.history),
            "cost": math.fsum(run.cost for run in self.tuner.history),
            "total_cost": self.tuner.total_cost,
            "reason": None if stop is None else stop.reason,
            "why": None if stop is None else stop.why,
            "exit_code": self.code,
            "versions": versions(),
        }
        return (json.dumps(summary, indent=2, ensure_ascii=False) + "\n").encode()


def first_file() -> str:
    """Its text."""
    return (resources.files("autobct.run") / "files" / "tune.toml").read_text("utf-8")
