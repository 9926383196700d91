"""Runs side by side on a clock that is simulated: what is captured, and how long one waits.

    python benchmarks/side_by_side.py --data FOLDER [--each 3] [--jobs 4] [--levels 0.003 0.01] [--seeds 1]
    python benchmarks/side_by_side.py --data FOLDER --rules compute at-once believer waiting

Twelve families of tasks that the network has never seen; FOLDER is that of left_out.py.

captured: as in docs/peers.md, with all computing paid for;  waited: with the wall clock paid for instead
lost:     what one job captures more, on the same tasks, with the standard error of the mean
share:    of one job's wall clock, both as means over the families in median trainings
known:    the share if all runs of one job were known beforehand and started as soon as a place is free
rules:    those of clock.py.  Docs: docs/decisions/waiting.md and docs/decisions/pending.md.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from clock import RULES, known_before, on_a_clock
from left_out import chosen_tasks, loaded, network_for, using
from tasks import LEVELS, Bench, Question, Task, outcome_of, seed_on, tuner_for

MOST = 60
"""Runs of a tuning."""


@dataclass(frozen=True, slots=True)
class Played:
    """captured, waited: see above;  wall: of the clock, in median trainings;  costs: of all runs, likewise"""

    captured: float
    waited: float
    wall: float
    costs: tuple[float, ...]

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.costs)


def play(task: Task, level: float, seed: int, jobs: int, rule: str) -> Played:
    """One tuning with so many jobs, in simulated time."""
    bench = Bench(task, seed, MOST)
    price = task.price(level) / (jobs if RULES[rule].shared else 1)
    tuner = tuner_for(Question(task.space, price, task.score_range, seed_on(task, seed), bench.cap))
    wall = on_a_clock(tuner, bench, jobs, RULES[rule])
    best = tuner.best
    assert best is not None
    whole, unit = outcome_of(task, level, bench.trials, best.trial), task.yardstick.c50
    waited = task.yardstick.captured(bench.trials[best.trial].true - task.price(level) * wall, level)
    return Played(whole.captured, waited, wall / unit, tuple(trial.cost / unit for trial in bench.trials))


Cell = tuple[str, str, float, int]
"""Family, task, level, seed."""


def _job(told: tuple[Cell, int, str, str]) -> tuple[Cell, int, str, Played]:
    (family, name, level, seed), jobs, rule, data = told
    from benchmark_tasks import named_task

    using(loaded(network_for(family)))
    return (family, name, level, seed), jobs, rule, play(named_task(name, data), level, seed, jobs, rule)


def over_families(values: Mapping[Cell, float]) -> float:
    """The mean of the families' means."""
    families: dict[str, list[float]] = {}
    for (family, *_), value in values.items():
        families.setdefault(family, []).append(value)
    return float(np.mean([np.mean(of) for of in families.values()]))


def row(jobs: int, rule: str, level: float, plays: Mapping[Cell, Played], alone: Mapping[Cell, Played]) -> str:
    """One line of the table."""
    lost = {cell: alone[cell].captured - one.captured for cell, one in plays.items()}
    error = float(np.std(list(lost.values())) / np.sqrt(max(len(lost) - 1, 1)))
    captured, waited, wall, runs = (
        over_families({cell: float(getattr(one, name)) for cell, one in plays.items()})
        for name in ("captured", "waited", "wall", "runs")
    )
    longest = over_families({cell: alone[cell].wall for cell in plays})
    known = over_families({cell: known_before(alone[cell].costs, jobs) for cell in plays})
    return (
        f"| {jobs} | {rule} | {level} | {captured:.3f} | {over_families(lost):+.3f} ± {error:.3f} | {waited:.3f} "
        f"| {wall / longest:.2f} | {known / longest:.2f} | {runs:.1f} |"
    )


def table(found: Mapping[tuple[int, str, float], Mapping[Cell, Played]]) -> Sequence[str]:
    """The whole table."""
    heads = ("jobs", "rule", "level", "captured", "lost", "waited", "share", "known", "runs")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for (jobs, rule, level), plays in found.items():
        lines.append(row(jobs, rule, level, plays, found[1, "compute", level]))
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--jobs", type=int, nargs="+", default=[4], help="one job is always played as well")
    parser.add_argument("--rules", nargs="+", default=["compute"], choices=RULES)
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS)
    parser.add_argument("--each", type=int, default=3, help="tasks per family")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    cells = [
        (family, name, level, seed)
        for level in asked.levels
        for seed in range(asked.seeds)
        for family, names in chosen_tasks(asked.data, asked.each).items()
        for name in names
    ]
    rules = [(1, "compute"), *((jobs, rule) for jobs in asked.jobs for rule in asked.rules if jobs > 1)]
    told = [(cell, jobs, rule, asked.data) for jobs, rule in rules for cell in cells]
    found: dict[tuple[int, str, float], dict[Cell, Played]] = {}
    with ProcessPoolExecutor(asked.workers) as pool:
        for cell, jobs, rule, played in pool.map(_job, told, chunksize=4):
            found.setdefault((jobs, rule, cell[2]), {})[cell] = played
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
