"""What one and two plain numbers should start from, and who decides then: variants of the default on real tasks.

    python benchmarks/one_two.py [--data FOLDER] [--held-out] [--last] [--seeds 3] [--numbers 1 2] [--only NAME ...]

The tasks are slices of the published tasks (slices.py) and those that have two numbers themselves; --held-out: of other
tasks of the same families.  Captured (see tasks.py) at four prices, one line for each variant, with the trainings it
makes and the paired difference to the first one with its standard error over tasks.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
from left_out import loaded, network_for, using
from slices import slices
from tasks import LEVELS, Question, Task, Training, Tuner, autobct_tuner, holdout, play, published

from autobct.belief.surrogate import surface
from autobct.maps.library import shipped_map
from autobct.tuning import problem
from autobct.tuning.decide.policy import mapped, relaxed
from autobct.tuning.model import default_prior


def on_shipped_map(*, recall: bool) -> Tuner:
    """The paper's fixed scale, and the shipped map for it."""

    def tuner(question: Question, train: Training) -> int:
        value_map = shipped_map(f"{len(question.space)}d-log-{'recall' if recall else 'last'}")
        return autobct_tuner(policy=mapped(value_map), prior="paper", recall=recall)(question, train)

    return tuner


def of_degree(degree: int) -> tuple[Mapping[tuple[Any, str], Any], Callable[..., Tuner]]:
    """Main effects of this degree in one and two numbers."""
    return {(surface, "_ALONE"): degree, (surface, "_DEGREE"): {2: degree}}, autobct_tuner


DEFAULT = "default"
VARIANTS: Mapping[str, tuple[Mapping[tuple[Any, str], Any], Callable[..., Tuner]]] = {
    DEFAULT: ({}, autobct_tuner),
    "ensemble": ({}, partial(autobct_tuner, prior="ensemble")),
    "both surrogates": ({(problem, "_MANY"): 1}, autobct_tuner),
    "fixed scale, map": ({}, on_shipped_map),
    "depth 2": ({}, partial(autobct_tuner, policy=relaxed(depth=2))),
    **{f"degree {degree}": of_degree(degree) for degree in (3, 4, 6, 8, 10)},
}


def plays(tasks: list[Task], seeds: int, name: str, *, recall: bool) -> tuple[np.ndarray, np.ndarray]:
    """Captured and trainings, (tasks, prices) each, mean over seeds."""
    parts, make = VARIANTS[name]
    default_prior._learning.cache_clear()  # it knows nothing of what is replaced here
    with ExitStack() as stack:
        for (module, part), other in parts.items():
            stack.enter_context(patch.object(module, part, other))
        found = []
        for task in tasks:
            using(loaded(network_for(task.family)))
            found.append([[play(make(recall=recall), task, p, s) for s in range(seeds)] for p in LEVELS])
    both = np.array([[[(o.captured, o.trials) for o in cell] for cell in row] for row in found]).mean(axis=2)
    return both[..., 0], both[..., 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="the folder with hpo/ in it; AUTOBCT_DATA if not given")
    parser.add_argument("--held-out", action="store_true", help="other tasks of the same families, half as many slices")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--last", action="store_true", help="return the last model, as the paper does")
    parser.add_argument("--numbers", type=int, nargs="*", choices=(1, 2), default=[1, 2])
    told = parser.parse_args()
    whole = holdout(told.data) if told.held_out else published(told.data)
    for size in told.numbers:
        tasks = slices(whole, size, 1 if told.held_out else 2) + [task for task in whole if len(task.space) == size]
        print(f"\n{size} number{'s' * (size > 1)}, {len(tasks)} tasks, {told.seeds} seeds\n")
        print("| variant | " + " | ".join(f"{100 * p:g} %" for p in LEVELS) + " | difference | trainings |")
        print("|---|" + "---|" * (len(LEVELS) + 2))
        base = None
        for name in told.only:
            captured, trainings = plays(tasks, told.seeds, name, recall=not told.last)
            base = captured if base is None else base
            gap = (captured - base).mean(axis=1)
            difference = "" if captured is base else f"{gap.mean():+.3f} ± {gap.std() / np.sqrt(len(tasks)):.3f}"
            cells = [*(f"{value:.3f}" for value in captured.mean(axis=0)), difference]
            made = " / ".join(f"{value:.1f}" for value in trainings.mean(axis=0))
            print(f"| {name} | " + " | ".join(cells) + f" | {made} |", flush=True)


if __name__ == "__main__":
    main()
