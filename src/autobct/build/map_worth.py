"""Net utility of a map's policy against depth-2 lookahead, simulated on common random numbers.

`Duel` is what a simulation gives, whichever library played it (here NumPy, `autobct.build.networks.judged` torch); a
`DuelRow` is what is printed of it and kept in a map file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.belief.prior import Prior
from autobct.value.acquisition import Assess, Assessment
from autobct.value.bounds.simple_bounds import CAP
from autobct.value.lookahead.on_the_fly import on_the_fly
from autobct.value.simulate import CommonRandomNumbers, common_random_numbers, simulate
from autobct.value.state import State, Terms, view

MOST_CAPPED = 0.01
"""Share of runs with positive costs that may reach the cap."""

Advance = Callable[[int], None]
"""Told how many more draws are done."""


@dataclass(frozen=True, slots=True, eq=False)
class Duel:
    """Two policies on the same draws.  All (n,): net utility and runs of each; whether the true cost is positive."""

    net: Array
    runs: Indices
    base_net: Array
    base_runs: Indices
    positive: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DuelRow:
    """A duel on one prior in a few numbers; errors are standard errors of paired differences.

    net, base_net:   mean net utility of the map and of depth 2;  gap, gap_error: their difference
    positive_gap:    the same over the draws whose true cost is positive at every control
    capped:          share of those on which the map's policy made CAP runs
    """

    prior: str
    price: float
    draws: int
    net: float
    base_net: float
    gap: float
    gap_error: float
    runs: float
    base_runs: float
    positive_share: float
    positive_gap: float
    positive_gap_error: float
    capped: float

    @property
    def problem(self) -> str | None:
        """What is wrong, in a few words: below depth 2 by more than a standard error, or running away."""
        if self.gap < -self.gap_error:
            return f"below depth 2 by {-self.gap:.4f}, more than its standard error {self.gap_error:.4f}"
        if self.positive_gap < -self.positive_gap_error:
            return f"below depth 2 by {-self.positive_gap:.4f} where costs are positive"
        if self.capped >= MOST_CAPPED:
            return f"{100 * self.capped:.1f} % of the runs with positive costs reach {CAP} trials"
        return None

    def as_dict(self) -> dict[str, str | float]:
        """The fields, for a file."""
        return asdict(self)


def row_of(prior: str, price: float, duel: Duel) -> DuelRow:
    """The numbers of a duel."""
    gaps, good = duel.net - duel.base_net, duel.positive
    gap, error = _mean_and_error(gaps)
    positive_gap, positive_error = _mean_and_error(gaps[good])
    return DuelRow(
        prior=prior,
        price=price,
        draws=len(gaps),
        net=float(duel.net.mean()),
        base_net=float(duel.base_net.mean()),
        gap=gap,
        gap_error=error,
        runs=float(duel.runs.mean()),
        base_runs=float(duel.base_runs.mean()),
        positive_share=float(good.mean()),
        positive_gap=positive_gap,
        positive_gap_error=positive_error,
        capped=float((duel.runs[good] >= CAP).mean()) if good.any() else 0.0,
    )


def joined(duels: Sequence[Duel]) -> Duel:
    """One duel from many on different draws."""
    return Duel(*(np.concatenate([getattr(duel, name) for duel in duels]) for name in Duel.__slots__))


def numpy_duel(
    policy: Assess,
    prior: Prior,
    terms: Terms,
    controls: Array,
    *,
    draws: int,
    rng: np.random.Generator,
    advance: Advance = lambda count: None,
    batch: int = 250,
) -> Duel:
    """Both policies from one prior, choosing among the same controls (G, p), on the same truths and noise."""
    start = view(prior.belief, prior.model, controls)
    parts = []
    for first in range(0, draws, batch):
        common = common_random_numbers(start, min(batch, draws - first), CAP, rng=rng)
        parts.append(_played(policy, start, terms, common))
        advance(len(common.scores))
    return joined(parts)


def _played(policy: Assess, start: State, terms: Terms, common: CommonRandomNumbers) -> Duel:
    mine, base = simulate(policy, start, terms, common), simulate(depth_two, start, terms, common)
    positive = np.asarray((terms.cost_model.from_observation(common.costs) > 0).all(axis=-1))
    return Duel(
        net=mine.score - terms.price * mine.cost,  # the overhead is not paid by anyone
        runs=mine.runs,
        base_net=base.score - terms.price * base.cost,
        base_runs=base.runs,
        positive=positive,
    )


def depth_two(state: State, terms: Terms, made: int) -> Assessment:
    """Depth-2 lookahead on the fly, as a policy."""
    return Assessment.by_value(on_the_fly(state, terms, depth=2))


def _mean_and_error(values: Array) -> tuple[float, float]:
    if len(values) < 2:
        return (float(values.mean()) if len(values) else 0.0), 0.0
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
