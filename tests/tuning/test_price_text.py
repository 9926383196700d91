"""Prices as people write them: read where there is one way to, refused with both readings where there are two."""

from __future__ import annotations

import re

import pytest

import autobct
from autobct.run.config import parse
from autobct.run.program_settings import SettingsError
from autobct.tuning.units.price import parse_price

FRACTIONS, PERCENTAGES, LOSSES = (0.8, 1.0), (50.0, 100.0), (200.0, 300.0)
SECOND, MINUTE, HOUR, DAY = 1.0, 60.0, 3600.0, 86400.0

READ = [  # text, gain, seconds or units of cost
    # numbers
    ("0.01 per hour", 0.01, HOUR),
    ("0.01 per 1 hour", 0.01, HOUR),
    ("0.01 an hour", 0.01, HOUR),
    ("0.01/h", 0.01, HOUR),
    ("0.01 / 10 min", 0.01, 10 * MINUTE),
    ("0.01 every 10 minutes", 0.01, 10 * MINUTE),
    ("0.01 for 10 min", 0.01, 10 * MINUTE),
    ("0.01 for each hour", 0.01, HOUR),
    ("0.01 is worth 30s", 0.01, 30 * SECOND),
    ("0.01 = 30 s", 0.01, 30 * SECOND),
    ("1/100 per h", 0.01, HOUR),
    ("1/100/h", 0.01, HOUR),
    ("0,01 per h", 0.01, HOUR),
    ("1e-2 PER HOUR", 0.01, HOUR),
    ("+0.01 per h", 0.01, HOUR),
    ("a hundredth a minute", 0.01, MINUTE),
    ("one thousandth per hour", 0.001, HOUR),
    ("1,000,000 per day", 1e6, DAY),
    # percent, and parts of it
    ("1% per 10min", 0.01, 10 * MINUTE),
    ("1 % an hour", 0.01, HOUR),
    ("1%/h", 0.01, HOUR),
    ("1 percent per hour", 0.01, HOUR),
    ("one per cent per hour", 0.01, HOUR),
    ("1 pct per hour", 0.01, HOUR),
    ("half a percent an hour", 0.005, HOUR),
    ("1/2 % per hour", 0.005, HOUR),
    ("1,5 % per h", 0.015, HOUR),
    ("a tenth of a percent per hour", 0.001, HOUR),
    ("1 % accuracy per 10 minutes", 0.01, 10 * MINUTE),
    ("1 ‰ per h", 0.001, HOUR),
    ("1 per mille per h", 0.001, HOUR),
    ("10 bps/h", 0.001, HOUR),
    # percentage points
    ("1pp per 1h", 0.01, HOUR),
    ("1 pp/h", 0.01, HOUR),
    ("1 p.p. per hour", 0.01, HOUR),
    ("1 percentage point per day", 0.01, DAY),
    ("2 %-points every 10 minutes", 0.02, 10 * MINUTE),
    ("half a percentage point a day", 0.005, DAY),
    # turned round
    ("10min per 0.01", 0.01, 10 * MINUTE),
    ("10 min per 1%", 0.01, 10 * MINUTE),
    ("10min for 1 %", 0.01, 10 * MINUTE),
    ("an hour per percentage point", 0.01, HOUR),
    ("1h/pp", 0.01, HOUR),
    ("10 min per 0.01 accuracy", 0.01, 10 * MINUTE),
    ("3 per 1%", 0.01, 3.0),
    ("3 units of cost per 0.01", 0.01, 3.0),
    # times
    ("0.01 per half an hour", 0.01, HOUR / 2),
    ("0.01 per 1h30min", 0.01, 1.5 * HOUR),
    ("0.01 per 5 min 30s", 0.01, 5.5 * MINUTE),
    ("0.01 per 1 hour and 30 minutes", 0.01, 1.5 * HOUR),
    ("0.01 per week", 0.01, 7 * DAY),
    ("0.01 per 10 min.", 0.01, 10 * MINUTE),
    ("0.01 per two hours", 0.01, 2 * HOUR),
    ("0.01 per 3", 0.01, 3.0),
    ("0.01 units per hour", 0.01, HOUR),
]


@pytest.mark.parametrize(("text", "gain", "cost"), READ, ids=[text for text, *_ in READ])
def test_what_people_write_is_read(text: str, gain: float, cost: float) -> None:
    assert parse_price(text).per_cost == pytest.approx(gain / cost, rel=1e-12)


RANGED = [  # text, range of scores, gain
    ("1 point per hour", FRACTIONS, 0.01),
    ("1 point per hour", PERCENTAGES, 1.0),
    ("1 point per hour", LOSSES, 1.0),
    ("half a point an hour", FRACTIONS, 0.005),
    ("2 pts/h", PERCENTAGES, 2.0),
    ("1h per point", FRACTIONS, 0.01),
    ("1pp per 1h", FRACTIONS, 0.01),
    ("1pp per 1h", PERCENTAGES, 1.0),
    ("10 bps per hour", PERCENTAGES, 0.1),
    ("1% per hour", FRACTIONS, 0.01),
    ("1% per hour", (-0.2, 1.0), 0.01),
    ("0.5 per hour", PERCENTAGES, 0.5),
    ("1% of accuracy per hour", (0.0, 2.0), 0.01),  # of a score of 1 both readings are the same
]


@pytest.mark.parametrize(("text", "scores", "gain"), RANGED)
def test_a_range_of_scores_says_what_a_point_is(text: str, scores: tuple[float, float], gain: float) -> None:
    assert parse_price(text, scores).per_cost == pytest.approx(gain / HOUR, rel=1e-12)


UNCLEAR = [  # text, range of scores, and how to write the two readings
    ("1 point per hour", None, "0.01 per hour", "1 per hour"),
    ("1 point of accuracy each hour", None, "0.01 per hour", "1 per hour"),
    ("half a point a day", None, "0.005 per day", "0.5 per day"),
    ("1pt/h", None, "0.01 per h", "1 per h"),
    ("1h per point", None, "0.01 per 1h", "1 per 1h"),
    ("1 point per hour", (0.0, 5.0), "0.01 per hour", "1 per hour"),
    ("1pp per 1h", LOSSES, "0.01 per 1h", "1 per 1h"),
    ("1% per 10min", PERCENTAGES, "0.01 per 10min", "1 per 10min"),
    ("1% per 10min", LOSSES, "0.01 per 10min", "2.5 per 10min"),
    ("5 % of accuracy per day", None, "0.05 per day", "0.045 per day"),
    ("1% less loss per h", None, "0.01 per h", "0.009 per h"),
    ("1,000 per h", None, "1000 per h", "1 per h"),
    ("0.01 per 1,500 s", None, "0.01 per 1500 s", "0.01 per 1.5 s"),
    ("1,250% per h", None, "1250 % per h", "1.25 % per h"),
    ("0.01 per 5m", None, "0.01 per 5min", "0.01 per 150d"),
    ("5m per 0.01", None, "0.01 per 5min", "0.01 per 150d"),
    ("0.01 per 1:30", None, "0.01 per 1min 30s", "0.01 per 1h 30min"),
    ("0.01 per GPU hour", None, "0.01 per 1h", "0.01 per 1"),
    ("0.01 per 2 core-hours", None, "0.01 per 2h", "0.01 per 2"),
    ("1% per 5m", None, "0.01 per 5min", "0.01 per 150d"),
]


def ways(sentence: str) -> list[str]:
    """The two texts that a refusal says to write instead."""
    return re.findall(r"'([^']+ per [^']+)'", sentence.partition("can be read in two ways")[2])


@pytest.mark.parametrize(("text", "scores", "one", "other"), UNCLEAR)
def test_what_can_be_read_in_two_ways_is_refused_with_both(
    text: str, scores: tuple[float, float] | None, one: str, other: str
) -> None:
    with pytest.raises(ValueError, match=r"^price '.*' can be read in two ways; write '") as refused:
        parse_price(text, scores)
    assert ways(str(refused.value)) == [one, other]
    assert repr(text) in str(refused.value)
    first, second = parse_price(one, scores), parse_price(other, scores)  # and each can be written as it says
    assert first.per_cost != pytest.approx(second.per_cost, rel=1e-3) or first.unit != second.unit


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1 dollar per hour", "counts the score in 'dollar', which is not known; write the number alone"),
        ("0.01 per run", r"unknown unit 'run'; a price is for a cost, so let train return \(score, 1\)"),
        ("1h per 10min", "has two times or costs"),
        ("1% per point", "has two scores"),
        ("0.01 per h per day", "has more than one 'per'"),
        ("% per h", "must begin with a number, got '%'"),
        ("1/0 per h", "divides by zero"),
    ],
)
def test_what_is_no_price_is_refused_with_the_reason(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse_price(text)


def train(params: dict[str, float]) -> tuple[float, float]:
    return 90.0 + params["x"], 60.0


def test_a_tuning_reads_points_by_its_score_range() -> None:
    space = {"x": autobct.Float(0, 1)}
    result = autobct.tune(train, space, price="1 point per hour", score_range=(50, 100), max_runs=1)
    assert result.tuner.problem.price == autobct.Price(1.0, 1.0, "h")
    [other] = result.what_if(["2 points per hour"])
    assert other.price == autobct.Price(2.0, 1.0, "h")
    with pytest.raises(ValueError, match=r"'0\.01 per hour' if scores are fractions such as 0\.93, or '1 per hour' if"):
        autobct.Tuner(space, price="1 point per hour")


@pytest.mark.parametrize(
    ("price", "stated", "notes"),
    [
        ("1% per hour", {}, 1),
        ("1pp per hour", {}, 1),
        ("0.01 per hour", {}, 0),
        ("1pp per hour", {"score_range": (50, 100)}, 0),
    ],
)
def test_a_percent_that_was_taken_for_a_hundredth_is_doubted_when_scores_are_percentages(
    price: str, stated: dict[str, tuple[float, float]], notes: int
) -> None:
    result = autobct.tune(train, {"x": autobct.Float(0, 1)}, price=price, max_runs=3, **stated)  # type: ignore[arg-type]
    told = [note.text for note in result.notes if note.about == "price"]
    assert len(told) == notes  # said once, however many runs
    assert all("but the price counts 1% as 0.01; write '1 per h' if scores are percentages." in text for text in told)


def test_fractions_raise_no_doubt() -> None:
    result = autobct.tune(lambda params: (params["x"], 1.0), {"x": autobct.Float(0, 1)}, price="1% per 3", max_runs=3)
    assert not [note for note in result.notes if note.about == "price"]


def test_percent_of_a_loss_on_a_log_scale_is_a_percent() -> None:
    tuner = autobct.Tuner({"x": autobct.Float(0, 1)}, price="1% per h", score_range=autobct.AffineLog(1.0, 300.0))
    assert tuner.problem.price == autobct.Price(0.01, 1.0, "h")


TOML = 'command = ["./train", "{x}"]\nprice = "1 point per hour"\n[space]\nx = { type = "int", low = 1, high = 9 }\n'


def test_a_file_reads_points_by_its_score_range() -> None:
    assert parse("score_range = [50, 100]\n" + TOML).tuning["price"] == "1 point per hour"
    with pytest.raises(SettingsError, match="price: price '1 point per hour' can be read in two ways"):
        parse(TOML)
