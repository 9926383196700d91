"""The published tasks themselves, where their data is."""

from __future__ import annotations

import numpy as np
import pytest
from surfaces import NoDataError, folder
from tasks import HELD_OUT, PUBLISHED, named, published

pytestmark = pytest.mark.heavy

pytest.importorskip("onnxruntime", reason="the surrogates need onnxruntime: pip install 'autobct[peers]'")
try:
    folder()
except NoDataError as absent:
    pytest.skip(str(absent), allow_module_level=True)


def test_there_are_thirteen_and_none_of_them_is_held_out():
    tasks = published()
    families = [task.family for task in tasks]
    assert {name: families.count(name) for name in families} == {
        "lcbench": 6,
        "rbv2_xgboost": 4,
        "xgb_mnist": 1,
        "iaml_glmnet": 2,
    }
    assert not set(PUBLISHED) & set(HELD_OUT)


@pytest.mark.parametrize("name", ["lcbench-3945", "rbv2_xgboost-16", "iaml_glmnet-1067"])
def test_one_and_many_evaluations_agree(name):
    (task,) = named([name])
    points = task.points(np.random.default_rng(0).random((50, len(task.space))))
    scores, costs = task.true(points)
    low, high = task.score_range
    assert np.all((scores >= low) & (scores <= high) & (costs > 0))
    assert np.ptp(scores) > 0.05 * (high - low)
    one = [task.true(task.point(task.params(point))[None]) for point in points]
    np.testing.assert_allclose(np.array(one)[:, :, 0].T, np.stack([scores, costs]), rtol=1e-4, atol=1e-4)


def test_every_space_is_as_published():
    lcbench, rbv2, glmnet = named(["lcbench-3945", "rbv2_xgboost-16", "iaml_glmnet-1067"])
    assert len(lcbench.space) == 7  # without the epoch
    assert len(rbv2.space) == 11  # of gbtree: without booster and what belongs to others
    assert "epoch" not in lcbench.space
    assert set(glmnet.space) == {"alpha", "s"}


def test_the_measured_table_is_its_own_yardstick():
    (task,) = named(["xgb_mnist"])
    assert task.yardstick.best == task.surface.scores.max()
    assert task.true(task.surface.points[:3])[0].tolist() == task.surface.scores[:3].tolist()
