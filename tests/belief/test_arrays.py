"""The checks that every door shares."""

import numpy as np
import pytest

from autobct.belief.arrays import finite_array, finite_number, transpose, whole_number
from autobct.belief.basis import broadcast_values


def test_finite_array() -> None:
    assert finite_array([1, 2], "x").dtype == np.float64
    with pytest.raises(TypeError, match="x must be numbers, got 'a'"):
        finite_array("a", "x")
    with pytest.raises(ValueError, match="x must be finite numbers"):
        finite_array([1, np.inf], "x")


def test_broadcast_values() -> None:
    controls = np.zeros((3, 2))
    np.testing.assert_array_equal(broadcast_values(4, controls, "f"), [4, 4, 4])
    np.testing.assert_array_equal(broadcast_values([1, 2, 3], controls, "f"), [1, 2, 3])
    with pytest.raises(ValueError, match="f must return one value per control"):
        broadcast_values(np.zeros((3, 2)), controls, "f")


def test_transpose_swaps_the_last_two_axes() -> None:
    batch = np.arange(12).reshape(2, 2, 3)
    np.testing.assert_array_equal(transpose(batch)[1], batch[1].T)


def test_whole_number() -> None:
    found = whole_number(np.int64(3), "runs", example=4)
    assert (found, type(found)) == (3, int)
    assert whole_number(0, "runs", example=4, least=0) == 0


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
def test_whole_number_refuses(value: object) -> None:
    with pytest.raises(ValueError, match=r"runs must be a whole number of at least 1, got .*; write e\.g\. 4"):
        whole_number(value, "runs", example=4)


def test_finite_number() -> None:
    found = finite_number(np.float64(2.5), "price")
    assert (found, type(found)) == (2.5, float)
    assert finite_number(-1, "price") == -1.0


@pytest.mark.parametrize(
    ("value", "error", "sentence"),
    [
        (True, TypeError, "price must be a number, got True"),
        ("1", TypeError, "price must be a number, got '1'"),
        (np.nan, ValueError, "price must be finite, got nan"),
        (-1.0, ValueError, "price must be at least 0, got -1.0"),
    ],
)
def test_finite_number_refuses(value: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        finite_number(value, "price", least=0)
