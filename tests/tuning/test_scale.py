"""Scales between what is measured and what the model sees."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from autobct.tuning.units.scale import Affine, AffineLog, Descending, Scale, affine, between, is_log

ENDS = st.floats(-1e6, 1e6)
POSITIVE = st.floats(1e-6, 1e6)


def test_the_paper_scales() -> None:
    assert Affine(0.5, 1.0).to_model(0.9) == pytest.approx(2 * (0.9 - 0.5))  # appendix D.1, accuracy
    assert Affine(0.0, 0.6).to_model(0.3) == pytest.approx(0.3 / 0.6)  # appendix D.1, seconds
    assert Affine(0.45, 0.8).unit == pytest.approx(0.35)


@pytest.mark.parametrize("kind", [Affine, AffineLog])
@given(ends=st.tuples(POSITIVE, POSITIVE), raw=POSITIVE)
def test_ends_order_and_round_trip(kind: type[Affine] | type[AffineLog], ends: tuple[float, float], raw: float) -> None:
    low, high = sorted(ends)
    assume(high > 1.001 * low)
    scale = kind(low, high)
    assert scale.to_model(low) == 0.0
    assert scale.to_model(high) == pytest.approx(1.0, abs=1e-12)
    assert scale.to_raw(scale.to_model(raw)) == pytest.approx(raw, rel=1e-9, abs=1e-9 * high)
    assert scale.to_model(raw) <= scale.to_model(2 * raw)


def test_one_model_unit() -> None:
    assert Affine(2, 10).to_raw(3.0) - Affine(2, 10).to_raw(2.0) == pytest.approx(Affine(2, 10).unit)
    log = AffineLog(0.1, 10)
    assert log.to_raw(1.5) / log.to_raw(0.5) == pytest.approx(math.exp(log.unit))
    assert log.to_model(1.0) == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [Affine(1, 3), AffineLog(1, 3)])
def test_numbers_stay_numbers_and_arrays_keep_their_shape(scale: Affine | AffineLog) -> None:
    assert type(scale.to_model(2.0)) is float
    assert type(scale.to_raw(np.float64(0.5))) is float
    grid = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert scale.to_model(grid).shape == (2, 2)
    np.testing.assert_allclose(scale.to_raw(scale.to_model(grid)), grid)
    assert scale.to_model(grid)[1, 1] > 1.0  # not clipped


def test_users_ranges() -> None:
    assert affine((0.5, 1), name="score_range") == Affine(0.5, 1.0)
    assert affine(np.array([0.0, 2.0]), name="score_range") == Affine(0.0, 2.0)
    assert type(affine((0, 1), name="score_range").low) is float


@pytest.mark.parametrize(
    ("ends", "word"),
    [
        ((0.5, 0.5), "is empty"),
        ((1, 0.5), r"is reversed, got \(1, 0.5\)"),
        ((0, math.inf), "must be finite"),
        ((-math.inf, 0), "must be finite"),
        ((math.nan, 1), "must be finite"),
        ((-1.7e308, 1.7e308), "must be finite"),
    ],
)
def test_bad_ranges_name_the_argument(ends: tuple[float, float], word: str) -> None:
    with pytest.raises(ValueError, match=f"^score_range {word}.*write"):
        affine(ends, name="score_range")
    with pytest.raises(ValueError, match=rf"^Affine\(low, high\) {word}.*write"):
        Affine(*ends)


@pytest.mark.parametrize("ends", [(0, 1), (-1, 1)])
def test_log_over_zero(ends: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"^AffineLog\(low, high\) must be positive on a log scale"):
        AffineLog(*ends)
    with pytest.raises(ValueError, match="too narrow"):
        AffineLog(1e6, math.nextafter(1e6, 2e6))


@pytest.mark.parametrize("bad", [None, 1.0, (1,), (1, 2, 3), "ab", {0, 1}, {0: 1}, (True, 2), ("0", "1"), np.eye(2)])
def test_a_range_is_two_numbers(bad: object) -> None:
    with pytest.raises(TypeError, match=r"(?s)^score_range must be two numbers, got .*write \(low, high\)"):
        affine(bad, name="score_range")  # type: ignore[arg-type]


@pytest.mark.parametrize("raw", [0.0, -1.0, np.array([1.0, 0.0])])
def test_a_log_scale_refuses_what_has_no_logarithm(raw: float) -> None:
    with pytest.raises(ValueError, match="raw must be positive"):
        AffineLog(1, 2).to_model(raw)


@given(ENDS, ENDS, st.floats(-5, 5))
def test_affine_is_affine(low: float, high: float, model: float) -> None:
    assume(high - low > 1e-3)
    assert Affine(low, high).to_raw(model) == pytest.approx(low + (high - low) * model, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("rising", [Affine(2.0, 6.0), AffineLog(0.5, 8.0)])
def test_a_descending_scale_is_the_rising_one_upside_down(rising: Affine | AffineLog) -> None:
    scale = Descending(rising)
    assert (scale.to_model(scale.low), scale.to_model(scale.high)) == pytest.approx((1.0, 0.0))
    assert (scale.low, scale.high, scale.unit) == (rising.low, rising.high, rising.unit)
    raw = np.array([1.0, 3.0, 7.0])
    np.testing.assert_allclose(scale.to_model(raw), 1.0 - rising.to_model(raw))
    np.testing.assert_allclose(scale.to_raw(scale.to_model(raw)), raw)
    assert isinstance(scale.to_raw(0.25), float)


@pytest.mark.parametrize("scale", [Affine(2.0, 6.0), AffineLog(0.5, 8.0), Descending(Affine(2.0, 6.0))])
def test_a_scale_between_two_values_of_another(scale: Scale) -> None:
    wider = between(scale, -0.5, 2.0)
    assert type(wider) is type(scale)
    assert wider.to_model(scale.to_raw(-0.5)) == pytest.approx(0.0)
    assert wider.to_model(scale.to_raw(2.0)) == pytest.approx(1.0)
    assert is_log(wider) == is_log(scale)
