"""Which policy a tuner follows: the one it is told, or a shipped value map that fits, or one that needs none."""

from __future__ import annotations

from autobct.belief.cost import LOG_LINEAR
from autobct.maps.container import MapFileError
from autobct.maps.library import shipped_map
from autobct.maps.store import shipped
from autobct.tuning.fitting import WhereItFits
from autobct.tuning.policy import Frugal, MapPolicy, Policy, check_policy, frugal, mapped, relaxed
from autobct.tuning.problem import Problem
from autobct.value.map import BASES, MapMismatch, ValueMap, mismatches
from autobct.value.simulate import ControlValues

_PER_PRICE = "Improvement per price, one run ahead"


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

    The shipped map that fits the problem, else depth 2 on the fly.  Where the scale is learned: the shipped map where
    it fits the present belief, else improvement per price, or depth 2 if only the last model may be returned.
    """
    if problem.prior.ensemble is not None:
        return _learning_policy(problem, seed)
    name = shipped_for(problem)
    try:
        return _on_shipped(name, problem, seed), f"The value map {name} that came with the package."
    except (MapMismatch, MapFileError) as reason:
        return relaxed(depth=2)(problem.controls, seed), f"Depth 2 on the fly: {_on_one_line(reason)}."


def _learning_policy(problem: Problem, seed: int) -> tuple[ControlValues, str]:
    """On a basis that maps are for: the shipped one where it fits the present belief.

    Prices and noise are compared at every decision; an overhead is part of the price of a run.
    """
    policy, text = (frugal(), _PER_PRICE) if problem.terms.recall else (relaxed(depth=2), "Depth 2 on the fly")
    otherwise = policy(problem.controls, seed)
    if problem.prior.model.score_basis.name not in BASES:
        return _without_map(otherwise), f"{text}."
    name = shipped_for(problem)
    try:
        value_map = _shipped(name)
        on_map = mapped(value_map)(problem.controls, seed)
    except (MapMismatch, MapFileError) as reason:
        return _without_map(otherwise), f"{text}: {_on_one_line(reason)}."
    note = f"The value map {name} that came with the package where a run is dear, else {text[0].lower()}{text[1:]}."
    return WhereItFits(value_map.spec, on_map, otherwise), note


def _without_map(values: ControlValues) -> ControlValues:
    """Foresight of several runs begins, and goes on after a failure, as it would beside a map; one run is itself."""
    return values if isinstance(values, Frugal) else WhereItFits(None, values, values)


def _shipped(name: str | None) -> ValueMap:
    if name is None:
        raise MapMismatch("no map for such a problem came with the package")
    return shipped_map(name)


def _on_one_line(reason: Exception) -> str:
    return " ".join(str(reason).split())


def _on_shipped(name: str | None, problem: Problem, seed: int) -> ControlValues:
    value_map = _shipped(name)
    found = mismatches(value_map.spec, problem.prior, problem.terms)
    if found:
        differences = [line.removeprefix("map: ").replace("\nproblem: ", ", not ") for line in found]
        raise MapMismatch(f"map {name} is for {'; '.join(differences)}")
    return mapped(value_map)(problem.controls, seed)
