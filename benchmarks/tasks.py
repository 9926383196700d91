"""Tuning tasks with a price: what a tuner is told, what it earns, and how much of what could be had that is.

    from tasks import LEVELS, play, published          # python from benchmarks/, or with it on the path
    for task in published("/path/to/data"):            # 13 tasks; or AUTOBCT_DATA; holdout(), named(["lcbench-3945"])
        outcome = play(tuner, task, level=0.01, seed=0)
        print(task.name, outcome.captured, outcome.trials, outcome.cost, outcome.score, outcome.seconds)

A tuner is any function (question, train) -> position of the trial it returns, with question.space / .price /
.score_range / .seed / .cap / .rows all it may know (the score range is the natural one, (0, 1) or (0, 100)), and
train(params) -> (score, cost), noisy, at most question.cap times.  `autobct_tuner(**settings)` makes one.
level: what one median training costs, as a share of the task's range of scores (a yardstick that no tuner sees).
task.true(task.points(u)) has the surface without noise, u: (n, d) uniforms; task.yardstick its statistics.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cube import Array, Space, params_of, points_of, unit_of
from measured import MLP, XGB, Grid, hpobench_mlp, xgb_icml2020
from scipy.special import ndtr
from surfaces import FAMILIES, Surface, Table, folder, surrogate, tasks_of, xgb_mnist
from yardsticks import LEVELS, Yardstick, measured, yardstick_of

import autobct
from autobct import Categorical

__all__ = ["CAP", "LEVELS", "Outcome", "Question", "Task", "autobct_tuner", "holdout", "named", "play", "published"]

CAP = 50
COST_NOISE = 0.05

PUBLISHED = (
    *(f"lcbench-{task}" for task in (3945, 7593, 126026, 167168, 189873, 189906)),
    *(f"rbv2_xgboost-{task}" for task in (16, 1461, 40984, 41164)),
    "xgb_mnist",
    *(f"iaml_glmnet-{task}" for task in (1067, 1489)),
)
"""Those that may be looked at; everything else of the same families is for checking."""
HELD_OUT = (
    *(f"lcbench-{task}" for task in (34539, 126029, 167104, 167152, 167181, 168331, 168908, 189866)),
    *(f"rbv2_xgboost-{task}" for task in (12, 31, 54, 182, 470, 1067, 1220, 40975)),
    "xgb_mnist-16",
    "xgb_mnist-22",
    *(f"iaml_glmnet-{task}" for task in (40981, 41146)),
)


@dataclass(frozen=True, slots=True)
class Question:
    """All that a tuner is told.

    price: score per second;  cap: most trials
    rows:  the configurations there are, where the space is a finite table: a proposal is trained at the nearest one
           that was not trained before
    """

    space: Space
    price: float
    score_range: tuple[float, float]
    seed: int
    cap: int
    rows: Sequence[Mapping[str, Any]] | None = None


Training = Callable[[Mapping[str, Any]], tuple[float, float]]
"""params -> observed score, cost in seconds."""
Tuner = Callable[[Question, Training], int]
"""Train as it sees fit; the position, from 0, of the trial whose configuration is returned."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One training: the score it showed, the score it truly has, the cost it took."""

    seen: float
    true: float
    cost: float


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A surface, and how it is seen.  noise: standard deviation of an observed score;  cost_noise: relative."""

    name: str
    family: str
    space: Space
    surface: Surface
    score_range: tuple[float, float]
    noise: float
    cost_noise: float = COST_NOISE

    @property
    def yardstick(self) -> Yardstick:
        """What is to be had here; found once, kept in the temporary folder."""
        return _yardstick(self)

    def true(self, points: Array) -> tuple[Array, Array]:
        """Scores and costs without noise, (n,) each, at points (n, d)."""
        return self.surface(points)

    def observed(self, points: Array, normals: Array) -> Array:
        """The scores that trainings at points (n, d) show, (n,); normals: (n,) standard normal."""
        if isinstance(self.surface, Grid):
            return self.surface.of_one_seed(points, ndtr(normals))
        return np.asarray(self.true(points)[0] + self.noise * normals)

    def points(self, uniforms: Array) -> Array:
        """Points (n, d) that uniforms (n, d) draw, every value of a whole number or category equally often."""
        return points_of(self.space, uniforms)

    def point(self, params: Mapping[str, Any]) -> Array:
        """The point (d,) of a value for every parameter."""
        if params.keys() != self.space.keys():
            raise ValueError(f"{self.name}: params must name {list(self.space)}, got {list(params)}")
        return np.array([_raw(p, params[name]) for name, p in self.space.items()], dtype=float)

    def params(self, point: Array) -> dict[str, Any]:
        """The value of every parameter at a point (d,)."""
        return params_of(self.space, point)

    def nearest(self, points: Array) -> Array:
        """Points (n, d) as they are, or where the space is a table the nearest of its rows."""
        if not isinstance(self.surface, Table):
            return points
        rows = unit_of(self.space, self.surface.points)
        away = np.sum((rows[None] - unit_of(self.space, points)[:, None]) ** 2, axis=-1)
        nearest: Array = self.surface.points[np.argmin(away, axis=1)]
        return nearest

    def price(self, level: float) -> float:
        """Score per second at which a median training costs this share of the range of scores."""
        return level * self.yardstick.range / self.yardstick.c50


@cache
def _yardstick(task: Task) -> Yardstick:
    if isinstance(task.surface, Table):
        return measured(task.surface.scores, task.surface.costs)
    return yardstick_of(task.name, task.true, task.points, len(task.space))


class Bench:
    """The one thing with memory: trains for a tuner and writes down what it took."""

    def __init__(self, task: Task, seed: int, cap: int = CAP) -> None:
        self.task, self.cap = task, cap
        self.trials: list[Trial] = []
        self.busy = 0.0  # CPU seconds that were ours, not the tuner's
        self._rng = np.random.default_rng([seed_on(task, seed), 0])
        table = task.surface if isinstance(task.surface, Table) else None
        self._table = table
        self._left = np.ones(0 if table is None else len(table.points), dtype=bool)
        self._rows = None if table is None else unit_of(task.space, table.points)

    def __call__(self, params: Mapping[str, Any]) -> tuple[float, float]:
        start = time.process_time()
        if len(self.trials) >= self.cap:
            raise RuntimeError(f"{self.task.name}: more than {self.cap} trials; a tuner must keep to question.cap")
        point = self._nearest(self.task.point(params))
        (score,), (cost,) = self.task.true(point[None])
        normals = self._rng.standard_normal(2)  # the n-th trial has the same noise whoever makes it
        seen = float(self.task.observed(point[None], normals[:1])[0])
        cost = float(cost * max(1.0 + self.task.cost_noise * normals[1], 0.5))
        self.trials.append(Trial(seen, float(score), cost))
        self.busy += time.process_time() - start
        return seen, cost

    def _nearest(self, point: Array) -> Array:
        if self._table is None or self._rows is None:
            return point
        away = np.sum((self._rows - unit_of(self.task.space, point[None])) ** 2, axis=1)
        row = int(np.argmin(np.where(self._left, away, np.inf)))
        self._left[row] = False
        nearest: Array = self._table.points[row]
        return nearest


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tuner made of a task.

    utility:  true score of what it returned minus price x all that was spent   (U)
    captured: (U - U_ref) / (U_star - U_ref)
    cost:     in units of the median training (c50);  score: true, as a share of the task's range above its low end
    seconds:  CPU of the tuner per decision, the last one (to stop) included
    """

    utility: float
    captured: float
    trials: int
    cost: float
    score: float
    seconds: float
    history: tuple[Trial, ...] = ()
    chosen: int = -1


def play(tuner: Tuner, task: Task, level: float, seed: int, cap: int = CAP) -> Outcome:
    """Let a tuner play one task at one price level; a tuner with an attribute `seconds` has measured its own time."""
    bench = Bench(task, seed, cap)
    rows = None
    if isinstance(task.surface, Table):
        rows = [task.params(point) for point in task.surface.points]
    question = Question(task.space, task.price(level), task.score_range, seed_on(task, seed), cap, rows)
    start = time.process_time()
    chosen = tuner(question, bench)
    seconds = getattr(tuner, "seconds", time.process_time() - start - bench.busy)
    if not 0 <= chosen < len(bench.trials):
        raise ValueError(f"{task.name}: the tuner returned trial {chosen} of {len(bench.trials)}")
    return outcome_of(task, level, bench.trials, chosen, seconds / (len(bench.trials) + 1))


def seed_on(task: Task, seed: int) -> int:
    """The seed of a play: another on every task, so that chance is averaged over tasks and not only over seeds."""
    return zlib.crc32(f"{task.name} {seed}".encode()) >> 1


def outcome_of(task: Task, level: float, trials: Sequence[Trial], chosen: int, seconds: float = 0.0) -> Outcome:
    """What trials that end here, and the one that is returned, are worth."""
    known = task.yardstick
    spent = sum(trial.cost for trial in trials)
    utility = trials[chosen].true - task.price(level) * spent
    share = (trials[chosen].true - known.low) / known.range
    captured = known.captured(utility, level)
    return Outcome(utility, captured, len(trials), spent / known.c50, share, seconds, tuple(trials), chosen)


def best_seen(trials: Sequence[Trial]) -> int:
    """The trial with the best observed score, what a tuner without a model returns."""
    return best_seen_of([trial.seen for trial in trials])


def best_seen_of(scores: Sequence[float]) -> int:
    """The position of the best, the first one of several."""
    return max(range(len(scores)), key=scores.__getitem__)


def tuner_for(question: Question, **settings: Any) -> autobct.Tuner:
    """autobct with what a question tells; settings take the place of that."""
    plain = {"price": question.price, "score_range": question.score_range, "seed": question.seed}
    return autobct.Tuner(question.space, **{**plain, "max_runs": question.cap, **settings})


def autobct_tuner(**settings: Any) -> Tuner:
    """autobct with these settings of `autobct.Tuner`; none are its defaults."""

    def tuner(question: Question, train: Training) -> int:
        mind = tuner_for(question, **settings)
        while isinstance(decision := mind.ask(), autobct.Train):
            score, cost = train(decision.params)
            mind.tell(decision, score=score, cost=cost)
        best = mind.best
        assert best is not None  # the first run is always made
        return best.trial

    return tuner


def published(data: str | Path | None = None) -> list[Task]:
    """The 13 tasks that may be looked at."""
    return named(PUBLISHED, data)


def holdout(data: str | Path | None = None) -> list[Task]:
    """Other tasks of the same families, to check what was chosen on the published ones."""
    return named(HELD_OUT, data)


def named(names: Iterable[str], data: str | Path | None = None) -> list[Task]:
    """Tasks by name: "<family>-<task>", or "xgb_mnist-<size>" with the position of the training size, 0 to 27."""
    place = folder(data)
    return [_task(name, place) for name in names]


def everything(data: str | Path | None = None) -> list[Task]:
    """All tasks of all families."""
    place = folder(data)
    names = [f"{name}-{task}" for name, family in FAMILIES.items() for task in tasks_of(family, place)]
    names += [f"hpobench_mlp-{task}" for task in MLP] + [f"xgb_icml2020-{task}" for task in XGB]
    return [_task(name, place) for name in [*names, "xgb_mnist"]]


def _task(name: str, place: Path) -> Task:
    kind, _, which = name.partition("-")
    if kind == "xgb_mnist":
        space, table = xgb_mnist(place, int(which) if which else -1)
        return Task(name, kind, space, table, (0.0, 1.0), 0.0, 0.0)  # measured: its noise is in the table
    if kind == "hpobench_mlp":
        space, grid = hpobench_mlp(place, which)
        return Task(name, kind, space, grid, (0.0, 1.0), 0.0)
    if kind == "xgb_icml2020":
        space, table = xgb_icml2020(place, which)
        return Task(name, kind, space, table, (0.0, 1.0), 0.0)
    if kind not in FAMILIES or not which:
        raise ValueError(f"there is no task {name!r}; write e.g. {PUBLISHED[0]!r}, families are {list(FAMILIES)}")
    family = FAMILIES[kind]
    space, surface = surrogate(family, which, place)
    return Task(name, kind, space, surface, family.ends, family.noise)


def _raw(parameter: Any, value: Any) -> float:
    if isinstance(parameter, Categorical):
        return float(parameter.index(value))
    if not parameter.low <= value <= parameter.high:
        raise ValueError(f"a proposal must be from {parameter.low} to {parameter.high}, got {value!r}")
    return float(value)
