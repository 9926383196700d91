"""Lessons of the trained surrogate: what it is shown, and what it is asked."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.heavy

torch = pytest.importorskip("torch")
PLACE = Path(__file__).resolve().parents[2] / "experiments" / "surrogate"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    monkeypatch.syspath_prepend(str(PLACE))
    return importlib.import_module("simulate"), importlib.import_module("episodes")


def tasks(simulate: Any, count: int = 24) -> Any:
    return simulate.simulated(count, "cpu", torch.Generator().manual_seed(0))


def test_what_a_run_shows_is_noisier_where_scores_are_high_or_low_and_now_and_then_a_mishap(modules: Any) -> None:
    simulate, _ = modules
    task = tasks(simulate, 400)
    away = (task.seen - task.score) / task.score[:, :96].std(dim=1, keepdim=True)
    assert torch.isfinite(task.seen).all()
    spread = away.std(dim=1)
    assert (spread < 1e-6).float().mean() > 0.15  # some are exact
    low = task.seen[:, :96].quantile(0.25, dim=1, keepdim=True)
    mishaps = ((away < -0.5) & (task.seen <= low)).float().mean(dim=1)
    assert (mishaps > 0).any()
    assert mishaps.mean() < 0.1


@pytest.mark.parametrize("after", [(0, 10), (10, 38)])
def test_a_lesson_shows_what_runs_brought_and_of_candidates_only_where_they_are(
    modules: Any, after: tuple[int, int]
) -> None:
    simulate, episodes = modules
    torch.manual_seed(1)
    found = episodes.lesson(tasks(simulate, 200), after=after)
    exists, split = found.rows.mask[:, 2:], found.rows.mask.shape[1]
    outcome = found.rows.whole[:, :, :8]
    score, _, finished, failed = outcome[:, 2:split, :4].unbind(dim=-1)
    assert exists.shape[1] == after[1]
    assert found.rows.place.shape[1] == split + episodes.CANDIDATES
    assert not outcome[:, split:, :6].any()  # nothing of what a candidate would bring
    assert not outcome[:, 2:split][~exists].any()
    assert torch.equal(finished + failed, exists.float())
    assert torch.equal(found.begun, (finished > 0).any(dim=1))
    best = torch.where(finished > 0, score, -torch.inf).amax(dim=1)
    assert (best[found.begun] == 0.0).all()  # scores are counted from the best one seen
    count = exists.sum(dim=1)
    assert count.min() == (0 if after[0] == 0 else after[0] + 1)
    assert after[0] < count.max() <= after[1]


def test_the_context_comes_first_then_a_guess_if_there_is_one(modules: Any) -> None:
    simulate, episodes = modules
    task = tasks(simulate, 200)
    torch.manual_seed(2)
    found = episodes.lesson(task)
    context, guess = found.rows.whole[:, 0, :8], found.rows.whole[:, 1, :8]
    assert torch.equal(context, torch.eye(8)[5].expand(200, -1))
    assert torch.equal(guess, torch.eye(8)[4].expand(200, -1))
    assert not found.rows.place[:, 0].any()  # the context is nowhere
    known, began = found.rows.mask[:, 1], task.guessed > 0.5
    assert found.rows.mask[:, 0].all()
    assert known[began].float().mean() > 0.7
    assert 0.0 < known[~began].float().mean() < 0.3
    shown = found.rows.place[:, 1].sort(dim=1).values  # the coordinates come in any order
    assert torch.allclose(shown[began], task.guess.float().sort(dim=1).values[began])


def test_the_truth_of_a_candidate_is_in_the_bins_of_what_it_would_show(modules: Any) -> None:
    """Of a task whose scores and costs are all alike: no gain, and the cost of the runs so far."""
    simulate, episodes = modules
    task = tasks(simulate, 100)
    alike = replace(task, score=torch.zeros_like(task.score), seen=torch.zeros_like(task.seen),
                    log_cost=torch.zeros_like(task.log_cost), fails=torch.zeros_like(task.fails))  # fmt: skip
    torch.manual_seed(3)
    found = episodes.lesson(alike)
    for bins, edges in ((found.score, episodes.SCORE_EDGES), (found.cost, episodes.COST_EDGES)):
        truth = bins[found.begun].unique().tolist()
        assert len(truth) == 1
        assert edges[truth[0]] <= 1e-6
        assert edges[truth[0] + 1] >= -1e-6


def test_trends_are_those_of_a_surface_that_is_known(modules: Any) -> None:
    """A straight line, a parabola about the centre, a number without effect, a choice, and no coordinate at all."""
    pool = importlib.import_module("pool")
    torch.manual_seed(4)
    place = 2.0 * torch.rand(50, pool.EVEN, 5) - 1.0
    facts = torch.zeros(50, 5, 5)
    facts[:, :4, 0], facts[:, 3, 2] = 1.0, 1.0
    line, bow = (pool.trends(place, facts, score) for score in (place[:, :, 0], -place[:, :, 1].square()))
    assert (line[0][:, 0] > 0.95).all()
    assert (line[1][:, 0] > 0.95).all()
    assert (bow[0][:, 1].abs() < 0.4).all()
    assert (bow[1][:, 1] > 0.85).all()
    for rises, matters in (line, bow):
        assert rises[:, 2].abs().mean() < 0.15
        assert matters[:, 2].mean() < 0.15
        assert not rises[:, 3:].any()
        assert not matters[:, 3:].any()


def test_trends_are_said_in_some_lessons_of_numbers_alone_and_mostly_true(modules: Any) -> None:
    simulate, episodes = modules
    task = tasks(simulate, 2000)
    torch.manual_seed(5)
    rows = episodes.lesson(task).rows
    rises, matters = rows.facts[:, :, 5:].unbind(dim=-1)
    choices = rows.facts[:, :, 1] > 0
    silent = episodes.lesson(task, trends=0.0).rows.facts
    said = (rises != 0).any(dim=1).float().mean()
    assert not silent[:, :, 5:].any()
    assert not rows.facts[:, :, 5:][choices | (rows.exists == 0)].any()
    assert 0.3 < said < 0.6
    assert rises.abs().max() <= 1.0
    assert 0.0 <= matters.min() <= matters.max() <= 1.0
    strong = task.rises.float().abs() > 0.7
    one = strong.sum(dim=1) == 1  # the coordinates come in any order, but this one is plain to see
    truth = task.rises.float()[strong & one[:, None]]
    told = rises[one].gather(1, rises[one].abs().argmax(dim=1, keepdim=True))[:, 0]
    agree = (torch.sign(told) == torch.sign(truth))[told.abs() > 0.5].float().mean()
    assert agree > 0.75


def test_a_number_that_a_choice_switches_off_makes_no_difference_then(modules: Any) -> None:
    spaces, landscapes = (importlib.import_module(name) for name in ("spaces", "landscapes"))
    draw = spaces.Draw(200, torch.device("cpu"), torch.Generator().manual_seed(6))
    kinds = spaces.kinds_of(draw)
    gates = landscapes.Gates(draw, kinds)
    cost = landscapes.Cost(draw, kinds, gates)
    surface = landscapes.Surface(draw, kinds, gates, cost.grows)
    place, level = spaces.evenly(draw, kinds, 8), torch.zeros(200, 8)
    moved = torch.where(gates.gated[:, None] > 0, 1.0 - place, place)
    off = place.gather(2, gates.gate[:, None, None].expand(-1, 8, 1))[:, :, 0] < 0.5
    gated = (gates.gated * kinds.exists).any(dim=1)
    same = torch.isclose(surface.latent(place), surface.latent(moved), atol=1e-5)
    same_cost = torch.isclose(cost(place, level), cost(moved, level), atol=1e-4)
    assert 10 < gated.sum() < 150
    for alike in (same, same_cost):
        assert alike[gated][off[gated]].all()
        assert not alike[gated][~off[gated]].all()


def test_the_weights_of_a_network_that_read_less_of_a_coordinate_serve_as_before(modules: Any, tmp_path: Path) -> None:
    checkpoints, container = importlib.import_module("checkpoints"), importlib.import_module("autobct.maps.container")
    model = importlib.import_module("model")
    torch.manual_seed(7)
    made = model.Network(width=32, narrow=16, layers=1)
    notes = {"width": "32", "narrow": "16", "layers": "1"}
    checkpoints.ship(tmp_path / "now", made, notes)
    weights, about = container.unpack((tmp_path / "now").read_bytes())
    (tmp_path / "before").write_bytes(container.pack({**weights, "fact.weight": weights["fact.weight"][:, :5]}, about))
    now, before = (checkpoints.shipped(tmp_path / name).fact.weight for name in ("now", "before"))
    assert torch.equal(before[:, :5], now[:, :5])
    assert not before[:, 5:].any()
    assert now[:, 5:].any()
