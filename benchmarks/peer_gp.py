"""Gaussian processes of score and log cost with the two acquisition functions that come with a cost-aware stop.

`log_ei_per_cost`: train where log EI - log E[cost] is largest; stop when nowhere EI exceeds price x E[cost].
`gittins`: train at the largest index g, E[(score - g)+] = price x E[cost]; stop when it is below the best seen.
After Xie et al., "Cost-aware Bayesian optimization via the Pandora's box Gittins index" (2024) and "Cost-aware stopping
for Bayesian optimization" (2025); costs are unknown, their logarithm has a process of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from cube import Array, params_of, points_of, unit_of
from peer_plain import spread
from scipy.special import erfcx, ndtr
from tasks import Question, Training, Tuner, best_seen_of

from autobct.belief.surrogate.gaussian_process import fitted
from autobct.tuning.space.parameter import Categorical
from autobct.tuning.space.space import Space
from autobct.tuning.space.usual_values import usual_places

Acquisition = Callable[[Array, Array, Array, float], tuple[Array, float]]
"""(mean, sd, price of a run, best seen) -> what to maximise, and the threshold below which it is not worth it."""

_CANDIDATES, _TOP, _CHILDREN = 1024, 8, 48
_STEPS = (0.2, 0.05, 0.01)


def log_ei_per_cost(mean: Array, sd: Array, cost: Array, best: float) -> tuple[Array, float]:
    """log EI - log(price x cost): above 0 where a run is worth its price."""
    return np.log(sd) + log_gain((mean - best) / sd) - np.log(cost), 0.0


def gittins(mean: Array, sd: Array, cost: Array, best: float) -> tuple[Array, float]:
    """The index g of E[(score - g)+] = price x cost, by bisection on z = (mean - g) / sd."""
    target = np.log(cost / sd)
    low, high = np.full_like(mean, -38.0), cost / sd + 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = log_gain(middle) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return mean - sd * 0.5 * (low + high), best


def log_gain(z: Array) -> Array:
    """log E[(Z + z)+] of a standard normal Z, also where it is tiny."""
    density = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
    near = np.maximum(z, -1.0)
    exact = np.log(np.exp(-0.5 * near**2) / math.sqrt(2.0 * math.pi) + near * ndtr(near))
    far = np.clip(-z, 1.0, 1e4)
    tail = np.maximum(1.0 - far * math.sqrt(0.5 * math.pi) * erfcx(far / math.sqrt(2.0)), 1e-16)
    rest = np.where(far < 1e3, np.log(tail), -2.0 * np.log(far))
    return np.where(z > -1.0, exact, density + rest)


def gp_tuner(acquisition: Acquisition, initial: int, *, centre: bool = False, usual: bool = False) -> Tuner:
    """initial: first trials, of Sobol's sequence.

    centre: begin it at the centre instead of anywhere;  usual: with autobct's usual values of well-known parameters
    """

    def tuner(question: Question, train: Training) -> int:
        space, dim = question.space, len(question.space)
        rng = np.random.default_rng([question.seed, 2])
        uniforms = spread(initial, dim, seed=None if centre else question.seed)
        if usual:
            _set_usual(uniforms[0], question)
        points = points_of(space, uniforms)
        told = [train(params_of(space, point)) for point in points]
        while len(told) < question.cap:
            chosen = _next(question, points, np.array(told), acquisition, rng)
            if chosen is None:
                break
            points = np.concatenate([points, chosen[None]])
            told.append(train(params_of(space, chosen)))
        return best_seen_of([score for score, _ in told])

    return tuner


def _set_usual(uniforms: Array, question: Question) -> None:
    """The first trial as autobct's would be, as far as names tell."""
    parameters = list(question.space.values())
    for which, place in usual_places(Space.of(question.space)):
        parameter = parameters[which]
        uniforms[which] = (place + 0.5) / parameter.count if isinstance(parameter, Categorical) else place


def _next(
    question: Question, points: Array, told: Array, acquisition: Acquisition, rng: np.random.Generator
) -> Array | None:
    """The point to train next; None to stop."""
    space, best = question.space, float(told[:, 0].max())
    places = unit_of(space, points)
    score, log_cost = fitted(places, told[:, 0]), fitted(places, np.log(told[:, 1]))

    def judged(candidates: Array) -> Array:
        at = unit_of(space, candidates)
        (mean, sd), (log_mean, log_sd) = score(at), log_cost(at)
        cost = question.price * np.exp(np.minimum(log_mean + 0.5 * log_sd**2, 50.0))
        values, threshold = acquisition(mean, sd, cost, best)
        return values - threshold

    uniforms = spread(_CANDIDATES, len(space), seed=int(rng.integers(2**31)))
    candidates = points_of(space, uniforms)
    values = judged(candidates)
    for step in _STEPS:
        top = np.argsort(values)[-_TOP:]
        around = np.repeat(uniforms[top], _CHILDREN, axis=0)
        around = np.clip(around + step * rng.standard_normal(around.shape), 0.0, 1.0)
        uniforms = np.concatenate([uniforms[top], around])
        candidates = points_of(space, uniforms)
        values = judged(candidates)
    chosen = int(np.argmax(values))
    return candidates[chosen] if values[chosen] > 0.0 else None
