"""`python -m benchmarks.odd_spaces`: time per decision, and memory, with conditions, many choices and tables."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

import autobct

RUNS = 20


def main() -> None:
    """One line for each space."""
    print(f"{'space':<38}{'coordinates':>12}{'start, s':>10}{'decision, s':>13}{'memory, MB':>12}")
    for name, space in spaces().items():
        start, decision = timed(space)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{name:<38}{autobct.Space.of(space).dim:>12}{start:>10.2f}{decision:>13.3f}{memory:>12.0f}")


def spaces() -> dict[str, Any]:
    """What is timed."""
    numbers = {f"x{k}": autobct.Float(0, 1) for k in range(2)}
    branches = {f"b{k}": autobct.Float(0, 1, when={"branch": k}) for k in range(5)}
    chosen = autobct.Categorical([f"choice {k}" for k in range(1000)])
    return {
        "5 branches with a parameter each": {"branch": autobct.Categorical(range(5)), **branches, **numbers},
        "table of 1,000 rows": table(1_000),
        "table of 100,000 rows": table(100_000),
        "1,000 choices and 2 numbers": {"choice": chosen, **numbers},
    }


def table(rows: int) -> autobct.Table:
    """Two numbers and a choice."""
    rng = np.random.default_rng(0)
    return autobct.Table(
        {
            "depth": rng.integers(1, 20, rows),
            "rate": 10 ** rng.uniform(-4, 0, rows),
            "kind": rng.choice(list("abc"), rows),
        }
    )


def timed(space: Any) -> tuple[float, float]:
    """Seconds until the first question can be asked, and from one answer to the next question, on average."""
    began = time.perf_counter()
    tuner = autobct.Tuner(space, price=1e-9, max_runs=RUNS, seed=0)
    start, began = time.perf_counter() - began, time.perf_counter()
    while isinstance(decision := tuner.ask(), autobct.Train):
        tuner.tell(decision, score=_score(decision.params), cost=1.0)
    return start, (time.perf_counter() - began) / RUNS


def _score(params: Mapping[str, Any]) -> float:
    numbers = [float(value) for value in params.values() if isinstance(value, float)]
    return 0.5 + 0.1 * float(np.sin(5.0 * np.sum(numbers)))


if __name__ == "__main__":
    main()
