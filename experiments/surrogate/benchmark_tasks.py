"""All tasks of all families by name: published data, and the tables that benchmarks/families.py trains."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import families
from tasks import Task, everything, named

FOLDS = {
    "fold-0": ("lcbench", "svm", "xgb_mnist", "svc", "rbf", "fcnet"),
    "fold-1": ("rbv2_xgboost", "network", "iaml_glmnet", "xgboost", "sgdnet", "logreg"),
    "fold-2": ("hpobench_mlp", "forest", "linear", "rf", "ranger", "sgd"),
    "fold-3": ("xgb_icml2020", "boosting", "neighbours", "lightgbm", "catboost", "rpart", "kernel_ridge"),
}
"""Families that the network of a fold never sees; the one of all families belongs to none."""

SIZES = (4, 8, 12, 16, 20, 24)
"""Of xgb_mnist besides the largest: other sizes of the same table."""


def all_names(data: str) -> list[str]:
    """Of every task there is."""
    published = [task.name for task in everything(data)] + [f"xgb_mnist-{size}" for size in SIZES]
    return published + list(_trained(data))


def fresh_names(data: str) -> list[str]:
    """Of the tasks of the thirteen fresh families."""
    return list(_trained(data, families.FRESH_FILE))


def named_task(name: str, data: str) -> Task:
    """One task."""
    trained = {**_trained(data), **_trained(data, families.FRESH_FILE)}
    return families.task_of(name, trained[name]) if name in trained else named([name], data)[0]


@cache
def _trained(data: str, file: str = families.FILE) -> dict[str, list[dict[str, Any]]]:
    """The families that are trained on the spot, where their file lies beside the published data."""
    return families.tables_of(Path(data), file)
