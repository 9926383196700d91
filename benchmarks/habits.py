"""What to expect of scores and costs before the first run: variants of the default belief on real tasks.

    python benchmarks/habits.py [--data FOLDER] [--held-out] [--seeds 2] [--only "bump 0.15" default]

Captured (see tasks.py) at four prices, one line for each variant, with the paired difference to the default and its
standard error over tasks.  The last lines leave one family out: the variant that is best on all other families, and
what it captures on the one that it was not chosen on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from tasks import LEVELS, Task, autobct_tuner, holdout, play, published

from autobct.belief.learning import Habits
from autobct.tuning import first
from autobct.tuning.policy import frugal, gittins, relaxed

DEFAULT = Habits()
VARIANTS: Mapping[str, tuple[Habits, Mapping[str, Any]]] = {
    "default": (DEFAULT, {}),
    "amplitude 0.04": (replace(DEFAULT, amplitude=0.04), {}),
    "amplitude 0.09": (replace(DEFAULT, amplitude=0.09), {}),
    "no bump": (replace(DEFAULT, bump=0.0), {}),
    "bump 0.15": (replace(DEFAULT, bump=0.15), {}),
    "bump 0.5": (replace(DEFAULT, bump=0.5), {}),
    "few interactions": (replace(DEFAULT, interactions=(0.05, 0.15)), {}),
    "rougher": (replace(DEFAULT, noises=(0.2, 0.4)), {}),
    "wigglier": (replace(DEFAULT, decays=(0.3, 0.6)), {}),
    "6 members": (replace(DEFAULT, members=6), {}),
    "48 members": (replace(DEFAULT, members=48), {}),
    "no overhead": (DEFAULT, {"overhead": 0.0}),
    "overhead 0.002": (DEFAULT, {"overhead": 0.002}),
    "even spread, per price": (DEFAULT, {"policy": frugal()}),
    "even spread, depth 1": (DEFAULT, {"policy": relaxed(depth=1)}),
    "even spread, depth 2": (DEFAULT, {"policy": relaxed(depth=2)}),
    "even spread, Gittins": (DEFAULT, {"policy": gittins()}),
}


def captured(tasks: list[Task], seeds: int, habits: Habits, settings: Mapping[str, Any]) -> np.ndarray:
    """(tasks, prices), mean over seeds."""
    first.HABITS = habits
    tuner = autobct_tuner(**settings)
    return np.array(
        [[np.mean([play(tuner, task, p, s).captured for s in range(seeds)]) for p in LEVELS] for task in tasks]
    )


def left_out(found: Mapping[str, np.ndarray], families: np.ndarray) -> np.ndarray:
    """(tasks, prices) captured by the variant that is best on the other families, every family counting the same."""
    chosen = np.empty_like(found["default"])
    for family in np.unique(families):
        others = [other for other in np.unique(families) if other != family]
        best = max(found, key=lambda name: np.mean([found[name][families == other].mean() for other in others]))
        chosen[families == family] = found[best][families == family]
        print(f"without {family:14s} {best}")
    return chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=list(VARIANTS), default=list(VARIANTS))
    told = parser.parse_args()
    tasks = holdout(told.data) if told.held_out else published(told.data)
    found: dict[str, np.ndarray] = {}
    print(f"{'':24s}" + "".join(f"{p:9.1%}" for p in LEVELS) + "     all, and the difference to the first")
    for name in told.only:
        found[name] = captured(tasks, told.seeds, *VARIANTS[name])
        gap = (found[name] - found[told.only[0]]).mean(axis=1)
        cells = "".join(f"{value:9.3f}" for value in found[name].mean(axis=0))
        error = gap.std() / np.sqrt(len(tasks))
        print(f"{name:24s}{cells}   {found[name].mean():.3f}  {gap.mean():+.3f} +- {error:.3f}", flush=True)
    if "default" in found and len(found) > 2:
        honest = left_out(found, np.array([task.family for task in tasks]))
        print(f"{'one family left out':24s}" + "".join(f"{value:9.3f}" for value in honest.mean(axis=0)))


if __name__ == "__main__":
    main()
