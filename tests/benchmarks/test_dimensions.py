"""The cells of benchmarks/dimensions.py are measured as its page says."""

from __future__ import annotations

import json

import dimensions
import pytest

from autobct import Limits, Tuner
from autobct.tuning.statement import Plan


@pytest.fixture(autouse=True)
def few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dimensions, "TRIALS", 6)


@pytest.mark.parametrize("name", ["1 number", "3 categories", "7 numbers, 3 categories"])
def test_a_cell_tunes_the_space_that_it_is_named_after(name: str) -> None:
    found = dimensions.cell("autobct", name, 0)
    assert all(found[key] > 0 for key in ("seconds", "last", "memory"))
    numbers, categories = dimensions.SPACES[name]
    space = dimensions.ours((numbers, categories), 0).problem.space
    assert (len(space.numeric), len(space.groups)) == (numbers, categories)


def test_every_step_is_one_more_run_even_where_it_would_stop() -> None:
    made = Tuner.standing(Plan(limits=Limits(max_runs=2)), dimensions.ours((2, 0), 0).memory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dimensions, "ours", lambda space, seed: made)
        step = dimensions.stepping("autobct", (2, 0), 0)
    for trial in range(4):
        step(trial)
    assert [run.trial for run in made.history] == [0, 1, 2, 3]


def test_growth_tells_as_many_as_it_says() -> None:
    rows = dimensions.growth("autobct", [2, 15], 0)
    assert [row["told"] for row in rows] == [2, 15]
    assert all(row["traced"] > 0 for row in rows)


def test_the_page_has_the_tables_that_were_kept() -> None:
    kept, text = json.loads(dimensions.RESULTS.read_text()), dimensions.PAGE.read_text("utf-8")
    assert dimensions.page(text, kept) == text
    kept["spaces"][0]["ratios"]["GPSampler seconds"] = 123.0
    assert "| 1 number | 1.2e+02 |" in dimensions.page(text, kept)
