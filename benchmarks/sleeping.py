"""Four jobs against one, for real: trainings that sleep, in processes; the wall clock, and what is captured.

    python benchmarks/sleeping.py --seconds 4
    python benchmarks/sleeping.py --simulated --seeds 32       # the same decisions, and nobody sleeps
    python benchmarks/sleeping.py --simulated --seeds 32 --rules compute counted-1.0 at-once       # those of clock.py

captured: (net - net of the first guess) / (best net in hindsight - the same); net is the score less the price of all
computing.  lost: what one job captures more;  known: the share of one job's wall clock if all its runs were known
beforehand and each started as soon as a place is free.  Docs: docs/howto/parallel.md, docs/decisions/pending.md.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clock import RULES, known_before, on_a_clock

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
    """One tuning.  wall: seconds on the clock;  costs: of all runs;  score: of what it returns"""

    wall: float
    costs: tuple[float, ...]
    score: float

    @property
    def cost(self) -> float:
        """Of all runs."""
        return math.fsum(self.costs)

    @property
    def runs(self) -> int:
        """How many."""
        return len(self.costs)


def for_real(price: float, seconds: float, jobs: int, seed: int, rule: str = "compute") -> Tuned:
    """Trainings that sleep."""

    def train(params: dict[str, Any]) -> float:
        time.sleep(seconds_of(params, seconds))
        return score_at(params)

    result = autobct.tune(train, SPACE, price=price, n_jobs=jobs, seed=seed)
    return Tuned(result.elapsed, tuple(run.cost for run in result.history), score_at(result.params))


def simulated(price: float, seconds: float, jobs: int, seed: int, rule: str = "compute") -> Tuned:
    """Trainings on a clock of their own; deciding takes no time there."""
    tuner = autobct.Tuner(SPACE, price=price, seed=seed)
    wall = on_a_clock(tuner, lambda params: (score_at(params), seconds_of(params, seconds)), jobs, RULES[rule])
    best = tuner.best
    assert best is not None
    return Tuned(wall, tuple(run.cost for run in tuner.history), score_at(best.params))


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--seconds", type=float, default=4.0, help="of a training, on average")
    told.add_argument("--worth", type=float, default=0.001, help="price of an average training, in score")
    told.add_argument("--seeds", type=int, default=1)
    told.add_argument("--begin", type=int, default=0, help="the first seed")
    told.add_argument("--simulated", action="store_true", help="on a simulated clock")
    told.add_argument("--rules", nargs="+", default=["compute"], choices=RULES, help="simulated only")
    said = told.parse_args()
    if said.rules != ["compute"] and not said.simulated:
        told.error("--rules needs --simulated")
    price, tuned = said.worth / said.seconds, simulated if said.simulated else for_real
    least = score_at(dict.fromkeys(SPACE, 0.5)) - said.worth
    most = 0.95 - said.worth * 0.75
    print(
        "| jobs | rule | wall clock, s | share | known | runs | score | captured | lost |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    alone: list[tuple[Tuned, float]] = []
    for jobs, rule in ((1, "compute"), *((4, rule) for rule in said.rules)):
        found = [tuned(price, said.seconds, jobs, seed, rule) for seed in range(said.begin, said.begin + said.seeds)]
        captured = [(one.score - price * one.cost - least) / (most - least) for one in found]
        alone = alone or list(zip(found, captured, strict=True))
        wall, runs, score = (statistics.mean(getattr(one, name) for one in found) for name in ("wall", "runs", "score"))
        longest = statistics.mean(one.wall for one, _ in alone)
        known = statistics.mean(known_before(one.costs, jobs) for one, _ in alone) / longest
        lost = [before - now for (_, before), now in zip(alone, captured, strict=True)]
        error = statistics.stdev(lost) / len(lost) ** 0.5 if len(lost) > 1 else 0.0
        print(
            f"| {jobs} | {rule} | {wall:.1f} | {wall / longest:.2f} | {known:.2f} | {runs:.1f} | {score:.4f} "
            f"| {statistics.mean(captured):.3f} | {statistics.mean(lost):+.3f} ± {error:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
