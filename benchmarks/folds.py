"""A search that ends hopeless candidates after two folds against one that shows every candidate all of them.

    python benchmarks/folds.py --seeds 3

Three data sets of scikit-learn, three estimators; the splits are shuffled with the seed.  Cost is the seconds of all
fits, and net the mean score, on other splits, of the parameters that were chosen, less the price of that cost.
Seconds are those of the processor, so that other work on the machine makes no difference.
Docs: docs/decisions/folds.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import statistics
import time
from typing import Any

from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from autobct import Float, Int
from autobct.integrations.sklearn import AutoBCTSearchCV

OPTIONS: dict[str, dict[str, Any]] = {
    "all folds": {},
    "min_folds=2": {"min_folds": 2},
    "score_noise='folds'": {"score_noise": "folds"},
    "both": {"min_folds": 2, "score_noise": "folds"},
}


def cases() -> dict[str, tuple[Any, dict[str, Any], Any]]:
    svc = {"svc__C": Float(0.01, 100, log=True), "svc__gamma": Float(1e-5, 1, log=True)}
    forest = {"n_estimators": Int(5, 80, log=True), "max_features": Float(0.05, 1), "max_depth": Int(2, 16)}
    line = {"logisticregression__C": Float(1e-4, 100, log=True)}
    digits_X, digits_y = load_digits(return_X_y=True)
    return {
        "svc, breast cancer": (make_pipeline(StandardScaler(), SVC()), svc, load_breast_cancer(return_X_y=True)),
        "forest, digits": (RandomForestClassifier(random_state=0), forest, (digits_X[::3], digits_y[::3])),
        "logistic, wine": (
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
            line,
            load_wine(return_X_y=True),
        ),
    }


def on_processor_time() -> None:
    """All clocks of this process count what the processor spends on it, those of scikit-learn and autobct included."""
    time.time = time.perf_counter = time.process_time


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--seeds", type=int, default=2)
    told.add_argument("--price", default="0.01 per 4s")
    said = told.parse_args()
    on_processor_time()
    print("| case | option | candidates | cost, s | score elsewhere | net |\n|---|---|---|---|---|---|")
    for name, (estimator, space, (X, y)) in cases().items():
        for option, more in OPTIONS.items():
            rows = []
            for seed in range(said.seeds):
                splits = StratifiedKFold(5, shuffle=True, random_state=seed)
                search = AutoBCTSearchCV(estimator, space, price=said.price, cv=splits, refit=False, **more).fit(X, y)
                others = StratifiedKFold(5, shuffle=True, random_state=1000 + seed)
                fixed = estimator.set_params(**search.best_params_)
                elsewhere = cross_val_score(fixed, X, y, cv=others).mean()
                spent = search.result_.cost
                per_second = search.result_.problem.price.per_cost
                rows.append((len(search.result_.history), spent, elsewhere, elsewhere - per_second * spent))
            means = [statistics.mean(column) for column in zip(*rows, strict=True)]
            print(
                f"| {name} | {option} | {means[0]:.1f} | {means[1]:.1f} | {means[2]:.4f} | {means[3]:.4f} |", flush=True
            )


if __name__ == "__main__":
    main()
