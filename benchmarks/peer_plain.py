"""Search without a model: random, and Sobol's sequence as it is, which begins at the centre of the space."""

from __future__ import annotations

import math

import numpy as np
from cube import Array, params_of, points_of
from scipy.stats import qmc
from tasks import Question, Training, best_seen_of


def spread(count: int, dim: int, *, seed: int | None = None) -> Array:
    """The first points of Sobol's sequence, (count, dim): scrambled with a seed, else from the centre on."""
    sequence = qmc.Sobol(dim, scramble=seed is not None, rng=seed)
    points = np.asarray(sequence.random_base2(math.ceil(math.log2(count + 1))), dtype=float)
    return points[:count] if seed is not None else points[1 : count + 1]  # the origin is the worst place to begin


def random(question: Question, train: Training) -> int:
    """Independent uniform configurations, to the cap."""
    return _all_of(
        question, train, np.random.default_rng([question.seed, 1]).random((question.cap, len(question.space)))
    )


def sobol(question: Question, train: Training) -> int:
    """Sobol's sequence, to the cap; only the noise of the trainings depends on the seed."""
    return _all_of(question, train, spread(question.cap, len(question.space)))


def _all_of(question: Question, train: Training, uniforms: Array) -> int:
    points = points_of(question.space, uniforms)
    return best_seen_of([train(params_of(question.space, point))[0] for point in points])
