"""A journal that was damaged, removed or replaced: nothing sound is lost, and nothing unsound is taken."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import TOML, decided, tune, write_job
from typer.testing import CliRunner

import autobct
from autobct.cli import app
from autobct.run import read_run, stored
from autobct.run.journal import JournalError, read_journal
from autobct.run.lock import LockedError, locked
from autobct.run.recorded import repair
from autobct.tuning.history import Train

RUNS = 6


def tuner() -> autobct.Tuner:
    return autobct.Tuner({"x": autobct.Float(0, 1)}, price=1e-7)


def make(folder: Path) -> list[bytes]:
    """A folder with a few runs; the lines of its journal."""
    with stored(tuner(), folder) as kept:
        for _ in range(RUNS):
            decision = kept.ask()
            assert isinstance(decision, Train)
            kept.tell(decision, score=1 - (decision.params["x"] - 0.3) ** 2, cost=1.0)
    return (folder / "journal.jsonl").read_bytes().split(b"\n")[:-1]


def written(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "journal.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def test_a_damaged_line_costs_its_run_and_no_other(tmp_path: Path) -> None:
    lines = make(tmp_path)
    told = [number for number, line in enumerate(lines) if b'"told"' in line]
    damaged = [*lines]
    damaged[told[2]] = lines[told[2]].replace(b'"cost": 1.0', b'"cost": 7.0')
    path = written(tmp_path, damaged)
    before = path.read_bytes()
    with (
        pytest.raises(JournalError, match=rf"damaged in line {told[2] + 1}; .* autobct repair"),
        stored(tuner(), tmp_path),
    ):
        pass
    found = CliRunner().invoke(app, ["repair", str(tmp_path)])
    assert found.exit_code == 0
    assert f"Kept {len(lines) - 1} of {len(lines)} lines, with 5 runs; lost line {told[2] + 1}." in found.output
    assert (tmp_path / "journal.damaged-1.jsonl").read_bytes() == before
    with stored(tuner(), tmp_path) as again:
        assert [run.trial for run in again.tuner.history] == [0, 1, 3, 4, 5]
        assert again.ask().trial == 2  # type: ignore[union-attr]  # made again


def test_a_line_that_is_gone_takes_only_the_next_along(tmp_path: Path) -> None:
    lines = make(tmp_path)
    asked = next(number for number, line in enumerate(lines) if b'"asked"' in line and b'"trial": 3' in line)
    written(tmp_path, lines[:asked] + lines[asked + 1 :])
    found = repair(tmp_path)
    assert found.lost == (asked + 1,)  # the outcome of the run, of which nobody knows the params
    assert found.runs == RUNS - 1
    with stored(tuner(), tmp_path) as again:
        assert len(again.tuner.history) == RUNS - 1


def test_every_damage_is_refused_and_repaired_to_a_part_of_what_was(tmp_path: Path) -> None:
    """Derived independently: each record of a repaired journal is one of the original."""
    lines = make(tmp_path / "sound")
    whole = b"".join(line + b"\n" for line in lines)
    original = [json.dumps(record) for record in read_journal(tmp_path / "sound" / "journal.jsonl")]
    rng = random.Random(0)
    repaired = 0
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(lines[0]) + 2, len(data) - 2)] = rng.choice((0, 10, 13, 34, 48, 255))
        (folder / "journal.jsonl").write_bytes(bytes(data))
        if bytes(data) == whole:
            continue
        with pytest.raises(JournalError, match="damaged in line"):
            read_journal(folder / "journal.jsonl")
        found = repair(folder)
        kept = [json.dumps(record) for record in read_journal(folder / "journal.jsonl") if record["kind"] != "repaired"]
        assert len(kept) == len(found.kept)
        assert [record for record in original if record in kept] == kept
        with stored(tuner(), folder) as again:
            assert len(again.tuner.history) == found.runs
        repaired += found.runs >= RUNS - 3
    assert repaired > 40


def test_a_program_goes_on_after_a_repair(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    ending = tune(path)
    journal = tmp_path / "tune.run" / "journal.jsonl"
    lines = journal.read_bytes().split(b"\n")[:-1]
    told = [number for number, line in enumerate(lines) if b'"told"' in line]
    lines[told[1]] = lines[told[1]][:-40] + b'x"}'
    written(tmp_path / "tune.run", lines)
    assert CliRunner().invoke(app, ["run", str(path)]).exit_code == 2
    repaired = CliRunner().invoke(app, ["repair", str(path)])
    assert repaired.exit_code == 0
    made = len(ending.tuner.history)
    line = told[1] + 1  # its fingerprint is gone, by which the next one is known, and that asked for the next outcome
    kept = (
        f"Kept {len(lines) - 3} of {len(lines)} lines, with {made - 2} runs; lost lines {line}, {line + 1}, {line + 2}."
    )
    assert kept in " ".join(repaired.output.split())
    outcomes = {run.trial: (run.params, run.score, run.cost, run.error) for run in ending.tuner.history}
    found = {run.trial: (run.params, run.score, run.cost, run.error) for run in read_run(path).history}
    assert found == {trial: outcome for trial, outcome in outcomes.items() if trial not in (1, 2)}
    again = tune(path)
    assert again.code == 0
    trials = [run.trial for run in again.tuner.history]
    assert len(trials) == len(set(trials)) >= made - 2
    assert decided(tune(path)) == decided(again)


def test_what_is_sound_is_left_alone_and_what_is_hopeless_refused(tmp_path: Path) -> None:
    lines = make(tmp_path)
    path = tmp_path / "journal.jsonl"
    before = path.read_bytes()
    assert "is sound" in CliRunner().invoke(app, ["repair", str(tmp_path)]).output
    assert path.read_bytes() == before
    written(tmp_path, [lines[0].replace(b"Float", b"Flaot"), *lines[1:]])
    found = CliRunner().invoke(app, ["repair", str(tmp_path)])
    assert found.exit_code == 2
    assert "its first line, which says what was tuned, is damaged" in found.output
    assert sorted(file.name for file in tmp_path.iterdir()) == ["journal.jsonl", "lock"]
    assert CliRunner().invoke(app, ["repair", str(tmp_path / "nowhere")]).exit_code == 2
    with locked(tmp_path), pytest.raises(LockedError):
        repair(tmp_path)


def lose(kept: Any, path: Path) -> None:
    path.unlink()


def swap(kept: Any, path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


def append(kept: Any, path: Path) -> None:
    with open(path, "ab") as file:
        file.write(b"{}\n")


@pytest.mark.parametrize("harm", [lose, swap, append])
def test_a_journal_that_is_harmed_is_noticed_at_the_next_write(tmp_path: Path, harm: Any) -> None:
    path = tmp_path / "journal.jsonl"
    with stored(tuner(), tmp_path) as kept:
        decision = kept.ask()
        assert isinstance(decision, Train)
        kept.tell(decision, score=0.5, cost=1.0)
        decision = kept.ask()
        assert isinstance(decision, Train)
        harm(kept, path)
        with pytest.raises(
            JournalError, match=r"(removed or replaced|changed by another process).*journal.rescued.jsonl"
        ):
            kept.tell(decision, score=0.7, cost=1.0)
        assert len(kept.tuner.history) == 1  # the tuner knows no more than it could store
    (tmp_path / "journal.rescued.jsonl").replace(path)
    with stored(tuner(), tmp_path) as again:
        assert [run.score for run in again.tuner.history] == [0.5, 0.7]  # and the outcome is not lost


def test_a_lock_that_was_removed_is_taken_again_unless_somebody_has_it(tmp_path: Path) -> None:
    with stored(tuner(), tmp_path) as kept:
        (tmp_path / "lock").unlink()
        decision = kept.ask()
        assert isinstance(decision, Train)
        with pytest.raises(LockedError, match=f"process {os.getpid()}"), locked(tmp_path):
            pass  # held again
        (tmp_path / "lock").unlink()
        with locked(tmp_path), pytest.raises(LockedError, match="is already tuning in"):
            kept.tell(decision, score=0.5, cost=1.0)
        kept.tell(decision, score=0.5, cost=1.0)
    with stored(tuner(), tmp_path) as again:
        assert [run.score for run in again.tuner.history] == [0.5]


def test_a_report_reads_a_repaired_journal(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 2\n")
    tune(path)
    journal = tmp_path / "tune.run" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-30] + b"\n")
    repair(tmp_path / "tune.run")
    assert len(read_run(path).history) == 2
