"""Models and data of the fresh families, which the shipped network has not learned from.

Spaces and names are those that users of the libraries write: LightGBM, XGBoost, CatBoost, R's rpart, ranger and
e1071, scikit-learn's models with two to four parameters, and networks as in tabular benchmarks.  `families.py train
--fresh` trains them; the three boosting libraries are needed for that alone (pip install 'autobct[fresh]').
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
from cube import Array, Space

from autobct import Categorical, Float, Int

FRESH: Mapping[str, Space] = {
    "lightgbm": {
        "num_leaves": Int(4, 256, log=True),
        "learning_rate": Float(0.005, 0.5, log=True),
        "n_estimators": Int(10, 300, log=True),
        "min_child_samples": Int(1, 100, log=True),
        "colsample_bytree": Float(0.2, 1.0),
        "reg_lambda": Float(1e-8, 10.0, log=True),
    },
    "catboost": {
        "iterations": Int(10, 300, log=True),
        "depth": Int(2, 8),
        "learning_rate": Float(1e-3, 1.0, log=True),
        "l2_leaf_reg": Float(0.1, 30.0, log=True),
        "random_strength": Float(1e-3, 10.0, log=True),
    },
    "rpart": {
        "cp": Float(1e-4, 1.0, log=True),
        "maxdepth": Int(1, 30),
        "minbucket": Int(1, 100),
        "minsplit": Int(2, 100),
    },
    "ranger": {
        "num.trees": Int(1, 500, log=True),
        "mtry.power": Float(0.0, 1.0),
        "sample.fraction": Float(0.1, 1.0),
        "min.node.size": Int(1, 100),
        "splitrule": Categorical(["gini", "extratrees"]),
    },
    "svc": {
        "kernel": Categorical(["linear", "polynomial", "radial"]),
        "cost": Float(4.5e-5, 2.2e4, log=True),
        "gamma": Float(4.5e-5, 2.2e4, log=True),
        "tolerance": Float(4.5e-5, 2.0, log=True),
        "degree": Int(2, 5),
    },
    "logreg": {
        "C": Float(1e-5, 1e5, log=True),
        "tol": Float(1e-6, 1e-1, log=True),
        "max_iter": Int(2, 500, log=True),
        "class_weight": Categorical(["none", "balanced"]),
    },
    "fcnet": {
        "init_lr": Float(5e-4, 1e-1, log=True),
        "batch_size": Int(8, 64, log=True),
        "n_units_1": Int(16, 512, log=True),
        "n_units_2": Int(16, 512, log=True),
        "activation_fn": Categorical(["tanh", "relu"]),
        "lr_schedule": Categorical(["const", "cosine"]),
    },
    "sgdnet": {
        "lr": Float(1e-5, 10.0, log=True),
        "momentum": Float(0.0, 0.99),
        "hidden_size": Int(4, 256, log=True),
        "num_layers": Int(1, 4),
        "weight_decay": Float(1e-7, 1.0, log=True),
        "batch_size": Int(8, 256, log=True),
        "epochs": Int(1, 30, log=True),
    },
    "sgd": {
        "alpha": Float(1e-5, 1.0, log=True),
        "eta0": Float(1e-5, 1.0, log=True),
    },
    "rbf": {
        "C": Float(2.0**-10, 2.0**10, log=True),
        "gamma": Float(2.0**-10, 2.0**10, log=True),
    },
    "rf": {
        "max_depth": Int(1, 50, log=True),
        "max_features": Float(0.0, 1.0),
        "min_samples_leaf": Int(1, 20),
        "min_samples_split": Int(2, 128, log=True),
    },
    "xgboost": {
        "colsample_bytree": Float(0.1, 1.0),
        "eta": Float(2.0**-10, 1.0, log=True),
        "max_depth": Int(1, 50, log=True),
        "reg_lambda": Float(2.0**-10, 2.0**10, log=True),
    },
    "kernel_ridge": {
        "alpha": Float(1e-6, 1e3, log=True),
        "gamma": Float(1e-5, 1e2, log=True),
        "kernel": Categorical(["rbf", "laplacian", "polynomial"]),
        "components": Int(1, 10),
    },
}
FRESH_DATA = ("digits", "diabetes", "mixed")


def fresh_model(family: str, told: Mapping[str, Any], data: tuple[Array, Array]) -> Any:
    """The estimator of a configuration.  data: features and classes that it is trained on."""
    return _MAKERS[family](dict(told), *data)


@cache
def fresh_data(family: str, name: str) -> tuple[Array, Array]:
    """Standardised features, and classes or for a regression values."""
    from sklearn.datasets import load_diabetes, load_digits, make_classification, make_friedman1
    from sklearn.preprocessing import StandardScaler

    regression = family == "kernel_ridge"
    if name == "digits":
        features, target = load_digits(return_X_y=True)
        features, target = features[:900], target[:900]
    elif name == "diabetes":
        features, target = load_diabetes(return_X_y=True)
        target = target if regression else (target > np.median(target)).astype(int)
    elif regression:
        features, target = make_friedman1(500, 10, noise=1.0, random_state=3)
    else:
        features, target = make_classification(
            1200, 20, n_informative=6, n_redundant=3, n_classes=3, flip_y=0.02, class_sep=0.7, random_state=5
        )
    return StandardScaler().fit_transform(features), target


def _lightgbm(t: dict[str, Any], x: Array, y: Array) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=0, **t)


def _catboost(t: dict[str, Any], x: Array, y: Array) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, verbose=False, allow_writing_files=False, random_seed=0, **t)


def _rpart(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    impurity = 1.0 - float(np.square(np.bincount(y) / len(y)).sum())
    return DecisionTreeClassifier(
        ccp_alpha=t["cp"] * impurity,  # rpart's is a share of the root's
        max_depth=t["maxdepth"],
        min_samples_leaf=t["minbucket"],
        min_samples_split=t["minsplit"],
        random_state=0,
    )


def _ranger(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    kind = RandomForestClassifier if t["splitrule"] == "gini" else ExtraTreesClassifier
    return kind(
        n_estimators=t["num.trees"],
        max_features=max(1, round(x.shape[1] ** t["mtry.power"])),
        max_samples=t["sample.fraction"],
        min_samples_leaf=t["min.node.size"],
        bootstrap=True,
        random_state=0,
    )


def _svc(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.svm import SVC

    kernel = {"linear": "linear", "polynomial": "poly", "radial": "rbf"}[t["kernel"]]
    how = {"C": t["cost"], "gamma": t["gamma"], "tol": t["tolerance"], "degree": t["degree"]}
    return SVC(kernel=kernel, max_iter=20_000, **how)


def _logreg(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.linear_model import LogisticRegression

    weight = None if t.pop("class_weight") == "none" else "balanced"
    return LogisticRegression(class_weight=weight, **t)


def _fcnet(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.neural_network import MLPClassifier

    constant = t["lr_schedule"] == "const"
    return MLPClassifier(
        hidden_layer_sizes=(t["n_units_1"], t["n_units_2"]),
        activation=t["activation_fn"],
        learning_rate_init=t["init_lr"],
        batch_size=t["batch_size"],
        max_iter=12 if constant else 8,
        beta_1=0.9 if constant else 0.5,
        random_state=0,
    )


def _sgdnet(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(
        hidden_layer_sizes=(t["hidden_size"],) * t["num_layers"],
        solver="sgd",
        learning_rate_init=t["lr"],
        momentum=t["momentum"],
        alpha=t["weight_decay"],
        batch_size=t["batch_size"],
        max_iter=t["epochs"],
        tol=0.0,
        n_iter_no_change=10_000,
        random_state=int(1e6 * t["momentum"]),  # a seed of its own: a cliff is not at the same place twice
    )


def _sgd(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", learning_rate="adaptive", max_iter=200, random_state=0, **t)


def _rbf(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.svm import SVC

    return SVC(max_iter=20_000, **t)


def _rf(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    features = max(1, round(x.shape[1] ** t.pop("max_features")))  # a power of their number
    return RandomForestClassifier(n_estimators=100, max_features=features, random_state=0, **t)


def _xgboost(t: dict[str, Any], x: Array, y: Array) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=60, n_jobs=1, verbosity=0, tree_method="hist", **t)


def _kernel_ridge(t: dict[str, Any], x: Array, y: Array) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.decomposition import PCA
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    reduced = PCA(t.pop("components"), random_state=0)
    return TransformedTargetRegressor(make_pipeline(reduced, KernelRidge(**t)), transformer=StandardScaler())


_MAKERS: Mapping[str, Callable[[dict[str, Any], Array, Array], Any]] = {
    "lightgbm": _lightgbm,
    "catboost": _catboost,
    "rpart": _rpart,
    "ranger": _ranger,
    "svc": _svc,
    "logreg": _logreg,
    "fcnet": _fcnet,
    "sgdnet": _sgdnet,
    "sgd": _sgd,
    "rbf": _rbf,
    "rf": _rf,
    "xgboost": _xgboost,
    "kernel_ridge": _kernel_ridge,
}
