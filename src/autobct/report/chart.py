"""SVG charts: two axes in a frame, shapes on them, and markup that escapes its text.

Colours are never written here: a shape is drawn in the colour of the group it is in (`currentColor`), so one style
sheet serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from autobct.belief.arrays import Array
from autobct.report.axis import Axis
from autobct.tuning.visible import visible

_VOID = frozenset({"br", "hr", "meta", "link", "path", "line", "circle", "rect"})

_LETTER, _LINE = 7.2, 16.0  # pixels of a letter and of a line of text at the size in the style sheet
_TOP, _BOTTOM, _RIGHT, _GAP = 36.0, 40.0, 14.0, 8.0


class Markup(str):
    """Text that is markup already; jinja2 and `tag` take it as it is, and escape all other text."""

    __slots__ = ()

    def __html__(self) -> str:
        """The same, for jinja2."""
        return self


def tag(name: str, *children: object, **attributes: object) -> Markup:
    """An element; children and attributes are escaped unless they are Markup.

    An attribute is written with _ for -, and `class_` for class; one that is None is left out.
    """
    stated = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{stated}/>")
    return Markup(f"<{name}{stated}>{join(children)}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """All parts, one after the other, escaped where they are not Markup."""
    return Markup("".join(text_of(part) for part in parts))


def text_of(thing: object) -> Markup:
    """Markup as it is; anything else as escaped text, without the characters no document may hold."""
    if isinstance(thing, Markup):
        return thing
    return Markup(escape(visible(str(thing))))


def path_of(x: Array, y: Array, *, closed: bool = False) -> str:
    """The `d` of a line through points in pixels, to a tenth of one.  x, y: (n,)."""
    points = [f"{_value(float(a))} {_value(float(b))}" for a, b in zip(x, y, strict=True)]
    return f"M{'L'.join(points)}{'z' if closed else ''}" if points else ""


def _value(value: object) -> str:
    """Numbers to a tenth of a pixel, without needless zeros."""
    if isinstance(value, float):
        shown = f"{value:.1f}"
        return shown[:-2] if shown.endswith(".0") else shown
    return visible(str(value))


__all__ = [
    "Frame",
    "Mark",
    "area",
    "band",
    "beyond",
    "chart",
    "cross",
    "dot",
    "frame",
    "group",
    "label",
    "line",
    "ring",
    "rule",
]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a chart is drawn.  x, y: the axes, along pixels of the plot area."""

    width: float
    height: float
    x: Axis
    y: Axis

    @property
    def left(self) -> float:
        """Left side of the plot area."""
        return self.x.start

    @property
    def bottom(self) -> float:
        """Lower side of the plot area."""
        return self.y.start


@dataclass(frozen=True, slots=True)
class Mark:
    """One run on a chart.  text: told when pointed at;  name: written beside it, if anything."""

    x: float
    y: float
    text: str
    name: str = ""


def frame(x: Axis, y: Axis, *, width: float = 440.0, height: float = 290.0, foot: float = 0.0) -> Frame:
    """A frame with room for the labels of both axes.  foot: pixels left free below."""
    longest = max((len(text) for _, text in y.ticks), default=1)
    left = min(_LETTER * longest + _GAP + 2.0, width / 3)
    return Frame(width, height, x.over(left, width - _RIGHT), y.over(height - _BOTTOM - foot, _TOP))


def chart(frame: Frame, shapes: Sequence[object], marks: Sequence[object] = (), *, says: str) -> Markup:
    """The picture.  shapes: cut at the frame;  marks: drawn over it, whole;  says: the same in words."""
    x, y, width, height = frame.x.start, frame.y.end, frame.x.end - frame.x.start, frame.y.start - frame.y.end
    inner = tag("svg", *shapes, x=x, y=y, width=width, height=height, viewBox=_box(x, y, width, height))
    drawn = [_axes(frame), inner, *marks]
    box = _box(0.0, 0.0, frame.width, frame.height)
    return tag("svg", *drawn, class_="chart", viewBox=box, role="img", aria_label=says)


def group(colour: str, *shapes: object) -> Markup:
    """Shapes of one colour: score, cost, go, bad, ink or muted; "dots" makes circles stand out from what is below."""
    return tag("g", *shapes, class_=colour)


def line(frame: Frame, x: Array, y: Array, *, dashed: bool = False, width: float = 2.0) -> Markup:
    """A line through values (n,); it breaks where one is not finite."""
    seen = np.isfinite(x) & np.isfinite(y)
    pieces = np.split(np.arange(len(x)), np.flatnonzero(np.diff(seen.astype(int)) != 0) + 1)
    drawn = "".join(path_of(frame.x.at(x[piece]), frame.y.at(y[piece])) for piece in pieces if seen[piece].all())
    return tag(
        "path",
        d=drawn,
        fill="none",
        stroke="currentColor",
        stroke_width=width,
        stroke_linejoin="round",
        stroke_dasharray="5 4" if dashed else None,
    )


def band(frame: Frame, x: Array, low: Array, high: Array, *, opacity: float) -> Markup:
    """The area between two lines over the same x.  x, low, high: (n,)."""
    around = path_of(
        np.concatenate([frame.x.at(x), frame.x.at(x)[::-1]]),
        np.concatenate([frame.y.at(low), frame.y.at(high)[::-1]]),
        closed=True,
    )
    return tag("path", d=around, fill="currentColor", fill_opacity=f"{opacity:g}")


def area(loops: Sequence[Array], *, opacity: float) -> Markup:
    """The inside of closed lines, holes left out.  loops: (n, 2) in pixels."""
    around = "".join(path_of(loop[:, 0], loop[:, 1], closed=True) for loop in loops)
    return tag("path", d=around, fill="currentColor", fill_opacity=f"{opacity:g}", fill_rule="evenodd")


def rule(frame: Frame, *, x: float | None = None, y: float | None = None, text: str = "") -> Markup:
    """A dashed line across the chart at one value, with a word beside it."""
    if x is not None:
        at = float(frame.x.at(x))
        ends = {"x1": at, "x2": at, "y1": frame.y.start, "y2": frame.y.end}
        right = at > (frame.x.start + frame.x.end) / 2
        place = (at - 5.0 if right else at + 5.0, frame.y.end + 12.0, "end" if right else "start")
    else:
        assert y is not None
        at = float(frame.y.at(y))
        ends = {"x1": frame.x.start, "x2": frame.x.end, "y1": at, "y2": at}
        place = (frame.x.end, at - 5.0, "end")
    drawn = tag("line", **ends, stroke="currentColor", stroke_dasharray="3 4")
    return join([drawn, tag("text", text, x=place[0], y=place[1], text_anchor=place[2], class_="said") if text else ""])


def dot(frame: Frame, mark: Mark) -> Markup:
    """A run, in a group of dots."""
    x, y = float(frame.x.at(mark.x)), float(frame.y.at(mark.y))
    circle = tag("circle", tag("title", mark.text), cx=x, cy=y, r=4.5)
    if not mark.name:
        return circle
    left = x > frame.x.end - 18.0
    place = {"x": x - 7.0 if left else x + 7.0, "y": y - 6.0, "text_anchor": "end" if left else None}
    return join([circle, tag("text", mark.name, class_="run", **place)])


def ring(frame: Frame, mark: Mark) -> Markup:
    """A circle around the run to use."""
    x, y = float(frame.x.at(mark.x)), float(frame.y.at(mark.y))
    return tag("circle", tag("title", mark.text), cx=x, cy=y, r=9, class_="ring")


def beyond(frame: Frame, mark: Mark, *, above: bool) -> Markup:
    """A finished run outside the axis: an arrowhead at the rim that points to where it is."""
    x, y, up = float(frame.x.at(mark.x)), float(frame.y.at(mark.y)), -1.0 if above else 1.0
    head = f"M{x - 5:.1f} {y - 4 * up:.1f}h10l-5 {8 * up:.1f}z"
    return tag("path", tag("title", mark.text), d=head, class_="beyond", fill="currentColor")


def cross(frame: Frame, mark: Mark) -> Markup:
    """A run that failed."""
    x, y = float(frame.x.at(mark.x)), float(frame.y.at(mark.y))
    arms = f"M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8"
    return tag("path", tag("title", mark.text), d=arms, class_="cross")


def label(x: float, y: float, text: object, *, anchor: str = "start") -> Markup:
    """A word at a place in pixels."""
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_="said")


def _axes(frame: Frame) -> Markup:
    """Grid lines, tick labels, and both titles: the upright one lies flat above its axis."""
    x, y = frame.x, frame.y
    across = [(float(y.at(value)), text) for value, text in y.ticks]
    down = [(float(x.at(value)), text) for value, text in x.ticks]
    grid = "".join(f"M{x.start:.1f} {at:.1f}H{x.end:.1f}" for at, _ in across)
    grid += "".join(f"M{at:.1f} {y.start:.1f}V{y.end:.1f}" for at, _ in down)
    ends = {0: "start"} if x.low == 0.0 and down and down[0][0] - x.start < 1 else {}
    return join(
        [
            tag("path", d=grid, class_="grid"),
            tag("g", *(tag("text", text, x=x.start - _GAP, y=at + 4.0) for at, text in across), text_anchor="end"),
            tag(
                "g",
                *(
                    tag("text", text, x=at, y=y.start + _LINE + 1.0, text_anchor=ends.get(k))
                    for k, (at, text) in enumerate(down)
                ),
                text_anchor="middle",
            ),
            tag("text", y.title, x=0.0, y=14.0, class_="title"),
            tag("text", x.title, x=x.end, y=y.start + 2 * _LINE + 2.0, text_anchor="end", class_="title"),
        ]
    )


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"{x:.6g} {y:.6g} {width:.6g} {height:.6g}"
