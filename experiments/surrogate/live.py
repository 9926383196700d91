"""Real tasks to learn from, trained on the spot: small models of scikit-learn on small data, in spaces drawn at random.

    python experiments/surrogate/live.py --out FILE.npz [--seconds 500] [--workers 15]

Every piece has an algorithm, a data set, a measure of its own, and some of the algorithm's parameters, each within an
interval of its own; a simple tuner trains it, as in `tables`.  Models that a family of the benchmark has, too, are left
out with it (`live_models.TWINS`).
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
from live_models import BROAD, REGRESSION, model_of
from tables import EVEN, FAMILIES, Trail, guess_of, slots, start_of

from autobct import Categorical, Float, Int

_PATIENCE = 40.0  # seconds for a piece
_SLOWEST = 0.12  # seconds a training, on average over the first ones
_NO_PROBABILITIES = ("hyperplane", "adaboost", "svc", "sgd", "labels", "features", "aggressive", "bagged")


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
    rows, columns = int(rng.integers(150, 600) * (2.5 if rng.random() < 0.25 else 1.0)), int(rng.integers(2, 30))
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


class Live:
    """A task that is trained when it is looked at: what `tables.Trail` asks of a task."""

    def __init__(self, rng: np.random.Generator, algorithm: str) -> None:
        self.algorithm, self.begun = algorithm, time.monotonic()
        self.space, self.fixed = drawn(rng, algorithm)
        self.data = made_data(rng, algorithm in REGRESSION)
        measures = ["r2", "-rmse", "-mae"] if algorithm in REGRESSION else ["accuracy", "-log loss", "balanced"]
        self.measure = measures[rng.integers(3)]
        if self.measure == "-log loss" and algorithm in _NO_PROBABILITIES:
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


def piece(job: tuple[int, float, tuple[str, ...]]) -> dict[str, Any] | None:
    """One task and the runs that a simple tuner made on it; None if it was too slow or flat."""
    seed, until, kinds = job
    if time.time() > until:
        return None
    rng = np.random.default_rng([77, seed])
    algorithm = kinds[seed % len(kinds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            task = Live(rng, algorithm)
            held = np.zeros(len(task.space), dtype=bool)
            trail = Trail(task, rng, held, np.zeros(len(task.space)), start_of(task.space, rng))
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
        "family": np.int64(len(FAMILIES) + list(BROAD).index(algorithm)), "dim": np.int64(len(task.space)),
        **guess_of(task.space, held, trail, place),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=500.0)
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--begin", type=int, default=0, help="number of the first task")
    parser.add_argument("--kinds", nargs="*", choices=list(BROAD), help="of models; all if not given")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    until = time.time() + asked.seconds
    jobs = [(seed, until, tuple(asked.kinds or BROAD)) for seed in range(asked.begin, asked.begin + asked.tasks)]
    with multiprocessing.get_context("spawn").Pool(asked.workers) as pool:
        found = [row for row in pool.imap_unordered(piece, jobs, chunksize=1) if row is not None]
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(asked.out, **{key: np.stack([row[key] for row in found]) for key in found[0]})
    counts = np.bincount([row["family"] - len(FAMILIES) for row in found], minlength=len(BROAD))
    print(dict(zip(BROAD, counts.tolist(), strict=True)), f"{asked.out.stat().st_size / 1e6:.1f} MB", flush=True)


if __name__ == "__main__":
    main()
