"""Four jobs against one, for real: trainings that sleep, in processes; the wall clock, and what is captured.

    python benchmarks/sleeping.py --seconds 4

captured: (net - net of the first guess) / (best net in hindsight - the same); net is the score less the price of all
computing.  Docs: docs/howto/parallel.md.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import autobct

SPACE: dict[str, Any] = {name: autobct.Float(0, 1) for name in "xyzw"}
_CENTRE = {"x": 0.3, "y": 0.7, "z": 0.4, "w": 0.5}


def score_at(params: dict[str, Any]) -> float:
    away = {name: params[name] - _CENTRE[name] for name in SPACE}
    return 0.95 - 1.5 * away["x"] ** 2 - away["y"] ** 2 - 0.5 * away["z"] ** 2 - 0.3 * away["x"] * away["y"]


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--seconds", type=float, default=4.0, help="of a training, on average")
    told.add_argument("--worth", type=float, default=0.001, help="price of an average training, in score")
    told.add_argument("--seeds", type=int, default=1)
    said = told.parse_args()

    def train(params: dict[str, Any]) -> float:
        time.sleep(said.seconds * (0.75 + 0.5 * params["w"]))
        return score_at(params)

    price = said.worth / said.seconds
    print("| jobs | wall clock, s | share | cost, s | runs | best score | captured |\n|---|---|---|---|---|---|---|")
    alone = 0.0
    least = score_at(dict.fromkeys(SPACE, 0.5)) - price * said.seconds
    most = 0.95 - price * said.seconds * 0.75
    for jobs in (1, 4):
        found = [autobct.tune(train, SPACE, price=price, n_jobs=jobs, seed=seed) for seed in range(said.seeds)]
        wall = statistics.mean(result.elapsed for result in found)
        alone = alone or wall
        nets = [score_at(result.params) - price * result.cost for result in found]
        captured = statistics.mean((net - least) / (most - least) for net in nets)
        cost, best = (statistics.mean(getattr(result, name) for result in found) for name in ("cost", "score"))
        runs = statistics.mean(len(result.history) for result in found)
        print(
            f"| {jobs} | {wall:.1f} | {wall / alone:.2f} | {cost:.1f} | {runs:g} | {best:.4f} | {captured:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
