"""Tasks of other families, trained here: is a default right beyond the tasks that it was chosen on?

    python benchmarks/families.py train --out FOLDER [--seconds 520] [--workers 14] [--fresh]
    python benchmarks/families.py play --out FOLDER [--seeds 3]

`train` fits six scikit-learn models to three data sets that need no download, at configurations of Sobol's sequence,
and writes score and processor seconds of each, one JSON line per training; it can be stopped at any moment and goes
on where it was.  With --fresh it fits the models of fresh_models.py instead, which serve for judging.  `play` makes a
surface of each table (a Gaussian process of score and log cost) and lets the default tuner play it as
benchmarks/tasks.py has it.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import json
import math
import multiprocessing
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cube import Array, Space, params_of, points_of, unit_of
from fresh_models import FRESH, FRESH_DATA, fresh_data, fresh_model
from peer_plain import spread
from tasks import LEVELS, Task, autobct_tuner, play
from yardsticks import kept_folder

from autobct import Categorical, Float, Int
from autobct.belief.surrogate.gaussian_process import GaussianProcess, conditioned, fit

CONFIGURATIONS = 512
FILE, FRESH_FILE = "families.jsonl", "fresh_families.jsonl"
SPACES: Mapping[str, Space] = {
    "svm": {
        "C": Float(1e-2, 1e3, log=True),
        "gamma": Float(1e-5, 10.0, log=True),
        "coef0": Float(0.0, 1.0),
        "kernel": Categorical(["rbf", "poly", "sigmoid"]),
    },
    "forest": {
        "n_estimators": Int(4, 500, log=True),
        "max_depth": Int(1, 30),
        "max_features": Float(0.05, 1.0),
        "min_samples_leaf": Int(1, 50, log=True),
    },
    "boosting": {
        "max_iter": Int(10, 400, log=True),
        "learning_rate": Float(1e-3, 1.0, log=True),
        "max_leaf_nodes": Int(2, 128, log=True),
        "min_samples_leaf": Int(1, 200, log=True),
        "l2_regularization": Float(1e-8, 10.0, log=True),
    },
    "network": {
        "layers": Int(1, 3),
        "units": Int(8, 256, log=True),
        "learning_rate_init": Float(1e-5, 1e-1, log=True),
        "alpha": Float(1e-7, 1.0, log=True),
        "batch_size": Int(16, 512, log=True),
        "max_iter": Int(3, 60, log=True),
    },
    "neighbours": {
        "n_components": Int(1, 20),
        "n_neighbors": Int(1, 100, log=True),
        "p": Float(1.0, 3.0),
        "weights": Categorical(["uniform", "distance"]),
    },
    "linear": {
        "alpha": Float(1e-7, 1.0, log=True),
        "l1_ratio": Float(0.0, 1.0),
        "eta0": Float(1e-4, 1.0, log=True),
        "power_t": Float(0.0, 1.0),
        "max_iter": Int(1, 100, log=True),
        "loss": Categorical(["hinge", "log_loss", "modified_huber"]),
    },
}
DATA = ("digits", "cancer", "made")


def model_of(family: str, params: Mapping[str, Any]) -> Any:
    """The scikit-learn estimator of a configuration."""
    from sklearn.decomposition import PCA
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import SGDClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    told = dict(params)
    if family == "network":
        told["hidden_layer_sizes"] = (told.pop("units"),) * told.pop("layers")
    if family == "neighbours":
        return make_pipeline(PCA(told.pop("n_components"), random_state=0), KNeighborsClassifier(**told))
    makers: dict[str, Callable[..., Any]] = {
        "svm": lambda **t: SVC(max_iter=20_000, **t),
        "forest": lambda **t: RandomForestClassifier(random_state=0, **t),
        "boosting": lambda **t: HistGradientBoostingClassifier(early_stopping=False, random_state=0, **t),
        "network": lambda **t: MLPClassifier(tol=0.0, n_iter_no_change=10_000, random_state=0, **t),
        "linear": lambda **t: SGDClassifier(
            penalty="elasticnet", learning_rate="invscaling", tol=None, random_state=0, **t
        ),
    }
    return makers[family](**told)


@cache
def data_of(name: str) -> tuple[Array, Array]:
    """Standardised features and classes."""
    from sklearn.datasets import load_breast_cancer, load_digits, make_classification
    from sklearn.preprocessing import StandardScaler

    features, classes = {
        "digits": lambda: load_digits(return_X_y=True),
        "cancer": lambda: load_breast_cancer(return_X_y=True),
        "made": lambda: make_classification(
            2000, 30, n_informative=8, n_redundant=4, n_classes=4, n_clusters_per_class=2, flip_y=0.05, random_state=0
        ),
    }[name]()
    return StandardScaler().fit_transform(features), classes


def trained(job: tuple[str, str, int]) -> dict[str, Any]:
    """Score, mean of two splits, and processor seconds of one configuration."""
    from sklearn.model_selection import train_test_split

    family, data, index = job
    space = space_of(family)
    params = params_of(space, points_of(space, spread(index + 1, len(space), seed=None)[-1:])[0])
    features, classes = fresh_data(family, data) if family in FRESH else data_of(data)
    scores, seconds = [], 0.0
    stratified = None if np.issubdtype(classes.dtype, np.floating) else classes
    for seed in range(2):
        x, x_test, y, y_test = train_test_split(
            features, classes, test_size=0.4, stratify=stratified, random_state=seed
        )
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fresh_model(family, params, (x, y)) if family in FRESH else model_of(family, params)
            try:
                scores.append(max(float(model.fit(x, y).score(x_test, y_test)), 0.0))
            except ValueError as error:  # gradient descent that diverges knows no more than how frequent classes are
                if "non-finite" not in str(error):
                    raise
                scores.append(float(np.mean(y_test == np.bincount(y).argmax())))
        seconds += time.process_time() - start
    return {"task": f"{family}-{data}", "index": index, "score": float(np.mean(scores)), "cost": seconds}


def space_of(family: str) -> Space:
    """Of a family of the first twelve, or of a fresh one."""
    return FRESH[family] if family in FRESH else SPACES[family]


def train(out: Path, seconds: float, workers: int, *, fresh: bool) -> None:
    """Every table in turn, so that all have about as many rows whenever it ends."""
    file, start = out / (FRESH_FILE if fresh else FILE), time.monotonic()
    made = {(row["task"], row["index"]) for row in read(file)}
    spaces, data = (FRESH, FRESH_DATA) if fresh else (SPACES, DATA)
    jobs = [(f, d, i) for i in range(CONFIGURATIONS) for f in spaces for d in data if (f"{f}-{d}", i) not in made]
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(workers) as pool, file.open("a") as rows:
        for row in pool.imap_unordered(trained, jobs):
            rows.write(json.dumps(row) + "\n")
            rows.flush()
            if time.monotonic() - start > seconds:
                pool.terminate()
                return


def read(file: Path) -> Iterator[dict[str, Any]]:
    """What was trained; a line that was cut short is left out."""
    for line in file.read_text().splitlines() if file.is_file() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def tasks_of(out: Path) -> list[Task]:
    """The tables as surfaces."""
    return [task_of(name, rows) for name, rows in tables_of(out).items()]


def tables_of(out: Path, file: str = FILE) -> dict[str, list[dict[str, Any]]]:
    """What was trained, for every family and data set."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in read(out / file):
        tables.setdefault(row["task"], []).append(row)
    return dict(sorted(tables.items()))


def points_at(family: str, rows: list[dict[str, Any]]) -> Array:
    """The points (n, d) that rows were trained at."""
    space, indices = space_of(family), [row["index"] for row in rows]
    return points_of(space, spread(max(indices) + 1, len(space), seed=None))[indices]


def task_of(name: str, rows: list[dict[str, Any]]) -> Task:
    family = name.split("-")[0]
    space = space_of(family)
    places = unit_of(space, points_at(family, rows))
    score = _fitted(places, np.array([row["score"] for row in rows]))
    cost = _fitted(places, np.array([math.log(max(row["cost"], 1e-4)) for row in rows]))

    def surface(points: Array) -> tuple[Array, Array]:
        unit = unit_of(space, points)
        return np.clip(score(unit)[0], 0.0, 1.0), np.exp(cost(unit)[0])

    return Task(f"{name}-{len(rows)}", family, space, surface, (0.0, 1.0), 0.003)


def _fitted(places: Array, values: Array) -> GaussianProcess:
    """The process of a table; its lengths and noise, which take long to find, are kept in the temporary folder."""
    file = kept_folder() / f"process-{zlib.crc32(places.tobytes() + values.tobytes()):08x}.json"
    try:
        logs = np.array(json.loads(file.read_text()), dtype=float)
    except (OSError, ValueError):
        logs = fit(places, values)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(logs.tolist()))
        partial.replace(file)
    return conditioned(places, values, logs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["train", "play"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=520.0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="train the families that serve for judging alone")
    told = parser.parse_args()
    if told.what == "train":
        train(told.out, told.seconds, told.workers, fresh=told.fresh)
        return
    found = []
    for task in tasks_of(told.out):
        found.append([np.mean([play(autobct_tuner(), task, p, s).captured for s in range(told.seeds)]) for p in LEVELS])
        print(f"{task.name:24s}" + "".join(f"{value:9.3f}" for value in found[-1]), flush=True)
    print(f"{'mean':24s}" + "".join(f"{value:9.3f}" for value in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
