"""Which policy a tuner follows: the caller's, or a shipped value map that fits, or one that needs none."""

from __future__ import annotations

from autobct.belief.cost import LOG_LINEAR
from autobct.maps.container import MapFileError
from autobct.maps.library import shipped_map
from autobct.maps.store import shipped
from autobct.tuning.fitting import OneRunFirst, WhereItFits
from autobct.tuning.policy import Policy, check_policy, ei_per_cost, mapped, relaxed
from autobct.tuning.problem import ScaledProblem
from autobct.value.assessment import Assess
from autobct.value.map import BASES, MapMismatch, ValueMap, mismatches

_PER_PRICE = "Expected improvement per price, one run ahead"


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

    The shipped map that fits the problem, else depth 2 on the fly.  Where the scale is learned: the shipped map where
    it fits the present belief, else improvement per price, or depth 2 if only the last model may be returned.
    """
    if problem.prior.ensemble is not None:
        return _learning_policy(problem, seed)
    name = shipped_for(problem)
    try:
        return _on_shipped(name, problem, seed), f"The value map {name} from the package."
    except (MapMismatch, MapFileError) as reason:
        return relaxed(depth=2)(problem.controls, seed), f"Depth 2 on the fly: {_on_one_line(reason)}."


def _learning_policy(problem: ScaledProblem, seed: int) -> tuple[Assess, str]:
    """On a basis that maps are for: the shipped one where it fits the present belief.

    Prices and noise are compared at every decision; an overhead is part of the price of a run.
    """
    policy, text = (ei_per_cost(), _PER_PRICE) if problem.terms.recall else (relaxed(depth=2), "Depth 2 on the fly")
    otherwise = policy(problem.controls, seed)
    alone = otherwise if problem.terms.recall else OneRunFirst(otherwise)
    if problem.prior.model.score_basis.name not in BASES:
        return alone, f"{text}."
    name = shipped_for(problem)
    try:
        value_map = _shipped(name)
        on_map = mapped(value_map)(problem.controls, seed)
    except (MapMismatch, MapFileError) as reason:
        return alone, f"{text}: {_on_one_line(reason)}."
    note = f"The value map {name} from the package where runs are expensive, otherwise {text[0].lower()}{text[1:]}."
    return OneRunFirst(WhereItFits(value_map.spec, on_map, otherwise)), note


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
