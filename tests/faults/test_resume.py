"""A tuning goes on with another library, processor, version or limit: what was made counts as it was made."""

from __future__ import annotations

import contextlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run.cases import TOML, decided, told, tune, write_job

import autobct
from autobct.run import StoredTuner, read_run, stored
from autobct.run.job import Job
from autobct.run.journal import JournalError, chained, encoded, read_journal
from autobct.run.session import tune_program
from autobct.tuning.history import Stop, Train
from autobct.tuning.progress import Listeners
from autobct.tuning.tuner import Tuner

SPACE = {"x": autobct.Float(0, 1), "n": autobct.Int(1, 9)}


def tuner(**other: Any) -> Tuner:
    return Tuner(SPACE, price=0.0005, **other)


def score(params: Any) -> float:
    return float(1 - (params["x"] - 0.3) ** 2 - 0.01 * (params["n"] - 4) ** 2)


def train(kept: Tuner | StoredTuner, most: int = 100) -> list[str]:
    decisions = []
    while len(decisions) < most and isinstance(decision := kept.ask(), Train):
        kept.tell(decision, score=score(decision.params), cost=1.0)
        decisions.append(json.dumps(encoded(decision)))
    return decisions


def rewrite(path: Path, change: Any) -> None:
    """The same journal as another machine or version would have written it."""
    data, check = b"", ""
    for record in read_journal(path):
        line, check = chained(change(record) or record, check)
        data += line
    path.write_bytes(data)


def another_bit(record: dict[str, Any]) -> None:
    if record["kind"] == "asked":
        decision = record["decision"]
        decision["control"] = [float(np.nextafter(u, 2.0)) for u in decision["control"]]
        decision["value"] = float(np.nextafter(decision["value"], 2.0))


def another_decision(record: dict[str, Any]) -> None:
    if record["kind"] == "asked" and record["decision"]["trial"] == 1:
        record["decision"]["control"] = [0.25, 0.75]


def of_before(record: dict[str, Any]) -> None:
    """Fields and settings that another version has, or does not have."""
    if record["kind"] == "header":
        record["versions"] = {**record["versions"], "autobct": "0.0.1", "numpy": "1.0"}
        record["settings"] |= {"policy": "In other words.", "candidates": 7, "of_old": 1}
        del record["settings"]["overhead"]
    elif record["kind"] == "asked":
        record["decision"] |= {"luck": 1.0}
        del record["decision"]["price_of_run"]


@pytest.mark.parametrize("change", [another_bit, of_before])
def test_a_stored_tuning_goes_on_without_a_word(tmp_path: Path, change: Any) -> None:
    whole = train(tuner())
    with stored(tuner(), tmp_path) as first:
        train(first, most=3)
    rewrite(tmp_path / "journal.jsonl", change)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with stored(tuner(), tmp_path) as again:
            assert again.notes == ()
            assert [run.trial for run in again.tuner.history] == [0, 1, 2]
            rest = train(again)
    found = [json.loads(line)["params"] for line in rest]
    wanted = [json.loads(line)["params"] for line in whole[3:]]
    assert [p["n"] for p in found] == [p["n"] for p in wanted]
    assert [p["x"] for p in found] == pytest.approx([p["x"] for p in wanted])


def test_a_stored_tuning_with_other_decisions_goes_on_with_a_note(tmp_path: Path) -> None:
    with stored(tuner(), tmp_path) as first:
        train(first, most=3)
    rewrite(tmp_path / "journal.jsonl", another_decision)
    with contextlib.ExitStack() as opened:
        with pytest.warns(RuntimeWarning, match="Run 2 would be decided differently now .* It counts as") as warned:
            again = opened.enter_context(stored(tuner(), tmp_path))
        assert len(warned) == len(again.notes) == 1
        assert again.tuner.history[1].control.tolist() == [0.25, 0.75]
        assert train(again)


def test_limits_and_policy_may_change(tmp_path: Path) -> None:
    whole = train(tuner())
    with stored(tuner(max_runs=2), tmp_path) as first:
        made = train(first)
        assert first.ask().reason == "max_runs"  # type: ignore[union-attr]
    with stored(tuner(max_runs=50), tmp_path) as again:
        made += train(again)
    assert made == whole
    with stored(tuner(max_runs=2, max_cost=1.0), tmp_path) as fewer:
        assert isinstance(fewer.ask(), Stop)
        assert len(fewer.tuner.history) == len(whole)
    with (
        pytest.warns(RuntimeWarning, match="policy changed since the tuning in"),
        stored(tuner(policy=autobct.relaxed(depth=1)), tmp_path) as other,
    ):
        assert len(other.tuner.history) == len(whole)


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ({"direction": "minimize"}, "direction"),
        ({"guess": {"x": 0.2}}, "guess"),
        ({"score_range": (0, 2)}, "score_range"),
    ],
)
def test_another_problem_is_refused_and_nothing_changes(tmp_path: Path, said: dict[str, Any], named: str) -> None:
    with stored(tuner(), tmp_path) as first:
        train(first, most=1)
    before = (tmp_path / "journal.jsonl").read_bytes()
    with pytest.raises(JournalError, match=f"{named}.* changed since"), stored(tuner(**said), tmp_path):
        pass
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_a_program_goes_on_after_another_bit_and_another_decision(tmp_path: Path) -> None:
    path = write_job(tmp_path, TOML + "[limits]\nmax_runs = 3\n")
    tune(path)
    journal = tmp_path / "tune.run" / "journal.jsonl"
    rewrite(journal, another_bit)
    path.write_text(TOML)
    before = read_run(path).history
    ending = tune(path)
    assert ending.code == 0
    assert [run.score for run in ending.tuner.history[:3]] == [run.score for run in before]
    rewrite(journal, another_decision)
    said: list[str] = []
    again = tune_program(Job.of(path), Listeners([lambda _, event: said.append(getattr(event, "text", ""))]))
    assert any("Run 2 would be decided differently now" in text for text in said)
    trials = [run["trial"] for run in told(tmp_path / "tune.run")]
    assert trials == list(range(len(again.tuner.history)))
    assert len(trials) >= len(ending.tuner.history)
    assert decided(tune(path)) == decided(again)


def test_a_long_tuning_is_not_decided_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stored(tuner(prior="paper", recall=False), tmp_path) as first:
        for number in range(40):
            first._journal.add("asked", decision=encoded(_run(number)), left=None)
            first._journal.add("told", trial=number, score=0.5 + 0.001 * number, cost=1.0, error=None)
    decided_again: list[int] = []
    peek = Tuner.peek
    monkeypatch.setattr(Tuner, "peek", lambda self, *given: decided_again.append(1) or peek(self, *given))
    with contextlib.ExitStack() as opened:
        with pytest.warns(RuntimeWarning, match="would be decided differently"):
            again = opened.enter_context(stored(tuner(prior="paper", recall=False), tmp_path))
        assert len(again.tuner.history) == 40
        assert 1 <= len(decided_again) <= 10


def _run(number: int) -> Train:
    control = np.array([number / 100, 0.5])
    return Train(number, {}, control, 0.0, 1.0, 0.0, 0.5, 0.5, None)
