"""Empirical Bayes: what real surfaces say of the default belief, and whether that holds for a family left out.

    python benchmarks/calibration.py [--data FOLDER] [--held-out] [--points 4096]
    python benchmarks/calibration.py --tables FOLDER          # of benchmarks/families.py

The first table has what the surfaces of each family show, every task counting the same: the habits of
`autobct.belief.surrogate.learning.Habits`, by least squares on the functions of the default belief at random
points.  The second one foretells: the mean log density of a score, run after run of a few at random, on tasks of the
family that is left out, under an earlier default and the present one, under the habits estimated from the other
families, and under those of the family itself.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import families
import numpy as np
from cube import Array, Space, unit_of
from tasks import Task, holdout, published

from autobct import Categorical, Int
from autobct.belief.surrogate.learning import Habits, ensemble_of
from autobct.belief.surrogate.surface import surface
from autobct.tuning.model.estimate import compressed

RUNS, DRAWS = 12, 4
NOISE = 0.003
BEFORE = replace(Habits(), level=0.6, amplitude=0.06, interactions=(0.2, 0.4), noises=(0.1, 0.25))
"""The default before surfaces of ten families were asked."""
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A surface at random.  places: (n, p),  scores: (n,) in score ranges,  costs: (n,); none with noise."""

    family: str
    space: Space
    places: Array
    scores: Array
    costs: Array

    @property
    def choices(self) -> list[int]:
        """Number of choices of every parameter, 0 for a number."""
        return [p.count if isinstance(p, Categorical) else 0 for p in self.space.values()]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a surface shows.

    level:       mean score, in score ranges;  amplitude: standard deviation of the compressed score over the cube
    decay:       variance of main effects beyond the straight line over that of the straight line
    interaction: share of products in what the functions explain;  noise: what they do not explain, over the amplitude
    bump:        by how many amplitudes the centre is better, as `Habits.bump`
    elasticity:  of the cost in a whole number, mean over them;  bend: root mean square of the curvature of log cost
    cost_noise:  what straight lines and curvatures leave of the log cost
    """

    level: float
    amplitude: float
    decay: float
    interaction: float
    noise: float
    bump: float
    elasticity: float
    bend: float
    cost_noise: float


def shown(sample: Sample) -> Shown:
    """What a surface shows at random points."""
    places, scores, choices = sample.places, sample.scores, sample.choices
    of_score, of_cost = surface(choices), surface(choices, degree=2, size=0)
    weights, rest = _fit(of_score.basis(places), compressed(scores))
    numbers = [which for which, count in enumerate(choices) if not count]
    mains = {k: sum(w**2 for w, t in _terms(weights, of_score.terms, numbers) if t == k) for k in range(1, 6)}
    product = np.array([len(term) > 1 for term in of_score.terms])
    explained, amplitude = float(np.sum(weights[1:] ** 2)), float(compressed(scores).std())
    curved = sum(w for w, t in _terms(weights, of_score.terms, numbers) if t == 2)
    cost_weights, cost_rest = _fit(of_cost.basis(places), np.log(sample.costs))
    bends = [w for w, t in _terms(cost_weights, of_cost.terms, numbers) if t == 2]
    return Shown(
        level=float(scores.mean()),
        amplitude=amplitude,
        decay=sum(v for k, v in mains.items() if k > 1) / max(sum(mains.values()), 1e-12),
        interaction=float(np.sum(weights[product] ** 2)) / max(explained, 1e-12),
        noise=rest / max(amplitude, 1e-12),
        bump=-curved / np.sqrt(len(numbers)) / max(amplitude, 1e-12),
        elasticity=_elasticity(sample.space, cost_weights, of_cost.terms),
        bend=float(np.sqrt(np.mean(np.square(bends)))),
        cost_noise=cost_rest,
    )


def sampled(task: Task, points: int) -> Sample:
    """A task at random points."""
    at = task.nearest(task.points(np.random.default_rng(0).random((points, len(task.space)))))
    scores, costs = task.true(at)
    low, high = task.score_range
    return Sample(task.family, task.space, unit_of(task.space, at), (scores - low) / (high - low), costs)


def trained(folder: Path) -> list[Sample]:
    """What benchmarks/families.py trained, at the points of an even spread."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in families.read(folder / "families.jsonl"):
        tables.setdefault(row["task"], []).append(row)
    return [_of_rows(name.split("-")[0], rows) for name, rows in sorted(tables.items())]


def _of_rows(family: str, rows: list[dict[str, Any]]) -> Sample:
    space = families.SPACES[family]
    scores, costs = (np.array([row[what] for row in rows]) for what in ("score", "cost"))
    return Sample(family, space, unit_of(space, families.points_at(family, rows)), scores, np.maximum(costs, 1e-4))


def _fit(features: Array, values: Array) -> tuple[Array, float]:
    """Weights by least squares, and the root mean square of what is left, its degrees of freedom counted."""
    gram = features.T @ features + _RIDGE * len(values) * np.eye(features.shape[1])
    weights = np.linalg.solve(gram, features.T @ values)
    left = max(len(values) - features.shape[1], 1)
    return np.asarray(weights, dtype=float), float(np.sqrt(np.sum(np.square(values - features @ weights)) / left))


def _terms(weights: Array, terms: Sequence[tuple[tuple[int, int], ...]], numbers: list[int]) -> list[tuple[float, int]]:
    """Weights and degrees of the main effects of numbers."""
    return [
        (float(weight), term[0][1])
        for weight, term in zip(weights, terms, strict=True)
        if len(term) == 1 and term[0][0] in numbers
    ]


def _elasticity(space: Space, weights: Array, terms: Sequence[tuple[tuple[int, int], ...]]) -> float:
    found = []
    for which, parameter in enumerate(space.values()):
        if isinstance(parameter, Int) and parameter.high > max(parameter.low, 1):
            rise = float(weights[terms.index(((which, 1),))]) * np.sqrt(12.0)
            found.append(rise / np.log(parameter.high / max(parameter.low, 1)))
    return float(np.mean(found)) if found else np.nan


def mean_of(families: Sequence[Sequence[Shown]]) -> Shown:
    """Every family counts the same; one without whole numbers says nothing of them."""
    warnings.simplefilter("ignore", RuntimeWarning)
    means = [[np.nanmean([getattr(task, f.name) for task in family]) for f in fields(Shown)] for family in families]
    return Shown(*np.nanmean(means, axis=0).tolist())


def habits_of(found: Shown, spread: float) -> Habits:
    """The default with what was estimated; the choices around a value are spread as the default's are."""
    return replace(
        Habits(),
        level=found.level,
        amplitude=found.amplitude,
        spread=spread,
        decays=tuple(min(found.decay * by, 0.9) for by in (0.4, 1.0, 2.0)),
        interactions=tuple(min(found.interaction * by, 0.9) for by in (0.67, 1.33)),
        noises=tuple(found.noise * by for by in (0.6, 1.5)),
        bump=found.bump,
    )


def foretold(sample: Sample, habits: Habits) -> float:
    """Mean log density of the next score of runs at random, as the Gaussian that decisions are made with has it."""
    of_score = surface(sample.choices)
    members, found = ensemble_of(of_score, habits, {}), []
    for draw in range(DRAWS):
        rng = np.random.default_rng(1 + draw)
        rows = rng.choice(len(sample.scores), RUNS, replace=False)
        scores = sample.scores[rows] + NOISE * rng.standard_normal(RUNS)
        features = of_score.basis(sample.places[rows])
        for n in range(1, RUNS):
            mixture = members.posterior(features[:n], compressed(scores[:n]))
            belief, at, seen = mixture.gaussian(), features[n], compressed(scores[: n + 1])[-1]
            sd = np.sqrt(at @ belief.cov @ at + mixture.noise**2)
            found.append(-0.5 * ((seen - at @ belief.mean) / sd) ** 2 - np.log(sd))
    return float(np.mean(np.maximum(found, -10.0)))  # one plateau must not decide


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--points", type=int, default=4096)
    parser.add_argument("--tables", type=Path)
    told = parser.parse_args()
    if told.tables:
        samples = trained(told.tables)
    else:
        samples = [sampled(t, told.points) for t in (holdout(told.data) if told.held_out else published(told.data))]
    families_of: dict[str, list[Sample]] = {}
    for sample in samples:
        families_of.setdefault(sample.family, []).append(sample)
    report(families_of)


def report(samples: Mapping[str, Sequence[Sample]]) -> None:
    """Both tables."""
    found = {family: [shown(sample) for sample in each] for family, each in samples.items()}
    names = [field.name for field in fields(Shown)]
    print(f"| family | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for family, mean in (*((f, mean_of([each])) for f, each in found.items()), ("all", mean_of([*found.values()]))):
        print(f"| {family} | " + " | ".join(f"{getattr(mean, name):.3g}" for name in names) + " |")
    print("\n| left out | before | default | habits of the other families | its own |\n|---|---|---|---|---|")
    for family, each in samples.items():
        others = [other for name, other in found.items() if name != family]
        spread = float(np.std([np.log(one.amplitude) for other in others for one in other]))
        estimated = [habits_of(mean_of(of), spread) for of in (others, [found[family]])]
        cells = [np.mean([foretold(sample, habits) for sample in each]) for habits in (BEFORE, Habits(), *estimated)]
        print(f"| {family} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
