"""Prices as users write them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autobct.tuning.units.price import Price, parse_price, price_from

SCORES = st.floats(1e-6, 1e6)
UNITS = ("ms", "s", "min", "h", "d", "")


@pytest.mark.parametrize(
    ("text", "per_second"),
    [
        ("0.01 per 30s", 0.01 / 30),
        ("0.01 per 30 seconds", 0.01 / 30),
        ("0.01 PER 30 Sec", 0.01 / 30),
        ("0.01per30s", 0.01 / 30),
        ("1% per 10min", 0.01 / 600),
        ("1 % per 10 minutes", 0.01 / 600),
        ("1 percent per 10 minutes", 0.01 / 600),
        ("0.5% per hour", 0.005 / 3600),
        ("0.02/h", 0.02 / 3600),
        (" 0.02 / hr ", 0.02 / 3600),
        ("1e-3 per 2.5 min", 1e-3 / 150),
        (".5 per 1e1 d", 0.5 / 864000),
        ("2 per day", 2 / 86400),
        ("0.01 per 20ms", 0.5),
        ("0.01 per 3", 0.01 / 3),
        ("0.01 per 3 units of cost", 0.01 / 3),
    ],
)
def test_text_gives_score_per_second_or_per_unit_of_cost(text: str, per_second: float) -> None:
    assert parse_price(text).per_cost == pytest.approx(per_second, rel=1e-14)


@pytest.mark.parametrize("number", [0.002, np.float64(0.002), np.float32(0.5), 3, np.int64(3)])
def test_a_number_is_score_per_unit_of_cost(number: float) -> None:
    assert parse_price(number).per_cost == float(number)


def test_a_price_is_left_as_it_is() -> None:
    price = Price(0.01, 30, "seconds")
    assert parse_price(price) is price
    assert price == Price(0.01, 30.0, "s")


@pytest.mark.parametrize(
    ("price", "text"),
    [
        (Price(0.01, 30, "s"), "0.01 per 30 s"),
        (Price(0.02, 1, "h"), "0.02 per h"),
        (Price(0.01, 2.5, "min"), "0.01 per 2.5 min"),
        (Price(0.002, 1, ""), "0.002 per unit of cost"),
        (Price(0.01, 3, ""), "0.01 per 3 units of cost"),
    ],
)
def test_it_reads_naturally(price: Price, text: str) -> None:
    assert str(price) == text


@given(SCORES, SCORES, st.sampled_from(UNITS))
def test_text_is_read_back_to_the_bit(score: float, cost: float, unit: str) -> None:
    price = Price(score, cost, unit)
    assert parse_price(str(price)) == price


@given(SCORES, SCORES)
def test_units_agree_with_each_other(score: float, cost: float) -> None:
    hours, minutes = Price(score, cost, "h"), Price(score, 60 * cost, "min")
    assert hours.per_cost == pytest.approx(minutes.per_cost, rel=1e-12)


BAD_NUMBERS = (0, 0.0, -0.01, math.nan, math.inf, -math.inf)
BAD_SCORES = (
    "0 per 30s",
    "-0.01 per 30s",
    "nan per 30s",
    "inf per 30s",
    "cheap per 30s",
    "per 30s",
    "1,2,3 per h",
    "1/0 per h",
    "1 dollar per h",
    "1 million per day",
    "1% relative per h",
    "1 0.5 per h",
)
BAD_COSTS = ("0.01 per 0s", "0.01 per -3s", "0.01 per 1e999 s", "0.01 per", "1e-300 per 1e300 s")
BAD_UNITS = (
    "0.01 per run",
    "0.01 per 30 parsecs",
    "0.01 per $50",
    "0.01 per h per day",
    "0.01",
    "0.01 30s",
    "",
    "% per h",
)
TWO_COSTS = ("1h per 10min", "1% per point", "10min per 3 units of cost")


@pytest.mark.parametrize("bad", [*BAD_NUMBERS, *BAD_SCORES, *BAD_COSTS, *BAD_UNITS, *TWO_COSTS])
def test_a_bad_price_gets_a_sentence_with_an_example(bad: float | str) -> None:
    with pytest.raises(ValueError, match=r"^(the cost in )?price .*'0\.01 per 30s'$"):
        parse_price(bad)


@pytest.mark.parametrize("bad", [True, None, [0.01], 1j, b"0.01 per 30s"])
def test_a_price_of_the_wrong_type_is_refused(bad: object) -> None:
    with pytest.raises(TypeError, match=r"price must be a number or text, got .*'0\.01 per 30s'$"):
        parse_price(bad)  # type: ignore[arg-type]


def test_the_sentences_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="unknown unit 'parsecs'; use ms, s, min, h or d"):
        parse_price("0.01 per 3 parsecs")
    with pytest.raises(ValueError, match="'per' is missing"):
        parse_price("0.01")
    with pytest.raises(ValueError, match="must be positive and finite, got -1"):
        parse_price(-1)
    with pytest.raises(TypeError, match="unit in price must be text, got 3"):
        Price(0.01, 30, 3)  # type: ignore[arg-type]


@given(st.text(max_size=20) | st.text("0123456789.,e+-% pers/minhd", max_size=12))
def test_any_other_text_is_read_or_refused_with_an_example(text: str) -> None:
    try:
        price = parse_price(text)
    except ValueError as error:
        sentence = str(error)
    else:
        assert parse_price(str(price)) == price
        return
    assert sentence.endswith("'0.01 per 30s'") or "can be read in two ways; write '" in sentence


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1 % accuracy per 10 minutes", "1% per 10min"),
        ("5 % in accuracy per day", "5% per day"),
        ("0.01 validation accuracy per h", "0.01 per h"),
        ("0.01 f1/h", "0.01 per h"),
        ("1 pp of test AUC per h", "1pp per h"),
        ("0.01 score per 3", "0.01 per 3"),
        ("1 per cent per h", "1% per h"),
    ],
)
def test_what_the_score_is_may_be_said(text: str, plain: str) -> None:
    assert parse_price(text) == parse_price(plain)


def test_a_price_from_what_a_minute_is_worth() -> None:
    assert price_from() == Price(0.01, 60.0, "s")
    assert price_from(gain=0.5, seconds=3600).per_cost == pytest.approx(0.5 / 3600)
    assert str(price_from(gain=0.01, seconds=60)) == "0.01 per 60 s"


@pytest.mark.parametrize("told", [{"gain": 0}, {"gain": -1}, {"seconds": 0}, {"seconds": "60"}, {"gain": None}])
def test_what_makes_no_price(told: dict[str, Any]) -> None:
    (name,) = told
    with pytest.raises((TypeError, ValueError), match=rf"^{name} must be .*; write e.g. price_from\(gain=0.01"):
        price_from(**told)
