"""From a control u in [0, 1] to the hyperparameter, appendix D of the paper."""

from __future__ import annotations

import math

import numpy as np

from autobct.belief.arrays import Array

_SLIP = 1e-9  # 190 * 0.3 + 10 is 66.99999999999999 in binary


def _floor(value: float) -> int:
    return math.floor(value + _SLIP)


def trees(u: float) -> int:
    """Trees of the synthetic example's forest: floor(99u + 1)."""
    return _floor(99 * u + 1)


def batch_size(u: float) -> int:
    """Images per optimiser step of the breast-cancer network: floor((200 - 10)u + 10)."""
    return _floor(190 * u + 10)


def learning_rate(u: float) -> float:
    """r of the breast-cancer network: from 1e-5 to 0.1, evenly on the log scale."""
    return math.exp((math.log(0.1) - math.log(1e-5)) * u + math.log(1e-5))


def epochs(u: float) -> int:
    """Passes over the Intel scenes: floor(34u + 1)."""
    return _floor(34 * u + 1)


def scale(u: float) -> float:
    """Size of the autoencoder: 9u + 1."""
    return 9 * u + 1


def code(u: float) -> int:
    """Width of the autoencoder's smallest layer: round(9u + 1)."""
    return _floor(9 * u + 1.5)


def sample_share(u: float) -> float:
    """Share of the Higgs rows to learn from: exp(log_15(1e-5) - u log_15(1e-5)).

    Read literally, the logarithm to base 15 inside the natural exponential: 1.4 % at u = 0, 2.5 % at u = 0.13 (the
    paper prints 2.4 %) and 100 % at u = 1.
    """
    return math.exp((1 - u) * math.log(1e-5, 15))


def grid(points: int, dims: int = 1) -> Array:
    """`points` controls evenly over [0, 1] in each dimension, the last varying fastest: (points^dims, dims)."""
    axis = np.round(np.linspace(0.0, 1.0, points), 12)
    return np.stack(np.meshgrid(*[axis] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
