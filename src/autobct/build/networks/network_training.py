"""Fitted value iteration over states that the policy itself reaches: networks for V_2, V_3, .. on CPU or GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from autobct.belief.prior import Prior
from autobct.build.networks.game import Beliefs, Game, Value, observe, q_values, run_prices
from autobct.build.networks.network_value import NetworkValue, as_value, descend, inputs_of, one_more_run, root
from autobct.value.simulate import KEPT


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How much work a build is.

    states:  particles whose states are fitted;  steps: of gradient descent per value function
    runs:    value functions after V_1;  longest: runs before a particle starts afresh
    wander:  share of runs at a random control, so that states off the policy are seen too
    """

    states: int = 65_536
    steps: int = 600
    batch: int = 8_192
    runs: int = 8
    rounds: int = 3
    longest: int = 10
    wander: float = 0.25
    hidden: int = 64
    rate: float = 2e-3
    chunk: int = 4_096
    seed: int = 0


def stack_priors(priors: Sequence[Prior], game: Game, *, price: float = 0.16) -> Beliefs:
    """Priors as a batch, no model yet; noise must be constant."""

    def tensor(values: object) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=torch.float32, device=game.device)

    count = len(priors)
    return Beliefs(
        score_mean=tensor([p.belief.score.mean for p in priors]),
        score_cov=tensor([p.belief.score.cov for p in priors]),
        cost_mean=tensor([p.belief.cost.mean for p in priors]),
        cost_cov=tensor([p.belief.cost.cov for p in priors]),
        price=torch.full((count,), price, device=game.device),
        score_noise=tensor([p.model.score_noise for p in priors]),
        cost_noise=tensor([p.model.cost_noise for p in priors]),
        kept=torch.full((count, KEPT if game.recall else 1), -1, device=game.device),
    )


def scattered(anchors: Beliefs, count: int, rng: torch.Generator, game: Game) -> Beliefs:
    """Priors around the anchors: means, spreads, price and noise varied, half of them mirrored in each coordinate.

    A fifth keep the anchors' means and spreads.  The spread of log costs is varied less: its exponential counts.
    """
    device, mirrors = game.device, game.mirrors

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=rng, device=device)

    def uniform(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, generator=rng, device=device)

    pick = torch.randint(len(anchors), (count,), generator=rng, device=device)
    base = anchors.rows(pick)
    size = base.score_mean.shape[1]
    vary = (torch.rand(count, generator=rng, device=device) < 0.8).float()[:, None]
    shrink = torch.where(torch.rand(count, generator=rng, device=device) < 0.2, uniform(0.0, 1.0) ** 2, 1.0)
    widen = torch.exp(0.5 * vary * normal(count, 1) + 0.3 * vary * normal(count, size))
    apart = 0.5 if game.log_cost else 1.0
    widen_cost = torch.exp(apart * vary * (0.5 * normal(count, 1) + 0.3 * normal(count, size)))
    score_sd = base.score_cov.diagonal(dim1=1, dim2=2).sqrt()
    cost_sd = base.cost_cov.diagonal(dim1=1, dim2=2).sqrt()
    flips = torch.rand(count, len(mirrors), 1, generator=rng, device=device) < 0.5
    sign = torch.where(flips, mirrors, 1.0).prod(1)  # (n, J)
    widen, widen_cost = widen * sign, widen_cost * sign
    return replace(
        base,
        score_mean=sign * (base.score_mean + 0.5 * vary * score_sd * normal(count, size)),
        score_cov=base.score_cov * widen[:, :, None] * widen[:, None] * shrink[:, None, None],
        cost_mean=sign * (base.cost_mean + 0.5 * vary * cost_sd * normal(count, size)),
        cost_cov=base.cost_cov * widen_cost[:, :, None] * widen_cost[:, None] * shrink[:, None, None],
        price=torch.exp(uniform(np.log(0.004), np.log(1.0))),
        score_noise=base.score_cov[:, 0, 0].sqrt().clamp(min=0.1) * torch.exp(uniform(np.log(0.03), np.log(0.25))),
        cost_noise=torch.exp(uniform(np.log(0.05), np.log(0.2))),
    )


class Particles:
    """Beliefs that live: each draws a truth from its prior, is played by the policy, and starts afresh in time."""

    def __init__(self, game: Game, anchors: Beliefs, settings: TrainingSettings, rng: torch.Generator) -> None:
        self.game, self.anchors, self.settings, self.rng = game, anchors, settings, rng
        self.beliefs = scattered(anchors, settings.states, rng, game)
        self.truth = self._truths(self.beliefs)
        self.left = self._lives(settings.states)

    @classmethod
    def aged(cls, game: Game, anchors: Beliefs, settings: TrainingSettings, rng: torch.Generator) -> Particles:
        """Particles in all stages of life, brought there by optimists: cheap, and seldom twice at one control.

        An optimist runs where price and score, at k standard deviations better than their means, are best; k in (0, 2).
        """
        self = cls(game, anchors, settings, rng)
        for _ in range(settings.longest - 1):
            hope = 2.0 * torch.rand(settings.states, 1, generator=rng, device=game.device)
            self.advance(self.wandering(optimistic(game, self.beliefs, hope)))
        return self

    def _lives(self, count: int) -> Tensor:
        return torch.randint(1, self.settings.longest + 1, (count,), generator=self.rng, device=self.game.device)

    def _truths(self, beliefs: Beliefs) -> tuple[Tensor, Tensor]:
        return tuple(  # type: ignore[return-value]
            mean + (square_root(cov) @ torch.randn(*mean.shape, 1, generator=self.rng, device=mean.device))[..., 0]
            for mean, cov in ((beliefs.score_mean, beliefs.score_cov), (beliefs.cost_mean, beliefs.cost_cov))
        )

    def advance(self, control: Tensor) -> None:
        """One run each, at these controls; then those at the end of their life are replaced by new ones."""
        game, rng = self.game, self.rng
        phi = game.features[control]
        noise = torch.randn(2, len(control), generator=rng, device=game.device)
        score = (self.truth[0] * phi).sum(-1) + self.beliefs.score_noise * noise[0]
        cost = (self.truth[1] * phi).sum(-1) + self.beliefs.cost_noise * noise[1]
        self.beliefs = observe(game, self.beliefs, control, score, cost)
        self.left = self.left - 1
        dead = self.left <= 0
        fresh = scattered(self.anchors, int(dead.sum()), rng, game)
        truth = self._truths(fresh)
        for name in Beliefs.__slots__:
            getattr(self.beliefs, name)[dead] = getattr(fresh, name)
        self.truth[0][dead], self.truth[1][dead] = truth
        self.left[dead] = self._lives(len(fresh))

    def wandering(self, control: Tensor) -> Tensor:
        """The policy's controls, a share of them replaced by random ones."""
        size = len(self.game.features)
        random = torch.randint(size, control.shape, generator=self.rng, device=control.device)
        stray = torch.rand(control.shape, generator=self.rng, device=control.device) < self.settings.wander
        return torch.where(stray, random, control)


@torch.no_grad()
def optimistic(game: Game, beliefs: Beliefs, hope: Tensor) -> Tensor:
    """The control with the best mean + hope x sd - price.  hope (n, 1);  (n,)."""
    phi = game.features
    var = (phi.T * (beliefs.score_cov @ phi.T)).sum(1).clamp(min=0)
    cost_var = (phi.T * (beliefs.cost_cov @ phi.T)).sum(1).clamp(min=0)
    price = run_prices(game, beliefs.cost_mean @ phi.T, cost_var, beliefs.cost_noise[:, None], beliefs.price[:, None])
    return (beliefs.score_mean @ phi.T + hope * var.sqrt() - price).argmax(1)


def square_root(cov: Tensor) -> Tensor:
    """Lower-triangular L with L L' = cov (n, J, J), exact for singular ones: a zero pivot gives a zero column."""
    rest = cov.double().clone()
    root = torch.zeros_like(rest)
    tiny = 1e-12 * rest.diagonal(dim1=1, dim2=2).amax(1).clamp(min=1e-30)
    for j in range(cov.shape[-1]):
        pivot = rest[:, j, j]
        scale = torch.where(pivot > tiny, pivot.clamp(min=1e-30).rsqrt(), 0.0)
        column = rest[:, :, j] * scale[:, None]
        column[:, :j] = 0.0
        root[:, :, j] = column
        rest = rest - column[:, :, None] * column[:, None, :]
    return root.float()


Cut = Callable[[Callable[[Beliefs], tuple[Tensor, Tensor]], Iterable[Beliefs]], Iterable[tuple[Tensor, Tensor]]]
"""(function of beliefs, chunks of them) -> its value at each chunk, in order: `map`, or `build.on_ray`."""


def best_values(game: Game, beliefs: Beliefs, value: Value, chunk: int, cut: Cut = map) -> tuple[Tensor, Tensor]:
    """T value at every belief, and the control that attains it: (n,), (n,)."""
    step = partial(_best_of, game=game, value=value, threads=torch.get_num_threads())
    parts = [*cut(step, (beliefs.rows(slice(i, i + chunk)) for i in range(0, len(beliefs), chunk)))]
    return torch.cat([best for best, _ in parts]), torch.cat([control for _, control in parts])


@torch.no_grad()
def _best_of(part: Beliefs, *, game: Game, value: Value, threads: int) -> tuple[Tensor, Tensor]:
    if torch.get_num_threads() != threads:  # in another process: sums are split among threads
        torch.set_num_threads(threads)
    best = q_values(game, part, value).max(1)
    return best.values, best.indices


def fit(
    game: Game,
    network: NetworkValue,
    beliefs: Beliefs,
    values: Tensor,
    settings: TrainingSettings,
    rng: torch.Generator,
) -> float:
    """Gradient descent on the addition over one more run, in units of lambda; its final root mean squared error."""
    with torch.no_grad():
        view = root(game, beliefs)
        last, scale, inputs = inputs_of(view, log_cost=game.log_cost, recall=game.recall)
        target = ((values - last) / scale).clamp(0.0, 4.0)
        expensive = (
            view.price.amin(-1)[:, 0, 0, 0] / scale
        )  # where every run is expensive nothing is decided: count it less
        weight = 1.0 / (1.0 + expensive.square())
    return descend(
        network,
        inputs,
        target,
        weight,
        steps=settings.steps,
        batch=settings.batch,
        rate=settings.rate,
        rng=rng,
    )


def train(
    game: Game,
    anchors: Beliefs,
    settings: TrainingSettings,
    *,
    progress: Callable[[str], None] = print,
) -> list[NetworkValue]:
    """Networks for V_2 .. V_{runs + 1}."""
    found: list[NetworkValue] = []
    for _ in range(settings.runs):
        found.append(next_value(game, anchors, settings, found, progress=progress))
    return found


def next_value(
    game: Game,
    anchors: Beliefs,
    settings: TrainingSettings,
    found: Sequence[NetworkValue],
    *,
    progress: Callable[[str], None] = print,
    cut: Cut = map,
) -> NetworkValue:
    """The network after those found so far, V_2 first: a function of them and of (settings.seed, their number).

    So a build that is taken up again after V_k goes on as if it had never stopped.
    """
    started = time.perf_counter()
    seed = derived_seed(settings.seed, len(found))
    rng = torch.Generator(device=game.device).manual_seed(seed)
    value: Value = as_value(found[-1]) if found else one_more_run  # type: ignore[assignment]
    beliefs, worth = _states(Particles.aged(game, anchors, settings, rng), value, cut)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = empty_network(game, settings.hidden)
    if found:
        network.load_state_dict(found[-1].state_dict())
    error = fit(game, network, beliefs, worth, settings, rng)
    shorten(network)
    progress(f"V_{len(found) + 2}: error {error:.4f} of the score scale, {time.perf_counter() - started:.1f} s")
    return network


def empty_network(game: Game, hidden: int) -> NetworkValue:
    """An untrained network for the game: nothing added to one more run."""
    size, pairs = len(game.references), game.neighbours.shape[1]
    return NetworkValue(size, pairs, hidden, recall=game.recall).to(game.device)


@torch.no_grad()
def shorten(network: NetworkValue) -> None:
    """Round all weights to float16: half the file, and what is judged is what is written."""
    for weights in network.parameters():
        weights.copy_(weights.half().float())


def derived_seed(seed: int, index: int) -> int:
    """A seed of its own for each value function of a build."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1, np.uint64)[0] >> 1)


def _states(particles: Particles, value: Value, cut: Cut) -> tuple[Beliefs, Tensor]:
    """What the particles go through in `rounds` runs under the policy of `value`, and T value there."""
    settings, seen, worth = particles.settings, [], []
    for _ in range(settings.rounds):
        best, control = best_values(particles.game, particles.beliefs, value, settings.chunk, cut)
        seen.append(Beliefs(*(getattr(particles.beliefs, name).clone() for name in Beliefs.__slots__)))
        worth.append(best)
        particles.advance(particles.wandering(control))
    return Beliefs(*(torch.cat([getattr(s, name) for s in seen]) for name in Beliefs.__slots__)), torch.cat(worth)
