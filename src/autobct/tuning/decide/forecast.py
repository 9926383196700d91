"""Forecast of a tuning: simulated to its end, with scores and costs drawn from the posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from autobct.belief.arrays import Array, Indices, whole_number
from autobct.tuning.history import Train
from autobct.tuning.model.estimate import estimated_scores, score_quantiles
from autobct.tuning.model.simulated import DrawnTruth, drawn_truths
from autobct.tuning.units.limits import Left

if TYPE_CHECKING:
    from autobct.tuning.tuner import Tuner


LONGEST = 100
"""Further runs after which a simulated tuning is cut off."""

DECISIONS = 150
"""Simulated decisions of a forecast whose number of draws is not given, about.  docs/decisions/forecast.md."""

LEAST_DRAWS, MOST_DRAWS = 8, 100
_MOST_ASKED = 100_000
"""Simulated tunings of such a forecast."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """How the tuning is likely to end if the model holds, in the user's units.  One entry per draw, (n,) each.

    scores:  true score of the returned model;  nets: that score minus (for a loss, plus) the price of the total cost
    costs:   total cost, including the runs so far;  runs: total number of runs
    capped:  share of the simulations that were cut off because they did not end
    decisions: number of simulated runs
    """

    scores: Array
    costs: Array
    runs: Indices
    nets: Array
    capped: float
    decisions: int = 0

    @property
    def draws(self) -> int:
        """Number of simulated tunings."""
        return len(self.scores)

    @property
    def expected_score(self) -> float:
        """Mean true score of the returned model."""
        return float(self.scores.mean())

    @property
    def score_se(self) -> float:
        """Standard error of the expected score, from the number of draws."""
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
        """Probability of stopping after each number of runs."""
        counts, times = np.unique(self.runs, return_counts=True)
        return {int(count): float(n) / self.draws for count, n in zip(counts, times, strict=True)}

    @property
    def score_quantiles(self) -> dict[float, float]:
        """Quantiles of the true score of the returned model."""
        return _quantiles(self.scores)

    @property
    def cost_quantiles(self) -> dict[float, float]:
        """Quantiles of the cost of all runs."""
        return _quantiles(self.costs)

    @property
    def run_quantiles(self) -> dict[float, float]:
        """Quantiles of the number of runs."""
        return _quantiles(self.runs)

    def __str__(self) -> str:
        """A few lines."""
        if not self.runs.any():
            return "No run would be made."
        score, cost, runs = self.score_quantiles, self.cost_quantiles, self.run_quantiles
        most, noun = sorted(self.stopping.items()), "run" if self.expected_runs == 1 else "runs"
        final = (
            f"Expected final score {self.expected_score:.4g} (90 % between {score[0.05]:.4g} and {score[0.95]:.4g})."
        )
        if self.decisions == 0 and len(most) == 1:
            return (
                f"No further run would be made after {most[0][0]} {noun} at a cost of {self.expected_cost:.4g}. {final}"
            )
        stops = ", ".join(f"{n} ({share:.0%})" for n, share in most[:12]) + (", ..." if len(most) > 12 else "")
        lines = [
            final,
            f"Expected cost {self.expected_cost:.4g} (90 % between {cost[0.05]:.4g} and {cost[0.95]:.4g}) "
            f"in {self.expected_runs:.2g} {noun} (90 % between {runs[0.05]:.0f} and {runs[0.95]:.0f}).",
            f"Probability of stopping after each number of runs: {stops}.",
            f"Simulated {'once' if self.draws == 1 else f'{self.draws} times'} from the current model.",
        ]
        if self.capped:
            lines.append(f"{self.capped:.0%} of the simulations were cut off after {LONGEST} further runs.")
        return "\n".join(lines)


def forecast(tuner: Tuner, draws: int | None, left: Left | None, seed: int) -> Forecast:
    """Simulate tunings with the tuner's own policy; the tuner itself is left alone.

    draws: how many; None for as many as make `DECISIONS` together, at least `LEAST_DRAWS`
    """
    if draws is not None and whole_number(draws, "draws", example=100) > _MOST_ASKED:
        raise ValueError(f"draws must be at most {_MOST_ASKED}, got more; write e.g. 100")
    whole_number(seed, "seed", example=0, least=0)
    rng = np.random.default_rng((seed, len(tuner.history)))
    start = tuner.simulation()
    decision = tuner.peek(left)  # the same in all games
    if isinstance(decision, Train):
        start.adopt(decision)
    bounded = replace(start.known, problem=replace(start.problem, stated=tuner.problem.stated))
    truths = drawn_truths(bounded, MOST_DRAWS if draws is None else draws, rng=rng)
    own = _own_scores(tuner)
    played: list[tuple[float, float, int, bool]] = []
    for truth in truths:
        if draws is None and len(played) >= LEAST_DRAWS and _simulated(played, tuner) >= DECISIONS:
            break
        played.append(_play(start.twin(), truth, own, left, rng))
    score, cost, runs, ended = (np.array(column) for column in zip(*played, strict=True))
    problem = tuner.problem
    nets = np.array([problem.raw_net(h, t) for h, t in zip(score.tolist(), cost.tolist(), strict=True)])
    return Forecast(
        scores=score,
        costs=cost,
        runs=runs,
        nets=nets,
        capped=float(1.0 - ended.mean()),
        decisions=_simulated(played, tuner),
    )


def _simulated(played: Sequence[tuple[float, float, int, bool]], tuner: Tuner) -> int:
    """Decisions made in the simulated tunings."""
    return sum(runs - len(tuner.history) for _, _, runs, _ in played)


def _own_scores(tuner: Tuner) -> dict[bytes, float]:
    """By how much the models trained so far are better than the surfaces say, as measured there, in the user's units.

    Truths are surfaces; a model that was trained keeps what its own runs have shown besides.
    """
    known, controls = tuner.known, [run.control for run in tuner.history if run.score is not None]
    if known.evidence is None or not controls:
        return {}
    surface = score_quantiles(known, np.stack(controls), (0.5,), noise=False)[0]
    more = estimated_scores(known, np.stack(controls)) - surface
    return dict(zip([control.tobytes() for control in controls], more.tolist(), strict=True))


def _play(
    game: Tuner, truth: DrawnTruth, own: Mapping[bytes, float], left: Left | None, rng: np.random.Generator
) -> tuple[float, float, int, bool]:
    """One game: true score of the model returned, cost, number of runs, and whether it ended."""
    spent, made = game.total_cost, len(game.history)
    while game.under_way and len(game.history) < made + LONGEST:
        for train in game.under_way:
            game.tell(train, *truth.run(train.control, rng.standard_normal(2)))
        game.ask(None if left is None else replace(left, amount=left.amount - (game.total_cost - spent)))
    best = game.best
    true = np.nan if best is None else truth.score(best.control) + own.get(best.control.tobytes(), 0.0)
    return true, game.total_cost, len(game.history), not game.under_way


def _quantiles(values: Array | Indices) -> dict[float, float]:
    return dict(zip(QUANTILES, np.quantile(values, QUANTILES).tolist(), strict=True))
