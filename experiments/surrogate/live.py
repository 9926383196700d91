"""Real tasks to learn from, trained on the spot: small models of scikit-learn on small data, in spaces drawn at random.

    python experiments/surrogate/live.py --out FILE.npz [--seconds 500] [--workers 15]

None of these models is one of the benchmark's.  Every piece has an algorithm, a data set, a measure of its own, and
some of the algorithm's parameters, each within an interval of its own; a simple tuner trains it, as in `tables`.
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from cube import params_of, points_of
from tables import EVEN, FAMILIES, Trail, slots

from autobct import Categorical, Float, Int

_PATIENCE = 40.0  # seconds for a piece
_SLOWEST = 0.12  # seconds a training, on average over the first ones

Log = True
BROAD: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "tree": {"max_depth": (Int, 1, 25), "min_samples_leaf": (Int, 1, 80, Log), "ccp_alpha": (Float, 1e-6, 0.3, Log),
             "max_features": (Float, 0.05, 1.0), "splitter": (["best", "random"],)},
    "extra": {"n_estimators": (Int, 2, 60, Log), "max_depth": (Int, 1, 20), "max_features": (Float, 0.05, 1.0),
              "min_samples_leaf": (Int, 1, 40, Log), "bootstrap": ([True, False],)},
    "adaboost": {"n_estimators": (Int, 2, 60, Log), "learning_rate": (Float, 1e-3, 5.0, Log), "depth": (Int, 1, 6)},
    "gradient": {"n_estimators": (Int, 2, 80, Log), "learning_rate": (Float, 1e-3, 2.0, Log), "max_depth": (Int, 1, 6),
                 "subsample": (Float, 0.1, 1.0), "min_samples_leaf": (Int, 1, 60, Log)},
    "bagging": {"n_estimators": (Int, 2, 40, Log), "max_samples": (Float, 0.02, 1.0), "max_features": (Float, 0.1, 1.0),
                "depth": (Int, 1, 15)},
    "kernel_ridge": {"alpha": (Float, 1e-6, 1e3, Log), "gamma": (Float, 1e-5, 1e2, Log), "coef0": (Float, 0.0, 2.0),
                     "kernel": (["rbf", "laplacian", "polynomial", "sigmoid"],)},
    "polynomial": {"degree": (Int, 1, 3), "components": (Int, 1, 10), "alpha": (Float, 1e-8, 1e6, Log)},
    "nystroem": {"n_components": (Int, 2, 150, Log), "gamma": (Float, 1e-5, 10.0, Log), "C": (Float, 1e-5, 1e5, Log),
                 "max_iter": (Int, 2, 100, Log)},
    "logistic": {"C": (Float, 1e-6, 1e5, Log), "l1_ratio": (Float, 0.0, 1.0), "max_iter": (Int, 1, 120, Log),
                 "components": (Int, 1, 12)},
    "hyperplane": {"C": (Float, 1e-6, 1e4, Log), "loss": (["hinge", "squared_hinge"],), "max_iter": (Int, 1, 200, Log),
                   "intercept_scaling": (Float, 1e-2, 1e2, Log)},
    "process": {"length": (Float, 1e-2, 1e3, Log), "alpha": (Float, 1e-8, 10.0, Log), "nu": ([0.5, 1.5, 2.5, 9.5],),
                "height": (Float, 1e-2, 1e2, Log)},
    "discriminant": {"shrinkage": (Float, 0.0, 1.0), "components": (Int, 1, 12), "degree": (Int, 1, 2)},
    "clusters": {"n_clusters": (Int, 2, 60, Log), "C": (Float, 1e-5, 1e4, Log), "n_init": (Int, 1, 4),
                 "max_iter": (Int, 1, 60, Log)},
    "descent": {"rate": (Float, 1e-4, 30.0, Log), "momentum": (Float, 0.0, 0.99), "width": (Int, 1, 128, Log),
                "steps": (Int, 3, 300, Log), "batch": (Int, 4, 128, Log), "decay": (Float, 1e-7, 1.0, Log),
                "start": (Float, 1e-3, 10.0, Log), "activation": (["relu", "tanh", "sigmoid"],)},
    "descent2": {"rate": (Float, 1e-4, 30.0, Log), "width": (Int, 1, 128, Log), "epochs": (Int, 1, 12),
                 "dropout": (Float, 0.0, 0.9), "batch": (Int, 4, 128, Log), "decay": (Float, 1e-7, 1.0, Log)},
}  # fmt: skip
"""Widest interval of every parameter."""
REGRESSION = ("kernel_ridge", "polynomial", "process")


def narrowed(rng: np.random.Generator, spec: tuple[Any, ...]) -> Any:
    """A parameter within a part of its interval."""
    if isinstance(spec[0], list):
        return Categorical(spec[0])
    kind, low, high, *log = spec
    log = bool(log) and rng.random() < 0.9
    width = rng.uniform(0.4, 1.0)
    begin = rng.uniform(0.0, 1.0 - width)
    to = (
        (lambda u: low * (high / low) ** u)
        if log or (low > 0 and high / low > 50)
        else (lambda u: low + (high - low) * u)
    )
    low, high = to(begin), to(begin + width)
    if kind is Int:
        low, high = int(np.floor(low)), int(np.ceil(high))
        return Int(low, max(high, low + 1), log=log)
    return Float(float(low), float(high), log=log)


def drawn(rng: np.random.Generator, algorithm: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A space, and values of the parameters that it leaves out."""
    broad = {name: narrowed(rng, spec) for name, spec in BROAD[algorithm].items()}
    names = list(broad)
    kept = [name for name in names if rng.random() < 0.75] or [names[rng.integers(len(names))]]
    middle = params_of(broad, points_of(broad, rng.uniform(0.3, 0.7, (1, len(broad))))[0])
    return {name: broad[name] for name in kept}, {name: middle[name] for name in names if name not in kept}


def made_data(rng: np.random.Generator, regression: bool) -> tuple[np.ndarray, ...]:
    """Features and targets of a training and of a validation set, small."""
    from sklearn import datasets
    from sklearn.preprocessing import StandardScaler

    seed = int(rng.integers(1 << 30))
    rows, columns = int(rng.integers(150, 600)), int(rng.integers(2, 30))
    if regression:
        which = rng.integers(4)
        if which == 0:
            x, y = datasets.load_diabetes(return_X_y=True)
        elif which == 1:
            x, y = datasets.make_friedman1(rows, max(5, columns), noise=rng.uniform(0, 3), random_state=seed)
        elif which == 2:
            x, y = datasets.make_friedman2(rows, noise=rng.uniform(0, 200), random_state=seed)
        else:
            x, y = datasets.make_regression(
                rows, columns, n_informative=max(1, columns // 2), noise=rng.uniform(0, 100), random_state=seed
            )
        y = (y - y.mean()) / y.std()
    else:
        which = rng.integers(8)
        loads: list[Callable[..., Any]] = [datasets.load_breast_cancer, datasets.load_wine, datasets.load_digits]
        if which < 3:
            x, y = loads[which](return_X_y=True)
        elif which == 3:
            x, y = datasets.make_moons(rows, noise=rng.uniform(0.05, 0.6), random_state=seed)
        else:
            informative, classes = max(2, columns // 2), int(rng.integers(2, 6))
            x, y = datasets.make_classification(
                rows, max(4, columns), n_informative=max(informative, 4), n_redundant=0, n_classes=classes,
                n_clusters_per_class=int(rng.integers(1, 3)), flip_y=rng.uniform(0, 0.3),
                class_sep=rng.uniform(0.3, 2.0), random_state=seed,
            )  # fmt: skip
    order = np.random.default_rng(seed).permutation(len(x))[: 2 * rows]
    x, y = StandardScaler().fit_transform(x)[order], np.asarray(y)[order]
    cut = int(rng.uniform(0.4, 0.7) * len(x))
    return x[:cut], y[:cut], x[cut:], y[cut:]


def model_of(algorithm: str, p: dict[str, Any], columns: int) -> Any:
    """The estimator of a configuration."""
    from sklearn import (
        cluster,
        decomposition,
        discriminant_analysis,
        ensemble,
        gaussian_process,
        kernel_approximation,
        kernel_ridge,
        linear_model,
        pipeline,
        preprocessing,
        svm,
        tree,
    )

    def reduced() -> Any:
        return decomposition.PCA(min(p.pop("components"), columns), random_state=0)

    def cart() -> Any:
        return tree.DecisionTreeClassifier(max_depth=p.pop("depth"), random_state=0)

    if algorithm == "process":
        kernels = gaussian_process.kernels
        kernel = kernels.ConstantKernel(p["height"]) * kernels.Matern(p["length"], nu=p["nu"])
        return gaussian_process.GaussianProcessRegressor(kernel, alpha=p["alpha"], optimizer=None)
    if algorithm == "polynomial":
        return pipeline.make_pipeline(
            reduced(), preprocessing.PolynomialFeatures(p.pop("degree")), linear_model.Ridge(**p)
        )
    if algorithm == "nystroem":
        feature = kernel_approximation.Nystroem(
            gamma=p.pop("gamma"), n_components=p.pop("n_components"), random_state=0
        )
        return pipeline.make_pipeline(feature, linear_model.LogisticRegression(**p))
    if algorithm == "logistic":
        return pipeline.make_pipeline(reduced(), linear_model.LogisticRegression(solver="saga", random_state=0, **p))
    if algorithm == "discriminant":
        grown = preprocessing.PolynomialFeatures(p.pop("degree"), include_bias=False)
        return pipeline.make_pipeline(
            reduced(), grown, discriminant_analysis.LinearDiscriminantAnalysis(solver="lsqr", **p)
        )
    if algorithm == "clusters":
        found = cluster.KMeans(p["n_clusters"], n_init=p["n_init"], max_iter=p["max_iter"], random_state=0)
        return pipeline.make_pipeline(found, preprocessing.StandardScaler(), linear_model.LogisticRegression(C=p["C"]))
    if algorithm in ("descent", "descent2"):
        return Descent(**p)
    makers: dict[str, Callable[[], Any]] = {
        "tree": lambda: tree.DecisionTreeClassifier(random_state=0, **p),
        "extra": lambda: ensemble.ExtraTreesClassifier(random_state=0, **p),
        "adaboost": lambda: ensemble.AdaBoostClassifier(cart(), random_state=0, **p),
        "gradient": lambda: ensemble.GradientBoostingClassifier(random_state=0, **p),
        "bagging": lambda: ensemble.BaggingClassifier(cart(), random_state=0, **p),
        "kernel_ridge": lambda: kernel_ridge.KernelRidge(**p),
        "hyperplane": lambda: svm.LinearSVC(random_state=0, **p),
    }
    return makers[algorithm]()


class Descent:
    """A network of one hidden layer by stochastic gradient descent with momentum: diverges where the rate is high."""

    def __init__(self, *, rate: float = 0.1, momentum: float = 0.5, width: int = 16, steps: int = 0, batch: int = 32,
                 decay: float = 1e-6, start: float = 1.0, activation: str = "relu", epochs: int = 0,
                 dropout: float = 0.0) -> None:  # fmt: skip
        self.rate, self.momentum, self.width, self.steps, self.batch = rate, momentum, width, steps, batch
        self.decay, self.start, self.activation, self.epochs, self.dropout = decay, start, activation, epochs, dropout

    def fit(self, x: np.ndarray, y: np.ndarray) -> Descent:
        rng = np.random.default_rng(0)
        self.classes = np.unique(y)
        target = (y[:, None] == self.classes).astype(float)
        sizes = [(x.shape[1], self.width), (self.width, len(self.classes))]
        self.weights = [self.start * rng.standard_normal(s) / np.sqrt(s[0]) for s in sizes]
        moves = [np.zeros_like(w) for w in self.weights]
        steps = self.steps or self.epochs * max(1, len(x) // self.batch)
        for _ in range(min(steps, 400)):
            at = rng.integers(len(x), size=self.batch)
            hidden, slope = self._hidden(x[at] @ self.weights[0])
            mask = (rng.random(hidden.shape) >= self.dropout) / (1.0 - self.dropout)
            error = (_softmax(hidden * mask @ self.weights[1]) - target[at]) / self.batch
            grads = [x[at].T @ (error @ self.weights[1].T * slope * mask), (hidden * mask).T @ error]
            for k in range(2):
                moves[k] = self.momentum * moves[k] - self.rate * (grads[k] + self.decay * self.weights[k])
                self.weights[k] = np.clip(self.weights[k] + moves[k], -1e3, 1e3)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        return _softmax(self._hidden(x @ self.weights[0])[0] @ self.weights[1])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes[self.predict_proba(x).argmax(axis=1)])

    def _hidden(self, inner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.activation == "relu":
            return np.maximum(inner, 0.0), (inner > 0).astype(float)
        if self.activation == "tanh":
            hidden = np.tanh(inner)
            return hidden, 1.0 - hidden**2
        hidden = 1.0 / (1.0 + np.exp(-np.clip(inner, -50, 50)))
        return hidden, hidden * (1.0 - hidden)


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(np.clip(x - x.max(axis=1, keepdims=True), -60, 0))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


class Live:
    """A task that is trained when it is looked at: what `tables.Trail` asks of a task."""

    def __init__(self, rng: np.random.Generator, algorithm: str) -> None:
        self.algorithm, self.begun = algorithm, time.monotonic()
        self.space, self.fixed = drawn(rng, algorithm)
        self.data = made_data(rng, algorithm in REGRESSION)
        measures = ["r2", "-rmse", "-mae"] if algorithm in REGRESSION else ["accuracy", "-log loss", "balanced"]
        self.measure = measures[rng.integers(3)]
        if self.measure == "-log loss" and algorithm in ("hyperplane", "adaboost"):
            self.measure = "accuracy"
        self.noise = rng.choice([0.0, 0.0, 0.01, 0.05])
        self.spent: list[float] = []
        self.last = np.zeros(0)

    def points(self, uniforms: np.ndarray) -> np.ndarray:
        return points_of(self.space, uniforms)

    def nearest(self, points: np.ndarray) -> np.ndarray:
        return points

    def observed(self, points: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        return np.asarray(self.last + self.noise * np.std(self.last) * numbers)

    def true(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = np.array([self._trained(params_of(self.space, point)) for point in points])
        self.last = found[:, 0]
        return found[:, 0], found[:, 1]

    def _trained(self, params: Mapping[str, Any]) -> tuple[float, float]:
        if time.monotonic() - self.begun > _PATIENCE or (len(self.spent) == 12 and np.mean(self.spent) > _SLOWEST):
            raise TimeoutError
        x, y, x2, y2 = self.data
        start = time.process_time()
        model = model_of(self.algorithm, {**self.fixed, **params}, x.shape[1])
        model.fit(x, y)
        score = self._score(model, x2, y2)
        self.spent.append(time.process_time() - start)
        return score, max(self.spent[-1], 1e-5)

    def _score(self, model: Any, x: np.ndarray, y: np.ndarray) -> float:
        from sklearn import metrics

        if self.measure == "-log loss":
            classes = getattr(model, "classes_", getattr(model, "classes", None))
            shares = np.clip(model.predict_proba(x), 1e-7, 1.0)
            return float(np.mean(np.log((shares / shares.sum(axis=1, keepdims=True))[y[:, None] == classes])))
        predicted = np.nan_to_num(np.clip(model.predict(x), -1e3, 1e3))
        if self.measure == "accuracy":
            return float(np.mean(predicted == y))
        if self.measure == "balanced":
            return float(metrics.balanced_accuracy_score(y, predicted))
        error = predicted - y
        if self.measure == "r2":
            return float(1.0 - min(np.mean(error**2) / np.var(y), 11.0))
        return -float(np.sqrt(np.mean(error**2)) if self.measure == "-rmse" else np.mean(np.abs(error)))


def piece(job: tuple[int, float]) -> dict[str, Any] | None:
    """One task and the runs that a simple tuner made on it; None if it was too slow or flat."""
    seed, until = job
    if time.time() > until:
        return None
    rng = np.random.default_rng([77, seed])
    algorithm = list(BROAD)[seed % len(BROAD)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            task = Live(rng, algorithm)
            trail = Trail(task, rng, np.zeros(len(task.space), dtype=bool), np.zeros(len(task.space)))
        except (TimeoutError, ValueError, np.linalg.LinAlgError):
            return None
    scores = trail.scores
    if np.ptp(scores) < 1e-6 or not np.isfinite(scores).all():
        return None
    place, facts = slots(task.space, trail.points)
    scale = max(scores.max() - np.quantile(scores[:EVEN], 0.1), 1e-9)
    low, high = (0.0, 1.0) if task.measure in ("accuracy", "balanced") else (-np.inf, np.inf)
    if not np.isfinite(low):
        high = scores.max() + scale * rng.uniform(0.0, 2.0) * rng.random()
        low = high - scale * np.exp(rng.uniform(0.2, 3.0))
    return {
        "place": place.astype(np.float16), "facts": facts.astype(np.float16), "score": scores.astype(np.float32),
        "seen": trail.seen.astype(np.float32), "log_cost": np.log(trail.costs).astype(np.float32),
        "order": trail.order.astype(np.int16), "rounds": trail.rounds.astype(np.int16), "scale": np.float32(scale),
        "c50": np.float32(np.log(np.median(trail.costs[:EVEN]))), "low": np.float32(low), "high": np.float32(high),
        "family": np.int64(len(FAMILIES) + seed % len(BROAD)), "dim": np.int64(len(task.space)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--begin", type=int, default=0, help="number of the first task")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    until = time.time() + asked.seconds
    jobs = [(seed, until) for seed in range(asked.begin, asked.begin + asked.tasks)]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        found = [row for row in pool.imap_unordered(piece, jobs, chunksize=1) if row is not None]
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(asked.out, **{key: np.stack([row[key] for row in found]) for key in found[0]})
    counts = np.bincount([row["family"] - len(FAMILIES) for row in found], minlength=len(BROAD))
    print(dict(zip(BROAD, counts.tolist(), strict=True)), f"{asked.out.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
