"""Bounds on the value function that need no search: clairvoyant upper bounds, and simulated policies below.

`clairvoyant_value` is W_0, the value of knowing the truth before the only run; `upper_bound` and `lower_bound` are v^*
and v_* of lemma upper_bound of the paper, far looser, in closed form up to a one-dimensional integral.  A slip of the
paper is settled here: its v_* has no term for the noise in the cost.  With alpha = beta = 0 known for certain V is
-gamma E[(sigma_T eta)^+] < 0 = v_*, so that term is subtracted too.

Every policy is worth at most the optimum, so the mean net utility of one that is played bounds the value of the best
one from below, whatever the policy was computed with.  The noise is cut threefold:

- net utility given what was seen (posterior mean score of the returned model less the expected prices of its runs,
  eq. (4) of the paper) instead of the realised one: the same mean, without the noise of truth and clock;
- control variates: functions of the drawn truth (what a clairvoyant gets, the score and price of the first control and
  the like) whose means are found beforehand from many evenly spread truths;
- common random numbers: `CommonRandomNumbers` is passed in, so that policies are compared on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as iterproduct

import numpy as np
from scipy.integrate import quad

from autobct.belief.arrays import Array, Indices
from autobct.belief.basis import Basis, Model, noise_at, probe_controls
from autobct.belief.gaussian import Belief, Gaussian
from autobct.belief.normal import upsilon
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


def clairvoyant_value(state: State, terms: Terms, normals: Array) -> Array:
    """max_u ( H(u) - price of a run at u, given the truth ) for each drawn truth; average it for W_0.  (n,).

    normals: (2, n, G) independent standard normals, as data.  V_N <= V <= W_0 for every N, equal at a truth.
    """
    scores = state.score.draw(normals[0])
    costs = state.cost.draw(normals[1])
    return np.asarray((scores - price_of(costs, state.cost_noise, terms)).max(axis=-1))


def upper_bound(belief: Belief, model: Model) -> float:
    """v^*: E|alpha| sup_u |phi(u)|, above every V_N (lemma upper_bound)."""
    return expected_norm(belief.score) * _largest_norm(model.score_basis)


def lower_bound(belief: Belief, model: Model, price: float) -> float:
    """v_*: -v^* - gamma (E|beta| sup_u |psi(u)| + E[noise^+]), below every V_N (lemma upper_bound; linear cost)."""
    noise = noise_at(model.cost_noise, probe_controls(model.cost_basis.dim), "cost_noise").max()
    cost = expected_norm(belief.cost) * _largest_norm(model.cost_basis) + float(upsilon(0.0, noise))
    return -upper_bound(belief, model) - price * cost


def expected_norm(vector: Gaussian) -> float:
    """E of the Euclidean norm of a normal vector, by one integral over its moment generating function.

    sqrt(q) = (4 pi)^(-1/2) int_0^inf (1 - exp(-t q)) t^(-3/2) dt, and E exp(-t |v|^2) factors over the
    eigenvectors.
    """
    values, vectors = np.linalg.eigh(vector.cov)
    variances = np.clip(values, 0.0, None)
    offsets = np.square(vectors.T @ vector.mean)
    scale = float(variances.sum() + offsets.sum())
    if scale == 0.0:
        return 0.0

    def integrand(s: float) -> float:  # t = s^2 / scale keeps the integrand smooth at zero
        t = s * s / scale
        log_mgf = -0.5 * np.log1p(2 * t * variances) - t * offsets / (1 + 2 * t * variances)
        return float(-np.expm1(log_mgf.sum()) / (s * s))

    near, _ = quad(integrand, 0.0, 1.0, epsabs=1e-12, epsrel=1e-12)
    far, _ = quad(lambda r: integrand(1.0 / r) / (r * r), 0.0, 1.0, epsabs=1e-12, epsrel=1e-12)
    return float((near + far) * np.sqrt(scale / np.pi))


def _largest_norm(basis: Basis) -> float:
    """sup_u |phi(u)| over the corners of the cube and probe controls."""
    varied = min(basis.dim, 12)
    corners = np.array(list(iterproduct([0.0, 1.0], repeat=varied)))
    padded = np.pad(corners, ((0, 0), (0, basis.dim - varied)))
    controls = np.concatenate([padded, probe_controls(basis.dim)])
    return float(np.linalg.norm(basis(controls), axis=-1).max())
