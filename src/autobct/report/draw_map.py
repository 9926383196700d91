"""Estimated score and cost at any controls, and a map of two parameters with the runs on it and a colour key.

The areas above rising levels, as closed lines, are filled one over the other: any style sheet can colour them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from autobct.belief.arrays import Array
from autobct.belief.basis import noise_at
from autobct.belief.cost import LOG_LINEAR
from autobct.report.axis import Axis, choices_axis, number, parameter_axis
from autobct.report.chart import Frame, Markup, area, chart, frame, group, label, tag
from autobct.tuning.history import Run
from autobct.tuning.model.estimate import Learned, score_quantiles, spread_of
from autobct.tuning.space.parameter import Categorical, Parameter
from autobct.tuning.space.space import Space
from autobct.tuning.units.scale import ScaledProblem

__all__ = [
    "GRID",
    "LEVELS",
    "MIDDLE",
    "Dial",
    "dial_axis",
    "dials",
    "level_map",
    "log_cost",
    "place",
    "run_cost",
    "run_score",
    "swept",
]

LEVELS = (0.025, 0.16, 0.5, 0.84, 0.975)
"""Ends of the 95 % band, of the 68 % band, and the middle between them."""

MIDDLE = 2
"""Row of the middle among the quantiles."""

_FARTHEST_LOG = 60.0  # e^60 is beyond any cost; a picture needs finite numbers


@dataclass(frozen=True, slots=True)
class Dial:
    """One parameter that is not a constant.  columns: its coordinates in a control."""

    name: str
    parameter: Parameter
    columns: tuple[int, ...]

    @property
    def numeric(self) -> bool:
        """Whether it is a number and not a choice."""
        return not isinstance(self.parameter, Categorical)

    def setting(self, k: int, count: int) -> Any:
        """The user's value at the k-th of `count` settings that `swept` takes."""
        if isinstance(self.parameter, Categorical):
            return self.parameter.value(k)
        return self.parameter.from_unit(k / (count - 1))


def dials(space: Space) -> list[Dial]:
    """The parameters that can be turned, in the user's order."""
    owners = [column.name for column in space.columns]
    return [
        Dial(name, parameter, tuple(i for i, owner in enumerate(owners) if owner == name))
        for name, parameter in zip(space.names, space.parameters, strict=True)
        if name in owners
    ]


def swept(base: Array, turned: Sequence[Dial], points: int) -> Array:
    """Controls (n, p): `base` with one dial, or each pair of settings of two dials, turned through.

    A number takes `points` even steps, a choice each of its values; the last dial turns fastest.
    """
    settings = [_settings(dial, points) for dial in turned]
    sizes = [len(setting) for setting in settings]
    controls = np.tile(base, (int(np.prod(sizes)), 1))
    for dial, setting, index in zip(turned, settings, np.indices(sizes).reshape(len(sizes), -1), strict=True):
        controls[:, list(dial.columns)] = setting[index]
    return controls


def _settings(dial: Dial, points: int) -> Array:
    return np.linspace(0.0, 1.0, points)[:, None] if dial.numeric else np.eye(len(dial.columns))


def run_score(known: Learned, controls: Array) -> Array:
    """Quantiles (5, n) of the score that one run would measure at controls (n, p), noise included: see `LEVELS`."""
    return score_quantiles(known, controls, LEVELS, noise=True)


def run_cost(known: Learned, controls: Array) -> Array:
    """Quantiles (5, n) of the cost of one run at controls (n, p), noise included."""
    problem, model = known.problem, known.problem.prior.model
    mean, sd = spread_of(known.belief.cost, model.cost_basis(controls))
    seen = mean + ndtri(np.array(LEVELS))[:, None] * np.hypot(sd, noise_at(model.cost_noise, controls))
    if log_cost(problem):
        seen = np.clip(seen, -_FARTHEST_LOG, _FARTHEST_LOG)
    return np.asarray(problem.cost_scale.to_raw(np.asarray(model.cost_model.from_observation(seen))))


def log_cost(problem: ScaledProblem) -> bool:
    """Whether costs are positive and compared by their ratios."""
    return problem.prior.model.cost_model is LOG_LINEAR


GRID = 25  # points along each side
_LEVELS, _SHADE = 9, 0.17  # areas laid over each other, and how much of the colour each adds
_KEY_HEIGHT = 44.0


def level_map(
    surface: Array, across: Dial, up: Dial, marks: Sequence[Markup], *, colour: str, title: str, log: bool, says: str
) -> Markup:
    """A surface (settings of `up`, settings of `across`) in shades of one colour: the more, the deeper."""
    at = map_frame(across, up)
    levels = _levels(surface, log=log)
    shades = _cells if isinstance(across.parameter, Categorical) or isinstance(up.parameter, Categorical) else _loops
    shapes = [group(colour, *shades(at, surface, levels))]
    return chart(at, shapes, [*marks, _key(at, levels, surface, colour, title)], says=says)


def map_frame(across: Dial, up: Dial) -> Frame:
    """The frame of such a map; the key lies below it."""
    return frame(dial_axis(across), dial_axis(up), width=440.0, height=400.0, foot=_KEY_HEIGHT)


def dial_axis(dial: Dial) -> Axis:
    """The axis of a parameter: a number's coordinate from 0 to 1, or its choices at 0, 1, 2, ..."""
    if isinstance(dial.parameter, Categorical):
        return choices_axis(dial.name, dial.parameter)
    return parameter_axis(dial.name, dial.parameter)


def place(dial: Dial, run: Run) -> float:
    """Where a run stands on that axis; NaN if it had no such parameter."""
    control = run.control
    if dial.name not in run.params:
        return float("nan")
    if isinstance(dial.parameter, Categorical):
        return float(np.argmax(control[list(dial.columns)]))
    return float(control[dial.columns[0]])


def _levels(surface: Array, *, log: bool) -> Array:
    low, high = float(surface.min()), float(surface.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
        return np.array([low])
    if log and low > 0:
        return np.geomspace(low, high, _LEVELS + 1)[:-1]
    return np.linspace(low, high, _LEVELS + 1)[:-1]


def _loops(at: Frame, surface: Array, levels: Array) -> list[Markup]:
    """Smooth areas above each level, one over the other."""
    steps = np.array(surface.shape[::-1]) - 1.0
    drawn = []
    for level in levels[1:]:
        loops = [loop / steps for loop in loops_above(surface, float(level))]
        pixels = [np.column_stack([at.x.at(loop[:, 0]), at.y.at(loop[:, 1])]) for loop in loops]
        drawn.append(area(pixels, opacity=_SHADE))
    return drawn


def _cells(at: Frame, surface: Array, levels: Array) -> list[Markup]:
    """Rectangles where a side is a choice: one for all neighbours in a row that are above the level."""
    rows, columns = surface.shape
    x, y = np.linspace(at.x.start, at.x.end, columns + 1), np.linspace(at.y.start, at.y.end, rows + 1)
    drawn = []
    for level in levels[1:]:
        path = ""
        for row in range(rows):
            edges = np.flatnonzero(np.diff(np.concatenate([[0], surface[row] >= level, [0]]).astype(int)))
            for first, last in edges.reshape(-1, 2).tolist():
                path += f"M{x[first]:.1f} {y[row]:.1f}H{x[last]:.1f}V{y[row + 1]:.1f}H{x[first]:.1f}z"
        drawn.append(tag("path", d=path, fill="currentColor", fill_opacity=f"{_SHADE:g}"))
    return drawn


def _key(at: Frame, levels: Array, surface: Array, colour: str, title: str) -> Markup:
    """From the lightest shade to the deepest, with the values at the ends."""
    width = (at.x.end - at.x.start) * 0.5
    left, top = at.x.start + (at.x.end - at.x.start - width) / 2, at.height - 16.0
    step = width / (len(levels))
    shades = [
        tag("rect", x=left + k * step, y=top, width=width - k * step, height=10.0, fill_opacity=f"{_SHADE:g}")
        for k in range(1, len(levels))
    ]
    box = tag("rect", x=left, y=top, width=width, height=10.0, class_="key")
    low, high = number(float(surface.min()), 3), number(float(surface.max()), 3)
    return tag(
        "g",
        tag("g", *shades, class_=colour, fill="currentColor"),
        box,
        label(left - 6.0, top + 9.0, low, anchor="end"),
        label(left + width + 6.0, top + 9.0, high),
        label(left + width / 2, top - 5.0, title, anchor="middle"),
    )


def loops_above(surface: Array, level: float) -> list[Array]:
    """The closed lines around {surface >= level}, each (n, 2) in steps of the grid; one that meets the rim follows it.

    surface:  (rows, columns) at the points of a grid; a point of a line is (column, row), linear between grid points
    """
    try:
        import contourpy
    except ImportError:
        raise ImportError(
            "a map of two parameters needs contourpy, which is not installed; "
            "install it with: pip install 'autobct[report]'",
            name="contourpy",
        ) from None
    generator = contourpy.contour_generator(z=surface, fill_type=contourpy.FillType.OuterOffset)
    found: Any = generator.filled(level, np.inf)  # what it is depends on the type of filling
    return [
        np.asarray(area[first : last - 1])  # its first point is also its last
        for area, ends in zip(*found, strict=True)
        for first, last in pairwise(ends)
    ]
