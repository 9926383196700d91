"""Simulation of a policy from a belief: its value if the model holds.

Truths and noise are drawn once (`CommonRandomNumbers`) and passed in, so that policies are compared on the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.belief.gaussian import Gaussian
from autobct.belief.normal import update
from autobct.value.acquisition import Assess, Assessment, pick
from autobct.value.state import State, Terms, gather, keep, kept_means, run_price, stop_value

Entry = TypeVar("Entry", np.float64, np.bool_)

KEPT = 3
"""How many of the models trained so far a lookahead follows: the best few by posterior mean score."""


@dataclass(frozen=True, slots=True, eq=False)
class CommonRandomNumbers:
    """Drawn truths and noise.

    scores, costs: (n, G) H and T at the candidates, T in the space the cost model observes;
    score_noise, cost_noise: (n, R) standard normals for up to R runs.
    """

    scores: Array
    costs: Array
    score_noise: Array
    cost_noise: Array


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of each draw.  All (n,): true score of the returned model, total cost, number of runs.

    believed, foreseen:  posterior mean score of the returned model at the stop, and the expected cost of the runs in
                         score when they were started: the same on average where the model holds, and less noisy
    """

    score: Array
    cost: Array
    runs: Indices
    believed: Array
    foreseen: Array

    def net(self, terms: Terms) -> Array:
        """H(u_tau-1) - gamma sum (t_n)^+: the objective, eq. (3) of the paper; with the overhead of each run."""
        return np.asarray(self.score - terms.price * self.cost - terms.overhead * self.runs)

    @property
    def believed_net(self) -> Array:
        """E[net | what was seen]: eq. (4) of the paper, the objective in observable terms."""
        return self.believed - self.foreseen


def common_random_numbers(state: State, draws: int, max_runs: int, *, rng: np.random.Generator) -> CommonRandomNumbers:
    """Truths from the belief and noise for up to `max_runs` runs each."""
    truth = rng.standard_normal((2, draws, state.size))
    noise = rng.standard_normal((2, draws, max_runs))
    return CommonRandomNumbers(state.score.draw(truth[0]), state.cost.draw(truth[1]), noise[0], noise[1])


def simulate(
    policy: Assess, start: State, terms: Terms, common: CommonRandomNumbers, *, tolerance: float = 0.0
) -> Outcome:
    """Play the policy on every draw, from an unbatched state, until it stops or the numbers run out.

    tolerance: stop unless going on is worth more than stopping by this much.
    """
    draws, limit = common.score_noise.shape
    score, cost, runs = np.zeros(draws), np.zeros(draws), np.zeros(draws, dtype=np.intp)
    believed, foreseen = np.zeros(draws), np.zeros(draws)
    active = np.arange(draws)
    state = _repeated(start, draws)
    trained = np.full((draws, limit), -1, dtype=np.intp)
    for run in range(limit):
        found = policy(state, terms, run) if run else _first(policy, start, terms, draws)
        chosen, going = pick(found, stop_value(state) + tolerance)  # always before the first run
        if not going.any():
            break
        active, state, chosen = active[going], rows(state, going), chosen[going]
        trained[active, run] = chosen
        foreseen[active] += gather(run_price(state, terms), chosen[:, None])[:, 0]
        state, paid = _observed(state, terms, common, active, chosen, run)
        state = keep(state, best_kept(state, trained[active, : run + 1], terms))
        best = gather(state.kept, kept_means(state).argmax(axis=-1)[:, None])[:, 0]
        score[active], runs[active], believed[active] = common.scores[active, best], run + 1, stop_value(state)
        cost[active] += paid
    return Outcome(score=score, cost=cost, runs=runs, believed=believed, foreseen=foreseen)


def _first(policy: Assess, start: State, terms: Terms, draws: int) -> Assessment:
    """The policy before the first run, where all draws are in one state.  (n, G)."""
    found = policy(_repeated(start, 1), terms, 0)
    shape = (draws, found.value.shape[-1])
    return Assessment(np.broadcast_to(found.value, shape), np.broadcast_to(found.priority, shape))


def best_kept(state: State, trained: Indices, terms: Terms) -> Indices:
    """Which models a lookahead follows: the last one (the paper), or with recall the best few by posterior mean.

    trained: (..., R) candidates trained so far, the last one last.  Returns (..., M) with M <= KEPT.
    """
    if not terms.recall:
        return trained[..., -1:]
    means = gather(state.score.mean, np.maximum(trained, 0))
    repeated = np.triu(trained[..., :, None] == trained[..., None, :], 1).any(axis=-1)
    found = np.where(repeated | (trained < 0), -1, trained)
    ranked = np.argsort(np.where(found < 0, np.inf, -means), axis=-1, kind="stable")[..., :KEPT]
    return gather(found, ranked)


def _observed(
    state: State, terms: Terms, common: CommonRandomNumbers, active: Indices, chosen: Indices, run: int
) -> tuple[State, Array]:
    """One run on every active draw: the state after it, and what it cost."""
    features = np.eye(state.size)[chosen]
    score_noise, cost_noise = state.score_noise[chosen], state.cost_noise[chosen]
    seen_score = common.scores[active, chosen] + score_noise * common.score_noise[active, run]
    seen_cost = common.costs[active, chosen] + cost_noise * common.cost_noise[active, run]
    after = State(
        score=update(state.score, features, score_noise, seen_score),
        cost=update(state.cost, features, cost_noise, seen_cost),
        score_noise=state.score_noise,
        cost_noise=state.cost_noise,
        kept=state.kept,
    )
    return after, terms.cost_model.charged(seen_cost)


def _repeated(state: State, count: int) -> State:
    def spread(belief: Gaussian) -> Gaussian:
        return Gaussian(
            np.broadcast_to(belief.mean, (count, *belief.mean.shape)),
            np.broadcast_to(belief.cov, (count, *belief.cov.shape)),
        )

    kept = np.empty((count, 0), dtype=np.intp)
    return State(
        score=spread(state.score),
        cost=spread(state.cost),
        score_noise=state.score_noise,
        cost_noise=state.cost_noise,
        kept=kept,
    )


def rows(state: State, chosen: Array | Indices | NDArray[np.bool_] | slice) -> State:
    """Some of a batch of states: by index, mask or slice of the leading axis.  All but beliefs may be shared."""

    def part(shared: NDArray[Entry]) -> NDArray[Entry]:
        return shared[chosen] if shared.ndim > 1 else shared

    return State(
        score=Gaussian(state.score.mean[chosen], state.score.cov[chosen]),
        cost=Gaussian(state.cost.mean[chosen], state.cost.cov[chosen]),
        score_noise=part(state.score_noise),
        cost_noise=part(state.cost_noise),
        kept=state.kept[chosen],
        feasibility=None if state.feasibility is None else part(state.feasibility),
        last=None if state.last is None else part(state.last),
    )
