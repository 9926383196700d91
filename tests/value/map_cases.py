"""Small value maps with random networks, and beliefs to try them on."""

from functools import cache
from itertools import product as pairs

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.basis import Model
from autobct.belief.cost import COST_MODELS
from autobct.belief.gaussian import Belief, Gaussian
from autobct.value.maps.map_spec import MapSpec
from autobct.value.maps.value_map import BASES, Perceptron, ValueMap
from autobct.value.state import State, Terms, keep, view

OVERHEAD = 0.002
GAMES = [(dim, cost, recall) for dim in (1, 2) for cost in COST_MODELS for recall in (False, True)]
GAME_IDS = [f"{dim}d-{cost}-{'recall' if recall else 'last'}" for dim, cost, recall in GAMES]
Game = tuple[int, str, bool]


def lattice(side: int, dim: int) -> Array:
    """A grid of side^dim controls."""
    return np.array(list(pairs(np.linspace(0, 1, side), repeat=dim)))


def spec_of(game: Game, *, side: int | None = None) -> MapSpec:
    """References on a grid, their neighbours along each axis, and no limit to price and noise."""
    dim, cost, recall = game
    told = side or (6 if dim == 1 else 5)
    grid = np.arange(told**dim).reshape((told,) * dim)
    ends = [(np.delete(grid, -1, axis).ravel(), np.delete(grid, 0, axis).ravel()) for axis in range(dim)]
    neighbours = np.stack([np.concatenate(part) for part in zip(*ends, strict=True)])
    basis = "cubic" if dim == 1 else "additive-quartic"
    return MapSpec(basis, dim, cost, recall, OVERHEAD, lattice(told, dim), neighbours, (0.0, 1e9), (0.0, 1e9))


@cache
def random_map(game: Game = (1, "linear", False), *, networks: int = 3, seed: int = 0, hidden: int = 12) -> ValueMap:
    """A map whose additions are random, and up to about a tenth of lambda."""
    spec, rng = spec_of(game), np.random.default_rng(seed)

    def normal(spread: float, *shape: int) -> np.ndarray:
        return (spread * rng.standard_normal(shape)).astype(np.float32)

    def network() -> Perceptron:
        weights = (normal(0.2, spec.inputs, hidden), normal(0.3, hidden, hidden), normal(0.02, hidden, 1))
        return Perceptron(weights, (normal(0.1, hidden), normal(0.1, hidden), np.full(1, 0.2, dtype=np.float32)))

    return ValueMap(spec, tuple(network() for _ in range(networks)))


def random_belief(game: Game, rng: np.random.Generator) -> tuple[Belief, Model, Terms]:
    """Any belief in the map's basis, constant noise, any price."""
    dim, cost, recall = game
    basis = BASES["cubic" if dim == 1 else "additive-quartic"]

    def one(level: float, spread: float) -> Gaussian:
        root = spread * rng.standard_normal((basis.size, basis.size)) / np.sqrt(basis.size)
        mean = 0.4 * rng.standard_normal(basis.size)
        mean[0] += level
        return Gaussian(mean, root @ root.T)

    belief = Belief(one(0.5, 0.7), one(0.7 if cost == "linear" else -0.5, 0.5))
    score_noise, cost_noise = rng.uniform(0.03, 0.2, 2)
    model = Model(basis, basis, float(score_noise), float(cost_noise), COST_MODELS[cost])
    return belief, model, Terms(float(rng.uniform(0.03, 0.5)), model.cost_model, recall, OVERHEAD)


def random_map_state(game: Game, controls: Array, rng: np.random.Generator) -> tuple[State, Terms]:
    """Such a belief at the controls, with a few models trained."""
    belief, model, terms = random_belief(game, rng)
    return keep(view(belief, model, controls), rng.integers(-1, len(controls), 3)), terms
