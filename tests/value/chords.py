"""The partner of `stratified`: above the truth where that is below it."""

import numpy as np
from scipy.special import ndtri

from autobct.value.lookahead.nodes import Rule, stratified


def chord(cells: int) -> Rule:
    """The chord of f over each equiprobable cell: above the truth for convex f; the partner of `stratified`.

    The two outermost cells are unbounded; there f must be affine beyond the 1e-10 quantile, which holds for
    maxima of affine functions in any problem of practical scale.
    """
    strata = stratified(cells)
    edges = np.clip(ndtri(np.linspace(0.0, 1.0, cells + 1)), ndtri(1e-10), -ndtri(1e-10))
    upper = strata.weights * (strata.points - edges[:-1]) / np.diff(edges)
    weights = np.zeros(cells + 1)
    weights[1:] += upper
    weights[:-1] += strata.weights - upper
    return Rule(edges, weights)
