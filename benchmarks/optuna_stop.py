"""Optuna's TPE with our stop against TPE at its best number of trials in hindsight, and against 100 trials.

    python benchmarks/optuna_stop.py --seeds 5 --proposals 3 5 10

Net is the best value so far less the price of all trials so far; regret is how much of it is missing to the best net in
hindsight, which nobody can know.  Docs: docs/decisions/terminator.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import math
from collections.abc import Callable

import numpy as np
import optuna

from autobct.integrations import _optuna_study
from autobct.integrations.optuna import AutoBCTTerminator

PRICES = (0.0005, 0.002, 0.008)
TRIALS = 100


def bowl(trial: optuna.Trial) -> float:
    x, y, z = (trial.suggest_float(name, 0, 1) for name in "xyz")
    trial.set_user_attr("cost", 1.0 + x)
    return 0.9 - (x - 0.3) ** 2 - (y - 0.6) ** 2 - 0.1 * (z - 0.5) ** 2


def ridge(trial: optuna.Trial) -> float:
    u = math.log10(trial.suggest_float("C", 1e-3, 1e3, log=True))
    v = math.log10(trial.suggest_float("gamma", 1e-4, 10, log=True))
    trial.set_user_attr("cost", 1.0)
    hill = 0.35 * math.exp(-(((u - 1) / 1.5) ** 2) - (v + 1.5 + 0.3 * u) ** 2)
    return 0.6 + hill + 0.01 * math.sin(5 * u) * math.cos(4 * v)


def mixed(trial: optuna.Trial) -> float:
    xs = [trial.suggest_float(f"x{i}", 0, 1) for i in range(5)]
    kind = trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.set_user_attr("cost", 0.5 + 2 * xs[0])
    loss = sum((i + 1) / 5 * (x - 0.2 - 0.1 * i) ** 2 for i, x in enumerate(xs))
    return 0.9 - 0.3 * loss - {"a": 0.0, "b": 0.03, "c": 0.1}[kind]


def study_of(seed: int) -> optuna.Study:
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))


def nets(study: optuna.Study, price: float) -> np.ndarray:
    best = np.maximum.accumulate([trial.value for trial in study.trials])
    return best - price * np.cumsum([trial.user_attrs["cost"] for trial in study.trials])


def stopped_after(task: Callable[[optuna.Trial], float], seed: int, price: float) -> int:
    study = study_of(seed)
    study.optimize(task, n_trials=TRIALS, callbacks=[AutoBCTTerminator(price=price)])
    return len(study.trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--proposals", type=int, nargs="+", default=[_optuna_study.PROPOSALS])
    said = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    head = " | ".join(f"stop, {k} suggestions: trials | regret" for k in said.proposals)
    print(f"| task | price | best k in hindsight | {head} | regret of {TRIALS} trials |")
    print("|---|---|---|" + "---|---|" * len(said.proposals) + "---|")
    for task in (bowl, ridge, mixed):
        whole = [study_of(seed) for seed in range(said.seeds)]
        for study in whole:
            study.optimize(task, n_trials=TRIALS)
        for price in PRICES:
            net = [nets(study, price) for study in whole]
            cells = []
            for _optuna_study.PROPOSALS in said.proposals:
                made = [stopped_after(task, seed, price) for seed in range(said.seeds)]
                regret = np.mean([of.max() - of[k - 1] for of, k in zip(net, made, strict=True)])
                cells.append(f"{np.mean(made):.1f} | {regret:.4f}")
            hindsight = np.mean([of.argmax() + 1 for of in net])
            full = np.mean([of.max() - of[-1] for of in net])
            print(f"| {task.__name__} | {price} | {hindsight:.1f} | {' | '.join(cells)} | {full:.3f} |", flush=True)


if __name__ == "__main__":
    main()
