"""Posterior predictive distribution of the network, given the runs so far: score and cost at any candidate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.belief.surrogate.network import Context, Network
from autobct.belief.surrogate.network_inputs import (
    CONTEXT,
    COST_BINS,
    COST_EDGES,
    COST_UNIT,
    FACTS,
    OUTCOME,
    RATIO_UNIT,
    SCORE_BINS,
    SCORE_EDGES,
    SCORE_UNIT,
    Rows,
)


def squash(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """g(z) = sign(z) log(1 + |z|)."""
    return np.asarray(np.sign(z) * np.log1p(np.abs(z)))


def unsquash(g: NDArray[np.floating]) -> NDArray[np.floating]:
    """The z of a g(z)."""
    return np.asarray(np.sign(g) * np.expm1(np.abs(g)))


SCORES = unsquash((SCORE_EDGES[1:] + SCORE_EDGES[:-1]) / 2)
"""Middles of the bins of the score, in prices of a run above the best one."""
COSTS = np.exp((COST_EDGES[1:] + COST_EDGES[:-1]) / 2)
"""Middles of the bins of the cost, over the geometric mean so far."""

_TAIL = 0.005  # so much at the top of a distribution of scores is not counted on
_MOST, _ENOUGH = 0.5, 3  # largest unit, in the range of that many scores or more
_DIGITS = 4  # of what the network reads, so that rounding errors of other units make no difference
_COORDINATES = 16  # the most that the network has learned from
_FINISHED, _FAILED, _GUESS, _CONTEXT, _OBSERVED = 2, 3, 4, 5, 6  # columns of an outcome


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is known of every coordinate of a space.  All (p,).

    whole, category, log: what kind of parameter it belongs to
    ratio:  log(high / low) of a positive number, else 0
    grows:  1 where the cost is said to increase with it
    """

    whole: Rows
    category: Rows
    log: Rows
    ratio: Rows
    grows: Rows

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.whole)

    @property
    def facts(self) -> Rows:
        """What the network reads of each coordinate, (p, FACTS).  The hints on the score, which come last, stay 0."""
        ratio = np.clip(self.ratio, 0.0, 14.0) / RATIO_UNIT
        known = (self.whole, self.category, self.log, ratio, self.grows)
        facts = np.zeros((self.dim, FACTS), dtype=np.float32)
        facts[:, : len(known)] = np.stack(known, axis=-1)
        return facts

    def places(self, controls: NDArray[np.floating]) -> Rows:
        """Numbers as 2 u - 1, choices as 0 or 1.  controls: (n, p) -> (n, p)."""
        return np.where(self.category > 0, controls, 2.0 * controls - 1.0).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Runs as the network is shown them, in any units of score and cost; at least one has finished.

    controls: (n, p);  scores: (n,) higher is better, nan where a run failed;  costs: (n,) positive
    price:    score per cost;  ends: lowest and highest score, if known;  guess: (p,) a control held to be good
    widest:   what scores may differ by at most, as far as one can tell
    """

    controls: Array
    scores: Array
    costs: Array
    price: float
    ends: tuple[float, float] | None = None
    guess: Array | None = None
    widest: float = np.inf

    @property
    def finished(self) -> Array:
        """(n,) whether a run finished."""
        return np.isfinite(self.scores)

    @property
    def mean_log_cost(self) -> float:
        """Of the runs that finished."""
        return float(np.log(self.costs[self.finished]).mean())

    @property
    def unit(self) -> float:
        """kappa: the price of a typical run, in score; less where that exceeds what scores differ by.

        The network has learned from prices up to a third of the range of scores.
        """
        width = self.width
        most = _MOST * (min(width, self.widest) if width > 0 else self.widest)
        return min(self.price * float(np.exp(self.mean_log_cost)), most)

    @property
    def width(self) -> float:
        """What the scores of some runs differ by; zero of too few."""
        return float(np.nanmax(self.scores) - np.nanmin(self.scores)) if self.finished.sum() >= _ENOUGH else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class NetworkPosterior:
    """The network's predictions after some runs.  Scores are above the best one seen, in prices of a typical run."""

    network: Network
    layout: Layout
    shown: Shown
    context: Rows
    memory: Context

    @classmethod
    def after(cls, network: Network, layout: Layout, shown: Shown) -> NetworkPosterior:
        """After these runs."""
        context = _context(layout, shown)
        places, outcomes = [np.zeros((1, layout.dim), dtype=np.float32)], [_flag(_CONTEXT)]
        if shown.guess is not None:
            places.append(layout.places(shown.guess[None]))
            outcomes.append(_flag(_GUESS))
        places.append(layout.places(shown.controls))
        wholes = _wholes(np.concatenate([*outcomes, _outcomes(shown)]), context)
        return cls(network, layout, shown, context, network.read(layout.facts, np.concatenate(places), wholes))

    def scores(self, controls: Array, *, observed: bool = False) -> Array:
        """Probabilities of the bins `SCORES` of the true score, or of one that a run would show.  (G, bins)."""
        return _softmax(self._logits(controls, np.full(len(controls), observed))[:, :SCORE_BINS])

    def means(self, controls: Array) -> Array:
        """Expected true scores.  (G,)."""
        return np.asarray(self.scores(controls) @ SCORES)

    def improvement_and_cost(self, controls: Array) -> tuple[Array, Array]:
        """Expected improvement on the best of the runs, in score, and expected cost, at candidates (G, p).

        A noisy run moves the estimate less than a score does: outcomes are drawn in by as much.
        """
        runs = self.shown.controls[self.shown.finished]
        asked = np.concatenate([controls, runs, runs])  # at once: many small products take longer than a large one
        logits = self._logits(asked, np.arange(len(asked)) >= len(controls) + len(runs))
        shares, true, observed = np.split(_softmax(logits[:, :SCORE_BINS]), (len(controls), len(controls) + len(runs)))
        best, noise = (true @ SCORES).max(), noise_of(true, observed)
        shares = _without_tail(shares)
        middle, width = (shares @ SCORES)[:, None], _width(shares)[:, None]
        moved = middle + np.sqrt(width / (width + noise + 1e-12)) * (SCORES - middle)
        gains = np.sum(shares * np.maximum(moved - best, 0.0), axis=1)
        return gains * self.shown.unit, self._costs(logits[: len(controls)])

    def expected(self, controls: Array) -> tuple[Array, Array]:
        """Expected score and cost, in the units of the runs.  controls: (G, p)."""
        logits = self._logits(controls, np.zeros(len(controls), dtype=bool))
        best = np.nanmax(self.shown.scores)
        scores = best + self.shown.unit * (_softmax(logits[:, :SCORE_BINS]) @ SCORES)
        return np.asarray(scores), self._costs(logits)

    def _costs(self, logits: Array) -> Array:
        """Expected costs, in the unit of the runs."""
        costs = _softmax(logits[:, SCORE_BINS : SCORE_BINS + COST_BINS]) @ COSTS
        return np.asarray(costs * np.exp(self.shown.mean_log_cost))

    def _logits(self, controls: Array, observed: NDArray[np.bool_]) -> Array:
        """observed: (G,) whether the score that a run shows is asked for, rather than the true one."""
        asked = np.zeros((len(controls), OUTCOME), dtype=np.float32)
        asked[:, _OBSERVED] = observed
        places = self.layout.places(controls)
        return self.network.predict(self.memory, places, _wholes(asked, self.context)).astype(np.float64)


def noise_of(true: Array, observed: Array) -> float:
    """Variance of an observed score about the true one, as a typical run has it.  Of both, (n, bins)."""
    return float(np.median(np.maximum(_width(observed) - _width(true), 0.0)))


def _context(layout: Layout, shown: Shown) -> Rows:
    """What is known of the whole tuning.  (CONTEXT,)."""
    context = np.zeros(CONTEXT, dtype=np.float32)
    context[0], context[4] = np.log1p(len(shown.scores)) / 4.0, min(layout.dim, _COORDINATES) / 10.0
    if shown.ends is not None:
        (low, high), unit = shown.ends, shown.unit
        room = np.clip((high - np.nanmax(shown.scores)) / unit, -1e5, 1e5)
        context[1] = 1.0
        context[2] = np.clip(np.log(max((high - low) / unit, 1e-9)), -4.0, 14.0) / SCORE_UNIT
        context[3] = squash(np.asarray(room)) / SCORE_UNIT
    return np.round(context, _DIGITS)


def _outcomes(shown: Shown) -> Rows:
    """What the runs showed.  (n, OUTCOME)."""
    outcomes, finished = np.zeros((len(shown.scores), OUTCOME), dtype=np.float32), shown.finished
    away = np.where(finished, shown.scores - np.nanmax(shown.scores), 0.0) / shown.unit
    outcomes[:, 0] = squash(away) / SCORE_UNIT
    outcomes[:, 1] = np.clip(np.log(shown.costs) - shown.mean_log_cost, -8.0, 8.0) / COST_UNIT
    outcomes[:, _FINISHED], outcomes[:, _FAILED] = finished, ~finished.astype(bool)
    return np.round(outcomes, _DIGITS)


def _flag(column: int) -> Rows:
    """The outcome of a row that is no run: the context, or the guess.  (1, OUTCOME)."""
    outcome = np.zeros((1, OUTCOME), dtype=np.float32)
    outcome[0, column] = 1.0
    return outcome


def _wholes(outcomes: Rows, context: Rows) -> Rows:
    """Every row with the context.  (n, OUTCOME), (CONTEXT,) -> (n, WHOLE)."""
    return np.concatenate([outcomes, np.tile(context, (len(outcomes), 1))], axis=1)


def _without_tail(shares: Array) -> Array:
    above = np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
    return np.where(above > _TAIL, shares, 0.0)


def _width(shares: Array) -> Array:
    """Squared half width of the central 68 %.  (G,)."""
    cdf = np.cumsum(shares, axis=1)
    low, high = (_quantile(cdf, level) for level in (0.16, 0.84))
    return np.square((high - low) / 2.0)


def _quantile(cdf: Array, level: float) -> Array:
    """Between the middles of two bins, so that a small change is one of the quantile, too.  (G, bins) -> (G,)."""
    above = np.maximum(np.argmax(cdf >= level, axis=1), 1)
    rows = np.arange(len(cdf))
    before, after = cdf[rows, above - 1], cdf[rows, above]
    share = np.clip((level - before) / np.maximum(after - before, 1e-12), 0.0, 1.0)
    return np.asarray(SCORES[above - 1] + share * (SCORES[above] - SCORES[above - 1]))


def _softmax(logits: Array) -> Array:
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
