"""How wide the default prior should be: net utility on surfaces that are *not* polynomials, in 1 to 4 dimensions.

    python benchmarks/default_prior.py

Scores: a plateau with slopes and bumps (a smooth random field pushed through a saturating curve, so that good regions
are flat and bad ones fall away), inside (0, 1).  Costs: log-linear, growing with a random direction, factor 3 to 30.
captured = (U - U_random) / (U_best - U_random): U_random trains one random candidate, U_best only the best trade-off.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

from dataclasses import replace

import numpy as np

import autobct
from autobct.belief.prior import Expectations, default_prior
from autobct.tuning.model.default_prior import basis_for
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.space.space import Space

DIMS, SURFACES, PRICES = (1, 2, 4), 16, (0.003, 0.01, 0.03, 0.1)
"""PRICES: of one median run, as a share of what there is to gain: best score minus the 10th percentile."""


class Surface:
    """A random score and cost surface on the unit cube, observed with noise."""

    def __init__(self, dim: int, seed: int) -> None:
        rng = np.random.default_rng((dim, seed))
        lengths = rng.uniform(0.3, 1.5, dim)
        self.frequency = rng.standard_normal((60, dim)) / lengths
        self.phase = rng.uniform(0, 2 * np.pi, 60)
        self.weight = rng.standard_normal(60) * np.sqrt(2 / 60)
        self.top, self.fall = rng.uniform(0.6, 0.98), rng.uniform(0.05, 0.5)
        direction = np.abs(rng.standard_normal(dim)) * rng.choice([1, 1, 1, -1], dim)
        self.growth = direction / np.abs(direction).sum() * np.log(rng.uniform(3, 30))
        self.noise = rng.uniform(0.002, 0.02)

    def score(self, u: np.ndarray) -> np.ndarray:
        field = np.cos(u @ self.frequency.T + self.phase) @ self.weight
        return self.top - self.fall * np.log1p(np.exp(-2 * field))

    def cost(self, u: np.ndarray) -> np.ndarray:
        return np.exp((u - 0.5) @ self.growth)


def captured(
    surface: Surface, dim: int, share: float, expected: Expectations, overhead: float, seed: int
) -> tuple[float, int]:
    space = Space.of({f"u{i}": autobct.Float(0, 1) for i in range(dim)})
    pool = np.random.default_rng(seed).random((2000, dim))
    scores = surface.score(pool)
    price = share * float(scores.max() - np.quantile(scores, 0.1)) / float(np.median(surface.cost(pool)))
    worth = surface.score(pool) - price * surface.cost(pool)
    rng = np.random.default_rng((seed, 1))

    def train(params: dict[str, float]) -> tuple[float, float]:
        u = np.array(list(params.values()))
        noisy = surface.score(u) + surface.noise * rng.standard_normal()
        return float(noisy), float(surface.cost(u) * np.exp(0.05 * rng.standard_normal()))

    prior = default_prior(basis_for(space), replace(expected, cost_level=0.0, cost_spread=1.5))
    cost_range = autobct.Affine(0.0, 0.02 / price)  # as guessed from the price when no prior is given
    tuner = autobct.Tuner(
        space,
        price=price,
        cost_range=cost_range,
        prior=prior,
        policy=autobct.relaxed(depth=2),  # one that serves every prior compared
        max_runs=40,
        overhead=overhead,
    )
    while isinstance(decision := tuner.ask(), autobct.Train):
        score, cost = train(dict(decision.params))
        tuner.tell(decision, score, cost)
    final = surface.score(tuner.best.control) - price * tuner.total_cost
    return float((final - worth.mean()) / (worth.max() - worth.mean())), len(tuner.history)


def main() -> None:
    base = Expectations()
    settings = {"default": (base, OVERHEAD)}
    settings |= {f"overhead={value}": (base, value) for value in (0.0, 0.0005, 0.005)}
    for name, values in {
        "score_shape": (0.1, 0.2, 0.5),
        "score_spread": (0.1, 0.4),
        "cost_shape": (0.5, 2.0),
        "score_noise": (0.01, 0.05),
    }.items():
        settings |= {f"{name}={value}": (replace(base, **{name: value}), OVERHEAD) for value in values}
    print("captured, mean over surfaces (standard error of the difference to the default), and mean runs")
    reference: np.ndarray | None = None
    for label, (expected, overhead) in settings.items():
        found = np.array(
            [
                [captured(Surface(dim, s), dim, share, expected, overhead, s) for s in range(SURFACES)]
                for dim in DIMS
                for share in PRICES
            ]
        )
        values, runs = found[..., 0], found[..., 1]
        reference = values if reference is None else reference
        gap = (values - reference).mean(axis=0)
        cells = "  ".join(
            f"{value:6.3f} ({count:4.1f})" for value, count in zip(values.mean(1), runs.mean(1), strict=True)
        )
        print(
            f"{label:20s} {values.mean():6.3f}  {gap.mean():+.3f} +- {gap.std() / SURFACES**0.5:.3f} | {cells}",
            flush=True,
        )


if __name__ == "__main__":
    main()
