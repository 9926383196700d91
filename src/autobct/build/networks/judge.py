"""Evaluation of a map: simulated net utility of its policy against depth-2 lookahead, on common random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from autobct.belief.normal import expected_maximum, observed_sd, remaining, remaining_variance
from autobct.build.networks.game import Beliefs, Game, Value, incumbent, observe, q_values, run_prices
from autobct.build.networks.network_training import square_root
from autobct.build.networks.network_value import one_more_run
from autobct.value.lookahead.nodes import Rule, gauss_hermite, stratified

Policy = Callable[[Game, Beliefs, int], Tensor]
"""(game, beliefs, runs made) -> value of training at each control, (n, G)."""


@dataclass(frozen=True, slots=True, eq=False)
class WeightDraws:
    """Truths (n, J) of score and cost weights, and standard normals (2, n, runs)."""

    score: Tensor
    cost: Tensor
    noise: Tensor

    def rows(self, chosen: Tensor | slice) -> WeightDraws:
        """Some of the draws."""
        return WeightDraws(self.score[chosen], self.cost[chosen], self.noise[:, chosen])


@dataclass(frozen=True, slots=True, eq=False)
class PlayedDraws:
    """Per draw (n,): net utility, number of runs, whether the limit ended it."""

    net: Tensor
    runs: Tensor


def weight_draws(game: Game, prior: Beliefs, draws: int, runs: int, rng: torch.Generator) -> WeightDraws:
    """Truths from one prior (a batch of length one) and noise for up to `runs` runs."""
    device = game.device
    size = prior.score_mean.shape[1]
    normal = torch.randn(2, draws, size, generator=rng, device=device)
    score = prior.score_mean + normal[0] @ square_root(prior.score_cov)[0].T
    cost = prior.cost_mean + normal[1] @ square_root(prior.cost_cov)[0].T
    return WeightDraws(score, cost, torch.randn(2, draws, runs, generator=rng, device=device))


def positive_costs(game: Game, common: WeightDraws) -> Tensor:
    """Which draws have a positive true cost at every control (n,)."""
    return ((common.cost @ game.features.T) > 0).all(1)


@torch.no_grad()
def play(
    game: Game,
    prior: Beliefs,
    common: WeightDraws,
    policy: Policy,
    *,
    tolerance: float = 0.0,
    chunk: int = 2_048,
) -> PlayedDraws:
    """Play the policy on every draw from one prior until it stops or the numbers run out."""
    parts = [
        _play(game, prior, common.rows(slice(i, i + chunk)), policy, tolerance)
        for i in range(0, len(common.score), chunk)
    ]
    return PlayedDraws(torch.cat([p.net for p in parts]), torch.cat([p.runs for p in parts]))


def _play(game: Game, prior: Beliefs, common: WeightDraws, policy: Policy, tolerance: float) -> PlayedDraws:
    count, limit = common.noise.shape[1:]
    beliefs = prior.rows(torch.zeros(count, dtype=torch.long, device=game.device))
    net = torch.zeros(count, device=game.device)
    score = torch.zeros(count, device=game.device)
    runs = torch.zeros(count, dtype=torch.long, device=game.device)
    active = torch.arange(count, device=game.device)
    for run in range(limit):
        best = policy(game, beliefs, run).max(1)
        if run > 0:
            going = best.values > incumbent(game, beliefs) + tolerance
            active, beliefs, control = active[going], beliefs.rows(going), best.indices[going]
            if len(active) == 0:
                break
        else:
            control = best.indices
        phi = game.features[control]
        seen = (common.score[active] * phi).sum(-1) + beliefs.score_noise * common.noise[0, active, run]
        paid = (common.cost[active] * phi).sum(-1) + beliefs.cost_noise * common.noise[1, active, run]
        beliefs = observe(game, beliefs, control, seen, paid)
        charged = torch.exp(paid) if game.log_cost else paid.clamp(min=0)
        net[active] -= beliefs.price * charged
        returned = _returned(game, beliefs)
        score[active] = (common.score[active] * game.features[returned]).sum(-1)
        runs[active] = run + 1
    return PlayedDraws(net + score, runs)


def _returned(game: Game, beliefs: Beliefs) -> Tensor:
    believed = torch.gather(beliefs.score_mean @ game.features.T, 1, beliefs.kept.clamp(min=0))
    best = believed.masked_fill(beliefs.kept < 0, -torch.inf).argmax(1, keepdim=True)
    return torch.gather(beliefs.kept, 1, best)[:, 0]


def relaxed(value: Value) -> Policy:
    """One lookahead on the same continuation at every decision."""
    return lambda game, beliefs, runs: q_values(game, beliefs, value)


def shrinking(values: Sequence[Value]) -> Policy:
    """One lookahead on V_left with one run less left each time; when V_2 is used up, on one more run.

    values: V_2, V_3, ..  Foresight that shrinks cannot run away on an error that says "there is more to learn".  The
    first run, of which nothing is known but the prior, is chosen by two lookaheads: where least is known a map errs
    most, and after two runs more is known.
    """
    known = [one_more_run, *values]

    def policy(game: Game, beliefs: Beliefs, runs: int) -> Tensor:
        if runs == 0 and len(known) > 1:
            same = two_steps(game, beliefs.rows(slice(0, 1)), known[-2])
            return same.expand(len(beliefs), -1)
        return q_values(game, beliefs, known[max(len(known) - 1 - runs, 0)])

    return policy


def two_steps(game: Game, prior: Beliefs, value: Value) -> Tensor:
    """OTF(x, 2; value) of one belief with no model yet: the value of a run at each control.  (1, G)."""
    (z, z_weight), (w, w_weight) = _rule(stratified(12), game), _rule(_cost_rule(game, 4), game)
    finer = replace(game, cost_rule=_rule(_cost_rule(game, 3), game))
    size, count = len(game.features), len(z) * len(w)
    control = torch.arange(size, device=game.device).repeat_interleave(count)
    many = prior.rows(torch.zeros(size * count, dtype=torch.long, device=game.device))
    phi = game.features[control]

    def seen(mean: Tensor, cov: Tensor, noise: Tensor, surprise: Tensor) -> Tensor:
        step = observed_sd((phi @ cov[0] * phi).sum(-1).clamp(min=0), noise[0])
        return (mean * phi).sum(-1) + step * surprise

    score = seen(many.score_mean, prior.score_cov, prior.score_noise, z.repeat_interleave(len(w)).repeat(size))
    cost = seen(many.cost_mean, prior.cost_cov, prior.cost_noise, w.repeat(size * len(z)))
    after = observe(game, many, control, score, cost)
    going_on = torch.cat([q_values(finer, after.rows(part), value).amax(1) for part in _slices(len(after))])
    worth = torch.maximum(incumbent(game, after), going_on).reshape(size, len(z), len(w))
    cost_var = (game.features @ prior.cost_cov[0] * game.features).sum(-1).clamp(min=0)
    price = run_prices(game, prior.cost_mean @ game.features.T, cost_var, prior.cost_noise, prior.price)
    return (worth * z_weight[:, None] * w_weight).sum((-2, -1)) - price


def _cost_rule(game: Game, count: int) -> Rule:
    """As `foresight.steps_on_top`."""
    return gauss_hermite(3) if game.log_cost else stratified(count)


def _rule(rule: Rule, game: Game) -> tuple[Tensor, Tensor]:
    points, weights = (torch.as_tensor(part, dtype=torch.float32) for part in (rule.points, rule.weights))
    return points.to(game.device), weights.to(game.device)


def _slices(count: int, step: int = 512) -> list[slice]:
    return [slice(start, start + step) for start in range(0, count, step)]


def depth_two(game: Game, beliefs: Beliefs, runs: int = 0) -> Tensor:
    """Depth-2 lookahead on the fly: V_1 (last model) or R1 (recall) as the continuation, at every control.  (n, G)."""
    phi = game.features
    cov = phi @ beliefs.score_cov @ phi.T  # (n, G, G)
    score = beliefs.score_mean @ phi.T
    step = observed_sd(cov.diagonal(dim1=1, dim2=2).clamp(min=0), beliefs.score_noise[:, None])
    gain = cov / step[:, :, None]  # row g
    cost_cov = phi @ beliefs.cost_cov @ phi.T
    cost_var = cost_cov.diagonal(dim1=1, dim2=2).clamp(min=0)
    cost = beliefs.cost_mean @ phi.T
    cost_gain = cost_cov / observed_sd(cost_var, beliefs.cost_noise[:, None])[:, :, None]
    z, w = game.score_rule[0], game.cost_rule[0]
    later_cost = cost[:, None, None] + cost_gain[:, :, None] * w[:, None]
    later_var = remaining_variance(cost_var[:, None], cost_gain)[:, :, None]
    noise, price = beliefs.cost_noise, beliefs.price
    later_price = run_prices(game, later_cost, later_var, noise[:, None, None, None], price[:, None, None, None])
    stop, last = _after(game, beliefs, cov, score, gain, z)
    worth = torch.maximum(stop[..., None], (last[:, :, :, None] - later_price[:, :, None]).amax(-1))
    weights = game.score_rule[1][:, None] * game.cost_rule[1]
    return (worth * weights).sum((-2, -1)) - run_prices(game, cost, cost_var, noise[:, None], price[:, None])


def _after(game: Game, beliefs: Beliefs, cov: Tensor, score: Tensor, gain: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Reward of stopping (n, G, A) and gross value of one last run at l (n, G, A, G) after a run at g."""
    own = gain.diagonal(dim1=1, dim2=2)
    fresh = score[:, :, None] + own[:, :, None] * z  # (n, G, A)
    moved = score[:, None, None] + gain[:, :, None] * z[:, None]  # (n, G, A, l)
    if not game.recall:
        return fresh, moved
    known = beliefs.kept[:, : int((beliefs.kept >= 0).sum(1).max())]  # the best first: empty places come last
    index = known.clamp(min=0)  # (n, M)
    size, many = score.shape[1], index.shape[1]
    out = (known < 0)[:, None, None]
    pick = index[:, None].expand(-1, size, -1)
    kept_gain = torch.gather(gain, 2, pick)  # (n, g, M)
    kept = torch.gather(score, 1, index)[:, None, None] + kept_gain[:, :, None] * z[:, None]  # (n, g, A, M)
    kept = kept.masked_fill(out, -1e9)
    stop = torch.maximum(fresh, kept.amax(-1)) if many else fresh
    # slopes of the returnable models in the surprise of the last run at l: C'(i, l) / s_l
    var = remaining_variance(cov.diagonal(dim1=1, dim2=2)[:, None], gain)  # (n, g, l)
    step = observed_sd(var, beliefs.score_noise[:, None, None])
    kept_cov = torch.gather(cov, 1, index[:, :, None].expand(-1, -1, size))  # (n, M, l)
    cross = remaining(kept_cov[:, None], kept_gain[..., None], gain[:, :, None])  # (n, g, M, l)
    trained = remaining(cov, own[:, :, None], gain)  # (n, g, l)
    slopes = torch.cat([cross, trained[:, :, None], var[:, :, None]], 2) / step[:, :, None]  # (n, g, M + 2, l)
    lines = torch.cat(
        [
            kept[..., None].expand(-1, -1, -1, many, size),
            fresh[:, :, :, None, None].expand(-1, -1, -1, 1, size),
            moved[:, :, :, None],
        ],
        3,
    )  # (n, g, A, M + 2, l)
    return stop, expected_maximum(lines.movedim(3, -1), slopes[:, :, None].movedim(3, -1))
