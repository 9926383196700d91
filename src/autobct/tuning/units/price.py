"""What cost is worth in score: "0.01 per 30s" -> gamma  (the price in the paper's objective, eq. (2))."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from autobct.belief.arrays import as_float
from autobct.tuning.units.price_sides import SECONDS, spelled
from autobct.tuning.units.price_text import EXAMPLE, read_price

__all__ = ["Price", "parse_price", "price_from"]

_FROM = "write e.g. price_from(gain=0.01, seconds=60)"
_OWN = ("", "unit", "units", "unit of cost", "units of cost")  # the unit in which the cost is measured


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
