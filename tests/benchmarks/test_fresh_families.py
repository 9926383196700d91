"""The families that serve for judging: what was recorded of them, and that their models can be trained anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cube import params_of, points_of
from families import DATA, FRESH_FILE, SPACES, points_at, tables_of, task_of
from fresh_models import FRESH, FRESH_DATA, fresh_data, fresh_model

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
BOOSTING = {"lightgbm", "xgboost", "catboost"}  # their libraries are not installed with the tests


def test_every_family_was_trained_on_every_data_set() -> None:
    tables = tables_of(RESULTS, FRESH_FILE)
    assert set(tables) == {f"{family}-{data}" for family in FRESH for data in FRESH_DATA}
    for name, rows in tables.items():
        assert len({row["index"] for row in rows}) == len(rows) >= 190, name
        assert all(0.0 <= row["score"] <= 1.0 and row["cost"] > 0.0 for row in rows), name
        assert np.ptp([row["score"] for row in rows]) > 0.02, name


def test_no_family_is_one_that_the_networks_have_learned_from() -> None:
    assert not set(FRESH) & set(SPACES)
    assert set(FRESH_DATA) != set(DATA)


def test_a_surface_is_close_to_what_was_trained() -> None:
    rows = tables_of(RESULTS, FRESH_FILE)["rpart-diabetes"]
    task = task_of("rpart-diabetes", rows)
    scores, costs = task.true(points_at("rpart", rows))
    trained = np.array([row["score"] for row in rows])
    assert np.corrcoef(scores, trained)[0, 1] > 0.9
    assert np.all(costs > 0.0)
    assert task.yardstick.range > 0.02


@pytest.mark.parametrize("family", sorted(set(FRESH) - BOOSTING))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_space_is_one_of_its_model(family: str) -> None:
    pytest.importorskip("sklearn")
    features, target = fresh_data(family, "diabetes")
    corners = np.array([[0.2] * len(FRESH[family]), [0.7] * len(FRESH[family])])
    for point in points_of(FRESH[family], corners):
        model = fresh_model(family, params_of(FRESH[family], point), (features[:200], target[:200]))
        assert np.isfinite(model.fit(features[:200], target[:200]).score(features[200:], target[200:]))
