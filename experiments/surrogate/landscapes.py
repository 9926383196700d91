"""Simulated landscapes: what a run would score and cost at every point of a space, and where it would fail."""

from __future__ import annotations

import math

import torch
from pool import EVEN, POINTS, SLOTS
from spaces import Draw, Kinds
from torch import Tensor

_FEATURES = 64


class Waves:
    """Draws of smooth functions with a length of its own for every coordinate: random features of a Matern kernel."""

    def __init__(self, draw: Draw, kinds: Kinds, shortest: float = 0.15) -> None:
        lengths = draw.log_uniform(shortest, 8.0, SLOTS)
        lengths = torch.where(kinds.category > 0, 2.0 * lengths, lengths)
        tails = torch.rand(draw.tasks, _FEATURES, 1, device=draw.device, generator=draw.rng).clamp_min(0.02)
        normal = draw.normal(_FEATURES, SLOTS) / tails.sqrt()
        self.weights = normal / lengths[:, None] * kinds.exists[:, None]
        self.shift = 2.0 * math.pi * draw.uniform(_FEATURES)
        self.heights = draw.normal(_FEATURES) * math.sqrt(2.0 / _FEATURES)

    def __call__(self, place: Tensor) -> Tensor:
        waves = torch.cos(torch.einsum("tps,tfs->tpf", place, self.weights) + self.shift[:, None])
        return torch.einsum("tpf,tf->tp", waves, self.heights)


class Gates:
    """Numbers that only matter with one choice of a category: with the others they count as the middle.

    Where cliffs are and where runs fail does not depend on it.
    """

    def __init__(self, draw: Draw, kinds: Kinds) -> None:
        gate = torch.where(kinds.category > 0, draw.uniform(SLOTS), -1.0).argmax(dim=1)
        some = (draw.uniform() < 0.5) & (kinds.category > 0).any(dim=1)
        share = 0.7 * draw.uniform()[:, None]
        self.gate = gate
        self.gated = ((draw.uniform(SLOTS) < share) & some[:, None] & (kinds.category < 0.5)).float()

    def __call__(self, place: Tensor) -> Tensor:
        """(T, P, S)."""
        chosen = place.gather(2, self.gate[:, None, None].expand(-1, place.shape[1], 1))
        silent = self.gated[:, None] * (1.0 - chosen)
        return place + silent * (0.5 - place)


class Surface:
    """True scores."""

    def __init__(self, draw: Draw, kinds: Kinds, gates: Gates, grows: Tensor) -> None:
        self.gates = gates
        shares = draw.dirichlet(6)
        self.shares = shares.sqrt()
        relevance = torch.exp(1.2 * draw.normal(SLOTS)) * kinds.exists
        self.relevance = relevance / relevance.sum(dim=1, keepdim=True)
        self.waves, self.cliff = Waves(draw, kinds), Waves(draw, kinds, 0.5)
        self.top = (0.5 + 0.28 * draw.normal(SLOTS)).clamp(-0.2, 1.2)
        self.along, self.ridge = draw.normal(SLOTS), draw.uniform() * (draw.uniform() < 0.4)
        self.slope = draw.normal(SLOTS) * kinds.exists + 0.5 * kinds.whole * draw.uniform()[:, None]
        self.bend = draw.log_uniform(1.0, 12.0, SLOTS)
        self.turned = (draw.uniform(SLOTS) < 0.5 * draw.uniform()[:, None]) & (kinds.category < 0.5)
        size = grows.clamp_min(0.0) * (grows > 0.2) * relevance.clamp_min(0.3)
        self.size = size / size.sum(dim=1, keepdim=True).clamp_min(1e-6)
        self.peak, self.side = draw.uniform(SLOTS), draw.log_uniform(0.3, 20.0, SLOTS)
        self.side2 = draw.log_uniform(2.0, 60.0, SLOTS)
        self.seed = draw.normal(POINTS)
        self.rough = draw.log_uniform(0.002, 0.12)
        self.level = draw.uniform(6)
        self.kind = draw.uniform(6)

    def latent(self, place: Tensor) -> Tensor:
        """Before floors, cliffs and ceilings, with unit variance about.  (T, P)."""
        place = self.gates(place)
        mirrored = torch.where(self.turned[:, None], 1.0 - place, place)
        weight = self.relevance[:, None]
        off = weight.sqrt() * (place - self.top[:, None])
        ridge = self.ridge[:, None]  # where what is too much of one parameter can be made up for by another
        hill = -8.0 * ((1.0 - ridge) * (off**2).sum(dim=-1) + ridge * (self.along[:, None] * off).sum(dim=-1) ** 2)
        straight = (self.slope[:, None] * weight.sqrt() * place).sum(dim=-1) * 2.0
        saturating = (weight * (1.0 - torch.exp(-self.bend[:, None] * mirrored))).sum(dim=-1) * 4.0
        sized = (self.size[:, None] * (1.0 - torch.exp(-self.bend[:, None] * place))).sum(dim=-1) * 4.0
        away = mirrored - self.peak[:, None]
        left, right = -self.side[:, None] * away.clamp_max(0.0) ** 2, -self.side2[:, None] * away.clamp_min(0.0) ** 2
        lopsided = (weight * torch.where(away > 0, torch.exp(right), torch.exp(left))).sum(dim=-1) * 4.0
        parts = torch.stack([self.waves(place), hill, straight, saturating, lopsided, sized], dim=-1)
        return (parts * self.shares[:, None]).sum(dim=-1)

    def __call__(self, place: Tensor) -> Tensor:
        """True scores.  (T, P)."""
        smooth = self.latent(place)
        mean = smooth[:, :EVEN].mean(dim=1, keepdim=True)
        score = (smooth - mean) / smooth[:, :EVEN].std(dim=1, keepdim=True).clamp_min(1e-6)
        score = self._with_tail(self._with_top(score))
        score, on_floor = self._with_floor(score)
        score = self._with_cliff(score, self.cliff(place))
        rough = (
            self.rough[:, None]
            * score[:, :EVEN].std(dim=1, keepdim=True).clamp_min(1e-4)
            * self.seed[:, : place.shape[1]]
        )
        return score + torch.where(on_floor, 0.2 * rough, rough)

    def _with_top(self, score: Tensor) -> Tensor:
        """A sixth of the surfaces saturate at both ends, two fifths at a ceiling, sharply or softly."""
        kind, level, sharp = self.kind[:, 2:3], self.level[:, 2:3], torch.exp(4.0 * self.level[:, 3:4])
        both = 4.0 * torch.sigmoid(0.1 * sharp * (score - 2.0 * level + 0.5))
        ceiling = -torch.nn.functional.softplus(sharp * (2.5 * level - 0.5 - score)) / sharp
        return torch.where(kind < 0.16, both, torch.where(kind < 0.56, ceiling, score))

    def _with_tail(self, score: Tensor) -> Tensor:
        """Scores that are errors on a logarithm: far more is lost at the bottom than won at the top."""
        tail = 0.3 + 1.5 * self.level[:, 4:5]
        return torch.where(self.kind[:, 3:4] < 0.4, -torch.exp((-tail * score).clamp_max(8.0)) / tail, score)

    def _with_floor(self, score: Tensor) -> tuple[Tensor, Tensor]:
        """A plateau at chance level over up to two thirds of the space; and which points are on it."""
        floor = _quantile(score, 0.65 * self.level[:, 0:1])
        on_floor = (self.kind[:, 0:1] < 0.25) & (score < floor)
        return torch.where(on_floor, floor + 0.02 * self.level[:, 5:6] * (score - floor), score), on_floor

    def _with_cliff(self, score: Tensor, wave: Tensor) -> Tensor:
        """Beyond an edge everything is bad."""
        beyond = (self.kind[:, 1:2] < 0.3) & (wave > _quantile(wave, 0.35 + 0.6 * self.level[:, 1:2]))
        bottom = _quantile(score, 0.3 * self.level[:, 5:6])
        return torch.where(beyond, bottom + 0.02 * (score - bottom), score)


def _quantile(values: Tensor, share: Tensor) -> Tensor:
    """Of the even points of each task.  (T, P), (T, 1) -> (T, 1)."""
    return values[:, :EVEN].sort(dim=1).values.gather(1, (share * EVEN).long().clamp(0, EVEN - 1))


class Cost:
    """Log costs: whole numbers are mostly sizes, some make runs cheaper, other numbers hardly matter.

    In a third of the tasks what scores well also takes longer, or what scores badly does (it does not converge).
    """

    def __init__(self, draw: Draw, kinds: Kinds, gates: Gates) -> None:
        self.gates = gates
        self.by_score = (0.5 * draw.normal() * (draw.uniform() < 0.35))[:, None]
        usual = draw.uniform(SLOTS)
        size = kinds.ratio * (1.3 * draw.uniform(SLOTS)) * torch.exp(0.4 * draw.normal(1))
        grows = torch.where(usual < 0.65, size, torch.where(usual < 0.78, -0.8 * size, 0.1 * draw.normal(SLOTS)))
        other = draw.normal(SLOTS) * torch.where(draw.uniform(SLOTS) < 0.25 + 0.15 * kinds.log, 1.4, 0.15)
        grows = torch.where(kinds.whole > 0, grows, other)
        flat = torch.where(draw.uniform() < 0.15, 0.1, 1.0)[:, None]
        self.grows = (grows * flat * kinds.exists).clamp(-5.0, 6.0)
        self.waves, self.rough = Waves(draw, kinds, 0.3), draw.log_uniform(0.02, 1.2)[:, None] * flat
        self.fixed = torch.where(draw.uniform() < 0.35, draw.log_uniform(0.02, 2.0), 1e-6)[:, None]

    def __call__(self, place: Tensor, score: Tensor) -> Tensor:
        place, even = self.gates(place), score[:, :EVEN]
        away = (score - even.mean(dim=1, keepdim=True)) / even.std(dim=1, keepdim=True).clamp_min(1e-6)
        straight = torch.einsum("tps,ts->tp", place - 0.5, self.grows) + self.by_score * away.clamp(-2.0, 2.0)
        return torch.log(torch.exp(straight + self.rough * self.waves(place)) + self.fixed)


class Failing:
    """Where runs fail: nowhere in most tasks, else in a region."""

    def __init__(self, draw: Draw, kinds: Kinds) -> None:
        self.waves = Waves(draw, kinds, 0.4)
        self.some, self.share = draw.uniform() < 0.12, draw.uniform()

    def __call__(self, place: Tensor) -> Tensor:
        wave = self.waves(place)
        return (self.some[:, None] & (wave > _quantile(wave, 0.4 + 0.55 * self.share[:, None]))).float()
