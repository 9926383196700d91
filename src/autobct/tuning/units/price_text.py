"""Prices as people write them: "1% per 10min", "0.02/h", "half a point a day", "10 min per 0.01".

A text is one amount of score and one of cost with a word between them.  Units say which side is which, so it may be
turned round; without any the score comes first.  What can be read in two ways is refused with both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from autobct.tuning.units.price_sides import (
    AmountReading,
    UnclearError,
    cost_readings,
    is_cost,
    is_percent,
    is_score,
    score_readings,
)

__all__ = ["EXAMPLE", "read_price"]

EXAMPLE = "write it as score per cost, e.g. '0.01 per 30s'"

_WORDS = {
    **dict.fromkeys(("a", "an", "one"), 1.0),
    **{
        word: float(n)
        for n, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], start=2)
    },
    **dict.fromkeys(("half", "half a", "half an", "half of a", "a half", "one half"), 0.5),
    **dict.fromkeys(("quarter of a", "quarter of an", "a quarter", "a quarter of a", "a quarter of an"), 0.25),
    **{
        f"{one} {part}{of}": size
        for one in ("a", "one")
        for of in ("", " of a", " of one")
        for part, size in (("tenth", 0.1), ("hundredth", 0.01), ("thousandth", 0.001))
    },
}
_DIGITS = r"[-+]?(?:\d+(?:,\d+)*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?(?:\s*/\s*\d+)?"
_NUMERAL = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_AMOUNT = re.compile(rf"(?P<number>{_DIGITS}|(?:{_NUMERAL})(?![a-z]))?\s*(?P<unit>.*)")
_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:,\d{3})+")

# "per cent" and "per mille" are units; a slash may also be that of a fraction, so the last one counts.
_BETWEEN = (
    re.compile(r"(?<![a-z])per(?!\s*cent|\s*mil)|=|(?<![a-z])(?:is worth|for (?:each|every)|for|each|every)(?![a-z])"),
    re.compile(r"/(?=[^/]*$)"),
    re.compile(r"(?<=[\w%]) an? (?=[a-z]+$)"),
)


@dataclass(frozen=True, slots=True)
class Amount:
    """One side of a price.  text: as written;  number: "" if there is none;  unit: what follows it."""

    text: str
    number: str
    unit: str


def read_price(text: str, scores: tuple[float, float] | None = None) -> tuple[float, float, str, bool]:
    """The gain in score, the cost it is worth, the unit of that cost, and whether a percent was taken for 0.01.

    scores:  lowest and highest score as stated: they say what a point is; None if nothing was said
    """
    left, right = _sides(text)
    turned = is_cost(left.unit) or is_score(right.unit)
    if turned and (is_score(left.unit) or is_cost(right.unit)):
        what = "times or costs" if is_cost(left.unit) else "scores"
        raise ValueError(f"price {text!r} has two {what}; {EXAMPLE}")
    gain, cost = (right, left) if turned else (left, right)
    try:
        gains = score_readings(_numbers(gain), gain.unit, scores)
        scored = _only(text, gains, before="", after=f" per {cost.text}")
        paid = _only(text, cost_readings(_numbers(cost), cost.unit), before=f"{_short(scored.amount)} per ", after="")
    except UnclearError as error:
        raise ValueError(f"price {text!r} {error}; {EXAMPLE}") from None
    return scored.amount, paid.amount, paid.unit, scores is None and is_percent(gain.unit)


def _sides(text: str) -> tuple[Amount, Amount]:
    """What stands before and after the word between them, in small letters."""
    plain = " ".join(text.lower().replace("\u2212", "-").split())
    for between in _BETWEEN:
        parts = between.split(plain)
        if len(parts) > 2:
            raise ValueError(f"price {text!r} has more than one 'per'; {EXAMPLE}")
        if len(parts) == 2:
            left, right = (_amount(part.strip()) for part in parts)
            if not left.number:
                raise ValueError(f"price {text!r} must begin with a number, got {left.text!r}; {EXAMPLE}")
            if not right.text:
                raise ValueError(f"price {text!r} has no cost after 'per'; {EXAMPLE}")
            return left, right
    raise ValueError(f"price {text!r} does not say per which cost, the word 'per' is missing; {EXAMPLE}")


def _amount(text: str) -> Amount:
    found = _AMOUNT.fullmatch(text)
    assert found is not None  # both parts may be empty
    return Amount(text, found["number"] or "", found["unit"])


def _numbers(amount: Amount) -> list[AmountReading]:
    """What the number may be: "1,000" is a thousand, or one with three decimals."""
    written = amount.number or "one"
    if written in _WORDS:
        return [AmountReading(_WORDS[written])]
    above, _, below = written.partition("/")
    share = float(below) if below else 1.0
    if not share:
        raise UnclearError("divides by zero")
    if "," not in above:
        return [AmountReading(float(above) / share)]
    thousands, decimals = above.replace(",", ""), above.replace(",", ".")
    whole = AmountReading(float(thousands) / share, f"if {above} is {thousands}")
    point = AmountReading(float(decimals) / share, f"if it is {decimals}") if decimals.count(".") == 1 else None
    if not _THOUSANDS.fullmatch(above.partition(".")[0]):
        if point is None:
            raise UnclearError(f"has {above!r}, which is not a number")
        return [AmountReading(point.amount)]
    return [whole] if point is None else [whole, point]


def _only(text: str, readings: list[AmountReading], before: str, after: str) -> AmountReading:
    """The one reading; where there are two, both, and how to write each."""
    if len(readings) == 1:
        return readings[0]
    ways = [f"'{before}{_short(each.amount)}{each.written}{after}' {each.meaning}" for each in readings]
    raise ValueError(f"price {text!r} can be read in two ways; write {', or '.join(ways)}")


def _short(number: float) -> str:
    return repr(float(f"{number:.12g}")).removesuffix(".0")
