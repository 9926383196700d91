"""The certificate of a user's problem, in the user's units of score."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import Assess, Assessment
from autobct.value.bounds.certificate import Certificate, Progress, certify
from autobct.value.bounds.simple_bounds import Estimate
from autobct.value.state import State, Terms, view

_SMALL = 1e-4  # a step in model units


def certificate_of(
    problem: ScaledProblem,
    values: Assess,
    name: str,
    *,
    seconds: float,
    seed: int,
    max_runs: int | None = None,
    progress: Progress = lambda share, text: None,
) -> Certificate:
    """What a policy is worth at least from the first belief, and no policy more than: net of the price of all runs.

    Where the scale is learned the first belief is one Gaussian, with the mean and the covariance of all members, and
    simulated tunings do not learn it: what is certified are decisions at a known scale.

    values, name: the policy and what to call it;  max_runs: it is stopped after so many
    """
    start = view(problem.prior.belief, problem.prior.model, problem.controls)
    policy = values if max_runs is None else at_most(values, max_runs)
    found = certify(start, problem.terms, {name: policy}, seconds=seconds, seed=seed, progress=progress)
    return replace(
        found,
        lower=_raw(found.lower, problem),
        upper=_raw(found.upper, problem),
        minimized=problem.direction == "minimize",
    )


def at_most(values: Assess, runs: int) -> Assess:
    """The policy, stopped after so many runs."""

    def limited(state: State, terms: Terms, made: int) -> Assessment:
        if made >= runs:
            return Assessment.by_value(np.full(state.score.mean.shape, -np.inf))
        return values(state, terms, made)

    return limited


def _raw(found: Estimate, problem: ScaledProblem) -> Estimate:
    """In the user's units; on a log scale the error is that of a small change."""
    scale = problem.score_scale
    below, above = (float(scale.to_raw(found.mean + step)) for step in (-_SMALL, _SMALL))
    return replace(found, mean=float(scale.to_raw(found.mean)), error=found.error * abs(above - below) / (2 * _SMALL))
