"""How often the model alarm is raised: on real tasks, where it should not be, and where the model is wrong on purpose.

    python benchmarks/alarms.py [--seeds 2] [--tasks holdout] [--workers 2] [--only crash,corner]

The tasks need data that is not part of the project: --data FOLDER, or AUTOBCT_DATA.  Every row is one way to be told of
the tasks or to fail on them, played on every task and on slices of it with one and two numbers, at every price level
with every seed.  Per row: tunings, mean runs,
share of tunings with an alarm of any kind, of the score and of the cost, with its standard error; and the share with a
note, which says that a run has left a range.  The rows above the line are ordinary tunings: an alarm there is false.
Below it the model is wrong, and the share is the power of the alarm.
"""

from __future__ import annotations

import os

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"

import argparse
import multiprocessing
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from slices import slices
from surfaces import NoDataError
from tasks import CAP, LEVELS, Bench, Task, everything, holdout, named, published, seed_on

import autobct

SETS: dict[str, Callable[..., list[Task]]] = {"published": published, "holdout": holdout, "all": everything}

Seen = tuple[float | None, float]
"""Score, None for a failed run, and cost."""


@dataclass(frozen=True)
class Case:
    """One way to be told of a task and to answer.

    told:    keywords of `autobct.Tuner` besides space, price and seed
    answer:  what a run shows, from the trained score and cost, the control, the run's number and the task
    false:   whether an alarm would be one
    """

    told: Callable[[Task], dict[str, Any]]
    answer: Callable[[Seen, np.ndarray, int, Task], Seen] = lambda seen, control, run, task: seen
    false: bool = True


def natural(task: Task) -> dict[str, Any]:
    return {"score_range": task.score_range}


def nothing(task: Task) -> dict[str, Any]:
    return {}


def right(task: Task) -> dict[str, Any]:
    """Ranges that hold: four fifths of all settings are in them."""
    scores, costs = _sample(task)
    return {
        "score_range": tuple(np.quantile(scores, [0.1, 1.0]).tolist()),
        "cost_range": tuple(np.quantile(costs, [0.1, 0.9]).tolist()),
    }


def narrow_scores(task: Task) -> dict[str, Any]:
    """Fixed units a hundredth as wide as the scores are: they stay however far a run is off."""
    scores, _ = _sample(task)
    low, high = np.quantile(scores, [0.1, 1.0]).tolist()
    return {"score_range": autobct.Affine(low, low + (high - low) / 100)}


def narrow_costs(task: Task) -> dict[str, Any]:
    """Fixed units, a range of five percent around a hundred times the median."""
    _, costs = _sample(task)
    middle = 100.0 * float(np.median(costs))
    return {**natural(task), "cost_range": autobct.Affine(0.95 * middle, 1.05 * middle)}


def narrow_stated(task: Task) -> dict[str, Any]:
    """Ranges a hundredth as wide as what there is, which runs may widen."""
    scores, costs = _sample(task)
    low, high = np.quantile(scores, [0.1, 1.0]).tolist()
    middle = float(np.median(costs))
    return {"score_range": (low, low + (high - low) / 100), "cost_range": (0.99 * middle, 1.01 * middle)}


def crash(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """Every run fails at once."""
    return None, 1e-3 * task.yardstick.c50


def corner(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """Where the first coordinate is large, runs fail at once."""
    return (None, 1e-3 * task.yardstick.c50) if control[0] > 0.6 else seen


def late(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """The same, after three times what the run would have cost: a timeout."""
    return (None, 3.0 * seen[1]) if control[0] > 0.6 else seen


def now_and_then(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """One run in five fails at once."""
    return (None, 1e-3 * task.yardstick.c50) if run % 5 == 3 else seen


def slower(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """From the fourth run on, costs jump between a thirtieth and thirty times: another program shares the machine."""
    score, cost = seen
    return score, cost * (1.0 if run < 3 else (30.0, 1 / 30)[run % 2])


def shuffled(seen: Seen, control: np.ndarray, run: int, task: Task) -> Seen:
    """From the fourth run on, every other score has another sign, or is as far from the best as that."""
    score, cost = seen
    assert score is not None
    low, high = task.score_range
    return (score if run < 3 or run % 2 else score + 2.0 * (high - low)), cost


CASES = {
    "natural score range": Case(natural),
    "nothing stated": Case(nothing),
    "both ranges right": Case(right),
    "crashes at once": Case(natural, crash),
    "a region crashes at once": Case(natural, corner),
    "a region times out": Case(natural, late),
    "every fifth run crashes": Case(natural, now_and_then),
    "nothing stated, a region crashes": Case(nothing, corner),
    "score scale fixed, 100 times too narrow": Case(narrow_scores, false=False),
    "cost scale fixed, 100 times too high": Case(narrow_costs, false=False),
    "both ranges 100 times too narrow": Case(narrow_stated, false=False),
    "costs jump from the fourth run on": Case(natural, slower, false=False),
    "scores jump from the fourth run on": Case(natural, shuffled, false=False),
}


@cache
def tasks_of(which: str) -> list[Task]:
    """The tasks of a set, and slices of them with one and two numbers."""
    whole = SETS[which]() if which in SETS else named(which.split(","))
    return [*whole, *slices(whole, 1, 1), *slices(whole, 2, 1)]


@cache
def _sample(task: Task) -> tuple[np.ndarray, np.ndarray]:
    points = task.nearest(task.points(np.random.default_rng(0).random((512, len(task.space)))))
    scores, costs = task.true(points)
    return scores, costs


def played(key: tuple[str, int, str, float, int]) -> tuple[int, str, bool]:
    """Runs, what the alarm was about ("" if there was none), and whether there was a note.

    key: set of tasks, position in it, row, price level, seed
    """
    tasks, place, row, level, seed = key
    task, case = tasks_of(tasks)[place], CASES[row]
    bench, number = Bench(task, seed, cap=CAP), 0
    told = case.told(task)
    tuner = autobct.Tuner(task.space, price=task.price(level), seed=seed_on(task, seed), max_runs=CAP, **told)
    while isinstance(decision := tuner.ask(), autobct.Train):
        score, cost = case.answer(bench(decision.params), decision.control, number, task)
        tuner.tell(decision, score, cost, error="RuntimeError: it failed" if score is None else None)
        number += 1
    return number, "" if tuner.alarm is None else tuner.alarm.what, bool(tuner.notes)


def table(found: dict[str, list[tuple[int, str, bool]]]) -> Iterable[str]:
    """The rows, false alarms first, and both totals."""
    yield f"{'tunings':40s} number  runs  alarms          score   cost   notes"
    for wanted, title in ((True, "all of these: false alarms"), (False, "all of these: power")):
        rows = {name: rows for name, rows in found.items() if CASES[name].false is wanted and rows}
        yield from (_row(name, outcomes) for name, outcomes in rows.items())
        if rows:
            yield _row(title, [outcome for outcomes in rows.values() for outcome in outcomes])
            yield ""


def _row(name: str, outcomes: list[tuple[int, str, bool]]) -> str:
    runs, what, notes = zip(*outcomes, strict=True)
    count = len(outcomes)
    score, cost = what.count("score") / count, what.count("cost") / count
    share = score + cost
    error = (share * (1 - share) / count) ** 0.5
    return (
        f"{name:40s} {count:6d} {np.mean(runs):5.1f}  {share:6.2%} +- {error:.2%}  {score:6.2%} {cost:6.2%} "
        f"{np.mean(notes):6.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--tasks", default="published", help="published, holdout, all, or names with commas")
    parser.add_argument("--data", help="the folder with hpo/ in it; AUTOBCT_DATA if not given")
    parser.add_argument("--only", help="rows whose names contain one of these, with commas")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    if asked.data:
        os.environ["AUTOBCT_DATA"] = asked.data
    words = asked.only.split(",") if asked.only else [""]
    rows = [name for name in CASES if any(word in name for word in words)]
    try:
        tasks = tasks_of(asked.tasks)
    except NoDataError as absent:
        sys.exit(str(absent))
    assert all(task.yardstick.range > 0.0 for task in tasks)  # found once, before workers ask for it
    keys = [
        (asked.tasks, place, row, level, seed)
        for row in rows
        for place in range(len(tasks))
        for level in LEVELS
        for seed in range(asked.seeds)
    ]
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(asked.workers, mp_context=spawn) as pool:
        outcomes = list(pool.map(played, keys, chunksize=4))
    found = {row: [outcome for key, outcome in zip(keys, outcomes, strict=True) if key[2] == row] for row in rows}
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
