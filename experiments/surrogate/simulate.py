"""Simulated tuning tasks: smooth, hilly and straight surfaces, with floors, cliffs, ceilings, failures and tails.

Everything is drawn in batches on one device.  The proportions are a choice; whether it is a good one is measured on
families of real tasks that were left out (docs/decisions/surrogate.md).
"""

from __future__ import annotations

import torch
from landscapes import Cost, Failing, Gates, Surface
from pool import EVEN, NEAR, POINTS, ROUNDS, RUNS, SLOTS, Pool, trends, yardsticks
from spaces import Draw, Kinds, around, evenly, kinds_of
from torch import Tensor

_GUESSED = 0.5  # of the tasks begin with a guess


def simulated(tasks: int, device: torch.device | str, rng: torch.Generator) -> Pool:
    """So many tasks, each with the runs that a tuner made who looks at random places and around its best."""
    draw = Draw(tasks, torch.device(device), rng)
    kinds = kinds_of(draw)
    gates = Gates(draw, kinds)
    cost, failing = Cost(draw, kinds, gates), Failing(draw, kinds)
    surface = Surface(draw, kinds, gates, cost.grows)
    noise = Noise(draw)
    place = evenly(draw, kinds, EVEN)
    ends = torch.cumsum(torch.stack([1 + draw.one_of(10), *(1 + draw.one_of(8) for _ in range(ROUNDS - 1))], -1), -1)
    used = torch.zeros(tasks, POINTS, dtype=torch.bool, device=device)
    guess, guessed = _guess(draw, surface(place), failing(place))
    first = torch.zeros(tasks, EVEN, device=device).scatter(1, guess[:, None], 1e3 * guessed[:, None])
    lists = [_picked(draw, used, _liking(draw, kinds, place) + first, EVEN)]
    for number in range(1, ROUNDS + 1):
        score = surface(place)
        seen = noise(score)
        made = torch.zeros_like(used)
        for earlier in range(number):
            begin = 0 if earlier == 0 else ends[:, earlier - 1]
            position = torch.arange(RUNS, device=device)[None]
            taken = position < (ends[:, earlier] - begin)[:, None]
            _mark(made, lists[earlier], taken)
        used |= made
        known = torch.where(made[:, : place.shape[1]] & (failing(place) < 0.5), seen, -torch.inf)
        place = torch.cat([place, around(draw, kinds, place, known, NEAR)], dim=1)
        key = -torch.inf * torch.ones(tasks, POINTS, device=device)
        key[:, :EVEN] = draw.gumbel(EVEN) - 1.5
        key[:, EVEN + (number - 1) * NEAR : EVEN + number * NEAR] = draw.gumbel(NEAR) + 2.0 * draw.uniform()[:, None]
        lists.append(_picked(draw, used, key, POINTS))
    score = surface(place)
    log_cost = cost(place, score)
    order, rounds = _sequence(lists, ends)
    scale, c50 = yardsticks(score, log_cost, EVEN)
    width = scale * torch.exp(5.0 * draw.uniform() ** 1.3)
    high = score.max(dim=1).values + (width - scale) * draw.uniform() ** 2
    facts = torch.stack([kinds.exists, kinds.whole, kinds.category, kinds.log, kinds.ratio / 6.0], dim=-1)
    shown = torch.where(kinds.category[:, None] > 0, place, 2.0 * place - 1.0) * kinds.exists[:, None]
    rises, matters = trends(shown, facts, score)
    return Pool(
        place=shown.half(),
        facts=facts.half(),
        grows=cost.grows.half(),
        rises=rises.half(),
        matters=matters.half(),
        score=score,
        seen=noise(score),
        log_cost=log_cost + draw.log_uniform(0.01, 0.35)[:, None] * draw.normal(POINTS),
        fails=failing(place).half(),
        order=order.short(),
        rounds=rounds.short(),
        scale=scale,
        c50=c50,
        low=high - width,
        high=high,
        family=torch.full((tasks,), -1, device=device),
        guess=_vaguely(draw, kinds, shown.gather(1, guess[:, None, None].expand(-1, -1, SLOTS))[:, 0]).half(),
        guessed=guessed,
    )


class Noise:
    """What a run shows besides the true score: more of it where scores are high or low, and now and then a mishap.

    In a third of the tasks some runs are far noisier than others.
    """

    def __init__(self, draw: Draw) -> None:
        self.size = (draw.log_uniform(0.003, 0.6) * (draw.uniform() < 0.7))[:, None]
        self.tilt = (0.6 * draw.normal() * (draw.uniform() < 0.5))[:, None]
        uneven = 0.8 * draw.uniform() * (draw.uniform() < 0.35)
        self.normals = draw.normal(POINTS) * torch.exp(uneven[:, None] * draw.normal(POINTS))
        chance = draw.log_uniform(0.005, 0.1) * (draw.uniform() < 0.1)
        self.mishap = draw.uniform(POINTS) < chance[:, None]

    def __call__(self, score: Tensor) -> Tensor:
        """Scores as they are seen.  (T, P)."""
        even, points = score[:, :EVEN], score.shape[1]
        spread = even.std(dim=1, keepdim=True).clamp_min(1e-6)
        away = ((score - even.mean(dim=1, keepdim=True)) / spread).clamp(-2.5, 2.5)
        seen = score + self.size * spread * torch.exp(self.tilt * away) * self.normals[:, :points]
        return torch.where(self.mishap[:, :points], torch.quantile(even, 0.05, dim=1, keepdim=True), seen)


def _guess(draw: Draw, score: Tensor, fails: Tensor) -> tuple[Tensor, Tensor]:
    """The best of one to 32 even points, as somebody knows it who has tuned alike before; 1 where runs begin there."""
    share = draw.log_uniform(1.0, 32.0)[:, None] / EVEN
    known = (draw.uniform(EVEN) < share) & (fails[:, :EVEN] < 0.5)
    return torch.where(known, score[:, :EVEN], -torch.inf).argmax(dim=1), (draw.uniform() < _GUESSED).float()


def _vaguely(draw: Draw, kinds: Kinds, place: Tensor) -> Tensor:
    """A guess that says nothing of some numbers, which then count as the centre.  (T, S)."""
    silent = draw.uniform(SLOTS) < 0.5 * draw.uniform()[:, None] + 0.25 * kinds.whole
    return torch.where(silent & (kinds.category < 0.5), 0.0, place)


def _liking(draw: Draw, kinds: Kinds, place: Tensor) -> Tensor:
    """Where somebody begins: anywhere, or rather in the middle, or rather with small whole numbers.  (T, EVEN)."""
    middle = ((place - 0.5) ** 2 * (1.0 - kinds.category)[:, None] * kinds.exists[:, None]).sum(dim=-1)
    small = (place * kinds.whole[:, None]).sum(dim=-1)
    liked = -8.0 * draw.uniform()[:, None] * middle * (draw.uniform() < 0.5)[:, None]
    return draw.gumbel(EVEN) + liked - 3.0 * small * (draw.uniform() < 0.3)[:, None]


def _picked(draw: Draw, used: Tensor, key: Tensor, points: int) -> Tensor:
    """The points that a round would run next, best first, none that was run before.  (T, RUNS)."""
    return torch.where(used[:, :points], -torch.inf, key[:, :points]).topk(RUNS, dim=1).indices


def _mark(made: Tensor, which: Tensor, taken: Tensor) -> None:
    """made[t, which[t, k]] becomes true where taken[t, k]."""
    made |= torch.zeros_like(made).scatter(1, which, taken)


def _sequence(lists: list[Tensor], ends: Tensor) -> tuple[Tensor, Tensor]:
    """All runs one after the other, and the round of each.  (T, RUNS) each."""
    position = torch.arange(RUNS, device=ends.device)[None]
    rounds = (position[:, :, None] >= ends[:, None, :]).sum(dim=-1)
    begins = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=1).gather(1, rounds)
    stacked = torch.stack(lists, dim=1).flatten(1)
    return stacked.gather(1, rounds * RUNS + (position - begins)), rounds
