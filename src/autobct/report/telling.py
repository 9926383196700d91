"""A story out of what somebody holds: a result, a tuner, or a run read from its folder."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from autobct.report.axis import number
from autobct.report.story import Story
from autobct.tuning.problem import Problem
from autobct.tuning.tune import Result
from autobct.tuning.tuner import Tuner

__all__ = ["story_of"]


def story_of(told: object) -> Story:
    """The story of a result or of a tuner that is still asking."""
    if isinstance(told, Story):
        return told
    if isinstance(told, Result):
        return _told(told.tuner, told.why, told.decisions, None)
    if isinstance(told, Tuner):
        return _told(told, "The tuner is still asking.", (), "More runs may follow.")
    raise TypeError(f"a report needs a result or a tuner, got {told!r}; write e.g. result.report('run.html')")


def _told(tuner, why, decisions, unfinished):
    problem = tuner.problem
    return Story(
        title="autobct report",
        problem=problem,
        history=tuner.history,
        decisions=tuple(decisions),
        best=tuner.best,
        prior=problem.prior.belief,
        belief=tuner.belief,
        why=why,
        unfinished=unfinished,
        settings=_settings(problem),
    )


def _settings(problem: Problem) -> tuple[tuple[str, str], ...]:
    space = zip(problem.space.names, problem.space.parameters, strict=True)
    return (
        *((f"{name}", str(parameter)) for name, parameter in space),
        ("price", f"{number(problem.price.per_cost)}"),
        *versions(),
    )


def versions() -> tuple[tuple[str, str], ...]:
    """Versions of what the numbers depend on."""
    told = [("Python", platform.python_version())]
    for name in ("autobct", "numpy", "scipy"):
        try:
            told.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(told)
