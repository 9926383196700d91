"""What it costs to give a training a process of its own.

python benchmarks/isolation.py
"""

from __future__ import annotations

import resource
import statistics
import time
from typing import Any


def nothing(params: dict[str, Any]) -> float:
    return 0.5


def eats(params: dict[str, Any]) -> float:
    eaten = []
    while True:
        eaten.append(bytearray(50_000_000))
        time.sleep(0.02)


def main() -> None:
    from autobct.run.isolated import isolated  # not above: the process of a training imports this file as well
    from autobct.tuning.jobs import Isolation
    from autobct.tuning.training import TrainingError

    walls, cpus, inside = [], [], []
    train = isolated(nothing, Isolation())
    for _ in range(7):
        started, before = time.perf_counter(), _cpu()
        inside.append(train({}).seconds)
        walls.append(time.perf_counter() - started)
        cpus.append(_cpu() - before)
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    print(
        f"a training that does nothing: {wall:.2f} s, {cpu:.2f} s of CPU; {max(inside) * 1e3:.1f} ms of it are its cost"
    )
    started = time.perf_counter()
    try:
        isolated(eats, Isolation(memory="500 MB"))({})
    except TrainingError as error:
        print(f"one that takes 2.5 GB/s: {error}; over after {time.perf_counter() - started:.2f} s")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
