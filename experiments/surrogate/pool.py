"""Tasks to learn from: each some controls of a space with the true score, the log cost and where runs fail there.

T tasks, P points each, S slots.  Every task comes with the runs of a simple tuner, one after the other: some of the
even points, then, round after round, some around its best runs and some even ones.  What a round looks at depends on
what was seen before it and on nothing else, so that a network which predicts a round's points from the runs before
learns no more than a tuner can know.  Simulated and real tasks are the same arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

SLOTS, RUNS, ROUNDS = 24, 38, 5
EVEN, NEAR = 96, 24
POINTS = EVEN + ROUNDS * NEAR


@dataclass(frozen=True, slots=True)
class Pool:
    """All on one device.

    place:     (T, P, S) coordinates, numbers as 2 u - 1, choices as 0 or 1, 0 where there is no coordinate
    facts:     (T, S, 5) exists, whole, category, log, log ratio of the ends
    grows:     (T, S) by how much the log cost rises over a coordinate
    rises:     (T, S) correlation of a number with the ranks of the scores
    matters:   (T, S) root of the share of these ranks that a parabola of the number explains
    score:     (T, P) true scores;  seen: (T, P) the same with noise
    log_cost:  (T, P) with its noise;  fails: (T, P) 1 where a run fails
    order:     (T, RUNS) the points that were run, one after the other;  rounds: (T, RUNS) the round of each
    scale:     (T,) best known score less the 10th percentile of even points;  c50: (T,) log of the median cost
    low, high: (T,) the range of scores that a user would state
    family:    (T,) -1 for simulated tasks
    guess:     (T, S) a setting held to be good, as places;  guessed: (T,) 1 where the runs begin with it
    """

    place: Tensor
    facts: Tensor
    grows: Tensor
    rises: Tensor
    matters: Tensor
    score: Tensor
    seen: Tensor
    log_cost: Tensor
    fails: Tensor
    order: Tensor
    rounds: Tensor
    scale: Tensor
    c50: Tensor
    low: Tensor
    high: Tensor
    family: Tensor
    guess: Tensor
    guessed: Tensor

    def __len__(self) -> int:
        return len(self.score)

    def to(self, device: torch.device | str) -> Pool:
        """The same elsewhere."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})

    def __getitem__(self, which: Tensor) -> Pool:
        return replace(self, **{f.name: getattr(self, f.name)[which] for f in fields(self)})


def joined(pools: list[Pool]) -> Pool:
    """One after the other."""
    return Pool(**{f.name: torch.cat([getattr(pool, f.name) for pool in pools]) for f in fields(Pool)})


def trends(place: Tensor, facts: Tensor, score: Tensor) -> tuple[Tensor, Tensor]:
    """The `rises` and `matters` of a pool, from even points, less what chance explains.  (T, S) each."""
    numbers = (facts[:, :, 0] * (1.0 - facts[:, :, 2])).float()
    ranks = _standard(score[:, :EVEN].argsort(dim=1).argsort(dim=1).float())[:, :, None]
    line = _standard(place[:, :EVEN].float())
    square = line.square()
    bow = _standard(square - (square * line).mean(dim=1, keepdim=True) * line)
    straight, bowed = (line * ranks).mean(dim=1), (bow * ranks).mean(dim=1)
    explained = (straight.square() + bowed.square() - 2.0 / EVEN).clamp(0.0, 1.0)
    return straight * numbers, explained.sqrt() * numbers


def _standard(values: Tensor) -> Tensor:
    """Of mean zero and variance one along the second axis; zero where all are alike."""
    away = values - values.mean(dim=1, keepdim=True)
    return away / away.square().mean(dim=1, keepdim=True).sqrt().clamp_min(1e-6)


def yardsticks(score: Tensor, log_cost: Tensor, even: int) -> tuple[Tensor, Tensor]:
    """Range of scores and log median cost, from (T, P)."""
    low = torch.quantile(score[:, :even].float(), 0.1, dim=1)
    return (score.max(dim=1).values - low).clamp_min(1e-9), log_cost[:, :even].median(dim=1).values


def bent(pool: Pool) -> Pool:
    """Real tasks with their scores bent upwards or downwards and their costs stretched, every other one as it is.

    Order stays, shape does not.  Between its lowest and highest score a task becomes (exp(a z) - 1) / (exp(a) - 1),
    beyond them it stays straight.
    """
    low, high = pool.score.amin(dim=1, keepdim=True), pool.score.amax(dim=1, keepdim=True)
    width = (high - low).clamp_min(1e-9)
    bend = 8.0 * torch.rand_like(low) - 4.0
    bend = torch.where(bend.abs() < 0.1, 0.1, bend) * (torch.rand_like(low) < 0.5) + 1e-3

    def moved(score: Tensor) -> Tensor:
        z = (score - low) / width
        inside = torch.expm1(bend * z.clamp(0.0, 1.0)) / torch.expm1(bend)
        return inside + (z - z.clamp(0.0, 1.0))

    return replace(
        _stretched(pool),
        score=moved(pool.score),
        seen=moved(pool.seen),
        scale=(1.0 - moved(high - pool.scale[:, None])).clamp_min(1e-6)[:, 0],
        low=moved(pool.low[:, None])[:, 0],
        high=moved(pool.high[:, None])[:, 0],
    )


def _stretched(pool: Pool) -> Pool:
    """Log costs that differ by less or more, some without most of what every run costs."""
    cost = pool.log_cost - pool.c50[:, None]
    factor = torch.where(torch.rand_like(cost[:, :1]) < 0.5, torch.exp(torch.rand_like(cost[:, :1]) - 0.4), 1.0)
    fixed = 0.9 * torch.rand_like(factor) * (torch.rand_like(factor) < 0.25) * torch.exp(cost.amin(dim=1, keepdim=True))

    def moved(log_cost: Tensor) -> Tensor:
        return factor * torch.log((torch.exp(log_cost) - fixed).clamp_min(1e-6))

    return replace(
        pool,
        log_cost=pool.c50[:, None] + moved(cost),
        c50=pool.c50 + moved(torch.zeros_like(factor))[:, 0],
        grows=(pool.grows.float() * factor).half(),
    )
