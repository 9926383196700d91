"""The first run alone: what is it worth to begin where the names of the parameters say, family by family?

    python benchmarks/first_run.py --data FOLDER [--each 4] [--names known,hidden] [--fresh] [--families svm,rbf]

FOLDER and the families are those of left_out.py; no network has a say before a run has finished.  "known" begins at
the usual values, "hidden" as if the parameters had no names, "mirrored" at the opposite.  A line for each family: how
much of what perfect knowledge gains over one random run the first run has captured at the four prices, and the names
that were recognised.
"""

from __future__ import annotations

import argparse
from functools import cache

import numpy as np
from left_out import calling, chosen_tasks
from tasks import LEVELS, Question, Task, seed_on, tuner_for

import autobct
from autobct.tuning.space.parameter import tuned_names
from autobct.tuning.space.space import Space
from autobct.tuning.space.usual_values import usual_places


def captured(task: Task, level: float) -> float:
    """Of one run, where the default tuner makes its first."""
    tuner = tuner_for(Question(task.space, task.price(level), task.score_range, seed_on(task, 0), 1))
    first = tuner.ask()
    assert isinstance(first, autobct.Train)  # the first run is always made
    (score,), (cost,) = task.true(task.nearest(task.point(first.params)[None]))
    return task.yardstick.captured(float(score - task.price(level) * cost), level)


def measured(tasks: list[str], data: str, names: str) -> list[float]:
    """Mean over the tasks of a family, at every price."""
    calling(names)
    return [float(np.mean([captured(_task(name, data), level) for name in tasks])) for level in LEVELS]


@cache
def _task(name: str, data: str) -> Task:
    from benchmark_tasks import named_task

    return named_task(name, data)


def recognised(task: Task) -> list[str]:
    """The parameters that have a usual value."""
    space = Space.of(task.space)
    names = tuned_names(space.names, space.parameters)
    return [names[which] for which, _ in usual_places(space)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--each", type=int, default=4, help="tasks per family")
    parser.add_argument("--names", default="known,hidden")
    parser.add_argument("--families", help="these alone")
    parser.add_argument("--fresh", action="store_true", help="the thirteen fresh families")
    asked = parser.parse_args()
    ways = asked.names.split(",")
    found: list[list[list[float]]] = []
    print(f"{'':14s}     " + "   ".join(f"{way:>27s}" for way in ways))
    for family, tasks in chosen_tasks(asked.data, asked.each, fresh=asked.fresh).items():
        if asked.families and family not in asked.families.split(","):
            continue
        found.append([measured(tasks, asked.data, way) for way in ways])
        print(_line(f"{family:14s} {len(tasks):3d}", found[-1]), *recognised(_task(tasks[0], asked.data)), flush=True)
    print(_line(f"{'mean':14s}    ", np.mean(found, axis=0).tolist()))


def _line(start: str, ways: list[list[float]]) -> str:
    return f"{start} " + "   ".join(" ".join(f"{value:6.3f}" for value in way) for way in ways)


if __name__ == "__main__":
    main()
