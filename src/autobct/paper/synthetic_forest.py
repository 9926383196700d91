"""The synthetic example, section 4.1 and appendix D.1: how many trees should a random forest have?

A forest of floor(1 + 99u) trees learns a checkerboard.  The score is its accuracy on other points, 50 % -> 0 and
100 % -> 1; the cost is the wall-clock time of training and scoring it.  The paper slowed its computer down until 0.6 s
was one unit of cost; here the unit is chosen by timing a small forest, so that costs come out as in the paper.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

from autobct.belief.arrays import Array
from autobct.belief.prior import paper_prior
from autobct.tuning.decide.policy import relaxed
from autobct.tuning.history import Decision, Train
from autobct.tuning.problem import OVERHEAD
from autobct.tuning.space.parameter import Int
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.price import Price
from autobct.tuning.units.scale import Affine

Labels = NDArray[np.int64]
Clock = Callable[[], float]
"""Seconds, from any start."""

Trainer = Callable[[dict[str, Any], int], tuple[float, float]]
"""(params, number of the run from 0) -> (accuracy, seconds)."""

PRICE = 0.16  # gamma of appendix D: what one unit of cost is worth in score
SCORE_RANGE = (0.5, 1.0)
TREES = Int(1, 100)
POINTS, QUICK_POINTS = (30_000, 20_000), (3_000, 2_000)  # to train on, to validate on

_SAMPLE_TREES = 10
_HIGHEST_COST = 0.9  # of 100 trees: in the paper's table 74 trees cost 0.675
_MAX_RUNS = 15  # keeps a demo on a very noisy clock short; the paper's run has three


def checkerboard(points: Array, *, a: float = 10.0, b: float = 10.0) -> Labels:
    """f(x, y) = (floor(ax + 1) + floor(by + 1)) mod 2.  points: (..., 2) -> (...)."""
    fields = np.floor(a * points[..., 0] + 1.0) + np.floor(b * points[..., 1] + 1.0)
    return np.asarray(fields % 2, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """Points on the unit square (n, 2) and their checkerboard labels (n,)."""

    train: Array
    train_labels: Labels
    validation: Array
    validation_labels: Labels


def draw_data(seed: int, sizes: tuple[int, int] = POINTS) -> Data:
    """Uniform points to train on and to validate on; the same seed gives the same points."""
    rng = np.random.default_rng(seed)
    train, validation = (rng.random((size, 2)) for size in sizes)
    return Data(train, checkerboard(train), validation, checkerboard(validation))


def forest_accuracy(data: Data, trees: int, *, random_state: int) -> float:
    """Accuracy on the validation points of a forest grown on the training points, with one core."""
    forest = RandomForestClassifier(trees, random_state=random_state, n_jobs=1)
    forest.fit(data.train, data.train_labels)
    return float(forest.score(data.validation, data.validation_labels))


def forest_trainer(data: Data, *, seed: int, clock: Clock = time.perf_counter) -> Trainer:
    """Grow, score and time a forest; its randomness comes from the seed and the number of the run."""

    def train(params: dict[str, Any], run: int) -> tuple[float, float]:
        started = clock()
        accuracy = forest_accuracy(data, params["n_estimators"], random_state=_random_state(seed, run))
        return accuracy, clock() - started

    return train


def _random_state(seed: int, run: int) -> int:
    return int(np.random.SeedSequence((seed, run)).generate_state(1)[0])


@dataclass(frozen=True, slots=True)
class Calibration:
    """How long a small forest took, and what follows from it.

    seconds:  for a forest of `trees`
    """

    trees: int
    seconds: float

    @property
    def slowest(self) -> float:
        """Seconds that the largest forest will take, as the time is about proportional to the trees."""
        return self.seconds * TREES.high / self.trees

    @property
    def cost_unit(self) -> float:
        """Seconds per unit of cost, such that the largest forest costs what it did in the paper."""
        return self.slowest / _HIGHEST_COST


def calibrate(data: Data, *, seed: int, clock: Clock = time.perf_counter) -> Calibration:
    """The median time of three small forests."""
    forest_accuracy(data, 1, random_state=seed)  # the very first also pays for waking the library up
    train = forest_trainer(data, seed=seed, clock=clock)
    return Calibration(
        _SAMPLE_TREES, statistics.median(train({"n_estimators": _SAMPLE_TREES}, run)[1] for run in range(3))
    )


def paper_tuner(cost_unit: float, *, depth: int = 2, recall: bool = False) -> Tuner:
    """The paper's on-the-fly method (N = depth) on its prior; it returns the last model.

    cost_unit:  seconds per unit of cost
    recall:     return the best model instead, with a small fixed price of every run
    """
    return Tuner(
        {"n_estimators": TREES},
        price=Price(PRICE * (SCORE_RANGE[1] - SCORE_RANGE[0]), cost_unit, "s"),
        score_range=SCORE_RANGE,
        cost_range=Affine(0.0, cost_unit),
        prior=paper_prior("synthetic"),
        policy=relaxed(depth),
        recall=recall,
        overhead=OVERHEAD if recall else 0.0,
        max_runs=_MAX_RUNS,
        candidates=np.linspace(0.0, 1.0, 101)[:, None],
    )


def decisions(tuner: Tuner, train: Trainer) -> Iterator[Decision]:
    """Each decision as it is made, the stop last; training happens between a `Train` and what follows it."""
    while isinstance(decision := tuner.ask(), Train):
        yield decision
        accuracy, seconds = train(dict(decision.params), decision.trial)
        tuner.tell(decision, score=accuracy, cost=seconds)
    yield decision
