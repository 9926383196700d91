"""What an amount of score or cost in a price can mean, in all possible readings.

A percent or a point is 0.01 of scores between 0 and 1, and 1 of scores between 0 and 100.  A stated range of scores
settles which.  Without one a percent is the number 0.01, and so is a percentage point; a point may be either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "PERCENTAGE",
    "SECONDS",
    "AmountReading",
    "UnclearError",
    "cost_readings",
    "is_cost",
    "is_percent",
    "is_score",
    "score_readings",
    "spelled",
]

SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
"""Seconds in one of each unit of time."""

_SPELLINGS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
}
"""How people write them."""

PERCENTAGE = 10.0
"""Scores of this or more are percentages, or counted in points: a point of them is 1."""

_FRACTIONS = 1.0  # scores up to this are fractions: a point of them is a hundredth
_PERCENTAGES = 100.0  # and up to this they may be percentages
_USUAL = 0.9  # a score to give an example with, where nothing was said

_NAME = (
    r"scores?|accuracy|acc|error rate|error|(?:roc[ -]?)?auc|auroc|f-?1|precision|recall|r2|r\^2|map|ndcg|bleu|iou|"
    r"dice|reward|return|gain|improvement|quality|performance|metric|units?|likelihood"
)
_LOSS = r"loss|log[ -]?loss|cross[ -]entropy|rmse|mse|mae|mape|perplexity"
_KIND = r"of|in|on|the|my|more|less|lower|higher|better|validation|val|test|cv|balanced|mean|average|top-\d|absolute"
_CALLED = re.compile(rf"(?P<unit>.*?)\s*(?P<called>\b(?:(?:{_KIND}|{_NAME}|{_LOSS})(?![\w^])\s*)+)?")
_RELATIVE = re.compile(rf"of\b|(?:less |lower |the |in )*(?:{_LOSS})(?!\w)")  # of a loss a percent is a part of it
_POINT = re.compile(r"(?:points?|pts?)\.?")
_PERCENT = re.compile(r"(?:%|percent|per cent|pct\.?)")
_PERCENTAGE_POINT = re.compile(
    r"(?:%|percent|per cent|pct|percentage)[\s-]*(?:points?|pts?)\.?|pps?\.?|p\.p\.?|%-?pts?|percentage"
)
_PARTS = (
    (re.compile(r"‰|per ?mille?|promille"), 0.001),
    (re.compile(r"basis[ -]points?|bps?\.?"), 0.0001),
)

_TIME = "|".join(sorted(_SPELLINGS, key=len, reverse=True))
_DIGITS = r"(?:\d+\.?\d*|\.\d+)"
_TIMES = re.compile(rf"(?P<unit>{_TIME})\.?(?P<more>(?:\s*(?:and\s*)?{_DIGITS}\s*(?:{_TIME})(?![a-z])\.?)*)")
_MORE = re.compile(rf"(?P<number>{_DIGITS})\s*(?P<unit>{_TIME})(?![a-z])")
_WEEKS = re.compile(r"(?:wk|week)s?")
_OWN = re.compile(r"units?(?: of cost)?|cost")
_MACHINE = re.compile(rf"(?P<machine>gpu|cpu|tpu|core|node|machine)[\s-]*(?P<unit>{_TIME})")
_EM = "m"
_CLOCK = re.compile(r":(?P<rest>\d\d)")
_EACH = re.compile(r"runs?|trials?|trainings?|iterations?|epochs?|steps?|evaluations?|models?|fits?")


def spelled(unit: str) -> str | None:
    """The short name of a unit of time in any usual spelling; None if it is none."""
    return _SPELLINGS.get(" ".join(unit.lower().split()))


class UnclearError(ValueError):
    """The end of a sentence that begins with the price."""


@dataclass(frozen=True, slots=True)
class AmountReading:
    """One way to read an amount.

    amount:   of score, or of cost in `unit`
    meaning:  when it is meant so: "if ..."
    unit:     "ms", "s", "min", "h" or "d"; "" for the cost's own unit
    written:  the unit as one would write it after the amount
    """

    amount: float
    meaning: str = ""
    unit: str = ""
    written: str = ""


def is_cost(unit: str) -> bool:
    """Whether these words can only be a time or a cost."""
    named = unit != "unit" and unit != "units" and bool(_OWN.fullmatch(unit))
    others = (_TIMES, _WEEKS, _MACHINE, _CLOCK)
    return named or unit == _EM or any(pattern.fullmatch(unit) for pattern in others)


def is_score(unit: str) -> bool:
    """Whether these words can only be a score."""
    return unit not in ("", "unit", "units") and _score_unit(unit) is not None


def is_percent(unit: str) -> bool:
    """Whether these words count in percent, or in parts of it."""
    told = _score_unit(unit)
    return told is not None and told.kind in ("percent", "percentage point")


def score_readings(numbers: list[AmountReading], unit: str, scores: tuple[float, float] | None) -> list[AmountReading]:
    """What a gain of some number of units may be, in the units in which scores are measured."""
    if len(numbers) > 1:
        return [AmountReading(each.amount, each.meaning, written=_spaced(unit)) for each in numbers]
    [number] = numbers
    told = _score_unit(unit)
    if told is None:
        raise UnclearError(
            f"counts the score in {unit!r}, which is not known; write the number alone, in units of the score"
        )
    return [AmountReading(number.amount * size, meaning) for size, meaning in _sizes(told, scores)]


def cost_readings(numbers: list[AmountReading], unit: str) -> list[AmountReading]:
    """What a cost of some number of units may be."""
    if len(numbers) > 1:
        return [AmountReading(each.amount, each.meaning, written=_spaced(unit)) for each in numbers]
    amount = numbers[0].amount
    if unit == "" or _OWN.fullmatch(unit):
        return numbers
    if found := _TIMES.fullmatch(unit):
        return [_time(amount, found)]
    if _WEEKS.fullmatch(unit):
        return [AmountReading(7.0 * amount, unit="d")]
    return _two_costs(amount, unit)


def _two_costs(amount: float, unit: str) -> list[AmountReading]:
    """Both readings of a unit that has two."""
    if unit == _EM:
        return [
            AmountReading(amount, "for minutes", written="min"),
            AmountReading(30.0 * amount, "for months", written="d"),
        ]
    if clock := _CLOCK.fullmatch(unit):
        rest = int(clock["rest"])
        return [
            AmountReading(amount, "for minutes and seconds", written=f"min {rest}s"),
            AmountReading(amount, "for hours and minutes", written=f"h {rest}min"),
        ]
    if machine := _MACHINE.fullmatch(unit):
        time = _SPELLINGS[machine["unit"]]
        return [
            AmountReading(amount, "for time on the clock", written=time),
            AmountReading(amount, f"if train returns {unit} as its cost"),
        ]
    raise UnclearError(_unknown(unit))


def _time(amount: float, found: re.Match[str]) -> AmountReading:
    """Hours, or hours and minutes."""
    unit = _SPELLINGS[found["unit"]]
    more = sum(float(each["number"]) * SECONDS[_SPELLINGS[each["unit"]]] for each in _MORE.finditer(found["more"]))
    return AmountReading(amount + more / SECONDS[unit], unit=unit)


@dataclass(frozen=True, slots=True)
class ScoreUnit:
    """What a gain is counted in.

    kind:      "score", "point", "percent" or "percentage point" (and parts of one)
    size:      of one, where scores are fractions
    relative:  it may be a part of the score that was reached, as in "1% of accuracy"
    """

    kind: str
    size: float
    relative: bool = False


def _score_unit(unit: str) -> ScoreUnit | None:
    """What these words say of a score; None if they are not known."""
    found = _CALLED.fullmatch(unit)
    if found is None:
        return None
    plain, called = found["unit"], found["called"] or ""
    relative = bool(_RELATIVE.match(called)) and "absolute" not in called
    if plain == "":
        return ScoreUnit("score", 1.0)
    if _PERCENT.fullmatch(plain):
        return ScoreUnit("percent", 0.01, relative)
    if _POINT.fullmatch(plain):
        return ScoreUnit("point", 0.01)
    if _PERCENTAGE_POINT.fullmatch(plain):
        return ScoreUnit("percentage point", 0.01)
    parts = [ScoreUnit("percentage point", size) for pattern, size in _PARTS if pattern.fullmatch(plain)]
    return parts[0] if parts else None


def _sizes(unit: ScoreUnit, scores: tuple[float, float] | None) -> list[tuple[float, str]]:
    """What one of these units may be in the units of the score, and when."""
    if unit.kind == "score":
        return [(1.0, "")]
    low, high = scores or (_USUAL, _USUAL)
    largest, typical = max(abs(low), abs(high)), abs(low + high) / 2 or max(abs(low), abs(high))
    percentages = PERCENTAGE <= largest <= _PERCENTAGES
    fraction, whole = (
        (unit.size, "if scores are fractions such as 0.93"),
        (100 * unit.size, "if they are percentages or points such as 93"),
    )
    own = (unit.size, "for hundredths of one unit of score")
    part = (unit.size * typical, f"for a part of a score such as {typical:.4g}")
    if unit.relative:
        return [own, part] if part[0] != own[0] else [own]
    if unit.kind == "point" and scores is None:
        return [fraction, whole]
    if largest <= _FRACTIONS:
        return [fraction]
    if unit.kind == "percent":
        return [own, (100 * unit.size, "for percentage points") if percentages else part]
    counted = largest >= PERCENTAGE if unit.kind == "point" else percentages
    return [whole] if counted else [fraction, whole]


def _unknown(unit: str) -> str:
    """Why a cost cannot be in this unit."""
    known = "use ms, s, min, h or d, or none for the cost's own unit"
    if _EACH.fullmatch(unit):
        known = f"a price is for a cost, so let train return (score, 1) to pay for each {unit}, or {known}"
    return f"has the unknown unit {unit!r}; {known}"


def _spaced(unit: str) -> str:
    return f" {unit}" if unit else ""
