"""Four jobs against one, for real: trainings that sleep, in processes; the wall clock, and what is captured.

    python benchmarks/sleeping.py --seconds 4
    python benchmarks/sleeping.py --simulated --seeds 16       # the same decisions, and nobody sleeps

captured: (net - net of the first guess) / (best net in hindsight - the same); net is the score less the price of all
computing.  Docs: docs/howto/parallel.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clock import on_a_clock

import autobct

SPACE: dict[str, Any] = {name: autobct.Float(0, 1) for name in "xyzw"}
_CENTRE = {"x": 0.3, "y": 0.7, "z": 0.4, "w": 0.5}


def score_at(params: Mapping[str, Any]) -> float:
    away = {name: params[name] - _CENTRE[name] for name in SPACE}
    return 0.95 - 1.5 * away["x"] ** 2 - away["y"] ** 2 - 0.5 * away["z"] ** 2 - 0.3 * away["x"] * away["y"]


def seconds_of(params: Mapping[str, Any], seconds: float) -> float:
    return seconds * (0.75 + 0.5 * params["w"])


@dataclass(frozen=True, slots=True)
class Tuned:
    """One tuning.  wall: seconds on the clock;  cost: of all runs;  score: of what it returns"""

    wall: float
    cost: float
    runs: int
    score: float


def for_real(price: float, seconds: float, jobs: int, seed: int) -> Tuned:
    """Trainings that sleep."""

    def train(params: dict[str, Any]) -> float:
        time.sleep(seconds_of(params, seconds))
        return score_at(params)

    result = autobct.tune(train, SPACE, price=price, n_jobs=jobs, seed=seed)
    return Tuned(result.elapsed, result.cost, len(result.history), score_at(result.params))


def simulated(price: float, seconds: float, jobs: int, seed: int) -> Tuned:
    """Trainings on a clock of their own; deciding takes no time there."""
    tuner = autobct.Tuner(SPACE, price=price, seed=seed)
    wall = on_a_clock(tuner, lambda params: (score_at(params), seconds_of(params, seconds)), jobs)
    best = tuner.best
    assert best is not None
    return Tuned(wall, tuner.total_cost, len(tuner.history), score_at(best.params))


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--seconds", type=float, default=4.0, help="of a training, on average")
    told.add_argument("--worth", type=float, default=0.001, help="price of an average training, in score")
    told.add_argument("--seeds", type=int, default=1)
    told.add_argument("--simulated", action="store_true", help="on a simulated clock")
    said = told.parse_args()
    price, tuned = said.worth / said.seconds, simulated if said.simulated else for_real
    least = score_at(dict.fromkeys(SPACE, 0.5)) - said.worth
    most = 0.95 - said.worth * 0.75
    print(
        "| jobs | wall clock, s | share | cost, s | runs | score | captured | lost |\n|---|---|---|---|---|---|---|---|"
    )
    alone: list[tuple[Tuned, float]] = []
    for jobs in (1, 4):
        found = [tuned(price, said.seconds, jobs, seed) for seed in range(said.seeds)]
        captured = [(one.score - price * one.cost - least) / (most - least) for one in found]
        alone = alone or list(zip(found, captured, strict=True))
        wall, cost, runs, score = (
            statistics.mean(getattr(one, name) for one in found) for name in ("wall", "cost", "runs", "score")
        )
        share = wall / statistics.mean(one.wall for one, _ in alone)
        lost = [before - now for (_, before), now in zip(alone, captured, strict=True)]
        error = statistics.stdev(lost) / len(lost) ** 0.5 if len(lost) > 1 else 0.0
        print(
            f"| {jobs} | {wall:.1f} | {share:.2f} | {cost:.1f} | {runs:.1f} | {score:.4f} "
            f"| {statistics.mean(captured):.3f} | {statistics.mean(lost):+.3f} ± {error:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
