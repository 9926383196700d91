"""Real tasks as pools: pieces of every task, whole or with some parameters held at a value.

python experiments/surrogate/tables.py --data FOLDER --out FILE.npz [--pieces 240] [--workers 15]
"""

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import multiprocessing
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from cube import Space, unit_of
from families import SPACES
from fresh_models import FRESH
from surfaces import Table
from tasks import Task

from autobct import Categorical, Int
from autobct.tuning.space.space import Space as TuningSpace
from autobct.tuning.space.usual_values import usual_places

SLOTS, RUNS, ROUNDS, EVEN, NEAR = 24, 38, 5, 96, 24  # as in pool.py, which needs torch
PIECES = 240  # of a family, at least one of every task
FAMILIES = ("lcbench", "rbv2_xgboost", "iaml_glmnet", "xgb_mnist", "hpobench_mlp", "xgb_icml2020",
            "svm", "forest", "boosting", "network", "neighbours", "linear", *FRESH)  # fmt: skip
_USUALLY = 0.6  # how often a tuning begins with usual values, where there are any
_STEPS = np.array([0.03, 0.08, 0.2, 0.4])


def piece(job: tuple[str, str, int]) -> dict[str, Any] | None:
    """One piece of a task."""
    name, data, seed = job
    task = _task(name, data)
    rng = np.random.default_rng([seed, len(name)])
    dim = len(task.space)
    held, values = np.zeros(dim, dtype=bool), rng.random(dim)
    if not isinstance(task.surface, Table) and seed % 2 and dim > 1:
        held = rng.random(dim) < rng.random()
        held[rng.integers(dim)] = False
        looks = rng.random((24, dim))
        looks[:, ~held] = 0.5
        values = looks[np.argsort(task.true(task.nearest(task.points(looks)))[0])[-int(rng.integers(1, 24))]]
    trail = Trail(task, rng, held, values, start_of(task.space, rng))
    order, rounds = trail.order, trail.rounds
    points, scores, costs, seen = trail.points, trail.scores, trail.costs, trail.seen
    if np.ptp(scores) < 1e-6:
        return None
    tuned = {n: p for (n, p), h in zip(task.space.items(), held, strict=True) if not h}
    place, facts = slots(tuned, points[:, ~held])
    low, high = task.score_range
    return {
        "place": place.astype(np.float16),
        "facts": facts.astype(np.float16),
        "score": scores.astype(np.float32),
        "seen": seen.astype(np.float32),
        "log_cost": (np.log(costs) + task.cost_noise * rng.standard_normal(len(costs))).astype(np.float32),
        "order": order.astype(np.int16),
        "rounds": rounds.astype(np.int16),
        "scale": np.float32(max(scores.max() - np.quantile(scores[:EVEN], 0.1), 1e-9)),
        "c50": np.float32(np.log(np.median(costs[:EVEN]))),
        "low": np.float32(low),
        "high": np.float32(high),
        "family": np.int64(FAMILIES.index(task.family)),
        "dim": np.int64(len(tuned)),
        **guess_of(task.space, held, trail, place),
    }


def usual(space: Space) -> list[float | None]:
    """The usual place of every parameter by its name, None where there is none.  As `usual_places` has them."""
    places = dict(usual_places(TuningSpace.of(dict(space))))
    return [places.get(which) for which in range(len(space))]


def start_of(space: Space, rng: np.random.Generator) -> np.ndarray | None:
    """Uniforms (d,) of usual values, and anything of what has none; None at times, and where nothing is usual."""
    if rng.random() >= _USUALLY:
        return None
    places, start = usual(space), rng.uniform(0.25, 0.65, len(space))
    for which, (place, parameter) in enumerate(zip(places, space.values(), strict=True)):
        if place is not None:
            start[which] = (place + 0.5) / parameter.count if isinstance(parameter, Categorical) else place
    return None if all(place is None for place in places) else np.clip(start, 0.0, 1.0 - 1e-9)


def guess_of(space: Space, held: np.ndarray, trail: Trail, place: np.ndarray) -> dict[str, Any]:
    """The guess that a tuning begins with, as slots (S,), and 1 where it does.

    It is the place of the first run; where that is usual by name, the centre of what has no usual value.
    """
    guess, at = place[trail.order[0]].copy(), 0
    for parameter, known, fixed in zip(space.values(), usual(space), held, strict=True):
        count = 0 if fixed else parameter.count if isinstance(parameter, Categorical) else 1
        if trail.usual and known is None and not fixed:
            guess[at : at + count] = 1.0 / count if isinstance(parameter, Categorical) else 0.0
        at += count
    return {"guess": guess.astype(np.float16), "guessed": np.float32(trail.guessed)}


def prepared(name: str, data: str) -> None:
    """What takes long to find is kept, so that several workers need not find it."""
    _task(name, data)


class Trail:
    """The runs of a simple tuner on a task, as `pool` has them.

    points: (P, d),  scores, costs, seen: (P,),  order, rounds: (RUNS,)
    usual: whether it begins with `start`, what is usual;  guessed: with that, or with a place known to be good
    """

    def __init__(
        self,
        task: Task,
        rng: np.random.Generator,
        held: np.ndarray,
        values: np.ndarray,
        start: np.ndarray | None = None,
    ) -> None:
        self.task, self.rng, self.held, self.values = task, rng, held, values
        self.uniforms = np.zeros((0, len(held)))
        self.points, self.scores = np.zeros((0, len(held))), np.zeros(0)
        self.costs, self.seen = np.zeros(0), np.zeros(0)
        even = rng.random((EVEN, len(held)))
        even[: EVEN // 3] = 0.5 + 0.6 * (even[: EVEN // 3] - 0.5)
        even[0] = 0.5 if start is None else start
        self._look(even)
        self.usual, self.guessed = start is not None, start is not None or rng.random() < 0.35
        guess = 0
        if start is None:  # the best of one to 32, as somebody knows it who has tuned alike before
            known = rng.choice(EVEN, int(32.0 ** rng.random()), replace=False)
            guess = int(known[np.argmax(self.scores[known])])
        runs: list[int] = []
        rounds: list[int] = []
        for number in range(ROUNDS + 1):
            left = np.setdiff1d(np.arange(EVEN), runs)
            key = rng.gumbel(size=len(left)) - (8.0 * rng.random() * self._off_centre(left) if number == 0 else 1.5)
            if number == 0 and self.guessed:
                key[guess] = np.inf
            if number > 0:
                first = len(self.points)
                self._look(self._around(np.array(runs)))
                left = np.append(left, np.arange(first, first + NEAR))
                key = np.append(key, rng.gumbel(size=NEAR) + 2.0 * rng.random())
            count = 1 + int(rng.integers(10 if number == 0 else 8)) if number < ROUNDS else RUNS
            chosen = left[np.argsort(-key)][:count]
            runs += chosen.tolist()
            rounds += [number] * len(chosen)
        self.order, self.rounds = np.array(runs[:RUNS]), np.array(rounds[:RUNS])

    def _off_centre(self, which: np.ndarray) -> np.ndarray:
        return np.sum((self.uniforms[which] - 0.5)[:, ~self.held] ** 2, axis=1)

    def _look(self, uniforms: np.ndarray) -> None:
        uniforms[:, self.held] = self.values[self.held]
        points = self.task.nearest(self.task.points(uniforms))
        scores, costs = self.task.true(points)
        seen = self.task.observed(points, self.rng.standard_normal(len(points)))
        self.uniforms = np.concatenate([self.uniforms, uniforms])
        self.points = np.concatenate([self.points, points])
        self.scores, self.costs = np.append(self.scores, scores), np.append(self.costs, costs)
        self.seen = np.append(self.seen, seen)

    def _around(self, runs: np.ndarray) -> np.ndarray:
        best = runs[np.argsort(-self.seen[runs])]
        turn = np.minimum((3.0 * self.rng.random(NEAR) ** 2).astype(int), min(2, len(best) - 1))
        base, dim = self.uniforms[best[turn]], self.uniforms.shape[1]
        turned = self.rng.random((NEAR, dim)) < max(0.35, 1.5 / max(int((~self.held).sum()), 1))
        moves = self.rng.choice(_STEPS, (NEAR, 1)) * self.rng.standard_normal((NEAR, dim))
        return np.clip(base + turned * moves, 0.0, 1.0 - 1e-9)


def slots(space: Space, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (P, S) and facts (S, 5).  points: (P, d)."""
    unit = unit_of(space, points)
    place, facts = np.zeros((len(points), SLOTS)), np.zeros((SLOTS, 5))
    at = 0
    for parameter in space.values():
        if isinstance(parameter, Categorical):
            place[:, at : at + parameter.count] = unit[:, at : at + parameter.count]
            facts[at : at + parameter.count] = (1, 0, 1, 0, 0)
            at += parameter.count
            continue
        place[:, at] = 2.0 * unit[:, at] - 1.0
        ratio = np.log(parameter.high / parameter.low) if parameter.low > 0 else 0.0
        facts[at] = (1, isinstance(parameter, Int), 0, parameter.log, min(ratio, 14.0) / 6.0)
        at += 1
    return place, facts


_TASKS: dict[tuple[str, str], Task] = {}


def _task(name: str, data: str) -> Task:
    if (name, data) not in _TASKS:
        from benchmark_tasks import named_task

        _TASKS[name, data] = named_task(name, data)
    return _TASKS[name, data]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pieces", type=int, default=PIECES)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    told = parser.parse_args()
    from benchmark_tasks import all_names, fresh_names

    by_family: dict[str, list[str]] = {}
    for name in [*all_names(told.data), *fresh_names(told.data)]:
        by_family.setdefault(name.split("-")[0], []).append(name)
    jobs = []
    for names in by_family.values():
        each = max(1, -(-told.pieces // len(names)))
        jobs += [(name, told.data, k) for name in names for k in range(each)]
    with multiprocessing.get_context("spawn").Pool(told.workers) as pool:
        pool.map(
            partial(prepared, data=told.data),
            [name for family, names in by_family.items() if family in {*SPACES, *FRESH} for name in names],
            1,
        )
        found = [row for row in pool.imap_unordered(piece, jobs, chunksize=16) if row is not None]
    told.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(told.out, **{key: np.stack([row[key] for row in found]) for key in found[0]})
    counts = np.bincount([row["family"] for row in found], minlength=len(FAMILIES))
    print(dict(zip(FAMILIES, counts.tolist(), strict=True)))


if __name__ == "__main__":
    main()
