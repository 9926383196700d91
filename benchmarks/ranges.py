"""What a range that nobody stated, or that was stated wrongly, costs: the same surfaces in other units.

    python benchmarks/ranges.py [--surfaces 12]
    python benchmarks/ranges.py --learning --surfaces 5     # how fast a scale follows the spread that is seen

Scores and prices of `default_prior.py`, put in other units: score -> a + b score, price x |b|.  A score_range is stated
only where it says so; the right one is from the 10th to the 90th percentile, widened by half.  Per row: captured (see
there), mean runs, share of tunings that stop after one run, the most runs that any took (40 allowed), and the share of
tunings with a model alarm.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from default_prior import PRICES, Surface

import autobct
from autobct.tuning.units import ranges as rules

DIMS = (1, 2, 4)


@dataclass(frozen=True)
class Units:
    """score -> shift + unit * score; a negative unit is a loss to minimise."""

    shift: float
    unit: float
    told: dict[str, Any]

    def to_user(self, score: float) -> float:
        return self.shift + self.unit * score


UNITS = {
    "accuracy in (0, 1)": Units(0.0, 1.0, {}),
    "the same, range stated": Units(0.0, 1.0, {"score_range": "right"}),
    "percent": Units(0.0, 100.0, {}),
    "negative loss about -3": Units(-3.5, 1.0, {}),
    "loss about 0.5, minimised": Units(1.0, -1.0, {}),
    "RMSE in thousands, minimised": Units(5000.0, -3000.0, {}),
    "log likelihood about -12,345": Units(-12395.0, 100.0, {}),
    "tiny: times 0.001, minus 0.01": Units(-0.01, 0.001, {}),
    "percent, (0, 1) stated": Units(0.0, 100.0, {"score_range": (0.0, 1.0)}),
    "percent, (80, 90) stated": Units(0.0, 100.0, {"score_range": (80.0, 90.0)}),
    "loss about 3, (0, 1) stated": Units(3.5, -1.0, {"score_range": (0.0, 1.0)}),
    "cost range 100 times too high": Units(0.0, 1.0, {"cost_range": 100.0}),
    "cost range 100 times too low": Units(0.0, 1.0, {"cost_range": 0.01}),
    "cost range right": Units(0.0, 1.0, {"cost_range": 1.0}),
}


LEARNED = tuple(list(UNITS)[k] for k in (2, 3, 5, 6, 7))


def captured(surface: Surface, dim: int, share: float, units: Units, seed: int) -> tuple[float, int, bool]:
    pool = np.random.default_rng(seed).random((2000, dim))
    scores, costs = surface.score(pool), surface.cost(pool)
    price = share * float(scores.max() - np.quantile(scores, 0.1)) / float(np.median(costs))
    worth = scores - price * costs
    rng = np.random.default_rng((seed, 1))
    told = dict(units.told)
    if told.get("score_range") == "right":
        low, high = np.quantile(scores, [0.1, 0.9])
        told["score_range"] = (float(1.25 * low - 0.25 * high), float(1.25 * high - 0.25 * low))
    if "cost_range" in told:
        low, high = np.quantile(costs, [0.1, 0.9]) * told["cost_range"]
        told["cost_range"] = (float(low), float(high))
    tuner = autobct.Tuner(
        {f"u{i}": autobct.Float(0, 1) for i in range(dim)},
        price=price * abs(units.unit),
        direction="minimize" if units.unit < 0 else "maximize",
        max_runs=40,
        **told,
    )
    while isinstance(decision := tuner.ask(), autobct.Train):
        u = decision.control
        noisy = float(surface.score(u) + surface.noise * rng.standard_normal())
        tuner.tell(decision, units.to_user(noisy), float(surface.cost(u) * np.exp(0.05 * rng.standard_normal())))
    assert tuner.best is not None
    final = surface.score(tuner.best.control) - price * tuner.total_cost
    return float((final - worth.mean()) / (worth.max() - worth.mean())), len(tuner.history), tuner.alarm is not None


def plateau(width: float, price: float) -> float:
    """Score, in percent, on a line that is at chance but for a hill at its end: two runs there look alike."""

    def train(params: dict[str, float]) -> tuple[float, float]:
        x = params["x"]
        hill = 80.0 * (1 - ((x - 0.85) / 0.2) ** 2) if x > width else 0.0
        return 10.0 + max(hill, 0.0), 1.0

    return autobct.tune(train, {"x": autobct.Float(0, 1)}, price=price, max_runs=30).score


def learning(surfaces: int) -> None:
    """Captured with other numbers behind a learned scale, and the mean score on plateaus."""
    print("doubt  free  " + "  ".join(name[:14].rjust(14) for name in LEARNED) + "  plateaus")
    for doubt, free in ((0.5, 0.0), (1.5, 0.0), (3.0, 0.0), (3.0, 0.5), (3.0, 1.0)):
        rules._DOUBT, rules._FREE = doubt, free
        cells = []
        for name in LEARNED:
            cases = [
                (Surface(d, s), d, share, UNITS[name], s) for d in DIMS for share in PRICES for s in range(surfaces)
            ]
            found = np.array([captured(*case)[:2] for case in cases])
            cells.append(f"{found[:, 0].mean():7.3f} ({found[:, 1].mean():4.1f})")
        flat = np.mean([plateau(width, price) for width in (0.3, 0.7) for price in (0.1, 0.5, 2.0)])
        print(f"{doubt:5.1f} {free:5.1f}  " + "  ".join(cells) + f"  {flat:8.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surfaces", type=int, default=12)
    parser.add_argument("--learning", action="store_true")
    told = parser.parse_args()
    surfaces = told.surfaces
    if told.learning:
        learning(surfaces)
        return
    print(f"{'units':32s} captured    gap        runs  one run  most  alarms")
    reference: np.ndarray | None = None
    for name, units in UNITS.items():
        found = np.array(
            [
                [captured(Surface(dim, s), dim, share, units, s) for s in range(surfaces)]
                for dim in DIMS
                for share in PRICES
            ],
            dtype=float,
        )
        values, runs, alarms = found[..., 0], found[..., 1], found[..., 2]
        reference = values if reference is None else reference
        gap = (values - reference).mean(axis=0)
        print(
            f"{name:32s} {values.mean():6.3f}  {gap.mean():+.3f} +- {gap.std() / surfaces**0.5:.3f} {runs.mean():6.1f}"
            f"  {np.mean(runs == 1):7.0%}  {runs.max():4.0f}  {alarms.mean():6.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
