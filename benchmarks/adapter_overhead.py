"""What the adapters cost per trial beyond the tuner's own decision: Optuna in memory, scikit-learn, Ray's searcher.

    python benchmarks/adapter_overhead.py --trials 50        (also part of benchmarks/speed.py)

Processor time of a whole search, less that in the tuner's own methods, less that of the host with random suggestions:
RandomSampler, RandomizedSearchCV.  Ray's searcher is called as Ray calls it, without a cluster, and saved after every
trial.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from autobct import Categorical, Float, Int, Tuner

SPACE = {
    "x": Float(0, 1),
    "rate": Float(1e-4, 1, log=True),
    "trees": Int(1, 300, log=True),
    "kind": Categorical(["a", "b", "c"]),
}
COUNTED = ("__init__", "ask", "peek", "tell", "replay", "result")
"""Methods of the tuner in which its own decision is made; and the search for candidates."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds per trial: of the search, of these in the tuner, and of the host with random suggestions."""

    name: str
    whole: float
    inside: float
    host: float

    @property
    def overhead(self) -> float:
        return self.whole - self.inside - self.host


class Clock:
    """Processor seconds in the tuner's own methods; one that calls another counts once."""

    def __init__(self) -> None:
        self.inside, self._depth = 0.0, 0

    def timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **keywords: Any) -> Any:
            started, self._depth = time.process_time(), self._depth + 1
            try:
                return method(*arguments, **keywords)
            finally:
                self._depth -= 1
                self.inside += 0.0 if self._depth else time.process_time() - started

        return called

    @contextmanager
    def watching(self) -> Iterator[None]:
        before: dict[str, Any] = {name: vars(Tuner)[name] for name in (*COUNTED, "candidates")}
        for name in COUNTED:
            setattr(Tuner, name, self.timed(before[name]))
        setattr(Tuner, "candidates", property(self.timed(before["candidates"].fget)))  # noqa: B010 not a slot
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(Tuner, name, value)


def score_of(params: Any) -> float:
    return float(0.9 - (params["x"] - 0.3) ** 2 - 0.03 * (np.log10(params["rate"]) + 2) ** 2)


def per_trial(search: Callable[[], int]) -> tuple[float, float]:
    """Milliseconds per trial of a search that returns their number, and of these those in the tuner."""
    clock = Clock()
    with clock.watching():
        started = time.process_time()
        made = search()
        whole = time.process_time() - started
    return 1e3 * whole / made, 1e3 * clock.inside / made


def of_optuna(trials: int) -> Iterator[Cost]:
    import optuna

    from autobct.integrations.optuna import AutoBCTSampler

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:
        params = {"x": trial.suggest_float("x", 0, 1), "rate": trial.suggest_float("rate", 1e-4, 1, log=True)}
        trial.suggest_int("trees", 1, 300, log=True)
        trial.suggest_categorical("kind", ["a", "b", "c"])
        trial.set_user_attr("cost", 1.0 + params["x"])
        return score_of(params)

    def studied(sampler: optuna.samplers.BaseSampler) -> int:
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.optimize(objective, n_trials=trials)
        return len(study.trials)

    alone, _ = per_trial(lambda: studied(optuna.samplers.RandomSampler(seed=0)))
    for name, space in (("space given", SPACE), ("space inferred", None)):
        sampler = AutoBCTSampler(space, price=1e-6)
        yield Cost(f"Optuna in memory, {name}", *per_trial(lambda sampler=sampler: studied(sampler)), alone)


def of_sklearn(trials: int) -> Iterator[Cost]:
    from sklearn.base import BaseEstimator
    from sklearn.model_selection import RandomizedSearchCV

    from autobct.integrations.sklearn import AutoBCTSearchCV

    class Instant(BaseEstimator):
        """Fits in no time; scores as its parameters say."""

        def __init__(self, x: float = 0.5, rate: float = 0.01, trees: int = 10, kind: str = "a") -> None:
            self.x, self.rate, self.trees, self.kind = x, rate, trees, kind

        def fit(self, X: Any, y: Any) -> Instant:
            return self

        def score(self, X: Any, y: Any) -> float:
            return score_of(self.get_params())

    X, y = np.zeros((20, 1)), np.zeros(20)

    def fitted(search: Any) -> int:
        search.fit(X, y)
        return len(search.cv_results_["params"])

    choices = {"x": np.linspace(0, 1, 50), "rate": np.logspace(-4, 0, 50), "trees": range(1, 301), "kind": list("abc")}
    plain = RandomizedSearchCV(Instant(), choices, n_iter=trials, random_state=0, refit=False)
    ours = AutoBCTSearchCV(Instant(), SPACE, price=1e-9, max_runs=trials, refit=False)
    alone, _ = per_trial(lambda: fitted(plain))
    yield Cost("scikit-learn, five folds", *per_trial(lambda: fitted(ours)), alone)


def of_ray(trials: int) -> Iterator[Cost]:
    from autobct.integrations.ray import AutoBCTSearch

    search = AutoBCTSearch(SPACE, price=1e-9, metric="score", mode="max", cost="cost")

    def suggested(path: Path) -> int:
        for number in range(trials):
            config = search.suggest(f"{number}")
            result = {"score": score_of(config), "cost": 1.0 + config["x"], "done": True}
            search.on_trial_result(f"{number}", result)
            search.on_trial_complete(f"{number}", result)
            search.save(str(path))
        return trials

    with tempfile.TemporaryDirectory() as folder:
        yield Cost("Ray's searcher, saved every trial", *per_trial(lambda: suggested(Path(folder) / "state")), 0.0)


def costs(trials: int) -> Iterator[Cost]:
    """Of all adapters whose library is installed."""
    for library, measured in (("optuna", of_optuna), ("sklearn", of_sklearn), ("ray", of_ray)):
        if find_spec(library) is None:
            print(f"{library} is not installed: left out")
            continue
        yield from measured(trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    warnings.simplefilter("ignore")
    print("| adapter | ms a trial | in the tuner | in the host itself | overhead |\n|---|---|---|---|---|")
    for cost in costs(parser.parse_args().trials):
        print(
            f"| {cost.name} | {cost.whole:.1f} | {cost.inside:.1f} | {cost.host:.2f} | {cost.overhead:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
