"""A finished map in torch: its networks, and its comparison with depth-2 lookahead, on CPU or GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from autobct.belief.arrays import Array
from autobct.belief.cost import LOG_LINEAR
from autobct.belief.prior import Prior
from autobct.build.forests.iteration import references_first
from autobct.build.layout import training_controls
from autobct.build.map_worth import Advance, Duel, joined
from autobct.build.networks import judge
from autobct.build.networks.game import Beliefs, Game, Value, make_game
from autobct.build.networks.network_training import stack_priors
from autobct.build.networks.network_value import NetworkValue, as_value
from autobct.value.bounds.simple_bounds import CAP
from autobct.value.maps.map_spec import BASES, MapSpec
from autobct.value.maps.value_map import CAUTION, Perceptron, ValueMap

_CHUNK = {("cuda", 1): 8192, ("cuda", 2): 1024, ("cpu", 1): 256, ("cpu", 2): 64}
"""Draws played at a time: bounds the memory, changes nothing else."""


def check_device(device: str) -> None:
    """ValueError unless torch can compute there."""
    if device not in ("cpu", "cuda"):
        raise ValueError(f"device must be cpu or cuda, got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device cuda was asked for, but torch finds none here; use cpu")


def game_of(spec: MapSpec, controls: Array, *, device: str, score_nodes: int = 8, cost_nodes: int = 3) -> Game:
    """The game a map is for, among these controls (G, p); the references come first."""
    return make_game(
        BASES[spec.basis],
        references_first(spec.references, controls),
        np.arange(len(spec.references)),  # type: ignore[arg-type]
        spec.neighbours,  # type: ignore[arg-type]
        log_cost=spec.cost_model == LOG_LINEAR.name,
        recall=spec.recall,
        overhead=spec.overhead,
        score_nodes=score_nodes,
        cost_nodes=cost_nodes,
        device=device,
    )


def network_value(network: Perceptron, spec: MapSpec, device: str) -> NetworkValue:
    """A network of a map as it was in training: the inverse of `autobct.value.maps.value_map.network_of`."""
    first, second, out = network.weights
    module = NetworkValue(len(spec.references), spec.neighbours.shape[1], first.shape[1], recall=spec.recall)
    names = ("reach", "mean", "price", "fixed", "joint")
    parts = np.split(first, np.cumsum([len(getattr(module, name)) for name in names])[:-1])
    arrays = dict(zip(names, parts, strict=True))
    arrays |= {"second.weight": second.T, "out.weight": out.T}
    arrays |= dict(zip(("bias", "second.bias", "out.bias"), network.biases, strict=True))
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
    return module.to(device)


def values_of(value_map: ValueMap, device: str) -> list[Value]:
    """V_2, V_3, ..  as continuations, with the caution of a decision."""
    spec = value_map.spec
    return [as_value(network_value(one, spec, device), caution=CAUTION) for one in value_map.networks]  # type: ignore[misc]


def torch_duel(
    spec: MapSpec,
    values: Sequence[Value],
    prior: Prior,
    price: float,
    *,
    draws: int,
    seed: int,
    device: str,
    advance: Advance = lambda count: None,
) -> Duel:
    """Both policies from one prior on the same truths and noise; the draws depend on seed, draws and device."""
    game = game_of(spec, training_controls(spec.dim), device=device)
    start = stack_priors([prior], game, price=price)
    common = judge.weight_draws(game, start, draws, CAP, torch.Generator(device=device).manual_seed(seed))
    policy, chunk = judge.shrinking(values), _CHUNK[game.device.type, spec.dim]
    parts = []
    for first in range(0, draws, chunk):
        some = common.rows(slice(first, first + chunk))
        parts.append(_played(game, start, some, policy))
        advance(len(some.score))
    return joined(parts)


def _played(game: Game, start: Beliefs, common: judge.WeightDraws, policy: judge.Policy) -> Duel:
    mine = judge.play(game, start, common, policy)
    base = judge.play(game, start, common, judge.depth_two)
    everywhere = torch.ones(len(common.score), dtype=torch.bool)
    positive = everywhere if game.log_cost else judge.positive_costs(game, common)

    def array(values: Tensor) -> Array:
        return np.asarray(values.cpu().numpy(), dtype=np.float64)

    return Duel(
        net=array(mine.net),
        runs=mine.runs.cpu().numpy(),
        base_net=array(base.net),
        base_runs=base.runs.cpu().numpy(),
        positive=positive.cpu().numpy(),
    )
