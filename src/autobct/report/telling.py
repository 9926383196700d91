"""A story out of what somebody holds: a result, a tuner that is still asking, or a run read from its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autobct.report.story import Story
from autobct.tuning.decide.decision import Decision
from autobct.tuning.model.posterior import beliefs
from autobct.tuning.result import Result, WhatIf
from autobct.tuning.settings import versions as versions_of_now
from autobct.tuning.tuner import Tuner
from autobct.tuning.visible import one_line

__all__ = ["other_prices", "story_of", "tell"]

_PRICES = np.geomspace(1 / 32, 32, 21)  # other prices to try, as multiples of the one that was said
_SECRET = "env."  # settings whose values may be passwords: a page is made to be shown


def story_of(told: object) -> Story:
    """The story of a result, or of a tuner that is still asking."""
    if isinstance(told, Result):
        made: Sequence[Decision | None] = told.decisions
        if told.n_jobs > 1:  # decisions were not made after 0, 1, 2, ... runs, but for the last
            made = (*[None] * len(told.history), *told.decisions[len(told.history) :][-1:])
        story = tell(told.tuner, why=told.why, decisions=made, settings=told.settings, versions=told.versions)
        return replace(story, waited=max(told.waits, default=None))
    if isinstance(told, Tuner):
        now = told.explain().decision
        unknown = (None,) * len(told.history)
        return tell(told, why=f"{_so_far(told)} Next: {now.why}", decisions=(*unknown, now), finished=False)
    raise TypeError(f"a report needs a result or a tuner, got {one_line(repr(told))}; write result.report('run.html')")


def tell(
    tuner: Tuner,
    *,
    title: str | None = None,
    why: str | None = None,
    decisions: Sequence[Decision | None] = (),
    finished: bool = True,
    settings: Mapping[str, Any] | None = None,
    versions: Mapping[str, str] | None = None,
) -> Story:
    """The story of a tuner that has been told all runs.

    why:        why it stopped;  decisions: what was decided after 0, 1, 2, ... runs
    finished:   whether it came to its end;  settings, versions: to repeat it
    """
    past = beliefs(tuner.problem, tuner.history)
    return Story(
        title=title or f"Tuning {_listed(tuner.problem.space.names)}",
        problem=past[-1].problem,
        history=tuner.history,
        decisions=tuple(decisions),
        best=tuner.best,
        past=tuple(past),
        why=why or _so_far(tuner),
        unfinished=None if finished else "These are the results so far; more runs may follow.",
        alarm=None if tuner.alarm is None else tuner.alarm.text,
        notes=tuple(note.text for note in tuner.notes),
        charged=tuner.charged,
        settings=_settings(tuner.settings if settings is None else settings, tuner, versions or versions_of_now()),
    )


def _so_far(tuner: Tuner) -> str:
    runs = len(tuner.history)
    if tuner.best is None:
        return "No run has finished yet." if runs == 0 else f"No run has finished yet; {runs} failed."
    return f"Best so far, after {runs} run{'s' if runs != 1 else ''}."


def other_prices(told: Result | Tuner) -> tuple[WhatIf, ...]:
    """What other prices would have done with the same runs; nothing where no run finished."""
    if isinstance(told, Tuner) and told.best is None:
        return ()
    result = told.result() if isinstance(told, Tuner) else told
    return result.what_if((result.problem.price.per_cost * _PRICES).tolist())


def _settings(settings: Mapping[str, Any], tuner: Tuner, versions: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    policy = {} if "policy" in settings else {"policy": tuner.policy_note}
    libraries = ", ".join(f"{name} {number}" for name, number in versions.items())
    told = [(name, _plain(name, value)) for name, value in _flat({**settings, **policy}) if value is not None]
    return (*told, ("versions", libraries))


def _flat(settings: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested settings as space.x, space.y, ..."""
    told: list[tuple[str, Any]] = []
    for name, value in settings.items():
        told += [(f"{name}.{k}", v) for k, v in value.items()] if isinstance(value, Mapping) else [(name, value)]
    return told


def _plain(name: str, value: Any) -> str:
    if name.startswith(_SECRET):
        return "(not shown)"
    if isinstance(value, Mapping) and "type" in value:
        rest = [
            f"{key}={_plain('', v)}" for key, v in value.items() if key != "type" and v is not None and v is not False
        ]
        return f"{value['type']}({', '.join(rest)})"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _listed(names: Sequence[str], most: int = 3) -> str:
    """a; a and b; a, b and c; a, b, c and 4 more."""
    shown = [one_line(name, 40) for name in names[:most]]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    *first, last = [*shown, *more]
    return f"{', '.join(first)} and {last}" if first else last
