"""What going on is likely to bring: the policy played to its end, many times, against truths drawn from the belief."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from autobct.belief.arrays import Array, Indices, whole_number
from autobct.belief.model import noise_at
from autobct.tuning.limits import Left
from autobct.tuning.problem import ScaledProblem

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner

LONGEST = 200
"""Runs after which a game counts as endless."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """How tunings from here end, in the user's units, where the model holds.  One entry per draw, (n,) each.

    scores:  true score of the model returned;  nets: the same less the price of all cost, what is spent included
    costs:   of all runs, those made included;  runs: number of all of them
    capped:  share of games cut off because they would not end
    """

    scores: Array
    costs: Array
    runs: Indices
    nets: Array
    capped: float

    @property
    def draws(self) -> int:
        """Number of games played."""
        return len(self.scores)

    @property
    def expected_score(self) -> float:
        """Mean true score of the model returned."""
        return float(self.scores.mean())

    @property
    def score_se(self) -> float:
        """Standard error of that mean, from the number of draws."""
        return float(self.scores.std() / np.sqrt(self.draws))

    @property
    def expected_cost(self) -> float:
        """Mean cost of all runs."""
        return float(self.costs.mean())

    @property
    def expected_runs(self) -> float:
        """Mean number of runs."""
        return float(self.runs.mean())

    @property
    def stopping(self) -> dict[int, float]:
        """Probability of stopping after so many runs."""
        counts, times = np.unique(self.runs, return_counts=True)
        return {int(count): float(n) / self.draws for count, n in zip(counts, times, strict=True)}

    @property
    def score_quantiles(self) -> dict[float, float]:
        """Of the true score of the model returned."""
        return _quantiles(self.scores)

    @property
    def cost_quantiles(self) -> dict[float, float]:
        """Of the cost of all runs."""
        return _quantiles(self.costs)

    @property
    def run_quantiles(self) -> dict[float, float]:
        """Of the number of runs."""
        return _quantiles(self.runs)

    def __str__(self) -> str:
        """A few lines."""
        if not self.runs.any():
            return "No run would be made."
        score, cost, runs = self.score_quantiles, self.cost_quantiles, self.run_quantiles
        most = sorted(self.stopping.items())
        stops = ", ".join(f"{n}: {share:.0%}" for n, share in most[:12]) + (", ..." if len(most) > 12 else "")
        lines = [
            f"Expected final score {self.expected_score:.4g} (90 % between {score[0.05]:.4g} and {score[0.95]:.4g}).",
            f"Expected cost {self.expected_cost:.4g} (90 % between {cost[0.05]:.4g} and {cost[0.95]:.4g}) "
            f"in {self.expected_runs:.2g} runs (90 % between {runs[0.05]:.0f} and {runs[0.95]:.0f}).",
            f"Stops after so many runs with probability: {stops}.",
            f"From {self.draws} games against what is believed now.",
        ]
        return "\n".join(lines)


def forecast(tuner: Tuner, draws: int, left: Left | None, seed: int) -> Forecast:
    """Play the tuner's own policy against truths from its belief; the tuner itself is left alone."""
    whole_number(draws, "draws", example=100)
    whole_number(seed, "seed", example=0, least=0)
    rng = np.random.default_rng((seed, len(tuner.history)))
    belief, start = tuner.belief, tuner.twin(fixed=True)
    start.ask(left)  # the same in all games
    scores = belief.score.draw(rng.standard_normal((draws, belief.score.size)))
    costs = belief.cost.draw(rng.standard_normal((draws, belief.cost.size)))
    played = [_play(start.twin(), a, b, left, rng) for a, b in zip(scores, costs, strict=True)]
    score, cost, runs, ended = (np.array(column) for column in zip(*played, strict=True))
    problem = tuner.problem
    nets = np.array([problem.raw_net(h, t) for h, t in zip(score.tolist(), cost.tolist(), strict=True)])
    return Forecast(score, cost, runs, nets, float(1.0 - ended.mean()))


def _play(
    game: Tuner, score_weights: Array, cost_weights: Array, left: Left | None, rng: np.random.Generator
) -> tuple[float, float, int, bool]:
    """One game: true score of the model returned, cost, number of runs, and whether it ended."""
    model, spent = game.problem.prior.model, game.total_cost
    while game.under_way and len(game.history) < LONGEST:
        for train in game.under_way:
            game.tell(train, *_drawn(game.problem, train.control, score_weights, cost_weights, rng))
        game.ask(None if left is None else replace(left, amount=left.amount - (game.total_cost - spent)))
    best = game.best
    true = np.nan if best is None else float(model.score_basis(best.control) @ score_weights)
    return float(game.problem.score_scale.to_raw(true)), game.total_cost, len(game.history), not game.under_way


def _drawn(
    problem: ScaledProblem, control: Array, score_weights: Array, cost_weights: Array, rng: np.random.Generator
) -> tuple[float, float]:
    """Score and cost that a run at this control shows, in the user's units."""
    model = problem.prior.model
    noise = noise_at(model.score_noise, control), noise_at(model.cost_noise, control)
    score, cost = np.array([model.score_basis(control) @ score_weights, model.cost_basis(control) @ cost_weights]) + (
        np.array(noise) * rng.standard_normal(2)
    )
    charged = float(problem.cost_scale.to_raw(float(model.cost_model.charged(cost))))
    return float(problem.score_scale.to_raw(float(score))), max(charged, 0.0)


def _quantiles(values: Array | Indices) -> dict[float, float]:
    return dict(zip(QUANTILES, np.quantile(values, QUANTILES).tolist(), strict=True))
