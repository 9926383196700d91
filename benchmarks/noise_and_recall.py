"""How noise is learned, and which model is returned: alternatives to the default beyond two numbers, on real tasks.

    python benchmarks/noise_and_recall.py [--data FOLDER] [--held-out] [--seeds 2] [--noise 3] [--only "noise 0.1"]

Captured (see tasks.py) at four prices, one line for each variant, with the paired difference to the default and its
standard error over tasks. `--noise 3` makes what is observed three times as noisy as the tasks are.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tasks import (
    LEVELS,
    Question,
    Task,
    Training,
    Tuner,
    autobct_tuner,
    best_seen_of,
    holdout,
    play,
    published,
    tuner_for,
)

import autobct
from autobct.belief.surrogate.learning import Habits
from autobct.tuning.model import default_prior


@dataclass(frozen=True, slots=True)
class Variant:
    """habits: of the default belief, where they differ;  settings: of the tuner.

    returned: the model that is returned, if not the tuner's: the best "seen", or the best on the "surface"
    """

    habits: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    returned: str = ""


VARIANTS: Mapping[str, Variant] = {
    "default": Variant(),
    "noise 0.02": Variant({"noises": (0.02,)}),
    "noise 0.1": Variant({"noises": (0.1,)}),
    "noise 0.25": Variant({"noises": (0.25,)}),
    "noise 0.5": Variant({"noises": (0.5,)}),
    "noise 0.1 or 0.25": Variant({"noises": (0.1, 0.25)}),
    "noise 0.05 to 0.5": Variant({"noises": (0.05, 0.15, 0.5)}),
    "cost noise 0.05": Variant({"cost_noise": 0.05}),
    "cost noise 0.5": Variant({"cost_noise": 0.5}),
    "scores said to be exact": Variant(settings={"score_noise": "exact"}),
    "best score seen": Variant(returned="seen"),
    "best on the surface": Variant(returned="surface"),
    "last model": Variant(settings={"recall": False}),
}


def tuner_of(variant: Variant) -> Tuner:
    if not variant.returned:
        return autobct_tuner(**variant.settings)

    def tuner(question: Question, train: Training) -> int:
        mind, seen = tuner_for(question, **variant.settings), []
        while isinstance(decision := mind.ask(), autobct.Train):
            score, cost = train(decision.params)
            seen.append(score)
            mind.tell(decision, score=score, cost=cost)
        return best_seen_of(seen) if variant.returned == "seen" else best_on_surface(mind)

    return tuner


def best_on_surface(mind: autobct.Tuner) -> int:
    """The trial whose model is best where all that no surface explains counts as noise."""
    basis, weights = mind.problem.prior.model.score_basis, mind.belief.score.mean
    return best_seen_of([float(basis(run.control) @ weights) for run in mind.history])


def captured(tasks: list[Task], seeds: int, variant: Variant) -> np.ndarray:
    """(tasks, prices), mean over seeds."""
    default_prior.HABITS = replace(Habits(), **variant.habits)
    tuner = tuner_of(variant)
    return np.array(
        [[np.mean([play(tuner, task, p, s).captured for s in range(seeds)]) for p in LEVELS] for task in tasks]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--noise", type=float, default=1.0, help="times the noise of the tasks")
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    asked = parser.parse_args()
    tasks = holdout(asked.data) if asked.held_out else published(asked.data)
    tasks = [replace(task, noise=asked.noise * task.noise) for task in tasks]
    print(f"{'':24s}" + "".join(f"{p:9.1%}" for p in LEVELS) + "     all, and the difference to the default")
    default: np.ndarray | None = None
    for name in dict.fromkeys(["default", *asked.only]):
        found = captured(tasks, asked.seeds, VARIANTS[name])
        default = found if default is None else default
        gap = (found - default).mean(axis=1)
        cells = "".join(f"{value:9.3f}" for value in found.mean(axis=0))
        error = gap.std() / np.sqrt(len(tasks))
        print(f"{name:24s}{cells}   {found.mean():.3f}  {gap.mean():+.3f} +- {error:.3f}", flush=True)


if __name__ == "__main__":
    main()
