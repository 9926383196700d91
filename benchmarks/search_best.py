"""Which candidate of a cross-validated search to refit: the best mean of its folds, or the best estimate from all.

    python benchmarks/search_best.py

Noisy classification problems with few samples; accuracies are measured on 20,000 others.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from autobct import Float, Int
from autobct.integrations.sklearn import AutoBCTSearchCV

PROBLEMS, SAMPLES, TESTS = 40, 150, 20_000
MODELS = {
    "SVC": (SVC(), {"C": Float(0.01, 100, log=True), "gamma": Float(1e-4, 10, log=True)}),
    "tree": (
        DecisionTreeClassifier(random_state=0),
        {"max_depth": Int(1, 20), "min_samples_leaf": Int(1, 50, log=True)},
    ),
}


def accuracies(name: str, seed: int) -> tuple[float, float]:
    """On other samples, of the candidate with the best mean and of the one with the best estimate."""
    model, space = MODELS[name]
    X, y = make_classification(SAMPLES + TESTS, 10, n_informative=4, flip_y=0.2, random_state=seed)
    search = AutoBCTSearchCV(model, space, price="0.0001 per 1h", score_range=(0.5, 1.0), max_runs=15, refit=False)
    found = search.fit(X[:SAMPLES], y[:SAMPLES]).cv_results_
    chosen = (found["mean_test_score"].argmax(), found["autobct_estimated_score"].argmax())
    fitted = [clone(model).set_params(**found["params"][k]).fit(X[:SAMPLES], y[:SAMPLES]) for k in chosen]
    return fitted[0].score(X[SAMPLES:], y[SAMPLES:]), fitted[1].score(X[SAMPLES:], y[SAMPLES:])


def main() -> None:
    print("| model | candidates differ | best mean | best estimate | difference |\n|---|---|---|---|---|")
    for name in MODELS:
        found = np.array([accuracies(name, seed) for seed in range(PROBLEMS)])
        gain = found[:, 1] - found[:, 0]
        error = gain.std(ddof=1) / np.sqrt(PROBLEMS)
        mean, estimate = found.mean(axis=0)
        print(f"| {name} | {np.mean(gain != 0):.0%} | {mean:.4f} | {estimate:.4f} | {gain.mean():+.4f} ± {error:.4f} |")


if __name__ == "__main__":
    main()
