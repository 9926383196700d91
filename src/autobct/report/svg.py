"""Markup that escapes itself: the few lines under every chart of the page and of the notebook.

Colours are never written here: a shape names its class, and the style sheet around it knows light from dark.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from autobct.belief.arrays import Array
from autobct.tuning.visible import visible

__all__ = ["Markup", "join", "path_of", "tag", "text_of"]

_VOID = frozenset({"br", "hr", "meta", "link", "path", "line", "circle", "rect"})


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
