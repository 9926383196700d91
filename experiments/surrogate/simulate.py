"""Simulated tuning tasks: smooth, hilly and straight surfaces, with floors, cliffs, ceilings, failures and tails.

Everything is drawn in batches on one device.  The proportions are a choice; whether it is a good one is measured on
families of real tasks that were left out (docs/decisions/surrogate.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from pool import EVEN, NEAR, POINTS, ROUNDS, RUNS, SLOTS, Pool, yardsticks
from torch import Tensor

FEATURES = 64
_MOST = 12  # parameters
_STEPS = (0.03, 0.08, 0.2, 0.4)
_GUESSED = 0.5  # of the tasks begin with a guess


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


def simulated(tasks: int, device: torch.device | str, rng: torch.Generator) -> Pool:
    """So many tasks, each with the runs that a tuner made who looks at random places and around its best."""
    draw = Draw(tasks, torch.device(device), rng)
    kinds = kinds_of(draw)
    surface, cost, failing = Surface(draw, kinds), Cost(draw, kinds), Failing(draw, kinds)
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
    score, log_cost = surface(place), cost(place)
    order, rounds = _sequence(lists, ends)
    scale, c50 = yardsticks(score, log_cost, EVEN)
    width = scale * torch.exp(5.0 * draw.uniform() ** 1.3)
    high = score.max(dim=1).values + (width - scale) * draw.uniform() ** 2
    facts = torch.stack([kinds.exists, kinds.whole, kinds.category, kinds.log, kinds.ratio / 6.0], dim=-1)
    shown = torch.where(kinds.category[:, None] > 0, place, 2.0 * place - 1.0) * kinds.exists[:, None]
    return Pool(
        place=shown.half(),
        facts=facts.half(),
        grows=cost.grows.half(),
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
    """What a run shows besides the true score: more of it where scores are high or low, and now and then a mishap."""

    def __init__(self, draw: Draw) -> None:
        self.size = (draw.log_uniform(0.003, 0.6) * (draw.uniform() < 0.7))[:, None]
        self.tilt = (0.6 * draw.normal() * (draw.uniform() < 0.5))[:, None]
        self.normals = draw.normal(POINTS)
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
    """1 to 12 parameters, each a number or a category of 2 to 5 choices, in slots of a random order."""
    device = draw.device
    count = 1 + (draw.uniform() ** 1.2 * _MOST).long().clamp_max(_MOST - 1)
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


class Waves:
    """Draws of smooth functions with a length of its own for every coordinate: random features of a Matern kernel."""

    def __init__(self, draw: Draw, kinds: Kinds, shortest: float = 0.15) -> None:
        lengths = draw.log_uniform(shortest, 5.0, SLOTS)
        lengths = torch.where(kinds.category > 0, 2.0 * lengths, lengths)
        tails = torch.rand(draw.tasks, FEATURES, 1, device=draw.device, generator=draw.rng).clamp_min(0.02)
        normal = draw.normal(FEATURES, SLOTS) / tails.sqrt()
        self.weights = normal / lengths[:, None] * kinds.exists[:, None]
        self.shift = 2.0 * math.pi * draw.uniform(FEATURES)
        self.heights = draw.normal(FEATURES) * math.sqrt(2.0 / FEATURES)

    def __call__(self, place: Tensor) -> Tensor:
        waves = torch.cos(torch.einsum("tps,tfs->tpf", place, self.weights) + self.shift[:, None])
        return torch.einsum("tpf,tf->tp", waves, self.heights)


class Surface:
    """True scores."""

    def __init__(self, draw: Draw, kinds: Kinds) -> None:
        self.draw, self.kinds = draw, kinds
        shares = draw.dirichlet(5)
        self.shares = shares.sqrt()
        relevance = torch.exp(1.2 * draw.normal(SLOTS)) * kinds.exists
        self.relevance = relevance / relevance.sum(dim=1, keepdim=True)
        self.waves, self.cliff = Waves(draw, kinds), Waves(draw, kinds, 0.5)
        self.top = (0.5 + 0.28 * draw.normal(SLOTS)).clamp(-0.2, 1.2)
        self.along, self.ridge = draw.normal(SLOTS), draw.uniform() * (draw.uniform() < 0.4)
        self.slope = draw.normal(SLOTS) * kinds.exists + 0.5 * kinds.whole * draw.uniform()[:, None]
        self.bend = draw.log_uniform(1.0, 12.0, SLOTS)
        self.peak, self.side = draw.uniform(SLOTS), draw.log_uniform(0.3, 20.0, SLOTS)
        self.side2 = draw.log_uniform(2.0, 60.0, SLOTS)
        self.seed = draw.normal(POINTS)
        self.rough = draw.log_uniform(0.003, 0.2)
        self.level = draw.uniform(6)
        self.kind = draw.uniform(6)

    def latent(self, place: Tensor) -> Tensor:
        """Before floors, cliffs and ceilings, with unit variance about.  (T, P)."""
        weight = self.relevance[:, None]
        off = weight.sqrt() * (place - self.top[:, None])
        ridge = self.ridge[:, None]  # where what is too much of one parameter can be made up for by another
        hill = -8.0 * ((1.0 - ridge) * (off**2).sum(dim=-1) + ridge * (self.along[:, None] * off).sum(dim=-1) ** 2)
        straight = (self.slope[:, None] * weight.sqrt() * place).sum(dim=-1) * 2.0
        saturating = (weight * (1.0 - torch.exp(-self.bend[:, None] * place))).sum(dim=-1) * 4.0
        away = place - self.peak[:, None]
        left, right = -self.side[:, None] * away.clamp_max(0.0) ** 2, -self.side2[:, None] * away.clamp_min(0.0) ** 2
        lopsided = (weight * torch.where(away > 0, torch.exp(right), torch.exp(left))).sum(dim=-1) * 4.0
        parts = torch.stack([self.waves(place), hill, straight, saturating, lopsided], dim=-1)
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
        """A fifth of the surfaces saturate at both ends, a quarter at a ceiling, sharply or softly."""
        kind, level, sharp = self.kind[:, 2:3], self.level[:, 2:3], torch.exp(4.0 * self.level[:, 3:4])
        both = 4.0 * torch.sigmoid(0.1 * sharp * (score - 2.0 * level + 0.5))
        ceiling = -torch.nn.functional.softplus(sharp * (2.5 * level - 0.5 - score)) / sharp
        return torch.where(kind < 0.2, both, torch.where(kind < 0.45, ceiling, score))

    def _with_tail(self, score: Tensor) -> Tensor:
        """Scores that are errors on a logarithm: far more is lost at the bottom than won at the top."""
        tail = 0.3 + 1.5 * self.level[:, 4:5]
        return torch.where(self.kind[:, 3:4] < 0.3, -torch.exp((-tail * score).clamp_max(8.0)) / tail, score)

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
    """Log costs: whole numbers are mostly sizes, some make runs cheaper, other numbers hardly matter."""

    def __init__(self, draw: Draw, kinds: Kinds) -> None:
        usual = draw.uniform(SLOTS)
        size = kinds.ratio * (1.3 * draw.uniform(SLOTS)) * torch.exp(0.4 * draw.normal(1))
        grows = torch.where(usual < 0.65, size, torch.where(usual < 0.78, -0.8 * size, 0.1 * draw.normal(SLOTS)))
        other = draw.normal(SLOTS) * torch.where(draw.uniform(SLOTS) < 0.25 + 0.15 * kinds.log, 1.4, 0.15)
        grows = torch.where(kinds.whole > 0, grows, other)
        flat = torch.where(draw.uniform() < 0.15, 0.1, 1.0)[:, None]
        self.grows = (grows * flat * kinds.exists).clamp(-5.0, 6.0)
        self.waves, self.rough = Waves(draw, kinds, 0.3), draw.log_uniform(0.02, 1.2)[:, None] * flat
        self.fixed = torch.where(draw.uniform() < 0.35, draw.log_uniform(0.02, 2.0), 1e-6)[:, None]

    def __call__(self, place: Tensor) -> Tensor:
        straight = torch.einsum("tps,ts->tp", place - 0.5, self.grows)
        return torch.log(torch.exp(straight + self.rough * self.waves(place)) + self.fixed)


class Failing:
    """Where runs fail: nowhere in most tasks, else in a region."""

    def __init__(self, draw: Draw, kinds: Kinds) -> None:
        self.waves = Waves(draw, kinds, 0.4)
        self.some, self.share = draw.uniform() < 0.12, draw.uniform()

    def __call__(self, place: Tensor) -> Tensor:
        wave = self.waves(place)
        return (self.some[:, None] & (wave > _quantile(wave, 0.4 + 0.55 * self.share[:, None]))).float()
