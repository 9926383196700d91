"""The content of a report, from a result, a tuner in progress, or a stored run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autobct.belief.arrays import Array
from autobct.report.axis import number
from autobct.report.draw_map import LEVELS, Dial, dials, swept
from autobct.tuning.history import Decision, Run, Train, value_of_continuing
from autobct.tuning.model.alarm import ranges_stated
from autobct.tuning.model.estimate import Learned, estimated_score, estimated_scores, importance, score_quantiles
from autobct.tuning.model.posterior import beliefs
from autobct.tuning.result import Result, WhatIf
from autobct.tuning.statement import versions as versions_of_now
from autobct.tuning.tuner import Tuner
from autobct.tuning.units.scale import ScaledProblem
from autobct.tuning.visible import one_line

__all__ = ["Story", "after_each_run", "other_prices", "run_text", "story_of", "tell"]

_PRICES = np.geomspace(1 / 32, 32, 21)  # other prices to try, as multiples of the one that was said
_CLOSE = 0.01  # of the range of all scores: two estimates of the same, on scales that later runs have changed
_SECRET = "env."  # settings whose values may be passwords: a page is made to be shown


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """One tuning, in the user's units where nothing else is said.

    decisions:  what was decided after 0, 1, 2, ... runs, None where it was not recorded; the last may be a Stop
    best:       the run whose model to use; None if none finished
    past:       what was known after 0, 1, 2, ... runs, in model units
    estimates:  (n + 1,) estimated score of the best of these runs; NaN where none has finished
    unfinished: a sentence where the tuning has not ended
    alarm:      a sentence where the observations are implausible under the belief
    notes:      what else to know, e.g. that a score left its range
    what_if:    what other prices would have done, the lowest first
    charged:    cost that belongs to no run: deciding and launching
    settings:   (name, value) to repeat it
    waited:     seconds on the clock, where the price is one of waiting; None where it pays for all computing
    """

    title: str
    problem: ScaledProblem
    history: tuple[Run, ...]
    decisions: tuple[Decision | None, ...]
    best: Run | None
    past: tuple[Learned, ...]
    estimates: Array
    why: str
    unfinished: str | None = None
    alarm: str | None = None
    notes: tuple[str, ...] = ()
    what_if: tuple[WhatIf, ...] = ()
    charged: float = 0.0
    settings: tuple[tuple[str, str], ...] = ()
    waited: float | None = None

    @property
    def prior(self) -> Learned:
        """What was known before the first run."""
        return self.past[0]

    @property
    def posterior(self) -> Learned:
        """What is known now."""
        return self.past[-1]

    @property
    def sign(self) -> float:
        """1 where a higher score is better, -1 where a lower one is."""
        return -1.0 if self.problem.direction == "minimize" else 1.0

    @property
    def unit(self) -> str:
        """ "s" where the cost is time in seconds, as the price says; "" for units of the user's own."""
        return "s" if self.problem.price.unit else ""

    @property
    def cost_title(self) -> str:
        """The cost on an axis."""
        return f"cost, {self.unit}" if self.unit else "cost"

    @property
    def total_title(self) -> str:
        """The cost so far on an axis."""
        return f"cost so far, {self.unit}" if self.unit else "cost so far"

    def spent(self, cost: float, digits: int = 4) -> str:
        """A cost with its unit."""
        return f"{number(cost, digits)} {self.unit}".rstrip()

    @property
    def scores(self) -> Array:
        """Observed scores (n,), NaN where a run failed."""
        return np.array([np.nan if run.score is None else run.score for run in self.history], dtype=float)

    @property
    def costs(self) -> Array:
        """Costs (n,) of the runs."""
        return np.array([run.cost for run in self.history], dtype=float)

    @property
    def totals(self) -> Array:
        """Costs so far, (n + 1,): before the first run and after each."""
        return np.concatenate([[0.0], np.cumsum(self.costs)])

    @property
    def centre(self) -> Array:
        """The control (p,) through which slices go: that of the model to use, or the candidate thought best."""
        if self.best is not None:
            return self.best.control
        model = self.problem.prior.model
        means = model.score_basis(self.problem.controls) @ self.posterior.belief.score.mean
        return np.asarray(self.problem.controls[int(means.argmax())])

    @property
    def dials(self) -> list[Dial]:
        """The parameters that can be turned there: those that exist."""
        space = self.problem.space
        exists = dict(zip(space.names, space.existing(self.centre[None])[0], strict=True))
        return [dial for dial in dials(space) if exists[dial.name]]

    @property
    def importance(self) -> dict[str, float]:
        """How much each parameter matters, the most important first; nothing before a run has finished."""
        return importance(self.posterior) if self.best is not None else {}

    @property
    def ranked(self) -> list[Dial]:
        """The dials, the most important first."""
        shares = self.importance
        return sorted(self.dials, key=lambda dial: -shares.get(dial.name, 0.0))

    def swept(self, turned: Sequence[Dial], points: int) -> Array:
        """Controls (n, p) through it with one or two dials turned, as `swept` has them; what exists may change."""
        return self.problem.space.canonical(swept(self.centre, turned, points))

    @property
    def estimated_best(self) -> str:
        """The estimated score of the model to use, as the result has it, and half the width of its 68 % interval."""
        low, _, high = score_quantiles(self.posterior, self.centre[None], LEVELS[1:4], noise=False)[:, 0]
        middle = estimated_score(self.posterior, self.centre)
        return f"{number(middle)} ± {number(abs(float(high - low)) / 2, 2)}"

    @property
    def going_on(self) -> Array:
        """Value of continuing after 0, 1, 2, ... runs; NaN where it is not known, or a guess in unknown units."""
        known = self._in_turn & (np.isfinite(self.estimates) | ranges_stated(self.problem)[0])
        return np.where(known, self._of_decisions(value_of_continuing), np.nan)

    @property
    def incumbent(self) -> Array:
        """The estimated score of the best so far after 0, 1, 2, ... runs; NaN where there is none."""
        decided = self._of_decisions(_incumbent)
        return np.where(np.isfinite(decided) & self._in_turn, decided, self.estimates)

    @property
    def _in_turn(self) -> NDArray[np.bool_]:
        """Whether the decision after 0, 1, 2, ... runs knew these runs: its best so far is theirs.

        Decisions of workers that share a tuning are made while others are training, so they may know fewer.
        """
        decided, estimated = self._of_decisions(_incumbent), self.estimates
        finite = self.scores[np.isfinite(self.scores)]
        close = _CLOSE * (float(np.ptp(finite)) if finite.size > 1 else self.problem.score_scale.unit)
        return np.asarray((np.isnan(decided) & np.isnan(estimated)) | (np.abs(decided - estimated) <= close))

    def _of_decisions(self, read: Any) -> Array:
        told = [read(decision) for decision in self.decisions[: len(self.history) + 1]]
        told += [None] * (len(self.history) + 1 - len(told))
        return np.array([np.nan if value is None else value for value in told], dtype=float)


def _best_of(history: Sequence[Run], known: Learned) -> float:
    """The estimated score of the best of these runs, or of the last one that finished; NaN if none has."""
    finished = [run.control for run in history if run.score is not None]
    if not finished:
        return float("nan")
    kept = np.stack(finished if known.problem.terms.recall else finished[-1:])
    sign = -1.0 if known.problem.direction == "minimize" else 1.0
    return sign * float((sign * estimated_scores(known, kept)).max())


def _incumbent(decision: Decision | None) -> float | None:
    return decision.stop_value if isinstance(decision, Train) else None if decision is None else decision.value


def run_text(run: Run) -> str:
    """A run in a few words, shown on hover; the table has the rest."""
    outcome = "failed" if run.score is None else f"score {number(run.score)}"
    return f"Run {run.trial + 1}: {outcome}, cost {number(run.cost)}"


def story_of(told: object) -> Story:
    """The story of a result, or of a tuner that is still asking."""
    if isinstance(told, Result):
        made = after_each_run(told.decisions, len(told.history), told.n_jobs)
        story = tell(told.tuner, why=told.why, decisions=made, settings=told.settings, versions=told.versions)
        return replace(story, waited=max(told.waits, default=None))
    if isinstance(told, Tuner):
        now = told.explain().decision
        unknown = (None,) * len(told.history)
        return tell(told, why=f"{_so_far(told)} Next: {now.why}", decisions=(*unknown, now), finished=False)
    raise TypeError(f"a report needs a result or a tuner, got {one_line(repr(told))}; write result.report('run.html')")


def after_each_run(decisions: Sequence[Decision], runs: int, jobs: int) -> tuple[Decision | None, ...]:
    """What was decided after 0, 1, 2, ... runs; with several jobs only the last decision was made so."""
    return tuple(decisions) if jobs == 1 else (*[None] * runs, *decisions[runs:][-1:])


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
        estimates=np.array([_best_of(tuner.history[:runs], known) for runs, known in enumerate(past)]),
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
