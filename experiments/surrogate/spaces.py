"""Simulated spaces: random numbers for many tasks at once, the parameters of each, and points to look at."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from pool import SLOTS
from torch import Tensor

_MOST = 14  # parameters
_STEPS = (0.03, 0.08, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class Kinds:
    """Parameters of T tasks in S slots: `owner` (T, S) is the parameter of a slot, -1 if there is none."""

    owner: Tensor
    exists: Tensor
    whole: Tensor
    category: Tensor
    log: Tensor
    ratio: Tensor
    values: Tensor  # (T, S) number of values of a whole number, 0 for a continuum


class Draw:
    """Random numbers for T tasks at once."""

    def __init__(self, tasks: int, device: torch.device, rng: torch.Generator) -> None:
        self.tasks, self.device, self.rng = tasks, device, rng

    def uniform(self, *shape: int) -> Tensor:
        """(T, *shape)."""
        return torch.rand(self.tasks, *shape, device=self.device, generator=self.rng)

    def normal(self, *shape: int) -> Tensor:
        """(T, *shape)."""
        return torch.randn(self.tasks, *shape, device=self.device, generator=self.rng)

    def log_uniform(self, low: float, high: float, *shape: int) -> Tensor:
        """(T, *shape)."""
        return low * torch.exp(math.log(high / low) * self.uniform(*shape))

    def gumbel(self, *shape: int) -> Tensor:
        """(T, *shape)."""
        return -torch.log(-torch.log(self.uniform(*shape).clamp(1e-9, 1.0 - 1e-7)))

    def one_of(self, choices: int, *shape: int) -> Tensor:
        """(T, *shape) whole numbers below `choices`."""
        return (self.uniform(*shape) * choices).long().clamp_max(choices - 1)

    def dirichlet(self, parts: int, concentration: float = 0.5) -> Tensor:
        """(T, parts) shares."""
        raw = (-torch.log(self.uniform(parts).clamp_min(1e-9))) ** (1.0 / concentration)
        return raw / raw.sum(dim=1, keepdim=True)


def kinds_of(draw: Draw) -> Kinds:
    """1 to 14 parameters, each a number or a category of 2 to 5 choices, in slots of a random order."""
    device = draw.device
    count = 1 + (draw.uniform() ** 1.7 * _MOST).long().clamp_max(_MOST - 1)
    sort = draw.uniform(_MOST)
    some = (draw.uniform() < 0.5)[:, None]  # half of the spaces have no category
    category = (sort < 0.25) & some
    whole = ~category & (sort < 0.25 + 0.75 * draw.uniform()[:, None])
    choices = 2 + draw.one_of(4, _MOST)
    log = ~category & (draw.uniform(_MOST) < 0.55)
    ratio = torch.where(whole, draw.log_uniform(0.7, 6.5, _MOST), draw.log_uniform(1.0, 14.0, _MOST))
    ratio = torch.where(log | whole, ratio, ratio * (draw.uniform(_MOST) < 0.3)) * ~category
    values = torch.where(whole, torch.exp(draw.log_uniform(1.1, 6.0, _MOST)).floor(), 0.0)
    sizes = torch.where(category, choices, 1)
    sizes = sizes * (torch.arange(_MOST, device=device) < count[:, None])
    ends = sizes.cumsum(dim=1)
    sizes = torch.where(ends <= SLOTS, sizes, 0)
    ends = sizes.cumsum(dim=1)
    slot = torch.arange(SLOTS, device=device)
    owner = (slot[None, :, None] >= ends[:, None, :]).sum(dim=-1)
    exists = slot[None] < ends[:, -1:]
    owner = torch.where(exists, owner, 0)
    order = torch.argsort(draw.uniform(SLOTS), dim=1)
    owner, exists = owner.gather(1, order), exists.gather(1, order)

    def of(parameter: Tensor) -> Tensor:
        return parameter.float().gather(1, owner) * exists

    return Kinds(
        torch.where(exists, owner, -1), exists.float(), of(whole), of(category), of(log), of(ratio), of(values)
    )


def settled(kinds: Kinds, place: Tensor) -> Tensor:
    """Whole numbers at their values; of a category the largest coordinate is the choice.  (T, P, S)."""
    values = kinds.values[:, None]
    steps = (values - 1.0).clamp_min(1.0)
    place = torch.where(values > 0, (place * steps).round() / steps, place)
    same = (kinds.owner[:, :, None] == kinds.owner[:, None, :]).float() * kinds.category[:, None]
    largest = torch.where(same[:, None] > 0, place[:, :, None, :], -9.0).amax(dim=-1)
    chosen = (place >= largest).float()
    return torch.where(kinds.category[:, None] > 0, chosen, place) * kinds.exists[:, None]


def evenly(draw: Draw, kinds: Kinds, points: int) -> Tensor:
    """Uniform points, a third of them from the middle, the first at the centre.  (T, P, S)."""
    place = draw.uniform(points, SLOTS)
    size = torch.ones(points, device=draw.device)
    size[: points // 3] = 0.6
    size[0] = 0.0
    numbers = 0.5 + size[:, None] * (place - 0.5)
    return settled(kinds, torch.where(kinds.category[:, None] > 0, place, numbers))


def around(draw: Draw, kinds: Kinds, place: Tensor, score: Tensor, points: int) -> Tensor:
    """Points near the best three runs, mostly near the best.  score: (T, P), -inf if not run.  (T, points, S)."""
    best = score.topk(3, dim=1)
    which = torch.where(best.values > -torch.inf, best.indices, best.indices[:, :1])
    turn = (3.0 * draw.uniform(points) ** 2).long().clamp_max(2)
    base = place.gather(1, which.gather(1, turn)[:, :, None].expand(-1, -1, SLOTS))
    numbers = kinds.exists.sum(dim=1)[:, None, None]
    turned = draw.uniform(points, SLOTS) < (1.5 / numbers).clamp_min(0.35)
    steps = torch.tensor(_STEPS, device=draw.device)[draw.one_of(len(_STEPS), points)]
    moved = (base + turned * steps[:, :, None] * draw.normal(points, SLOTS)).clamp(0.0, 1.0)
    other = draw.uniform(points, SLOTS) + 2.0 * base * (draw.uniform(points)[:, :, None] > 0.2)
    return settled(kinds, torch.where(kinds.category[:, None] > 0, other, moved))
