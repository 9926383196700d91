"""Published tuning tasks: what a configuration truly scores and costs, from files that are not part of the project.

The files are those of YAHPO Gym v1.0.2 (lcbench, rbv2_xgboost, iaml_glmnet) and of OTHPO's XGBoost on MNIST; `folder`
says where they are looked for.  A point is a row of raw values in the order of the space, a category its position.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from cube import Array, Space

from autobct import Categorical, Float, Int

WHERE = (
    "get lcbench, rbv2_xgboost and iaml_glmnet (model.onnx, config_space.json, encoding.json) of YAHPO Gym v1.0.2, and "
    "xgb_mnist.npz of OTHPO, put them into FOLDER/hpo/<name>/ and set AUTOBCT_DATA=FOLDER or say --data FOLDER"
)
_SHORTEST = 1e-3  # seconds: a surrogate may say less than nothing


class Surface(Protocol):
    """What is true: points (n, d) -> scores (n,) and costs (n,)."""

    def __call__(self, points: Array) -> tuple[Array, Array]: ...


class NoDataError(RuntimeError):
    """The files are not there; the sentence says what to get."""


def folder(given: str | Path | None = None) -> Path:
    """The folder hpo/ of the data: of `given`, or of the environment's AUTOBCT_DATA."""
    named = given or os.environ.get("AUTOBCT_DATA")
    if not named:
        raise NoDataError(f"the tuning tasks need data that is not part of the project: {WHERE}")
    path = Path(named) if Path(named).name == "hpo" else Path(named) / "hpo"
    if not path.is_dir():
        raise NoDataError(f"there are no tuning tasks in {path}: {WHERE}")
    return path


@dataclass(frozen=True, slots=True, eq=False)
class Surrogate:
    """A network's answer at a configuration.

    codes, values: (1, a), (1, b) inputs where nothing is tuned;  outputs: positions of score and cost
    inputs:        for every parameter whether it is a category, its position, and the code of each of its choices
    """

    file: Path
    codes: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    inputs: tuple[tuple[bool, int, tuple[int, ...]], ...]
    outputs: tuple[int, int]
    ends: tuple[float, float]

    def __call__(self, points: Array) -> tuple[Array, Array]:
        codes, values = self.codes.repeat(len(points), axis=0), self.values.repeat(len(points), axis=0)
        for (category, position, known), column in zip(self.inputs, points.T, strict=True):
            if category:
                codes[:, position] = np.asarray(known)[column.astype(np.intp)]
            else:
                values[:, position] = column
        found = _session(self.file).run(None, {"x_cat": codes, "x_cont": values})[0]
        score, cost = (np.asarray(found[:, k], dtype=float) for k in self.outputs)
        return np.clip(score, *self.ends), np.maximum(cost, _SHORTEST)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Configurations that were measured, and no others.  points: (n, d), scores: (n,), costs: (n,)."""

    points: Array
    scores: Array
    costs: Array

    def __call__(self, points: Array) -> tuple[Array, Array]:
        rows = [int(np.flatnonzero(np.all(self.points == point, axis=1))[0]) for point in points]
        return self.scores[rows], self.costs[rows]


@cache
def _session(file: Path) -> Any:
    """One thread: several plays run side by side."""
    try:
        import onnxruntime  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        raise ImportError("the tuning tasks need onnxruntime; write: pip install 'autobct[peers]'") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


@dataclass(frozen=True, slots=True)
class Family:
    """How the columns of a surrogate are named.

    task:    the category that names the task;  other: further categories;  fixed: what is not tuned
    score:   position of the score among the outputs, and the ends of what it can be;  cost: position of the cost
    """

    name: str
    task: str
    cont: str
    score: int
    cost: int
    ends: tuple[float, float]
    noise: float
    other: str = ""
    fixed: Mapping[str, float | str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


LCBENCH = Family(
    "lcbench",
    "OpenML_task_id",
    "epoch batch_size learning_rate momentum weight_decay num_layers max_units max_dropout",
    score=1,
    cost=0,
    ends=(0.0, 100.0),
    noise=0.3,
    fixed={"epoch": 50},
)
RBV2_XGBOOST = Family(
    "rbv2_xgboost",
    "task_id",
    "nrounds eta gamma lambda alpha subsample max_depth min_child_weight colsample_bytree colsample_bylevel "
    "rate_drop skip_drop trainsize repl",
    score=0,
    cost=6,
    ends=(0.0, 1.0),
    noise=0.003,
    other="booster num.impute.selected.cpo",
    fixed={"booster": "gbtree", "trainsize": 1, "repl": 10},
    absent=("rate_drop", "skip_drop"),  # of another booster; a surrogate takes 0 for what is missing
)
IAML_GLMNET = Family(
    "iaml_glmnet", "task_id", "alpha s trainsize", score=2, cost=7, ends=(0.0, 1.0), noise=0.003, fixed={"trainsize": 1}
)
FAMILIES = {family.name: family for family in (LCBENCH, RBV2_XGBOOST, IAML_GLMNET)}


def surrogate(family: Family, task: str, data: Path) -> tuple[Space, Surrogate]:
    """Space and surface of one task of a family."""
    place = data / family.name
    stated = {h["name"]: h for h in _json(place / "config_space.json")["hyperparameters"]}
    encoding: dict[str, dict[str, int]] = _json(place / "encoding.json")
    cats, conts = [family.task, *family.other.split()], family.cont.split()
    if task not in encoding[family.task]:
        raise ValueError(f"{family.name} has no task {task!r}; write one of {sorted(encoding[family.task])}")
    fixed = {**family.fixed, family.task: task}
    tuned = [name for name in stated if name not in fixed and name not in family.absent]
    codes = [encoding[name].get(str(fixed.get(name, "#na#")), 0) for name in cats]
    values = [float(fixed.get(name, 0.0)) for name in conts]
    space = {name: _parameter(stated[name]) for name in tuned}
    inputs = tuple(
        (True, cats.index(name), tuple(encoding[name][choice] for choice in stated[name]["choices"]))
        if name in cats
        else (False, conts.index(name), ())
        for name in tuned
    )
    return space, Surrogate(
        place / "model.onnx",
        np.array([codes], dtype=np.int32),
        np.array([values], dtype=np.float32),
        inputs,
        (family.score, family.cost),
        family.ends,
    )


def tasks_of(family: Family, data: Path) -> list[str]:
    """Names of all tasks of a family."""
    stated = _json(data / family.name / "config_space.json")["hyperparameters"]
    return next(sorted(h["choices"], key=int) for h in stated if h["name"] == family.task)


def xgb_mnist(data: Path, size: int = -1) -> tuple[Space, Table]:
    """XGBoost on MNIST, as measured; size: position of the number of training rows, the last is the largest."""
    place = data / "xgb_mnist_othpo" / "xgb_mnist.npz"
    if not place.is_file():
        raise NoDataError(f"{place} is missing: {WHERE}")
    space: Space = {
        "learning_rate": Float(1e-6, 1.0, log=True),
        "min_child_weight": Float(1e-6, 32.0, log=True),
        "max_depth": Int(2, 32, log=True),
        "n_estimators": Int(2, 256, log=True),
    }
    with np.load(place, allow_pickle=False) as file:
        names = ("hp_learning_rates", "hp_min_child_weight", "hp_max_depth", "hp_n_estimators")
        points = np.stack([np.asarray(file[name], dtype=float) for name in names], axis=1)
        return space, Table(points, 1.0 - file["test_errors"][size] / 14_000.0, file["time_s"][size].astype(float))


def _parameter(stated: Mapping[str, Any]) -> Float | Int | Categorical:
    if stated["type"] == "categorical":
        return Categorical(stated["choices"])
    kind = Int if stated["type"] == "uniform_int" else Float
    return kind(stated["lower"], stated["upper"], log=stated["log"])


def _json(file: Path) -> Any:
    if not file.is_file():
        raise NoDataError(f"{file} is missing: {WHERE}")
    return json.loads(file.read_text())
