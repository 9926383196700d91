"""Which policy a tuner follows, the caller's or the default, and its certificate: how close to the optimum it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from autobct.belief.cost import LOG_LINEAR
from autobct.maps.container import MapFileError, shipped
from autobct.maps.library import shipped_map
from autobct.tuning.decide.policy import Policy, check_policy, mapped, relaxed
from autobct.tuning.units.scale import ScaledProblem
from autobct.value.acquisition import Assess, Assessment, by_ei_per_cost
from autobct.value.maps.value_map import MapMismatch, ValueMap, mismatches
from autobct.value.state import State, Terms, view

if TYPE_CHECKING:
    from autobct.value.bounds.certificate import Certificate, Progress
    from autobct.value.bounds.simple_bounds import Estimate

_SMALL = 1e-4  # a step in model units


def shipped_for(problem: ScaledProblem) -> str | None:
    """The name of the shipped map for such a problem, e.g. 1d-log-recall; None if there is none."""
    dim, log_cost = problem.prior.dim, problem.terms.cost_model is LOG_LINEAR
    reward = "recall" if problem.terms.recall else "last"
    names = [name for name in shipped() if name.startswith(f"{dim}d-") and name.endswith(f"-{reward}")]
    return next((name for name in names if ("log" in name) == log_cost), None)


def chosen_policy(policy: Policy | None, problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """The policy of the caller's if there is one, else the default; and a sentence about it."""
    return default_policy(problem, seed) if policy is None else told_policy(policy, problem, seed)


def told_policy(policy: Policy, problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """A policy of the caller's, ready, and a sentence about it.

    One that is not for every problem has a method `check(prior, terms)` that raises, and may have a `note` of its own.
    """
    check_policy(policy)
    check = getattr(policy, "check", None)
    if check is not None:
        check(problem.prior, problem.terms)
    return own_policy(policy, problem, seed)


def own_policy(policy: Policy, problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """A policy of the caller's that was found to fit, for the candidates of the problem, and a sentence about it."""
    return policy(problem.controls, seed), getattr(policy, "note", "A policy supplied by the caller.")


def default_policy(problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """The default, and a sentence that says which it is, and why.

    Where the scale is learned, which is the default: expected improvement per cost, the same in all spaces.  With a
    prior whose scale is fixed: the shipped map that fits the problem, else depth 2 on the fly.
    """
    if problem.prior.ensemble is not None:
        return _learning_policy(problem, seed)
    name = shipped_for(problem)
    try:
        return _on_shipped(name, problem, seed), f"The value map {name} from the package."
    except (MapMismatch, MapFileError) as reason:
        return relaxed(depth=2)(problem.controls, seed), f"Depth 2 on the fly: {_on_one_line(reason)}."


def _learning_policy(problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """One run ahead; two where only the last model may be returned, as a run that informs pays only by a later one."""
    if problem.terms.recall:
        return by_ei_per_cost, "Expected improvement per cost, one run ahead."
    return OneRunFirst(relaxed(depth=2)(problem.controls, seed)), "Depth 2 on the fly."


@dataclass(frozen=True, slots=True, eq=False)
class OneRunFirst:
    """One run of foresight, by expected improvement per cost, for the first run and once a run has failed; else more.

    The first run is then near the centre or what was guessed: deeper foresight would begin in a corner, where a
    polynomial has most to tell and real scores are poor.  After a failure deeper foresight would count on runs that
    are not likely to finish, and go on preparing for them.
    """

    later: Assess

    def __call__(self, state: State, terms: Terms, runs: int) -> Assessment:
        """As any policy."""
        return self.at(state, runs)(state, terms, runs)

    def at(self, state: State, runs: int) -> Assess:
        """Which policy decides in a state."""
        return by_ei_per_cost if runs == 0 or state.feasibility is not None else self.later


def _shipped(name: str | None) -> ValueMap:
    if name is None:
        raise MapMismatch("the package has no map for this kind of problem")
    return shipped_map(name)


def _on_one_line(reason: Exception) -> str:
    return " ".join(str(reason).split())


def _on_shipped(name: str | None, problem: ScaledProblem, seed: int) -> Assess:
    value_map = _shipped(name)
    found = mismatches(value_map.spec, problem.prior, problem.terms)
    if found:
        differences = [line.removeprefix("map: ").replace("\nproblem: ", ", not ") for line in found]
        raise MapMismatch(f"map {name} is for {'; '.join(differences)}")
    return mapped(value_map)(problem.controls, seed)


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
    from autobct.value.bounds.certificate import certify  # bounds are of no use before

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
