"""The score of models as it is known: what the surfaces say, and what was measured.  See `belief.surrogate.misfit`."""

from __future__ import annotations

import numpy as np

from autobct.belief.arrays import Array
from autobct.tuning.model.posterior import Learned


def score_at(known: Learned, controls: Array) -> Array:
    """Estimates at controls (n, p), in model units: what the surfaces say, and at trained controls what was measured.

    (n,)
    """
    learned = np.asarray(known.problem.prior.model.score_basis(controls) @ known.belief.score.mean)
    surface = known.compression.undone(learned)
    if known.evidence is None:
        return surface
    found = [known.measured.get(control.tobytes(), (0, 0.0)) for control in controls]
    runs, scores = np.array(found, dtype=float).reshape(-1, 2).T
    return np.asarray(surface + known.evidence.misfit.weight(runs) * (scores - surface))
