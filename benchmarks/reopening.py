"""How long a tuning of many runs takes to open again, and how much memory its runs keep.

    python benchmarks/reopening.py --runs 4000

A policy that goes on for ever makes the runs, in a space of two numbers; then the folder is opened again.
`--parameters 50` also counts the bytes that the controls of the runs keep alive.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from typing import Any

import numpy as np

import autobct
from autobct.run import stored
from autobct.value.acquisition import Assessment


def for_ever(controls: Any, seed: int) -> Any:
    """A policy that always goes on, at one candidate after the other."""

    def assess(state: Any, terms: Any, runs: int) -> Assessment:
        values = np.full(state.score.mean.shape, 1e3)
        values[..., (runs * 7919) % state.size] = 2e3
        return Assessment.by_value(values)

    return assess


def tuner(parameters: int) -> autobct.Tuner:
    space = {f"x{number}": autobct.Float(0, 1) for number in range(parameters)}
    return autobct.Tuner(space, price=1e-3, recall=False, policy=for_ever)


def kept_alive(history: tuple[autobct.Run, ...]) -> int:
    """Bytes of all arrays that the controls of some runs are, or are views of."""
    arrays = {
        id(array): array.nbytes for run in history for array in (run.control, run.control.base) if array is not None
    }
    return sum(arrays.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--parameters", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    sync, os.fsync = os.fsync, lambda descriptor: None  # it is not what is measured here
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        with stored(tuner(options.parameters), folder) as kept:
            while len(kept.tuner.history) < options.runs and isinstance(decision := kept.ask(), autobct.Train):
                score = 1.0 - float(np.square(decision.control - 0.3).mean())
                kept.tell(decision, score=score + 0.05 * float(rng.standard_normal()), cost=1.0)
            made = time.perf_counter() - started
            alive = kept_alive(kept.tuner.history)
        os.fsync = sync
        started = time.perf_counter()
        with stored(tuner(options.parameters), folder) as again:
            reopened = time.perf_counter() - started
            runs = len(again.tuner.history)
    print(
        f"{runs} runs made in {made:.1f} s; opened again in {reopened:.1f} s; their controls keep {alive / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
