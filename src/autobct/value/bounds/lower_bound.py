"""The simulated lower bound: what a policy is worth from a first belief, with its standard error.

Every policy is worth at most the optimum, so the mean net utility of one that is played bounds the value of the best
one from below, whatever the policy was computed with.  The noise is cut threefold:

- net utility given what was seen (believed score of the returned model less the expected prices of its runs, eq. (4)
  of the paper) instead of the realised one: the same mean, without the noise of truth and clock;
- control variates: functions of the drawn truth (what a clairvoyant gets, the score and price of the first control and
  the like) whose means are found beforehand from many evenly spread truths;
- common random numbers: `CommonRandomNumbers` is passed in, so that policies are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from autobct.belief.arrays import Array, Indices
from autobct.value.acquisition import Assess
from autobct.value.bounds.outcomes import spread_truths
from autobct.value.simulate import CommonRandomNumbers, simulate
from autobct.value.state import State, Terms, price_of

CAP = 40
"""Runs after which a simulated policy is stopped; one that often gets there does not stop by itself."""

_TRUST = 30  # draws for each control variate; with fewer the plain mean is used
_ROUNDING = 1e-4  # of the largest singular value of the standardized variates
STAGE_TRUTHS = 131_072
"""To find the means of the control variates with: their error is far below that of a simulation."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its standard error, from so many draws."""

    mean: float
    error: float
    draws: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """From independent draws, two at least."""
        found = np.asarray(values)
        return cls(float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))), len(found))


@dataclass(frozen=True, slots=True, eq=False)
class PlayedPolicy:
    """Simulated tunings.  net: (n,) net utility given what was seen;  controls: (n, K) of mean zero;  runs: (n,)."""

    net: Array
    controls: Array
    runs: Indices

    @property
    def capped(self) -> float:
        """Share that was stopped by the cap and not by the policy."""
        return float((self.runs >= CAP).mean())

    def estimate(self) -> Estimate:
        """The mean by regression on the controls: biased by less than its error over the number of draws."""
        return mean_with_controls(self.net, self.controls)


def mean_with_controls(values: Array, controls: Array) -> Estimate:
    """Mean of (n,) values with control variates (n, K) of known mean zero.

    Variates may depend on each other, as prices do that are the same everywhere: a direction in which they differ by
    rounding alone is left out.
    """
    count = len(values)
    spread = controls.std(axis=0)
    useful = controls[:, spread > 1e-12] if count >= _TRUST * controls.shape[1] else controls[:, :0]
    design = np.column_stack([np.ones(count), useful / useful.std(axis=0)])
    weights = np.linalg.lstsq(design, values, rcond=_ROUNDING)[0]
    left = values - design @ weights
    freedom = max(count - design.shape[1], 1)
    return Estimate(float(weights[0]), float(np.sqrt(np.square(left).sum() / freedom / count)), count)


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A start to play from, and what the control variates of a policy are on average there.

    first: the candidate the policy trains first;  means: (K,)
    """

    start: State
    terms: Terms
    first: int
    means: Array


def stage_of(
    policy: Assess, start: State, terms: Terms, *, rng: np.random.Generator, truths: int = STAGE_TRUTHS
) -> Stage:
    """The first belief, unbatched, as a stage for a policy.  truths: to find the means of the control variates with."""
    first = int(policy(start, terms, 0).priority.argmax())
    scores, costs = spread_truths(start, truths, rng=rng)
    means = _features(scores, price_of(costs, start.cost_noise, terms), first).mean(axis=0)
    return Stage(start, terms, first, means)


def play(policy: Assess, stage: Stage, common: CommonRandomNumbers) -> PlayedPolicy:
    """Play the policy on every draw."""
    outcome = simulate(policy, stage.start, stage.terms, common)
    prices = price_of(common.costs, stage.start.cost_noise, stage.terms)
    controls = _features(common.scores, prices, stage.first) - stage.means
    return PlayedPolicy(outcome.believed_net, controls, outcome.runs)


def joined(parts: list[PlayedPolicy]) -> PlayedPolicy:
    """All batches as one."""
    return PlayedPolicy(*(np.concatenate([getattr(part, name) for part in parts]) for name in PlayedPolicy.__slots__))


def difference(first: PlayedPolicy, second: PlayedPolicy) -> Estimate:
    """first - second of two policies on the same random numbers."""
    return mean_with_controls(first.net - second.net, first.controls)


def _features(scores: Array, prices: Array, first: int) -> Array:
    """(n, 10) functions of the truth that net utility goes along with.  scores, prices: (n, G)."""
    clairvoyant = (scores - prices).max(axis=-1)
    own = scores[:, first]
    return np.column_stack(
        [
            clairvoyant,
            np.square(clairvoyant),
            clairvoyant * own,
            own,
            np.square(own),
            prices[:, first],
            prices.min(axis=-1),
            scores.mean(axis=-1),
            scores.std(axis=-1),
            (scores - 2 * prices).max(axis=-1),
        ]
    )
