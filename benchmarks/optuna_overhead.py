"""What the Optuna sampler costs per trial beyond the tuner's own decision, with an in-memory storage.

    python benchmarks/optuna_overhead.py --trials 50

Processor time of the loop less that in the tuner's own methods; Optuna's RandomSampler, timed alike, is what Optuna
itself takes.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna

from autobct import Categorical, Float, Int, Tuner
from autobct.integrations.optuna import AutoBCTSampler

SPACE = {
    "x": Float(0, 1),
    "rate": Float(1e-4, 1, log=True),
    "trees": Int(1, 300, log=True),
    "kind": Categorical(["a", "b", "c"]),
}
INSIDE = [0.0]  # seconds in the tuner


def timed(method: Callable[..., Any]) -> Callable[..., Any]:
    depth = [0]

    def called(*arguments: Any, **keywords: Any) -> Any:
        depth[0] += 1
        started = time.process_time()
        try:
            return method(*arguments, **keywords)
        finally:
            depth[0] -= 1
            if not depth[0] and not BUSY[0]:
                INSIDE[0] += time.process_time() - started

    return called


BUSY = [False]  # one method of the tuner calls another: only the outer one counts


def objective(trial: optuna.Trial) -> float:
    x, rate = trial.suggest_float("x", 0, 1), trial.suggest_float("rate", 1e-4, 1, log=True)
    trial.suggest_int("trees", 1, 300, log=True)
    trial.suggest_categorical("kind", ["a", "b", "c"])
    trial.set_user_attr("cost", 1.0 + x)
    return float(0.9 - (x - 0.3) ** 2 - 0.03 * (np.log10(rate) + 2) ** 2)


def per_trial(sampler: optuna.samplers.BaseSampler, trials: int) -> tuple[float, float]:
    """Milliseconds of the loop, and of these those in the tuner."""
    study = optuna.create_study(direction="maximize", sampler=sampler)
    INSIDE[0], started = 0.0, time.process_time()
    study.optimize(objective, n_trials=trials)
    whole = time.process_time() - started
    made = len(study.trials)
    return 1e3 * whole / made, 1e3 * INSIDE[0] / made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    said = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    Tuner.candidates = property(timed(Tuner.candidates.fget))  # type: ignore[method-assign, arg-type]
    Tuner.replay, Tuner.__init__ = timed(Tuner.replay), timed(Tuner.__init__)  # type: ignore[method-assign]
    peek = Tuner.peek

    def peeked(tuner: Tuner) -> Any:
        started, BUSY[0] = time.process_time(), True
        try:
            return peek(tuner)
        finally:
            BUSY[0] = False
            INSIDE[0] += time.process_time() - started

    Tuner.peek = peeked  # type: ignore[method-assign, assignment]
    alone, _ = per_trial(optuna.samplers.RandomSampler(seed=0), said.trials)
    for name, space in (("space given", SPACE), ("space inferred", None)):
        whole, inside = per_trial(AutoBCTSampler(space, price=1e-6, stop=True), said.trials)
        print(f"{name}: {whole:.2f} ms a trial, {inside:.2f} in the tuner, {alone:.2f} in Optuna itself;", end=" ")
        print(f"overhead {whole - inside - alone:.2f} ms")


if __name__ == "__main__":
    main()
