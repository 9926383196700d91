"""Untrusted text made safe to display: without control characters or direction overrides."""

from __future__ import annotations

import unicodedata

__all__ = ["one_line", "visible"]

_SIGN = "�"


def visible(text: str, keep: str = "\n\t\u200c\u200d") -> str:
    """The text with a sign for every control character, direction override and lone surrogate.

    keep:  the line break, the tab, and the two joiners without which some scripts cannot be written
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if character in keep else _shown(character) for character in text)


def one_line(text: str, most: int = 60) -> str:
    """The text on one line, cut with an ellipsis after `most` characters."""
    joined = visible(" ".join(text[: 4 * most].split()))
    return joined if len(joined) <= most else f"{joined[: most - 1]}…"


def _shown(character: str) -> str:
    """Control (Cc), format (Cf: invisible, some turn the text around), surrogates (Cs) and what is no character."""
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs") or ord(character) & 0xFFFF >= 0xFFFE
    return _SIGN if hidden else character
