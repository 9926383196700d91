"""The Gittins index of every control (Pandora's box, Weitzman's rule) on the same belief.

The index g of a control solves  E[(m + s Z - g)^+] = price of the run,  where s is by how much one noisy run
moves the believed score.  Train where the index is highest; stop when the best model in hand reaches it.
Optimal for independent controls with recall, and a cheap, good approximation for dependent ones.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from autobct.belief.arrays import Array
from autobct.belief.cost import upsilon
from autobct.value.state import State, Terms, run_price, score_gains


def gittins_indices(state: State, terms: Terms) -> Array:
    """The index of every candidate, in score units.  (..., G)."""
    moves = np.maximum(np.diagonal(score_gains(state), axis1=-2, axis2=-1), 1e-12)
    price = np.broadcast_to(run_price(state, terms), moves.shape)
    return np.asarray(state.score.mean - moves * inverse_loss(price / moves))


def inverse_loss(loss: Array) -> Array:
    """y with phi(y) + y Phi(y) = loss, for loss > 0.

    Newton's method on the logarithm, which is concave: from the left it rises to the root, never past it.
    """
    target = np.maximum(loss, 1e-300)
    y = np.where(target > 0.4, 0.0, -np.sqrt(np.maximum(-2.0 * np.log(target), 0.0)) - 1.0)
    for _ in range(60):
        value = np.maximum(upsilon(y, 1.0), 1e-320)
        step = value * np.log(target / value) / np.maximum(ndtr(y), 1e-320)
        y = y + step
        if np.all(np.abs(step) <= 1e-13 * (1 + np.abs(y))):
            break
    return np.asarray(y)
