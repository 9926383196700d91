"""Simulated tunings in torch, for many beliefs at once: what value maps are built and evaluated with, on CPU or GPU.

Beliefs are kept in weight space, where they are smallest; the lookahead works on them exactly as
`autobct.value.lookahead.one_step` does, with the same symbols.  n: beliefs, G: controls, R: reference controls, A and
B: score and cost nodes, M: models trained so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from autobct.belief.arrays import Array
from autobct.belief.basis import Basis
from autobct.belief.normal import loss, observed_sd, posterior, remaining, remaining_variance
from autobct.build.layout import symmetry
from autobct.tuning.problem import OVERHEAD
from autobct.value.lookahead.nodes import Rule, stratified
from autobct.value.maps.map_inputs import reach_of
from autobct.value.simulate import KEPT


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """What is the same for all beliefs.

    features:    (G, J) basis at the controls;  references: (R,) indices of the reference controls among them
    neighbours:  (2, E) pairs of neighbouring references, whose correlation a map looks at
    mirrors:     (p, J) parities of the basis in each coordinate
    """

    features: Tensor
    references: Tensor
    neighbours: Tensor
    mirrors: Tensor
    log_cost: bool
    recall: bool
    overhead: float
    score_rule: tuple[Tensor, Tensor]
    cost_rule: tuple[Tensor, Tensor]

    @property
    def device(self) -> torch.device:
        """Where all tensors live."""
        return self.features.device


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """n beliefs and the terms each is played under.

    score_mean (n, J), score_cov (n, J, J), cost_mean, cost_cov;  price, score_noise, cost_noise (n,);
    kept (n, M) controls whose models may be returned, -1 for none
    """

    score_mean: Tensor
    score_cov: Tensor
    cost_mean: Tensor
    cost_cov: Tensor
    price: Tensor
    score_noise: Tensor
    cost_noise: Tensor
    kept: Tensor

    def __len__(self) -> int:
        return len(self.score_mean)

    def rows(self, chosen: Tensor | slice) -> Beliefs:
        """Some of the beliefs."""
        return Beliefs(*(getattr(self, name)[chosen] for name in self.__slots__))


def parities(basis: Basis) -> Array:
    """How each basis function answers to u_i -> 1 - u_i: +1 or -1.  (p, J).  The mirror law of the value function."""
    places = np.arange(basis.dim)
    return np.array([symmetry(basis, places == axis, places).diagonal() for axis in places])


def make_game(
    basis: Basis,
    controls: Array,
    references: Array,
    neighbours: Array,
    *,
    log_cost: bool,
    recall: bool,
    overhead: float = OVERHEAD,
    score_nodes: int = 8,
    cost_nodes: int = 3,
    device: str = "cpu",
) -> Game:
    """A game on these controls (G, p), of which `references` (R,) are indices."""

    def tensor(values: object, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.as_tensor(np.asarray(values), dtype=dtype, device=device)

    def rule(made: Rule) -> tuple[Tensor, Tensor]:
        return tensor(made.points), tensor(made.weights)

    return Game(
        features=tensor(basis(controls)),
        references=tensor(references, torch.long),
        neighbours=tensor(neighbours, torch.long),
        mirrors=tensor(parities(basis)),
        log_cost=log_cost,
        recall=recall,
        overhead=overhead,
        score_rule=rule(stratified(score_nodes)),
        cost_rule=rule(stratified(cost_nodes)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class BatchedInputs:
    """The states a run at each control may lead to, as a map sees them.  Axes (n, G, A or 1, B or 1, ...).

    mean (n, G, A, 1, R), price (n, G, 1, B, R): posterior mean score and price of a run at the references
    sd, link (n, G, 1, 1, R / E): standard deviations and neighbours' covariances of the score, outcome-free
    cost_sd (n, G, 1, 1, R); score_noise, cost_noise (n, 1, 1, 1)
    stop (n, G, A, 1): reward of stopping
    reach (n, G, A, 1, R): standard deviation of how far a run at a reference moves its score away from the best model
    (the incumbent), which moves with it: their improvement.  Of how far it moves at all, without one
    """

    mean: Tensor
    price: Tensor
    sd: Tensor
    link: Tensor
    cost_sd: Tensor
    score_noise: Tensor
    cost_noise: Tensor
    unit_price: Tensor
    stop: Tensor
    reach: Tensor


Value = Callable[[Game, BatchedInputs], Tensor]
"""Value of going on from each state of an outlook: (n, G, A, B)."""


def run_prices(game: Game, mean: Tensor, var: Tensor, noise: Tensor, price: Tensor) -> Tensor:
    """Expected price of a run: price x (Upsilon or log-normal mean) + overhead."""
    sd = observed_sd(var, noise)
    if game.log_cost:
        expected = torch.exp((mean + sd * sd / 2).clamp(max=30.0))
    else:
        expected = sd * loss(mean / sd)
    return price * expected + game.overhead


def look_ahead(game: Game, beliefs: Beliefs) -> tuple[BatchedInputs, Tensor]:
    """All successors of every belief, and the price (n, G) of the run that leads to them."""
    phi, ref = game.features, game.references
    phi_r = phi[ref]
    spread = beliefs.score_cov @ phi.T  # (n, J, G)
    var = (phi.T * spread).sum(1).clamp(min=0)  # (n, G)
    step = observed_sd(var, beliefs.score_noise[:, None])
    gain = ((phi_r @ spread) / step[:, None]).transpose(1, 2)  # (n, G, R)
    score = beliefs.score_mean @ phi.T
    left, right = game.neighbours
    link = ((phi_r[left] @ beliefs.score_cov) * phi_r[right]).sum(-1)  # (n, E)
    cost_spread = beliefs.cost_cov @ phi.T
    cost_var = (phi.T * cost_spread).sum(1).clamp(min=0)
    cost_step = observed_sd(cost_var, beliefs.cost_noise[:, None])
    cost_gain = ((phi_r @ cost_spread) / cost_step[:, None]).transpose(1, 2)
    cost = beliefs.cost_mean @ phi.T
    z, w = game.score_rule[0], game.cost_rule[0]
    price, noise = beliefs.price, beliefs.cost_noise
    later_var = remaining_variance(cost_var[:, None, ref], cost_gain)
    later_cost = cost[:, None, None, ref] + cost_gain[:, :, None] * w[:, None]  # (n, G, B, R)
    score_var = remaining_variance(var[:, None, ref], gain)  # (n, G, R)
    stop, held = _incumbent_after(game, beliefs, spread, step, gain)
    view = BatchedInputs(
        mean=(score[:, None, None, ref] + gain[:, :, None] * z[:, None])[:, :, :, None],
        price=run_prices(
            game, later_cost, later_var[:, :, None], noise[:, None, None, None], price[:, None, None, None]
        )[:, :, None],
        sd=score_var.sqrt()[:, :, None, None],
        link=remaining(link[:, None], gain[..., left], gain[..., right])[:, :, None, None],
        cost_sd=later_var.sqrt()[:, :, None, None],
        score_noise=beliefs.score_noise[:, None, None, None],
        cost_noise=noise[:, None, None, None],
        unit_price=price[:, None, None, None],
        stop=stop[..., None],
        reach=reach_of(score_var[:, :, None], held, beliefs.score_noise[:, None, None, None])[:, :, :, None],
    )
    return view, run_prices(game, cost, cost_var, noise[:, None], price[:, None])


def _incumbent_after(game: Game, beliefs: Beliefs, spread: Tensor, step: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
    """After a run at each control: the score of the incumbent, its own or an earlier one, (n, G, A);
    and the covariance of that score with the scores at the references, (n, G, A or 1, R).

    spread (n, J, G): covariance of weights and scores;  step (n, G): sd of an observation;  gain (n, G, R)
    """
    z, phi = game.score_rule[0], game.features
    score, own = beliefs.score_mean @ phi.T, (phi.T * spread).sum(1).clamp(min=0) / step
    fresh = score[:, :, None] + own[:, :, None] * z
    fresh_cov = remaining((phi[game.references] @ spread).transpose(1, 2), own[:, :, None], gain)  # (n, G, R)
    if not game.recall or beliefs.kept.shape[1] == 0:
        return fresh, fresh_cov[:, :, None]
    index = beliefs.kept.clamp(min=0)  # (n, M)
    kept = phi[index]  # (n, M, J)
    kept_gain = ((kept @ spread) / step[:, None]).transpose(1, 2)  # (n, G, M)
    moved = torch.gather(score, 1, index)[:, None, :, None] + kept_gain[..., None] * z  # (n, G, M, A)
    moved = moved.masked_fill((beliefs.kept < 0)[:, None, :, None], -torch.inf)
    before = (kept @ beliefs.score_cov @ phi[game.references].T)[:, None]
    kept_cov = remaining(before, kept_gain[..., None], gain[:, :, None])
    best = torch.cat([fresh[:, :, None], moved], 2).max(2)
    held = torch.cat([fresh_cov[:, :, None], kept_cov], 2)  # (n, G, M + 1, R)
    return best.values, torch.gather(held, 2, best.indices[..., None].expand(*best.indices.shape, held.shape[-1]))


def q_values(game: Game, beliefs: Beliefs, value: Value) -> Tensor:
    """Lambda: the value of a run at each control, given the value of going on.  (n, G)."""
    view, price = look_ahead(game, beliefs)
    worth = torch.maximum(view.stop, value(game, view))
    weights = game.score_rule[1][:, None] * game.cost_rule[1]
    return (worth * weights).sum((-2, -1)) - price


def incumbent(game: Game, beliefs: Beliefs) -> Tensor:
    """The reward of stopping now; -inf without a model.  (n,)."""
    if beliefs.kept.shape[1] == 0:
        return torch.full((len(beliefs),), -torch.inf, device=game.device)
    score = beliefs.score_mean @ game.features.T
    kept = torch.gather(score, 1, beliefs.kept.clamp(min=0)).masked_fill(beliefs.kept < 0, -torch.inf)
    return kept.amax(1)


def observe(game: Game, beliefs: Beliefs, control: Tensor, score: Tensor, cost: Tensor) -> Beliefs:
    """The beliefs after one run each.  control (n,) index;  score, cost (n,) as the filter sees them."""
    phi = game.features[control]
    score_mean, score_cov = posterior(beliefs.score_mean, beliefs.score_cov, phi, beliefs.score_noise, score)
    cost_mean, cost_cov = posterior(beliefs.cost_mean, beliefs.cost_cov, phi, beliefs.cost_noise, cost)
    moved = replace(beliefs, score_mean=score_mean, score_cov=score_cov, cost_mean=cost_mean, cost_cov=cost_cov)
    return replace(moved, kept=_kept(game, moved, control))


def _kept(game: Game, beliefs: Beliefs, control: Tensor) -> Tensor:
    """The last model; with recall the best few by posterior mean, without repeats."""
    if not game.recall:
        return control[:, None]
    known = torch.where(beliefs.kept == control[:, None], -1, beliefs.kept)
    all_kept = torch.cat([control[:, None], known], 1)
    score = torch.gather(beliefs.score_mean @ game.features.T, 1, all_kept.clamp(min=0))
    order = score.masked_fill(all_kept < 0, -torch.inf).argsort(1, descending=True)
    return torch.gather(all_kept, 1, order)[:, :KEPT]
