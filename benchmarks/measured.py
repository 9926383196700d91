"""Measured tasks with plateaus, cliffs, seed noise and narrow ranges; their files are not part of the project.

hpobench_mlp: HPOBench's grid of 30,000 multilayer perceptrons on each of eight data sets, each trained with five seeds.
A proposal is trained at the nearest point of the grid; it shows the score of one seed, and the truth is their mean.
xgb_icml2020: 5,000 XGBoost configurations on each of ten data sets (Salinas et al., ICML 2020), a table like xgb_mnist.
No times were published for either: a cost model stands in, written beside each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from cube import Array, Space
from surfaces import NoDataError, Table

from autobct import Float, Int

MLP = ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle")
XGB = (
    "a6a",
    "australian",
    "german.numer",
    "heart",
    "ijcnn1",
    "madelon",
    "skin_nonskin",
    "spambase",
    "svmguide1",
    "w6a",
)

_GRID = {
    "alpha": np.logspace(-8, 0, 10),
    "batch_size": np.array([4, 6, 10, 16, 25, 40, 64, 101, 161, 256], dtype=float),
    "depth": np.array([1.0, 2.0, 3.0]),
    "learning_rate_init": np.logspace(-5, 0, 10),
    "width": np.array([16, 25, 40, 64, 101, 161, 256, 406, 645, 1024], dtype=float),
}


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Every point of a grid trained with several seeds.

    ends:   the values of each parameter;  logs: whether they are even on the logarithm
    scores: (n, seeds) in the order of itertools.product;  costs: (n,)
    """

    ends: tuple[Array, ...]
    logs: tuple[bool, ...]
    scores: Array
    costs: Array

    def rows(self, points: Array) -> Array:
        """The nearest points of the grid, (n,)."""
        found = np.zeros(len(points), dtype=np.intp)
        for ends, log, column in zip(self.ends, self.logs, points.T, strict=True):
            values, column = (np.log(ends), np.log(column)) if log else (ends, column)
            found = found * len(ends) + np.abs(column[:, None] - values).argmin(axis=1)
        return found

    def __call__(self, points: Array) -> tuple[Array, Array]:
        rows = self.rows(points)
        return self.scores[rows].mean(axis=1), self.costs[rows]

    def of_one_seed(self, points: Array, uniforms: Array) -> Array:
        """What trainings show: the score of one seed, which a uniform draws.  (n,)."""
        seeds = np.minimum((uniforms * self.scores.shape[1]).astype(np.intp), self.scores.shape[1] - 1)
        shown: Array = self.scores[self.rows(points), seeds]
        return shown


@cache
def hpobench_mlp(data: Path, task: str) -> tuple[Space, Grid]:
    """Multilayer perceptrons on one data set."""
    file = _file(data / "hpobench_mlp" / f"{task}.npz")
    space: Space = {
        "alpha": Float(1e-8, 1.0, log=True),
        "batch_size": Int(4, 256, log=True),
        "depth": Int(1, 3),
        "learning_rate_init": Float(1e-5, 1.0, log=True),
        "width": Int(16, 1024, log=True),
    }
    with np.load(file, allow_pickle=False) as stored:
        scores = np.asarray(stored["scores"], dtype=float)
    rows = np.array(list(product(*_GRID.values())))
    _, batch_size, depth, _, width = rows.T
    costs = 10.0 * (16.0 / batch_size + 2.0 * (30.0 * width + (depth - 1.0) * width**2) / 1024.0**2)
    logs = tuple(parameter.log for parameter in space.values())
    return space, Grid(tuple(_GRID.values()), logs, scores, costs)


@cache
def xgb_icml2020(data: Path, task: str) -> tuple[Space, Table]:
    """XGBoost on one data set: score is 1 - error."""
    column = _columns(data / "xgb_icml2020", task)
    space: Space = {
        "min_child_weight": Float(2.0**-8, 2.0**6, log=True),
        "subsample": Float(0.5, 1.0),
        "colsample_bytree": Float(0.3, 1.0),
        "gamma": Float(2.0**-20, 2.0**6, log=True),
        "lambda": Float(2.0**-10, 2.0**8, log=True),
        "eta": Float(0.0, 1.0),
        "max_depth_index": Int(0, 12),
        "alpha": Float(2.0**-20, 2.0**8, log=True),
    }
    logs = {"min_child_weight", "gamma", "lambda", "alpha"}
    points = np.stack([2.0 ** column[f"hp_log2_{n}"] if n in logs else column[f"hp_{n}"] for n in space], axis=1)
    costs = 2.0 + column["hp_subsample"] * (0.3 + column["hp_colsample_bytree"]) * column["hp_max_depth_index"]
    return space, Table(points, 1.0 - column["metric_error"], costs)


def _columns(place: Path, task: str) -> dict[str, Array]:
    """The rows of a task, column by column: of the published Parquet file, or of the same as arrays in xgboost.npz."""
    if (place / "xgboost.npz").is_file():
        with np.load(place / "xgboost.npz", allow_pickle=False) as stored:
            rows = stored["task"] == task
            return {name: np.asarray(stored[name][rows], dtype=float) for name in stored.files if name != "task"}
    import pyarrow.compute  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped,import-not-found,unused-ignore]

    table = pyarrow.parquet.read_table(_file(place / "xgboost.parquet"))
    table = table.filter(pyarrow.compute.equal(table["task"], task))
    return {name: np.asarray(table[name], dtype=float) for name in table.column_names if name != "task"}


def _file(place: Path) -> Path:
    if not place.is_file():
        raise NoDataError(
            f"{place} is missing: get HPOBench's tabular MLP benchmark and the XGBoost table of Salinas et al. (2020)"
        )
    return place
