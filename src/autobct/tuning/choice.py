"""Which policy a tuner follows: the one it is told, or a shipped value map that fits, or depth 2 on the fly."""

from __future__ import annotations

from autobct.belief.cost import LOG_LINEAR
from autobct.maps.container import MapFileError
from autobct.maps.library import shipped_map
from autobct.maps.store import shipped
from autobct.tuning.policy import MapPolicy, Policy, check_policy, frugal, mapped, relaxed
from autobct.tuning.problem import Problem
from autobct.value.map import MapMismatch, mismatches
from autobct.value.simulate import ControlValues


def shipped_for(problem: Problem) -> str | None:
    """The name of the shipped map for such a game, e.g. 1d-log-recall; None if there is none."""
    dim, log_cost = problem.prior.dim, problem.terms.cost_model is LOG_LINEAR
    reward = "recall" if problem.terms.recall else "last"
    names = [name for name in shipped() if name.startswith(f"{dim}d-") and name.endswith(f"-{reward}")]
    return next((name for name in names if ("log" in name) == log_cost), None)


def chosen_policy(policy: Policy | None, problem: Problem, seed: int) -> tuple[ControlValues, str]:
    """The policy of the caller's if there is one, else the default; and a sentence about it."""
    return default_policy(problem, seed) if policy is None else told_policy(policy, problem, seed)


def told_policy(policy: Policy, problem: Problem, seed: int) -> tuple[ControlValues, str]:
    """A policy of the caller's, ready, and a sentence about it; MapMismatch if it stands on a map that does not fit."""
    check_policy(policy)
    if isinstance(policy, MapPolicy):
        found = mismatches(policy.value_map.spec, problem.prior, problem.terms)
        if found:
            raise MapMismatch("\n".join(["the map is for another game:", *found]))
        return policy(problem.controls, seed), "A value map of the caller's."
    return policy(problem.controls, seed), "A policy of the caller's."


def default_policy(problem: Problem, seed: int) -> tuple[ControlValues, str]:
    """The default, and a sentence that says which it is, and why.

    Improvement per price where the scale is learned and the best model may be returned; else the shipped map that fits
    the problem; else depth 2 on the fly.
    """
    if problem.prior.ensemble is not None and problem.terms.recall:
        return frugal()(problem.controls, seed), "Improvement per price, one run ahead."
    name = shipped_for(problem)
    try:
        return _on_shipped(name, problem, seed), f"The value map {name} that came with the package."
    except (MapMismatch, MapFileError) as reason:
        why = " ".join(str(reason).split())
        return relaxed(depth=2)(problem.controls, seed), f"Depth 2 on the fly: {why}."


def _on_shipped(name: str | None, problem: Problem, seed: int) -> ControlValues:
    if name is None:
        raise MapMismatch("no map for such a problem came with the package")
    value_map = shipped_map(name)
    found = mismatches(value_map.spec, problem.prior, problem.terms)
    if found:
        differences = [line.removeprefix("map: ").replace("\nproblem: ", ", not ") for line in found]
        raise MapMismatch(f"map {name} is for {'; '.join(differences)}")
    return mapped(value_map)(problem.controls, seed)
