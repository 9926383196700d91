"""The folder of a tuning: made, locked, and continued only if it is the same problem."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from autobct.run.job import Job
from autobct.run.journal import NAME, Journal, JournalError, read_journal
from autobct.run.journal_replay import JournalReplay, replay, tuner_of
from autobct.run.lock import Lock, locked
from autobct.run.process import GRACE
from autobct.run.processes import end_all, marked
from autobct.run.program_settings import SettingsError, differences
from autobct.run.recorded import recorded_settings
from autobct.tuning.statement import versions


@dataclass(frozen=True, slots=True, eq=False)
class OpenedFolder:
    """A folder that is ours for now.

    journal:  to be written on
    again:    what stood in it already
    lock:     of the folder
    """

    journal: Journal
    again: JournalReplay
    lock: Lock


@contextlib.contextmanager
def opened(job: Job, *, fresh: bool) -> Iterator[OpenedFolder]:
    """Take the folder of a job.  fresh: begin again; the old folder is moved aside, and nothing in it is lost."""
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
        with contextlib.closing(journal):
            yield OpenedFolder(journal, replay(records, verify=True), lock)


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
