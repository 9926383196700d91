"""Candidates in more than two dimensions: values that exist, cheap ones among them, more where runs turn out well."""

import numpy as np
import pytest

from autobct import Categorical, Float, Int
from autobct.tuning.decide.search import around, snapped
from autobct.tuning.space.candidates import refinable, spread
from autobct.tuning.space.space import Space

MIXED = Space.of(
    {
        "rate": Float(1e-4, 1.0, log=True),
        "trees": Int(5, 300, log=True),
        "depth": Int(1, 9),
        "fixed": Int(3, 3),
        "kind": Categorical(["a", "b", "c"]),
        "step": Float(0, 1, step=0.25),
    }
)


def exists(space: Space, controls: np.ndarray) -> None:
    """Every control is that of its own params."""
    for control in controls:
        np.testing.assert_allclose(space.control(space.params(control)), control, atol=1e-9)


def test_a_spread_has_the_centre_and_cheaper_centres_and_no_two_alike() -> None:
    controls = spread(MIXED)
    exists(MIXED, controls)
    assert len(np.unique(controls, axis=0)) == len(controls) > 380
    assert MIXED.params(controls[0]) == {
        "rate": pytest.approx(0.01),
        "trees": 38,
        "depth": 5,
        "fixed": 3,
        "kind": "b",
        "step": 0.5,
    }
    cheaper = [MIXED.params(control) for control in controls[1:4]]
    assert [p["trees"] for p in cheaper] == sorted((p["trees"] for p in cheaper), reverse=True)
    assert all(p["trees"] < 38 and p["depth"] < 5 and p["step"] == 0.5 for p in cheaper)


def test_a_spread_is_even() -> None:
    controls = spread(MIXED)
    assert 0.45 < controls[:, 0].mean() < 0.55
    assert controls[:, 0].min() < 0.02
    assert controls[:, 0].max() > 0.98
    kinds = controls[:, 3:6].mean(axis=0)
    assert kinds.min() > 0.25


def test_candidates_around_the_best_exist_and_are_near() -> None:
    best = spread(MIXED)[:2]
    near = around(MIXED, best, rng=np.random.default_rng(0))
    exists(MIXED, near)
    assert near.shape == (150, MIXED.dim)
    changed = np.abs(near[:75] - best[0]) > 1e-12
    assert 0.2 < changed[:, 0].mean() < 0.6  # some parameters are left as they are
    assert np.abs(near[:75, 0] - best[0, 0]).mean() < 0.15


def test_the_same_random_numbers_give_the_same_candidates() -> None:
    best = spread(MIXED)[:3]
    one, two = (around(MIXED, best, rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    "parameter", [Int(1, 7), Int(3, 3000, log=True), Float(0, 1, step=0.1), Float(0.1, 9, log=True)]
)
def test_snapped_coordinates_are_of_values_and_never_far(parameter: Int | Float) -> None:
    wanted = np.linspace(0, 1, 41)
    found = snapped(parameter, wanted)
    back = [parameter.to_unit(parameter.from_unit(float(u))) for u in found]  # type: ignore[arg-type]
    np.testing.assert_allclose(back, found, atol=1e-9)
    widest = 1.0 if parameter.count is None else max(np.diff(sorted({float(u) for u in found})))
    assert np.abs(found - wanted).max() <= widest


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        ({"x": Float(0, 1)}, False),
        ({"x": Float(0, 1), "y": Float(0, 1)}, False),
        ({"x": Float(0, 1), "y": Float(0, 1), "z": Float(0, 1)}, True),
        ({"x": Float(0, 1), "k": Categorical(["a", "b", "c"])}, True),
        ({"a": Int(1, 4), "b": Int(1, 4), "c": Int(1, 4)}, False),
    ],
)
def test_few_values_are_all_looked_at(space: dict, expected: bool) -> None:
    assert refinable(Space.of(space)) is expected
