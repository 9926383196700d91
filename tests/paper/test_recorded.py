"""The recorded tables, played with 40 seeds: what the experiments must show."""

from __future__ import annotations

from functools import cache
from importlib import resources

import pytest

from autobct.paper.experiment import Experiment
from autobct.paper.experiments import EXPERIMENTS
from autobct.paper.play import TableReplay, paper_player, recorded
from autobct.paper.summary import Tunings, difference, replayed

SEEDS = 40
by_name = pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=lambda one: one.name)


def table(one: Experiment) -> TableReplay:
    if not (resources.files("autobct.paper") / "tables" / f"{one.table}.csv").is_file():
        pytest.skip(f"the table {one.table} is not recorded")
    return recorded(one.table, one.dim)


@cache
def played(name: str) -> Tunings:
    one = EXPERIMENTS[name]
    return replayed(one, paper_player(one.method, one.dim), recorded(one.table, one.dim), SEEDS)


@by_name
def test_the_table_is_fine_enough(one: Experiment) -> None:
    replay = table(one)
    assert all(len(axis) >= (21 if one.dim == 1 else 11) for axis in replay.axes)
    assert replay.repeats >= 3
    for key in ("command", "device", "versions", "wall seconds", "date", "data"):
        assert replay.header[key]
    assert (replay.columns["seconds"] > 0).all()


@by_name
def test_forty_tunings_end_by_themselves(one: Experiment) -> None:
    table(one)
    tunings = played(one.name)
    assert all("worth" in tuning.why or "next run" in tuning.why for tuning in tunings.played)
    assert 1 <= tunings.summary.runs.mean <= 12


@pytest.mark.parametrize("name", ["synthetic-map-2", "synthetic-map-4", "synthetic-otf"])
def test_the_synthetic_rows(name: str) -> None:
    one = EXPERIMENTS[name]
    table(one)
    summary = played(name).summary
    assert 2 <= summary.runs.mean <= 5
    assert one.score.to_raw(summary.score.mean) >= 0.97  # accuracy
    assert summary.cost.mean == pytest.approx(one.published[0].cost, rel=0.5)


@pytest.mark.parametrize("name", ["synthetic-map-2", "synthetic-map-4"])
def test_map_and_on_the_fly_find_equally_good_forests(name: str) -> None:
    """To a quarter of a percentage point of accuracy.  Hardly anything is left to chance here, so that even the
    smallest difference is more than its standard error."""
    table(EXPERIMENTS[name])
    ours, theirs = played(name).summary, played("synthetic-otf").summary
    assert ours.score.mean == pytest.approx(theirs.score.mean, abs=0.005)
    assert ours.net.mean == pytest.approx(theirs.net.mean, abs=0.05)


def test_the_2d_row_finds_the_learning_rate_and_nets_more() -> None:
    one = EXPERIMENTS["cnn-2d-map"]
    table(one)
    summary, paper = played(one.name).summary, one.published[-1]
    assert summary.control[0].mean == pytest.approx(paper.control[0], abs=0.1)
    assert summary.net.mean > paper.score - one.price * paper.cost


def test_depth_two_on_the_fly_is_less_reliable_in_2d() -> None:
    """The paper's finding: its final scores are lower and differ more."""
    table(EXPERIMENTS["cnn-2d-otf"])
    mapped, flown = played("cnn-2d-map"), played("cnn-2d-otf")
    gain, error = difference(mapped.nets, flown.nets)
    assert error is not None
    assert gain > 3 * error
    assert (mapped.summary.score.sd or 0.0) < (flown.summary.score.sd or 0.0)
