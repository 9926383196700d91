"""E max of lines against integration piece by piece between all pairwise crossings."""

import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import ndtr

from autobct.belief.normal import expected_maximum, upsilon

INF = np.inf
COARSE = st.integers(-8, 8).map(lambda k: k / 4)  # many ties and parallel lines
FINE = st.floats(-4, 4)
LINES = st.lists(st.tuples(COARSE | FINE, COARSE | FINE), min_size=1, max_size=9)


def density(z: float) -> float:
    return float(np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi))


def by_pieces(a: list[float], b: list[float]) -> float:
    """Between neighbouring crossings one line is on top; there the integral is elementary."""
    finite = [(x, y) for x, y in zip(a, b, strict=True) if x > -INF]
    crossings = [(x - v) / (w - y) for (x, y), (v, w) in combinations(finite, 2) if abs(w - y) > 1e-12]
    edges = [-40.0, *sorted(c for c in crossings if abs(c) < 40), 40.0]
    total = 0.0
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        x, y = max(finite, key=lambda line: line[0] + line[1] * middle)
        mass = ndtr(-low) - ndtr(-high) if low > 0 else ndtr(high) - ndtr(low)
        total += x * mass + y * (density(low) - density(high))
    return total


@given(LINES)
def test_any_lines(lines) -> None:
    a, b = map(list, zip(*lines, strict=True))
    assert expected_maximum(np.array(a), np.array(b)) == pytest.approx(by_pieces(a, b), abs=1e-12)


@given(LINES, st.floats(-50, 50), st.floats(-3, 3), st.floats(0.01, 100))
def test_laws(lines, shift: float, tilt: float, scale: float) -> None:
    a, b = np.array(lines).T
    found = float(expected_maximum(a, b))
    assert found >= a.max()  # Jensen
    assert float(expected_maximum(a + shift, b)) == pytest.approx(found + shift, abs=1e-11)
    assert float(expected_maximum(a, b + tilt)) == pytest.approx(found, abs=1e-11)  # E Z = 0
    assert float(expected_maximum(scale * a, scale * b)) == pytest.approx(scale * found, abs=1e-11 * (1 + scale))
    assert float(expected_maximum(a, -b)) == pytest.approx(found, abs=1e-12)  # Z and -Z
    order = np.argsort(b * 7 % 1.3)
    assert float(expected_maximum(a[order], b[order])) == pytest.approx(found, abs=1e-12)
    assert float(expected_maximum(np.append(a, a), np.append(b, b))) == pytest.approx(found, abs=1e-12)


def test_dense_integration_of_many_lines() -> None:
    rng = np.random.default_rng(1)
    a, b = -np.square(rng.standard_normal(60)), rng.standard_normal(60)
    pieces = np.linspace(-12, 12, 97)
    expected = sum(
        quad(lambda z: (a + b * z).max() * density(z), low, high, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for low, high in pairwise(pieces)
    )
    assert expected_maximum(a, b) == pytest.approx(expected, abs=1e-9)


def test_two_lines_are_an_expected_improvement() -> None:
    """E max(x, m + s Z) = x + upsilon(m - x, s): also where the improvement is tiny."""
    for m in (-8.0, -5.0, 0.0, 3.0):
        found = float(expected_maximum(np.array([0.0, m]), np.array([0.0, 1.0])))
        assert found == pytest.approx(float(upsilon(m, 1.0)), rel=1e-12, abs=0)


def test_special_lines() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cases = [
            ([3.0], [2.0], 3.0),  # one line
            ([1.0, 1.0, 1.0], [0.5, 0.5, 0.5], 1.0),  # the same line three times
            ([1.0, 2.0, -1.0], [0.5, 0.5, 0.5], 2.0),  # parallel
            ([-INF, 2.0], [7.0, 0.5], 2.0),  # one is out
            ([-INF, -INF, 2.0], [7.0, -7.0, 0.5], 2.0),
            ([2.0, -INF], [0.5, 0.5], 2.0),
            ([-INF, -INF], [1.0, 2.0], -INF),  # all are out
            ([-INF], [1.0], -INF),
            ([0.0, 0.0], [-1.0, 1.0], np.sqrt(2 / np.pi)),  # E|Z|
            ([0.0, 0.0, 0.0], [-1.0, 0.0, 1.0], np.sqrt(2 / np.pi)),  # three lines through one point
            ([0.0, 0.0], [-1e8, 1e8], 1e8 * np.sqrt(2 / np.pi)),
            ([0.0, 0.0], [-1e-12, 1e-12], 1e-12 * np.sqrt(2 / np.pi)),
            ([1.0, 1.0 + 1e-15], [0.0, 1e-17], 1.0),
            ([0.0, 50.0], [1.0, -1.0], 50.0),  # crosses beyond any probability
            ([0.0, 0.0], [0.0, 1e-301], 0.0),
        ]
        for a, b, expected in cases:
            assert float(expected_maximum(np.array(a), np.array(b))) == pytest.approx(expected, rel=1e-13, abs=1e-30)


def test_lines_that_are_out_change_nothing() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 20, 5))
    out = np.concatenate([a, np.full((20, 3), -INF)], axis=-1)
    slopes = np.concatenate([b, rng.standard_normal((20, 3))], axis=-1)
    np.testing.assert_allclose(expected_maximum(out, slopes), expected_maximum(a, b), atol=1e-14)


@pytest.mark.parametrize(
    ("intercepts", "slopes"),
    [
        ((4,), (4,)),
        ((3, 4), (3, 4)),
        ((2, 3, 4), (3, 4)),
        ((3, 4), (2, 1, 4)),
        ((2, 3, 4), (2, 1, 4)),
        ((4,), (2, 3, 4)),
        ((1, 4), (5, 4)),
    ],
)
def test_broadcasting(intercepts: tuple[int, ...], slopes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal(intercepts), rng.standard_normal(slopes)
    before = a.copy(), b.copy()
    found = expected_maximum(a, b)
    full_a, full_b = np.broadcast_arrays(a, b)
    assert found.shape == full_a.shape[:-1]
    for i in np.ndindex(found.shape):
        assert found[i] == pytest.approx(by_pieces(list(full_a[i]), list(full_b[i])), abs=1e-12)
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])
