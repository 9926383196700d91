"""Lessons of the trained surrogate: what it is shown, and what it is asked."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
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


def test_some_candidates_are_those_that_the_pupil_would_train_at(modules: Any) -> None:
    simulate, episodes = modules
    task = tasks(simulate)
    asked = list[Any]()

    def look(runs: Any, candidates: Any, mask: Any) -> Any:
        """Everything good lies where the first coordinates are large, and costs and chances are the same everywhere."""
        asked.append((runs, candidates, mask))
        logits = torch.zeros(*candidates.shape[:2], episodes.SCORE_BINS + episodes.COST_BINS + 1 + episodes.BEFORE)
        logits[..., episodes.SCORE_BINS - 1] = 40.0 * candidates[..., :168].unflatten(-1, (24, 7))[..., 0].sum(dim=-1)
        return logits

    torch.manual_seed(1)
    found = episodes.lesson(task, look)
    ((runs, reach, mask),) = asked
    assert reach.shape[:2] == (24, 96 + 24)
    assert found.candidates.shape[1] == episodes.CANDIDATES
    place = lambda rows: rows[..., :168].unflatten(-1, (24, 7))[..., 0]  # noqa: E731
    liked, others = (place(part).sum(dim=-1) for part in found.candidates.split([episodes.LIKED, 24], dim=1))
    begun = found.begun
    assert (liked[begun].mean(dim=1) > others[begun].mean(dim=1)).float().mean() > 0.9
    for one in torch.nonzero(begun).flatten().tolist():
        made = {tuple(row) for row in place(runs[one, 2:][mask[one, 2:]]).numpy().round(3).tolist()}
        chosen = place(found.candidates[one, : episodes.LIKED]).numpy().round(3).tolist()
        within = {tuple(row) for row in place(reach[one]).numpy().round(3).tolist()}
        assert {tuple(row) for row in chosen} <= within
        if len(within - made) > 2 * episodes.LIKED:  # a point may lie where a run was made
            assert np.mean([tuple(row) in made for row in chosen]) < 0.5
