"""What the network reads of a tuning: numbers without units, and the bins of what it predicts.

It reads every run, and every candidate, as a row of numbers without units.  Scores are counted in prices of a run:
kappa = price x geometric mean of the costs so far is what one more run costs, in score, and a score enters as
g((score - best) / kappa), g(z) = sign(z) log(1 + |z|).  Costs enter as the logarithm of their ratio to that mean.  So
nothing depends on the units of score and cost, and the price is a hint at the scale.

| numbers | of |
|---|---|
| PLACE | a place, of one coordinate of a row: 1, the place, its square, sine and cosine waves of it |
| FACTS | a coordinate: whole, category, log, log(high / low), increases cost, two hints on the score (always 0) |
| OUTCOME | a row: score, log cost, finished, failed, is a guess, is the context, observed score is asked for, step |
| CONTEXT | a tuning: number of runs, range of scores known, log(range / kappa), g((top - best) / kappa), coordinates |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]

WAVES = tuple(np.pi / 2.0 * k for k in (1, 2, 4, 8))
PLACE, FACTS, SHAPES = 3 + 2 * len(WAVES), 7, 32
OUTCOME, CONTEXT = 8, 5
WHOLE = OUTCOME + CONTEXT

SCORE_EDGES = np.linspace(-10.0, 9.0, 191)
"""Ends of the bins of g((score - best) / kappa)."""
COST_EDGES = np.linspace(-6.0, 6.0, 97)
"""Ends of the bins of the log of cost over its geometric mean so far."""
SCORE_BINS, COST_BINS, BEFORE = len(SCORE_EDGES) - 1, len(COST_EDGES) - 1, 4
OUTPUTS = SCORE_BINS + COST_BINS + 1 + BEFORE

SCORE_UNIT, COST_UNIT, RATIO_UNIT = 4.0, 2.0, 6.0
