"""The contract of every policy: given a position, a value and a priority for every candidate.

A position is what a decision depends on: the belief at the candidates, the models that may be returned, feasibility
(`State`), the prices (`Terms`) and the number of runs made.  The value V says whether to continue, and is shown to
users; the priority says only where.  Here are the pure rules; `tuning.decide.policy` makes policies of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array, Indices
from autobct.value.acquisition import (
    box_value,
    ei_per_cost,
    expected_improvement,
    expected_price,
    gittins_index,
    incumbent_score,
    with_feasibility,
)
from autobct.value.lookahead.one_step import one_run_values
from autobct.value.state import State, Terms


@dataclass(frozen=True, slots=True, eq=False)
class Assessment:
    """A policy's assessment of every candidate.  (..., G) each, in model units.

    value:     V: expected final score minus the price of all further runs when training there, weighted with its
               feasibility; -inf where no run is allowed.  It is compared with stopping, and shown to users
    priority:  the acquisition function that ranks candidates, in any unit; equal to value for a lookahead
    """

    value: Array
    priority: Array

    @classmethod
    def by_value(cls, value: Array) -> Assessment:
        """Candidates ranked by their value."""
        return cls(value, value)


Assess = Callable[[State, Terms, int], Assessment]
"""A policy for given candidates: (state, terms, runs made) -> assessment of every candidate, (..., G)."""


def pick(assessment: Assessment, stop: Array | float) -> tuple[Indices, NDArray[np.bool_]]:
    """Which candidate a decision is about, (...), and whether to train there or to stop, (...).

    Train at the highest priority among the candidates worth more than stopping.  If there are none, stop: the best
    alternative is then the one with the highest priority of all.  By value it would mostly be the cheapest run, of
    which nobody expects anything.  stop: value of stopping, (...)
    """
    worth = assessment.value > np.asarray(stop)[..., None]
    first = np.where(worth, assessment.priority, -np.inf).argmax(axis=-1)
    goes_on = np.asarray(worth.any(axis=-1))
    return np.where(goes_on, first, assessment.priority.argmax(axis=-1)), goes_on


@dataclass(frozen=True, slots=True, eq=False)
class ByValue:
    """Lookahead: values of finished runs, ranked by themselves.

    values: (state, terms, runs made) -> (..., G), as if every run finished and others could follow
    """

    values: Callable[[State, Terms, int], Array]

    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        """A run after which no other fits is worth V_1; one that may fail is worth less."""
        value = self.values(state, terms, runs)
        if state.last is not None:
            value = np.where(state.last & (value > -np.inf), one_run_values(state, terms), value)
        return Assessment.by_value(with_feasibility(value, state, terms))


def by_ei_per_cost(state: State, terms: Terms, runs: int) -> Assessment:
    """One run ahead: ranked by expected improvement per price, worth the improvement less the price."""
    priority = ei_per_cost(state, terms)
    if not state.kept.shape[-1]:
        return Assessment.by_value(priority)
    improves_by = expected_improvement(state, terms) - expected_price(state, terms)
    return Assessment(np.asarray(incumbent_score(state)[..., None] + improves_by), priority)


def by_gittins_index(state: State, terms: Terms, runs: int) -> Assessment:
    """Ranked by the Gittins index, worth one box opened: the two exceed the incumbent together."""
    return Assessment(box_value(state, terms), gittins_index(state, terms))
