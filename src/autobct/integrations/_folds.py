"""Folds as evidence: how noisy a candidate's mean score is, and whether it is worth seeing the rest of its folds.

With scores y of candidates c on folds f, y_cf = candidate_c + fold_f + e_cf, e ~ N(0, s^2): all candidates see the same
folds, so a fold's own level says nothing about which is better.

| | |
|---|---|
| s^2 | squares of what rows and columns do not explain, over (C - 1)(F - 1) |
| noise of a mean over F folds | s / sqrt(F) |
| after k folds, lead d over the best on these | the final lead is N(d, 2 s^2 (1/k - 1/F)) |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from autobct.belief.arrays import Array
from autobct.belief.normal import upsilon


@dataclass(slots=True)
class FoldScores:
    """Scores of the candidates that have seen all folds.  rows: (F,) each"""

    rows: list[Array] = field(default_factory=list)

    def add(self, scores: Sequence[float]) -> None:
        """A candidate that has seen all folds; one with a fold that failed says nothing."""
        if np.all(np.isfinite(scores)):
            self.rows.append(np.asarray(scores, dtype=np.float64))

    @property
    def spread(self) -> float | None:
        """Standard deviation of what neither candidate nor fold explains   (s); None before two candidates."""
        if len(self.rows) < 2 or len(self.rows[0]) < 2:
            return None
        table = np.stack(self.rows)
        rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
        return math.sqrt(float(np.sum(rest**2)) / ((len(table) - 1) * (table.shape[1] - 1)))

    @property
    def noise(self) -> float | None:
        """Standard deviation of a candidate's mean over all folds; None before two candidates."""
        spread = self.spread
        return None if spread is None else spread / math.sqrt(len(self.rows[0]))

    def given_up(self, first: Sequence[float], price_of_rest: float) -> float | None:
        """The score to expect of a candidate that is not worth its other folds; None if it is.

        first: its scores on the first folds;  price_of_rest: what the others would cost, in score
        """
        spread = self.spread
        if spread is None or not np.all(np.isfinite(first)):
            return None
        best, seen, folds = max(self.rows, key=np.mean), len(first), len(self.rows[0])
        lead = float(np.mean(first) - np.mean(best[:seen]))
        unsure = spread * math.sqrt(2.0 * (1.0 / seen - 1.0 / folds))
        return float(np.mean(best)) + lead if float(upsilon(lead, unsure)) < price_of_rest else None
