"""Journals whose checksums were made right again: their structure and numbers are checked, not only their bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.run.cases import tune, write_job

from autobct.run import read_run
from autobct.run.journal import JournalError, chained, read_journal

Change = Callable[[list[dict[str, Any]]], None]


def last(records: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return [record for record in records if record["kind"] == kind][-1]


def control(value: Any) -> Change:
    def change(records: list[dict[str, Any]]) -> None:
        asked = last(records, "asked")["decision"]
        asked["control"] = [value] * len(asked["control"])

    return change


def no_versions(records: list[dict[str, Any]]) -> None:
    del records[0]["versions"]


def other_versions(records: list[dict[str, Any]]) -> None:
    records[0]["versions"] = {"numpy": [1]}


def reason(value: Any) -> Change:
    return lambda records: last(records, "stopped")["decision"].update(reason=value)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_job(tmp_path_factory.mktemp("sound"))
    tune(path)
    return path.with_suffix(".run")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (control(1e308), "a control is not in the unit cube"),
        (control(-0.1), "a control is not in the unit cube"),
        (control(float("nan")), "a control is not in the unit cube"),
        (no_versions, "does not state the versions it was started with"),
        (other_versions, "does not state the versions it was started with"),
        (reason("\u202e"), "a reason to stop is not known"),
        (reason(["not worth it"]), "inconsistent"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_resealed_journal_is_refused_in_one_sentence(
    sound: Path, tmp_path: Path, change: Change, sentence: str
) -> None:
    records, check = copy.deepcopy(read_journal(sound / "journal.jsonl")), ""
    change(records)
    with open(tmp_path / "journal.jsonl", "wb") as file:
        for record in records:
            line, check = chained(record, check)
            file.write(line)
    with pytest.raises(JournalError, match=sentence):
        _ = read_run(tmp_path).why
