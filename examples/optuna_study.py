"""An Optuna study that stops by itself: python examples/optuna_study.py  (needs autobct[optuna,sklearn])."""

import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from autobct.integrations.optuna import AutoBCTSampler

X, y = load_digits(return_X_y=True)


def objective(trial: optuna.Trial) -> float:
    """Accuracy of a support vector machine; the duration of the trial is its cost."""
    C = trial.suggest_float("C", 0.01, 100, log=True)
    gamma = trial.suggest_float("gamma", 1e-4, 0.1, log=True)
    return cross_val_score(SVC(C=C, gamma=gamma), X[:900], y[:900], cv=3).mean()


if __name__ == "__main__":
    sampler = AutoBCTSampler(price="0.01 per 5s")
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective)
    print(study.best_params, study.best_value)
    print(study.user_attrs["autobct:why"])
