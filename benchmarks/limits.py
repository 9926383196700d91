"""How likely a run may exceed what is left of a budget before it is no longer started.

    python benchmarks/limits.py [--surfaces 12]

Surfaces and prices of `default_prior.py` (the cheapest two, where a budget binds), budgets of 2, 5 and 12 median runs.
first, later: the probabilities, before and after the first model.  over: share of tunings that end above the
budget; by: their mean excess, as a share of the budget; score: mean true score of the model returned, 0 for one random
run and 1 for the best there is; runs: mean number of them; none: share without a single run.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse

import numpy as np
from default_prior import Surface

import autobct
from autobct.tuning.decide import position

DIMS, PRICES, BUDGETS = (1, 2, 4), (0.003, 0.01), (2.0, 5.0, 12.0)
THRESHOLDS = ((0.5, 0.5), (0.5, 0.25), (0.5, 0.1), (0.5, 0.05), (0.25, 0.25), (0.1, 0.1))


def played(surface: Surface, dim: int, share: float, budget: float, seed: int) -> tuple[float, float, int]:
    pool = np.random.default_rng(seed).random((2000, dim))
    scores, costs = surface.score(pool), surface.cost(pool)
    price = share * float(scores.max() - np.quantile(scores, 0.1)) / float(np.median(costs))
    most, rng = budget * float(np.median(costs)), np.random.default_rng((seed, 1))
    low, high = (float(end) for end in np.quantile(costs, [0.02, 0.98]))
    tuner = autobct.Tuner(
        {f"u{i}": autobct.Float(0, 1) for i in range(dim)},
        price=price,
        cost_range=(low, high),
        max_cost=most,
        max_runs=40,
        prior="paper" if dim <= 2 else None,
        policy=autobct.relaxed(depth=2),  # also beyond the maps' prices, so that rows differ in their limits alone
    )
    while isinstance(decision := tuner.ask(), autobct.Train):
        u = decision.control
        score = float(surface.score(u) + surface.noise * rng.standard_normal())
        tuner.tell(decision, score, float(surface.cost(u) * np.exp(0.05 * rng.standard_normal())))
    if tuner.best is None:
        return 0.0, 0.0, 0
    gained = (surface.score(tuner.best.control) - scores.mean()) / (scores.max() - scores.mean())
    return float(gained), max(tuner.total_cost / most - 1.0, 0.0), len(tuner.history)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surfaces", type=int, default=12)
    surfaces = parser.parse_args().surfaces
    cases = [(dim, share, s) for dim in DIMS for share in PRICES for s in range(surfaces)]
    print("first later  budget   score            over    by   runs  none")
    for first, later in THRESHOLDS:
        position.FIRST_OVER, position.LATER_OVER = first, later
        for budget in BUDGETS:
            found = np.array([played(Surface(dim, s), dim, share, budget, s) for dim, share, s in cases])
            score, excess, runs = found.T
            by = excess[excess > 0].mean() if np.any(excess > 0) else 0.0
            error = score.std() / len(score) ** 0.5
            print(
                f"{first:5.2f} {later:5.2f} {budget:7.0f}   {score.mean():.3f} +- {error:.3f}"
                f"  {np.mean(excess > 0):5.0%} {by:5.0%}  {runs.mean():5.1f} {np.mean(runs == 0):5.0%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
