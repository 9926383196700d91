"""What cost is worth in score: "0.01 per 30s" -> gamma  (the price in the paper's objective, eq. (2))."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real

__all__ = ["Price", "parse_price", "price_from"]

_EXAMPLE = "write it as score per cost, e.g. '0.01 per 30s'"
_FROM = "write e.g. price_from(gain=0.01, seconds=60)"
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}  # "": the cost's own unit
_SPELLINGS = {
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("", "unit", "units", "unit of cost", "units of cost"), ""),
}
_TEXT = re.compile(r"(?P<score>.*?)\s*(?:/|per(?!\s*cent))\s*(?P<cost>.*)", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"\s*(?:%|per\s*cent)$", re.IGNORECASE)
_WHAT = re.compile(r"(?<=[\d%\s])\s*(?!(?:per\s*)?cent\b)(?:of\s+)?[a-z][a-z ]*$", re.IGNORECASE)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_AMOUNT = re.compile(rf"(?P<number>{_NUMBER})?\s*(?P<unit>.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Price:
    """So much score is worth so much cost  (gamma).

    score: gain in score, in the units in which the score is measured, positive
    cost:  the cost that this gain is worth, in `unit`, positive
    unit:  "ms", "s", "min", "h" or "d", in any usual spelling; "" for the unit in which the cost is measured
    """

    score: float
    cost: float
    unit: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "score", _positive("price", self.score))
        object.__setattr__(self, "cost", _positive("the cost in price", self.cost))
        object.__setattr__(self, "unit", _unit(self.unit))
        if not (0.0 < self.per_cost < math.inf):
            raise ValueError(f"price is too small or too large for a number, got {self}; {_EXAMPLE}")

    @property
    def per_cost(self) -> float:
        """Score per one unit of raw cost: per second where `unit` is a time, else per the cost's own unit."""
        return self.score / self.cost / _SECONDS[self.unit]

    def __str__(self) -> str:
        """Text that reads naturally and that `parse_price` reads back: "0.01 per 30 s"."""
        words = [] if self.cost == 1.0 else [_short(self.cost)]
        plain = "unit of cost" if self.cost == 1.0 else "units of cost"
        return " ".join([_short(self.score), "per", *words, self.unit or plain])


def parse_price(price: float | int | str | Price) -> Price:
    """The price that a user wrote.

    A number is score per one unit of cost, which is a second when the cost is measured time.  Text names both
    sides: "0.01 per 30s", "1% per 10min", "0.5% per hour", "0.02/h", or "0.01 per 3" in the cost's own unit.
    """
    if isinstance(price, Price):
        return price
    if isinstance(price, str):
        return _parse_text(price)
    return Price(_positive("price", price), 1.0, "")


def price_from(gain: float = 0.01, seconds: float = 60.0) -> Price:
    """The price at which `gain` of score is worth `seconds` of training: price_from(gain=0.01, seconds=60).

    gain:     in the units in which the score is measured, an improvement, so positive in either direction
    seconds:  of training that you would just give for it
    """
    return Price(_positive("gain", gain, _FROM), _positive("seconds", seconds, _FROM), "s")


def _parse_text(text: str) -> Price:
    sides = _TEXT.fullmatch(text.strip())
    if sides is None:
        raise ValueError(f"price {text!r} does not say per which cost, the word 'per' is missing; {_EXAMPLE}")
    amount = _AMOUNT.fullmatch(sides["cost"])
    if amount is None or not sides["cost"]:
        raise ValueError(f"price {text!r} has no cost after 'per'; {_EXAMPLE}")
    return Price(_parse_score(sides["score"], text), float(amount["number"] or 1.0), amount["unit"])


def _parse_score(score: str, text: str) -> float:
    plain = _WHAT.sub("", score)  # "1 % accuracy" is "1 %"
    number, percents = _PERCENT.subn("", plain)
    try:
        return float(number) / (100.0 if percents else 1.0)
    except ValueError:
        raise ValueError(f"price {text!r} must begin with a number, got {score!r}; {_EXAMPLE}") from None


def _positive(name: str, value: object, example: str = _EXAMPLE) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        wanted = "a number" if example is _FROM else "a number or text"
        raise TypeError(f"{name} must be {wanted}, got {value!r}; {example}")
    if not (value > 0 and math.isfinite(value)):  # type: ignore[operator]  # Real promises no order; all of ours have one
        raise ValueError(f"{name} must be positive and finite, got {value!r}; {example}")
    return float(value)


def _unit(unit: object) -> str:
    if not isinstance(unit, str):
        raise TypeError(f"the unit in price must be text, got {unit!r}; write ms, s, min, h, d or ''")
    words = " ".join(unit.lower().split())
    if words not in _SPELLINGS:
        raise ValueError(
            f"price has the unknown unit {unit!r}; use ms, s, min, h or d, or none for the cost's own unit, "
            f"as in '0.01 per 30s'"
        )
    return _SPELLINGS[words]


def _short(number: float) -> str:
    return repr(number).removesuffix(".0")


def seconds_of(unit: str) -> float | None:
    """Seconds in a unit of time in any usual spelling; None if it is none."""
    spelled = _SPELLINGS.get(unit.lower())
    return _SECONDS[spelled] if spelled else None
