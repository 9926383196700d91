"""Slices of a made-up task: along which numbers, where the others are held, and which are worth tuning."""

from __future__ import annotations

import numpy as np
import pytest
from slices import Slice, slices
from tasks import Task

import autobct


def surface(points):
    """Two numbers that matter and one that hardly does."""
    rate, size, dust = points[:, 0], points[:, 1], points[:, 2]
    return rate + 0.1 * size + 1e-6 * dust, 1.0 + size


SPACE = {
    "rate": autobct.Float(0.01, 1.0, log=True),
    "size": autobct.Int(1, 9),
    "dust": autobct.Float(0, 1),
    "kind": autobct.Categorical(["a", "b"]),
}


@pytest.fixture
def task():
    return Task("made", "up", SPACE, surface, (0.0, 2.0), noise=0.01)


def test_the_others_are_held_at_their_centre(task):
    (one,) = [found for found in slices([task], 1, 4) if list(found.space) == ["size"]]
    assert one.name == "made-size"
    assert one.surface.centre == pytest.approx([0.1, 5, 0.5, 1])
    scores, costs = one.true(np.array([[1.0], [9.0]]))
    assert scores == pytest.approx([0.1 + 0.1, 0.1 + 0.9], abs=1e-6)
    assert costs == pytest.approx([2.0, 10.0])
    assert (one.noise, one.score_range, one.family) == (0.01, (0.0, 2.0), "up")


def test_only_numbers_that_make_a_difference_are_taken(task):
    assert {tuple(found.space) for found in slices([task], 1, 4)} == {("rate",), ("size",)}
    pairs = {tuple(found.space) for found in slices([task], 2, 4)}
    assert pairs == {("rate", "size"), ("rate", "dust"), ("size", "dust")}


def test_every_task_has_other_slices_of_its_own(task):
    found = slices([task, task], 1, 1)
    assert [tuple(one.space) for one in found] == [("rate",), ("size",)]
    assert all(isinstance(one.surface, Slice) for one in found)


def test_a_task_that_is_small_enough_has_none(task):
    small = Task("small", "up", {"rate": SPACE["rate"]}, surface, (0.0, 1.0), noise=0.01)
    assert slices([small], 1, 2) == slices([small], 2, 2) == []
