"""From tasks to lessons: some runs of a task, a price, some candidates, and what those would have shown.

Everything is drawn on the device with fixed shapes, so that a whole training step is one CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from pool import EVEN, NEAR, RUNS, SLOTS, Pool
from torch import Tensor

from autobct.belief.surrogate.network import (
    BEFORE,
    COST_BINS,
    COST_EDGES,
    COST_UNIT,
    SCORE_BINS,
    SCORE_EDGES,
    SCORE_UNIT,
)

CANDIDATES, LIKED = 40, 16
Uniform = Callable[..., Tensor]
"""Shape -> uniforms for every task of a batch."""
Look = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Runs, candidates, mask -> logits."""

LOWEST, HIGHEST = 1e-3, 0.3  # a median run in ranges of scores
_UNTOLD, _EMPTY = 0.5, 0.12
_SAID, _OTHERWISE = 0.85, 0.12  # how often a guess is known, where the runs begin with it and elsewhere


@dataclass(frozen=True, slots=True)
class Lesson:
    """runs: (B, N, INPUTS),  mask: (B, N),  candidates: (B, C, INPUTS); what is to be predicted, (B, C) each.

    score: bin of g;  cost: bin of log cost;  fails: 0 or 1;  before: (B, C, 2) standardised score and log cost
    begun: (B,) whether there is a finished run
    """

    runs: Tensor
    mask: Tensor
    candidates: Tensor
    score: Tensor
    cost: Tensor
    fails: Tensor
    before: Tensor
    begun: Tensor


def squash(z: Tensor) -> Tensor:
    """g(z) = sign(z) log(1 + |z|)."""
    return torch.sign(z) * torch.log1p(z.abs())


def lesson(task: Pool, look: Look | None = None) -> Lesson:
    """One lesson of each of B tasks.

    look: what the pupil believes so far.  Some of the candidates are then those that it would train at, out of all
    within reach: the best-looking of many is where an error matters most, and where it is most likely too hopeful.
    """
    batch, points, device = len(task), task.score.shape[1], task.score.device
    uniform = lambda *shape: torch.rand(batch, *shape, device=device)  # noqa: E731
    order = torch.argsort(uniform(SLOTS), dim=1)
    place = task.place.float().gather(2, order[:, None].expand(-1, points, -1))
    facts = task.facts.float().gather(1, order[:, :, None].expand(-1, -1, 5))
    grows = task.grows.float().gather(1, order)
    runs, count = _runs_of(task, uniform)
    exists = torch.arange(RUNS, device=device)[None] < count[:, None]
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
    grows_known = _known_growth(grows, uniform)
    facts = torch.cat([facts, grows_known[:, :, None]], dim=-1)
    observed = (uniform(1) < 0.4).float()
    guess, has_guess = _guess(task, place, order, uniform)
    zeros = torch.zeros(batch, RUNS, device=device)
    flags = [torch.where(finished, squash((seen - best) / kappa), 0.0) / SCORE_UNIT,
             torch.where(exists, (log_cost - mean).clamp(-8, 8), 0.0) / COST_UNIT,
             finished.float(), (exists & ~finished).float(), zeros, zeros, zeros, zeros]  # fmt: skip
    rows = _rows(_taken(place, runs), facts, torch.stack(flags, dim=-1), context)

    def candidates_at(which: Tensor, observed: Tensor) -> Tensor:
        none = torch.zeros(which.shape, device=device)
        asked = torch.stack([none] * 6 + [observed.expand(-1, which.shape[1]), none], dim=-1)
        return _rows(_taken(place, which), facts, asked, context)

    special = torch.zeros(batch, 2, 8, device=device)
    special[:, 0, 5], special[:, 1, 4] = 1.0, 1.0
    heads = _rows(torch.stack([torch.zeros_like(guess), guess], dim=1), facts, special, context)
    rows = torch.cat([heads, rows], dim=1)
    mask = torch.cat([torch.ones_like(has_guess), has_guess, exists], dim=1)
    shown = _candidates_of(task, count, uniform)
    if look is not None:
        reach = _within_reach(task, count)
        logits = look(rows, candidates_at(reach, torch.zeros_like(observed)), mask).float()
        made = (reach[:, :, None] == torch.where(exists, runs, -1)[:, None]).any(dim=-1)
        liked = _liking(logits, begun, uniform).masked_fill(made, -torch.inf).topk(LIKED, dim=1).indices
        shown = torch.cat([reach.gather(1, liked), shown[:, LIKED:]], dim=1)
    candidates = candidates_at(shown, observed)
    truth = torch.where(observed > 0.5, task.seen.gather(1, shown), task.score.gather(1, shown))
    cost = task.log_cost.gather(1, shown)
    before = torch.stack([(truth - task.score[:, :EVEN].mean(dim=1, keepdim=True)) / task.scale[:, None],
                          cost - task.c50[:, None]], dim=-1)  # fmt: skip
    return Lesson(
        runs=rows,
        mask=mask,
        candidates=candidates,
        score=_bin(squash((truth - best) / kappa), SCORE_EDGES),
        cost=_bin(cost - mean, COST_EDGES),
        fails=task.fails.float().gather(1, shown),
        before=before,
        begun=begun,
    )


def _runs_of(task: Pool, uniform: Uniform) -> tuple[Tensor, Tensor]:
    """The first so many runs of each task, few more often than many.  (B, RUNS), (B,)."""
    count = 1 + (uniform(1)[:, 0] ** 2.2 * RUNS).long().clamp_max(RUNS - 1)
    return task.order.long(), torch.where(uniform(1)[:, 0] < _EMPTY, 0, count)


def _candidates_of(task: Pool, count: Tensor, uniform: Uniform) -> Tensor:
    """What a tuner looks at after so many runs: even points, those of the round, the runs.  (B, CANDIDATES)."""
    now = task.rounds.long().gather(1, count.clamp_max(RUNS - 1)[:, None])
    even = (uniform(CANDIDATES) * EVEN).long().clamp_max(EVEN - 1)
    near = EVEN + (now - 1).clamp_min(0) * NEAR + (uniform(CANDIDATES) * NEAR).long().clamp_max(NEAR - 1)
    made = task.order.long().gather(1, (uniform(CANDIDATES) * count.clamp_min(1)[:, None]).long().clamp_max(RUNS - 1))
    sort = uniform(CANDIDATES)
    near = torch.where(now > 0, near, even)
    return torch.where(sort < 0.15, made, torch.where(sort < 0.55, near, even))


def _within_reach(task: Pool, count: Tensor) -> Tensor:
    """All even points and all of the round.  (B, EVEN + NEAR)."""
    now = task.rounds.long().gather(1, count.clamp_max(RUNS - 1)[:, None])
    even = torch.arange(EVEN, device=now.device).expand(len(now), -1)
    near = EVEN + (now - 1).clamp_min(0) * NEAR + torch.arange(NEAR, device=now.device)
    return torch.cat([even, torch.where(now > 0, near, even[:, :NEAR])], dim=1)


def _liking(logits: Tensor, begun: Tensor, uniform: Uniform) -> Tensor:
    """How much each candidate looks like the next run: expected improvement less its price, or per price.  (B, C)."""
    ends = torch.linspace(float(SCORE_EDGES[0]), float(SCORE_EDGES[-1]), SCORE_BINS + 1, device=logits.device)
    middles = (ends[1:] + ends[:-1]) / 2.0
    costs = torch.linspace(float(COST_EDGES[0]), float(COST_EDGES[-1]), COST_BINS + 1, device=logits.device)
    score, cost, before = logits[..., :SCORE_BINS], logits[..., SCORE_BINS : -BEFORE - 1], logits[..., -BEFORE:]
    improvement = score.softmax(dim=-1) @ torch.expm1(middles.clamp_min(0.0))
    price = cost.softmax(dim=-1) @ torch.exp((costs[1:] + costs[:-1]) / 2.0)
    ratio, gain = torch.log(improvement + 1e-4) - torch.log(price), torch.asinh(improvement - price)
    first = 4.0 * (before[..., 0] - 0.02 * torch.exp(before[..., 1].clamp_max(8.0)))
    key = torch.where(begun[:, None], torch.where(uniform(1) < 0.5, ratio, gain), first)
    return key - 0.3 * torch.log(-torch.log(uniform(logits.shape[1]).clamp(1e-9, 1.0 - 1e-7)))


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
    """1 where a user says that the cost increases with a parameter: seldom said, and mostly true.  (B, S)."""
    true = (grows > 0.3) & (uniform(SLOTS) < 0.6)
    wrong = (grows.abs() > 0) & (uniform(SLOTS) < 0.05)
    return ((true | wrong) & (uniform(1) < 0.15)).float()


def _guess(task: Pool, place: Tensor, order: Tensor, uniform: Uniform) -> tuple[Tensor, Tensor]:
    """A setting held to be good, where the runs began or elsewhere, and whether there is one.  (B, S), (B, 1)."""
    points = task.score.shape[1]
    ranks = task.score.argsort(dim=1, descending=True)
    far = (points * uniform(1) ** torch.where(uniform(1) < 0.15, 1.0, 3.0)).long().clamp_max(points - 1)
    other = place.gather(1, ranks.gather(1, far)[:, :, None].expand(-1, -1, SLOTS))[:, 0]
    began = task.guessed[:, None] > 0.5
    guess = torch.where(began, task.guess.float().gather(1, order), other)
    return guess, uniform(1) < torch.where(began, _SAID, _OTHERWISE)


def _taken(place: Tensor, which: Tensor) -> Tensor:
    return place.gather(1, which[:, :, None].expand(-1, -1, SLOTS))


def _rows(place: Tensor, facts: Tensor, flags: Tensor, context: Tensor) -> Tensor:
    """(B, n, INPUTS)."""
    count = place.shape[1]
    slots = torch.cat([place[:, :, :, None], facts[:, None].expand(-1, count, -1, -1)], dim=-1).flatten(2)
    return torch.cat([slots, flags, context[:, None].expand(-1, count, -1)], dim=-1)


def _bin(values: Tensor, edges: object) -> Tensor:
    low, high, bins = float(edges[0]), float(edges[-1]), len(edges) - 1
    return ((values - low) * (bins / (high - low))).long().clamp(0, bins - 1)
