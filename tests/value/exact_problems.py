"""Problems that can be solved exactly, each by its own method, for bounds to be held against."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from tests.value.chords import chord

from autobct.belief.arrays import Array
from autobct.belief.gaussian import Gaussian
from autobct.value.lookahead.nodes import Rule, stratified
from autobct.value.state import State, Terms

NO_COST_NOISE = 1e-9


@dataclass(frozen=True)
class Solved:
    """A start, its terms, and the least and the largest that its value may be."""

    start: State
    terms: Terms
    low: float
    high: float


def known_costs(mean: Array, cov: Array, noise: Array, costs: Array) -> State:
    """A state whose costs are certain."""
    size = len(mean)
    return State(
        Gaussian(mean, cov),
        Gaussian(costs, np.zeros((size, size))),
        noise,
        np.full(size, NO_COST_NOISE),
        np.empty(0, dtype=np.intp),
    )


def few_controls(size: int, *, recall: bool, cheapest: float = 0.4) -> Solved:
    """Two or three controls: every sequence of at most N runs and every outcome of a few-point rule, by brute force.

    Strata lie below the value and chords above it, for it is convex in the surprises; what more than N runs could add
    is at most what the truth is worth beyond V_N, times the chance of never stopping: not visible at these prices.
    """
    mean, costs = np.array([0.5, 0.45, 0.3])[:size], np.array([0.7, cheapest, 0.5])[:size]
    cov = np.array([[0.5, 0.2, -0.1], [0.2, 0.4, 0.1], [-0.1, 0.1, 0.6]])[:size, :size]
    noise = np.array([0.3, 0.25, 0.2])[:size]
    terms = Terms(0.2, recall=recall)
    runs = 4 if size == 2 else 3
    prices = 0.2 * costs
    low, high = (_brute(mean, cov, noise, prices, (), runs, rule, recall) for rule in (stratified(7), chord(7)))
    return Solved(known_costs(mean, cov, noise, costs), terms, low, high)


def _brute(
    mean: Array,
    cov: Array,
    noise: Array,
    prices: Array,
    kept: tuple[int, ...],
    runs: int,
    rule: Rule,
    recall: bool,
) -> float:
    """Value with so many runs left: stop with a model, or train and see."""
    stop = max((mean[i] for i in kept), default=-np.inf)
    if runs == 0:
        return float(stop)
    best = stop
    for g in range(len(mean)):
        gain = cov[:, g] / np.sqrt(cov[g, g] + noise[g] ** 2)
        after = cov - np.outer(gain, gain)
        held = tuple({*kept, g}) if recall else (g,)
        value = -prices[g]
        for z, weight in zip(rule.points, rule.weights, strict=True):
            value += weight * _brute(mean + gain * z, after, noise, prices, held, runs - 1, rule, recall)
        best = max(best, value)
    return float(best)


def one_weight() -> Solved:
    """H_i = a_i + b_i w with one unknown weight w that every run tells equally well of, on a fine grid of beliefs.

    All |b_i| / sigma_i are equal, so the variance of w depends on the number of runs alone; the last model is returned.
    """
    level, slope, costs = np.array([0.3, 0.5, 0.2]), np.array([0.6, -0.3, 0.9]), np.array([1.0, 0.5, 1.2])
    noise, terms = np.abs(slope) * 0.8, Terms(0.1)
    precision = 1.0 / 0.8**2
    grid, nodes = np.linspace(-7, 7, 2801), np.polynomial.hermite_e.hermegauss(60)
    weights = nodes[1] / nodes[1].sum()
    going = np.full(grid.shape, -np.inf)
    for made in range(30, -1, -1):
        var, later = 1 / (1 + made * precision), 1 / (1 + (made + 1) * precision)
        moved = grid[:, None] + np.sqrt(var - later) * nodes[0]
        finite = np.where(np.isfinite(going), going, -1e9)
        ahead = np.interp(moved, grid, finite)
        trained = [np.maximum(level[j] + slope[j] * moved, ahead) @ weights - terms.price * costs[j] for j in range(3)]
        going = np.max(trained, axis=0)
    value = float(np.interp(0.0, grid, going))
    return Solved(known_costs(level, np.outer(slope, slope), noise, costs), terms, value - 2e-4, value + 2e-4)


def nearly_free() -> Solved:
    """One unknown weight again; the first control tells a sixth as much of it as the others, for a thirtieth.

    Its model is poor, so that it is run to learn alone.  The belief is a mean and a count of sixths; after `most` of
    them nothing more can be learned from below, and the truth is told from above.
    """
    level, slope, costs = np.array([-1.0, 0.5, 0.2]), np.array([0.2, -0.3, 0.9]), np.array([0.04, 1.2, 1.3])
    told, terms, most = np.array([1, 6, 6]), Terms(0.1), 90
    precision, prices = 0.25, 0.1 * costs
    grid, nodes = np.linspace(-7, 7, 1401), np.polynomial.hermite_e.hermegauss(40)
    weights = nodes[1] / nodes[1].sum()
    truth = (level + slope * grid[:, None] - prices).max(axis=1)
    ends = []
    for last in (np.full(grid.shape, -1e9), truth):
        going = [last] * (most + 6)
        for sixths in range(most - 1, -1, -1):
            var, trained = 1 / (1 + sixths * precision), []
            for j in range(3):
                later = 1 / (1 + (sixths + told[j]) * precision)
                moved = grid[:, None] + np.sqrt(var - later) * nodes[0]
                ahead = np.interp(moved, grid, going[sixths + told[j]])
                trained.append(np.maximum(level[j] + slope[j] * moved, ahead) @ weights - prices[j])
            going[sixths] = np.max(trained, axis=0)
        ends.append(float(np.interp(0.0, grid, going[0])))
    noise = np.abs(slope) / np.sqrt(precision * told)
    return Solved(known_costs(level, np.outer(slope, slope), noise, costs), terms, ends[0] - 2e-4, ends[1] + 2e-4)


def pandora() -> Solved:
    """Independent boxes, recall, next to no noise: opening them by Weitzman's rule is worth E max_i min(H_i, g_i).

    g_i solves E[(H_i - g_i)^+] = price_i (M. Weitzman, 1979); found here by bisection, the expectation by one integral
    of the distribution function of the maximum.
    """
    mean, sd = np.array([0.2, 0.4, 0.5]), np.array([0.9, 0.5, 0.2])
    costs, terms = np.array([0.8, 0.6, 0.3]), Terms(0.2, recall=True)
    index = np.array([_index(*box) for box in zip(mean, sd, 0.2 * costs, strict=True)])
    x = np.linspace(-8, 8, 400_001)
    below = np.ones_like(x)
    for m, s, g in zip(mean, sd, index, strict=True):
        below *= np.where(x < g, ndtr((x - m) / s), 1.0)
    step = x[1] - x[0]
    value = float(((x >= 0) - below).sum() * step)
    start = known_costs(mean, np.diag(sd**2), np.full(3, 1e-3), costs)
    return Solved(start, terms, value - 1e-3, value + 1e-3)


def _index(mean: float, sd: float, price: float) -> float:
    low, high = mean - 40 * sd, mean + 40 * sd
    for _ in range(200):
        middle = (low + high) / 2
        x = (mean - middle) / sd
        gain = sd * (np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) + x * ndtr(x))
        low, high = (middle, high) if gain > price else (low, middle)
    return middle
