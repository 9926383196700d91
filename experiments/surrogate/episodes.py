"""From tasks to lessons: some runs of a task, a price, some candidates, and what those would have shown.

Everything is drawn on the device with fixed shapes, so that a whole training step is one CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from model import Rows
from pool import EVEN, NEAR, RUNS, SLOTS, Pool
from torch import Tensor

from autobct.belief.surrogate.network_inputs import COST_EDGES, COST_UNIT, SCORE_EDGES, SCORE_UNIT

CANDIDATES = 40
Uniform = Callable[..., Tensor]
"""Shape -> uniforms for every task of a batch."""

LOWEST, HIGHEST = 1e-3, 0.3  # a median run in ranges of scores
_UNTOLD, _EMPTY = 0.5, 0.12
_EARLY = 2.2  # the higher, the fewer runs most lessons have
_SAID, _OTHERWISE = 0.85, 0.12  # how often a guess is known, where the runs begin with it and elsewhere
_TRENDS, _MISLED = (
    0.5,
    0.1,
)  # how often there are hints on how the score depends on numbers, how often wrong


@dataclass(frozen=True, slots=True)
class Lesson:
    """rows: context, guess, runs and candidates; what is to be predicted, (B, C) each.

    score: bin of g;  cost: bin of log cost;  fails: 0 or 1;  before: (B, C, 2) standardised score and log cost
    begun: (B,) whether there is a finished run
    """

    rows: Rows
    score: Tensor
    cost: Tensor
    fails: Tensor
    before: Tensor
    begun: Tensor


def squash(z: Tensor) -> Tensor:
    """g(z) = sign(z) log(1 + |z|)."""
    return torch.sign(z) * torch.log1p(z.abs())


def lesson(task: Pool, features: int = SLOTS, after: tuple[int, int] = (0, RUNS), *, trends: float = _TRENDS) -> Lesson:
    """One lesson of each of B tasks, none of which has more than so many coordinates.

    after:  more than so many runs, unless it is 0, and at most so many
    trends: share of lessons with hints on how the score depends on numbers; a tuner gives none
    """
    batch, device = len(task), task.score.device
    uniform = lambda *shape: torch.rand(batch, *shape, device=device)  # noqa: E731
    order = torch.argsort(uniform(SLOTS) - 2.0 * task.facts[:, :, 0].float(), dim=1)[:, :features]
    facts = task.facts.float().gather(1, order[:, :, None].expand(-1, -1, 5))
    runs, count = _runs_of(task, uniform, after)
    exists = torch.arange(after[1], device=device)[None] < count[:, None]
    fails = task.fails.float().gather(1, runs)
    finished = exists & (fails < 0.5)
    begun = finished.any(dim=1)
    seen, log_cost = task.seen.gather(1, runs), task.log_cost.gather(1, runs)
    log_cost = log_cost - fails * 1.5 * uniform(1)  # what fails often fails early
    best = torch.where(finished, seen, -torch.inf).amax(dim=1, keepdim=True)
    best = torch.where(begun[:, None], best, task.score.mean(dim=1, keepdim=True))
    mean = (log_cost * finished).sum(dim=1, keepdim=True) / finished.sum(dim=1, keepdim=True).clamp_min(1)
    mean = torch.where(begun[:, None], mean, task.c50[:, None])
    level = LOWEST * (HIGHEST / LOWEST) ** uniform(1)
    kappa = level * task.scale[:, None] * torch.exp((mean - task.c50[:, None]).clamp(-8.0, 8.0))
    context = _context(task, facts, uniform, begun, count, best, kappa)
    observed = (uniform(1) < 0.4).float()
    guess, has_guess = _guess(task, uniform)
    zeros = torch.zeros(batch, after[1], device=device)
    flags = [torch.where(finished, squash((seen - best) / kappa), 0.0) / SCORE_UNIT,
             torch.where(exists, (log_cost - mean).clamp(-8, 8), 0.0) / COST_UNIT,
             finished.float(), (exists & ~finished).float(), zeros, zeros, zeros, zeros]  # fmt: skip
    special = torch.zeros(batch, 2, 8, device=device)
    special[:, 0, 5], special[:, 1, 4] = 1.0, 1.0
    shown = _candidates_of(task, count, uniform)
    asked = torch.zeros(batch, CANDIDATES, 8, device=device)
    asked[:, :, 6] = observed
    outcome = torch.cat([special, torch.stack(flags, dim=-1), asked], dim=1)
    points = torch.cat([runs, shown], dim=1)
    place = task.place.float().gather(1, points[:, :, None].expand(-1, -1, SLOTS))
    place = torch.cat([torch.zeros_like(guess)[:, None], guess[:, None], place], dim=1)
    place = place.gather(2, order[:, None].expand(-1, place.shape[1], -1))
    grows = _known_growth(task.grows.float().gather(1, order), uniform)
    rows = Rows(
        place=place,
        whole=torch.cat([outcome, context[:, None].expand(-1, place.shape[1], -1)], dim=-1),
        facts=torch.cat([facts[:, :, 1:], grows[:, :, None], *_known_trends(task, order, uniform, trends)], dim=-1),
        exists=facts[:, :, 0],
        mask=torch.cat([torch.ones_like(has_guess), has_guess, exists], dim=1),
    )
    truth = torch.where(observed > 0.5, task.seen.gather(1, shown), task.score.gather(1, shown))
    cost = task.log_cost.gather(1, shown)
    before = torch.stack([(truth - task.score[:, :EVEN].mean(dim=1, keepdim=True)) / task.scale[:, None],
                          cost - task.c50[:, None]], dim=-1)  # fmt: skip
    return Lesson(
        rows=rows,
        score=_bin(squash((truth - best) / kappa), SCORE_EDGES),
        cost=_bin(cost - mean, COST_EDGES),
        fails=task.fails.float().gather(1, shown),
        before=before,
        begun=begun,
    )


def _runs_of(task: Pool, uniform: Uniform, after: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """The first so many runs of each task, few more often than many.  (B, most), (B,)."""
    low, high = ((ends / RUNS) ** (1.0 / _EARLY) for ends in after)
    count = 1 + ((low + (high - low) * uniform(1)[:, 0]) ** _EARLY * RUNS).long().clamp_max(after[1] - 1)
    empty = _EMPTY / (_EMPTY + (1.0 - _EMPTY) * high) if after[0] == 0 else 0.0
    return task.order[:, : after[1]].long(), torch.where(uniform(1)[:, 0] < empty, 0, count)


def _candidates_of(task: Pool, count: Tensor, uniform: Uniform) -> Tensor:
    """What a tuner looks at after so many runs: even points, those of the round, the runs.  (B, CANDIDATES)."""
    now = task.rounds.long().gather(1, count.clamp_max(RUNS - 1)[:, None])
    even = (uniform(CANDIDATES) * EVEN).long().clamp_max(EVEN - 1)
    near = EVEN + (now - 1).clamp_min(0) * NEAR + (uniform(CANDIDATES) * NEAR).long().clamp_max(NEAR - 1)
    made = task.order.long().gather(1, (uniform(CANDIDATES) * count.clamp_min(1)[:, None]).long().clamp_max(RUNS - 1))
    sort = uniform(CANDIDATES)
    near = torch.where(now > 0, near, even)
    return torch.where(sort < 0.15, made, torch.where(sort < 0.55, near, even))


def _context(
    task: Pool, facts: Tensor, uniform: Uniform, begun: Tensor, count: Tensor, best: Tensor, kappa: Tensor
) -> Tensor:
    """What is known of the whole tuning.  (B, CONTEXT)."""
    told = ((uniform(1) > _UNTOLD) & begun[:, None]).float()
    width = (task.high - task.low)[:, None]
    return torch.cat(
        [
            torch.log1p(count.float())[:, None] / 4.0,
            told,
            told * torch.log(width / kappa).clamp(-4, 14) / SCORE_UNIT,
            told * squash(((task.high[:, None] - best) / kappa).clamp(-1e5, 1e5)) / SCORE_UNIT,
            facts[:, :, 0].sum(dim=1, keepdim=True) / 10.0,
        ],
        dim=1,
    )


def _known_growth(grows: Tensor, uniform: Uniform) -> Tensor:
    """1 where a user says that the cost increases with a parameter: seldom said, and mostly true.  (B, F)."""
    true = (grows > 0.3) & (uniform(grows.shape[1]) < 0.6)
    wrong = (grows.abs() > 0) & (uniform(grows.shape[1]) < 0.05)
    return ((true | wrong) & (uniform(1) < 0.15)).float()


def _known_trends(task: Pool, order: Tensor, uniform: Uniform, often: float) -> tuple[Tensor, Tensor]:
    """Hints on how the score depends on each number, and how much the number matters; 0 for none.  (B, F, 1) each.

    Vague, not on every number, and wrong now and then.
    """
    rises, matters = (of.float().gather(1, order) for of in (task.rises, task.matters))
    wide, vague = rises.shape[1], 0.05 + 0.3 * uniform(1)
    number = (task.facts[:, :, 0] * (1.0 - task.facts[:, :, 2])).float().gather(1, order)
    told = number * (uniform(1) < often) * (uniform(wide) < 0.2 + 0.8 * uniform(1))
    misled = uniform(1) < _MISLED
    rises = torch.where(misled, -rises, rises) + vague * torch.randn_like(rises)
    matters = torch.where(misled, 0.8 * uniform(wide), matters) + vague * torch.randn_like(matters)
    said = told * (uniform(wide) < 0.85)
    return (told * rises.clamp(-1.0, 1.0))[:, :, None], (said * matters.clamp(0.05, 1.0))[:, :, None]


def _guess(task: Pool, uniform: Uniform) -> tuple[Tensor, Tensor]:
    """A setting held to be good, where the runs began or elsewhere, and whether there is one.  (B, S), (B, 1)."""
    points = task.score.shape[1]
    ranks = task.score.argsort(dim=1, descending=True)
    far = (points * uniform(1) ** torch.where(uniform(1) < 0.15, 1.0, 3.0)).long().clamp_max(points - 1)
    other = task.place.float().gather(1, ranks.gather(1, far)[:, :, None].expand(-1, -1, SLOTS))[:, 0]
    began = task.guessed[:, None] > 0.5
    return torch.where(began, task.guess.float(), other), uniform(1) < torch.where(began, _SAID, _OTHERWISE)


def _bin(values: Tensor, edges: object) -> Tensor:
    low, high, bins = float(edges[0]), float(edges[-1]), len(edges) - 1
    return ((values - low) * (bins / (high - low))).long().clamp(0, bins - 1)
