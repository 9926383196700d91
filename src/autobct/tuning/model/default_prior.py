"""The default prior of a space: how its parameters usually affect score and cost."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from autobct.belief.basis import Basis, additive, additive_quartic, cubic
from autobct.belief.prior import Expectations, Prior, default_prior
from autobct.belief.surrogate.learning import Growth, Habits, learning_prior
from autobct.tuning.space.hints import Hints
from autobct.tuning.space.parameter import Categorical, Int, Parameter, tuned
from autobct.tuning.space.space import Space

_ELASTICITY, _ELASTICITY_SD = 0.5, 0.45  # of the cost in a whole number: trees, layers, units and the like
_DIMENSIONLESS = 0.12 * math.sqrt(12.0)  # by how much the log cost changes over the range of any other number
_KNOWN = 0.7  # elasticity of the cost in a number that is known to make runs expensive; half as uncertain as that
_ANYTHING = 1.0  # by how much the log cost changes over the range of any number where nothing is as usual
_GUESSED = 0.3  # height of a hill over a guess, in amplitudes
_USUALLY = 2.0  # strength of what is usual by name.  docs/decisions/usual-values.md
_FARTHEST = 6.0  # log ratio of the ends of a whole number beyond which costs do not follow any more
_SMALL = -1.6  # log of how much smaller a typical run is where more than two numbers are tuned


HABITS = Habits()
"""How scores and costs usually behave: what `benchmarks/habits.py` compares."""


def first_belief(space: Space, expected: Expectations, hints: Hints, *, learning: bool) -> Prior:
    """The belief before any run.  learning: one that learns its scale, or else the paper's fixed scale."""
    if not learning:
        return default_prior(basis_for(space), expected)
    varied = tuned(space.parameters)
    choices = tuple(p.count if isinstance(p, Categorical) else 0 for p in varied)
    unknown = expected.cost_level == 0.0
    level = expected.cost_level + (_SMALL if unknown else 0.0)
    growths = tuple(growth_of(p, known=i in hints.growing, usual=hints.usual) for i, p in enumerate(varied))
    habits = HABITS if hints.usual else replace(HABITS, bump=0.0)
    return _learning(choices, growths, level, expected.cost_spread, hints, habits)


@lru_cache(maxsize=16)  # the same space is put into other units again and again
def _learning(
    choices: tuple[int, ...], growths: tuple[Growth, ...], level: float, spread: float, hints: Hints, habits: Habits
) -> Prior:
    tops = _tops(hints)
    return learning_prior(choices, growths, cost_level=level, cost_spread=spread, tops=tops, habits=habits)


def _tops(hints: Hints) -> dict[int, tuple[float, float]]:
    usual = {which: (place, _GUESSED * _USUALLY) for which, place in hints.by_name}
    return usual | {which: (place, _GUESSED * hints.strength) for which, place in hints.guess}


def growth_of(parameter: Parameter, *, known: bool = False, usual: bool = True) -> Growth:
    """By how much the log cost rises from the lowest to the highest value: whole numbers are usually sizes.

    known: it does rise;  usual: whether to expect so of whole numbers
    """
    if isinstance(parameter, Categorical):
        return Growth(0.0, _DIMENSIONLESS)
    whole = isinstance(parameter, Int)
    least = 1.0 if whole else 1e-3 * parameter.high
    ratio = min(math.log(parameter.high / max(parameter.low, least)), _FARTHEST) if parameter.high > least > 0 else 0.0
    if known:
        return Growth(_KNOWN * max(ratio, 1.0), 0.5 * _KNOWN * max(ratio, 1.0))
    if not whole or not usual:
        return Growth(0.0, _DIMENSIONLESS if usual else _ANYTHING)
    return Growth(_ELASTICITY * max(ratio, 0.0), math.hypot(_ELASTICITY_SD * ratio, 0.1 * math.sqrt(12.0)))


def basis_for(space: Space) -> Basis:
    """The paper's basis in one and two dimensions, and its pattern beyond.

    Powers of every number, products of each two, and an indicator for every choice of a category.
    """
    numbers = len(space.numeric)
    if numbers == space.dim and numbers in (1, 2):
        return cubic() if numbers == 1 else additive_quartic()
    degree = {0: 1, 1: 3, 2: 4}.get(numbers, 2)
    return additive(space.dim, degree=degree, indicators=[i for group in space.groups for i in group])
