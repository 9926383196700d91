"""What cost is worth in score: "0.01 per 30s" -> gamma  (the price in the paper's objective, eq. (2)).

Prices are read as people write them: "1% per 10min", "0.02/h", "half a point a day", "10 min per 0.01".  A text is one
amount of score and one of cost with a word between them.  Units say which side is which, so it may be turned round;
without any the score comes first.  What can be read in two ways is refused with both.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from autobct.belief.arrays import as_float
from autobct.tuning.units.price_sides import (
    SECONDS,
    AmountReading,
    UnclearError,
    cost_readings,
    is_cost,
    is_percent,
    is_score,
    score_readings,
    spelled,
)

__all__ = ["Price", "parse_price", "price_from"]

_FROM = "write e.g. price_from(gain=0.01, seconds=60)"
_OWN = ("", "unit", "units", "unit of cost", "units of cost")  # the unit in which the cost is measured

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
class Price:
    """What cost is worth in score: `score` per `cost`  (gamma).

    score: gain in score, in the units in which the score is measured, positive
    cost:  the cost that this gain is worth, in `unit`, positive
    unit:  "ms", "s", "min", "h" or "d", in any usual spelling; "" for the unit in which the cost is measured
    percent:  whether it was written in percent and 1% was taken as 0.01, for lack of a score range
    """

    score: float
    cost: float
    unit: str
    percent: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _positive("price", self.score))
        object.__setattr__(self, "cost", _positive("the cost in price", self.cost))
        object.__setattr__(self, "unit", _unit(self.unit))
        if not (0.0 < self.per_cost < math.inf):
            raise ValueError(f"price is too small or too large for a number, got {self}; {EXAMPLE}")

    @property
    def per_cost(self) -> float:
        """Score per one unit of raw cost: per second if `unit` is a time, otherwise in the cost's own unit."""
        return self.score / self.cost / SECONDS.get(self.unit, 1.0)

    def __str__(self) -> str:
        """Text that reads naturally and that `parse_price` reads back: "0.01 per 30 s"."""
        words = [] if self.cost == 1.0 else [_short(self.cost)]
        plain = "unit of cost" if self.cost == 1.0 else "units of cost"
        return " ".join([_short(self.score), "per", *words, self.unit or plain])


def parse_price(price: float | int | str | Price, scores: tuple[float, float] | None = None) -> Price:
    """The price that a user wrote.

    A number is score per one unit of cost, which is a second when the cost is measured time.  Text names both
    sides: "0.01 per 30s", "1% per 10min", "0.02/h", "1 point an hour", or "0.01 per 3" in the cost's own unit.

    scores:  lowest and highest score as stated, which say how much a point is; None if nothing was said
    """
    if isinstance(price, Price):
        return price
    if isinstance(price, str):
        return Price(*read_price(price, scores))
    return Price(_positive("price", price), 1.0, "")


def price_from(gain: float = 0.01, seconds: float = 60.0) -> Price:
    """The price at which `gain` of score is worth `seconds` of training: price_from(gain=0.01, seconds=60).

    gain:     an improvement in units of the score, positive whether scores are maximized or minimized
    seconds:  the training time that this improvement is just worth
    """
    return Price(_positive("gain", gain, _FROM), _positive("seconds", seconds, _FROM), "s")


def rounded(price: Price) -> Price:
    """The price with four digits, as a sentence states it."""
    return Price(float(f"{price.score:.4g}"), float(f"{price.cost:.4g}"), price.unit)


def _positive(name: str, value: object, example: str = EXAMPLE) -> float:
    try:
        number = as_float(value, name)
    except ValueError as wrong:
        raise ValueError(f"{wrong}; {example}") from None
    except TypeError:
        wanted = "a number" if example is _FROM else "a number or text"
        raise TypeError(f"{name} must be {wanted}, got {value!r}; {example}") from None
    if not (number > 0 and math.isfinite(number)):
        raise ValueError(f"{name} must be positive and finite, got {value!r}; {example}")
    return number


def _unit(unit: object) -> str:
    if not isinstance(unit, str):
        raise TypeError(f"the unit in price must be text, got {unit!r}; write ms, s, min, h, d or ''")
    words = " ".join(unit.lower().split())
    short = "" if words in _OWN else spelled(words)
    if short is None:
        raise ValueError(
            f"price has the unknown unit {unit!r}; use ms, s, min, h or d, or none for the cost's own unit, "
            f"as in '0.01 per 30s'"
        )
    return short


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")


def seconds_of(unit: str) -> float | None:
    """Seconds in a unit of time in any usual spelling; None if it is none."""
    short = spelled(unit)
    return None if short is None else SECONDS[short]


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
        paid = _only(text, cost_readings(_numbers(cost), cost.unit), before=f"{_brief(scored.amount)} per ", after="")
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
    ways = [f"'{before}{_brief(each.amount)}{each.written}{after}' {each.meaning}" for each in readings]
    raise ValueError(f"price {text!r} can be read in two ways; write {', or '.join(ways)}")


def _brief(number: float) -> str:
    return repr(float(f"{number:.12g}")).removesuffix(".0")
