"""What the network reads: every run, and every candidate, as one row of numbers without units.

Scores are counted in prices of a run: kappa = price x geometric mean of the costs so far is what one more run costs,
in score, and a score enters as g((score - best) / kappa), g(z) = sign(z) log(1 + |z|).  Costs enter as the logarithm
of their ratio to that mean.  So nothing depends on the units of score and cost, and the price is a hint at the scale.

| columns | of a row |
|---|---|
| SLOTS x SLOT | one slot for every coordinate: place, exists, whole, category, log, log(high / low), increases cost |
| OUTCOME | score, log cost, finished, failed, is a guess, is the context, observed score is asked for, step |
| CONTEXT | number of runs, range of scores is known, log(range / kappa), g((top - best) / kappa), coordinates |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

SLOTS, SLOT, OUTCOME, CONTEXT = 24, 7, 8, 5
INPUTS = SLOTS * SLOT + OUTCOME + CONTEXT

SCORE_EDGES = np.linspace(-10.0, 9.0, 191)
"""Ends of the bins of g((score - best) / kappa)."""
COST_EDGES = np.linspace(-6.0, 6.0, 97)
"""Ends of the bins of the log of cost over its geometric mean so far."""

SCORE_UNIT, COST_UNIT, RATIO_UNIT = 4.0, 2.0, 6.0
FARTHEST, NEAREST = 4.0, 1e-3
"""Squared distances beyond the first, and below the second, make no difference."""


def squash(z: NDArray[np.floating]) -> NDArray[np.floating]:
    """g(z) = sign(z) log(1 + |z|)."""
    return np.asarray(np.sign(z) * np.log1p(np.abs(z)))


def unsquash(g: NDArray[np.floating]) -> NDArray[np.floating]:
    """The z of a g(z)."""
    return np.asarray(np.sign(g) * np.expm1(np.abs(g)))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """What is known of every coordinate of a space.  All (p,).

    whole, category, log: what kind of parameter it belongs to
    ratio:  log(high / low) of a positive number, else 0
    grows:  1 where the cost is said to increase with it
    """

    whole: Rows
    category: Rows
    log: Rows
    ratio: Rows
    grows: Rows

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return len(self.whole)


def slots_of(layout: Layout, controls: Rows) -> Rows:
    """The columns of the slots.  controls: (n, p) -> (n, SLOTS x SLOT).

    Coordinates beyond the last slot share: each is added to a slot that another one has.
    """
    facts = np.stack(
        [
            np.ones(layout.dim),
            layout.whole,
            layout.category,
            layout.log,
            np.clip(layout.ratio, 0.0, 14.0) / RATIO_UNIT,
            layout.grows,
        ],
        axis=-1,
    )
    rows = np.zeros((len(controls), SLOTS, SLOT), dtype=np.float32)
    for j in range(layout.dim):
        slot = j % SLOTS
        if j < SLOTS:
            rows[:, slot, 1:] = facts[j]
        rows[:, slot, 0] += controls[:, j] if layout.category[j] else 2.0 * controls[:, j] - 1.0
    return rows.reshape(len(controls), SLOTS * SLOT)
