"""Scores of the paper's examples that are not plain accuracy: cross entropy and the generalised F-score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array


def cross_entropy(probabilities: Array, labels: NDArray[np.integer]) -> float:
    """-(1/N) sum_x log P(x in its class), eq. (24) of the paper.  probabilities: (N, classes),  labels: (N,)."""
    rows = np.asarray(probabilities, dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(labels) or len(rows) == 0:
        raise ValueError(f"probabilities must be (N, classes) for N = {len(labels)} labels, got shape {rows.shape}")
    told = rows[np.arange(len(rows)), labels]
    return float(-np.log(np.maximum(told, np.finfo(np.float64).tiny)).mean())


def f_beta(precision: float, recall: float, beta: float) -> float:
    """(1 + beta^2) precision recall / (beta^2 precision + recall), eq. (25); zero when both are zero."""
    below = beta**2 * precision + recall
    return 0.0 if below == 0 else (1 + beta**2) * precision * recall / below
