"""What it costs to give a training a process of its own.

python benchmarks/isolation.py
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from autobct.run.isolated import isolated
from autobct.tuning.isolation import Isolation


def nothing(params: dict[str, Any]) -> float:
    return 0.5


def eats(params: dict[str, Any]) -> float:
    eaten = []
    while True:
        eaten.append(bytearray(50_000_000))
        time.sleep(0.02)


def main() -> None:
    times, inside = [], []
    train = isolated(nothing, Isolation())
    for _ in range(7):
        started = time.perf_counter()
        inside.append(train({}).seconds)
        times.append(time.perf_counter() - started)
    print(
        f"a training that does nothing: {statistics.median(times):.2f} s, of which {max(inside) * 1e3:.1f} ms are cost"
    )
    started = time.perf_counter()
    try:
        isolated(eats, Isolation(memory="500 MB"))({})
    except Exception as error:
        print(f"2.5 GB/s with a limit of 500 MB: {error}; over after {time.perf_counter() - started:.2f} s")


if __name__ == "__main__":
    main()
